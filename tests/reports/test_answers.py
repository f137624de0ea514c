"""The sentences on the first page are made from results: ties read as ties, no interval has zero width."""

from __future__ import annotations

import math
from types import SimpleNamespace as Thing

import numpy as np
import polars as pl
import pytest

from giveway.drive.answer import drive_answer, telling_pair
from giveway.gaps.answer import _warnings, gap_answer
from giveway.gaps.judgment import Judgment
from giveway.gaps.metric_table import Scores
from giveway.gaps.significance import tie_groups
from giveway.generate.answer import generate_answer
from giveway.generate.pages import labels_apart
from giveway.metrics import METRICS
from giveway.reports.live_charts import Forest, Mark, Row, Scatter, Spot
from giveway.reports.results import Results
from giveway.study.answer import study_answer
from support.stores import invented_store


def summary(*rows, **differences):
    return {
        "predictors": [
            {"name": n, "score": s, "means": {"ade_m": e}, "intervals": {"score": (s - 1, s + 1)}, "cases": 48}
            for n, s, e in rows
        ],
        "differences": {
            name.replace("__", " - "): {"score": {"estimate": d, "low": low, "high": high}}
            for name, (d, low, high) in differences.items()
        },
        "origin": ["synthetic"],
    }


def test_same_error_and_a_better_drive_answer_no():
    found = summary(("a", 0.4, 0.73), ("b", -0.7, 0.72), ("o", 0.3, 0.0), a__b=(1.12, 0.29, 2.02), a__o=(0.1, -1, 1))
    answer = drive_answer(found)
    assert answer.sentence == "Not by itself: with the same error, a drives 1.1 points better than b."
    assert "paired [+0.29, +2.02]" in answer.foot and answer.badges == ("synthetic recordings",)
    document = answer.chart.document()
    assert document["pair"] == ("a", "b", "+1.12")
    assert [p["strong"] for p in document["points"]] == [True, True, False]


def test_a_pair_is_turned_so_that_the_better_one_comes_first():
    pair = telling_pair(summary(("b", -0.7, 0.5), ("a", 0.4, 0.9), b__a=(-1.0, -1.8, -0.2)))
    assert (pair["better"], pair["low"], pair["high"], pair["same"]) == ("a", 0.2, 1.8, False)


def test_a_smaller_error_with_a_better_drive_is_no_contradiction():
    found = summary(("a", 0.4, 0.1), ("b", -0.7, 0.9), a__b=(1.1, 0.2, 2.0))
    assert telling_pair(found) is None
    assert drive_answer(found).sentence == "a drives 1.1 points better than b; 2 predictors are too few to answer it."


def test_an_interval_with_zero_reads_tied():
    found = summary(("a", 0.4, 0.1), ("b", 0.3, 0.9), a__b=(0.1, -0.2, 0.4))
    assert drive_answer(found).sentence == "Not decided: 2 predictors are tied."
    agreement = {"planner": "p", "spearman": 1.0, "low": 1.0, "high": 1.0, "predictors": 3}
    degenerate = drive_answer({**found, "open_loop_agreement": [agreement]})
    assert "[1.00, 1.00]" not in degenerate.foot and "Not decided" in degenerate.sentence
    sure = drive_answer({**found, "open_loop_agreement": [{**agreement, "low": 0.4}]})
    assert sure.sentence.startswith("On the whole, yes")


def scores(**values):
    made = {}
    for name, v in values.items():
        n = len(v)
        made[name] = Scores(
            repetition=tuple(range(n)), value=np.array(v), critical=math.nan, num_samples=40, num_critical=0
        )
    return made


def test_ties_are_groups_from_best_to_worst():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.002, (4, 10))
    found = scores(a=0.9 + noise[0], b=0.9005 + noise[1], c=0.7 + noise[2], d=0.7002 + noise[3])
    info, judgment = METRICS.get("auc").info, Judgment(profile="clean", ddof=1, critical_bound="clean")
    groups = tie_groups(found, info, judgment)
    assert [set(g) for g in groups] == [{"a", "b"}, {"c", "d"}]
    found["e"] = scores(x=0.6 + 0.6 * np.tile([-1.0, 1.0], 5))["x"]  # not told from a, yet far behind c
    assert set(tie_groups(found, info, judgment)[0]) == {"a", "b"}
    del found["e"]
    assert len(tie_groups({n: scores(x=s.value[:3])["x"] for n, s in found.items()}, info, judgment)) == 1


def result(*, failed, counts, speed=math.nan):
    return Thing(failed=failed, counts=counts, impact_speed_mps=speed)


def test_generated_traffic_says_how_often_and_how_hard():
    good = [result(failed=True, counts=True, speed=1.2)] * 13 + [result(failed=False, counts=False)] * 47
    none = [result(failed=False, counts=False)] * 60
    where = "on straight, ego lattice, seed 0"
    campaigns = [Thing(label=f"no_attack {where}", results=none), Thing(label=f"policy {where}", results=good)]
    answer = generate_answer(campaigns)
    assert answer.sentence == "Policy: 13 such failures in 60 tests. No attack: none."
    assert answer.warnings == ("All failures that count are bumps below 3 m/s.",)
    first, second = answer.chart.rows
    assert (first.marks[0].low, first.marks[0].high) == pytest.approx((0.131, 0.336), abs=5e-4)
    assert second.marks[0].high == pytest.approx(0.060, abs=5e-4)
    assert (first.marks[0].tied, second.marks[0].tied) == (True, False)
    campaigns[1].results[:] = [result(failed=True, counts=True), *none[1:]]  # 1 of 60 decides nothing
    assert [row.marks[0].tied for row in generate_answer(campaigns).chart.rows] == [True, True]


def test_campaigns_are_named_by_their_search_where_only_that_differs():
    where = "on roundabout, ego lattice, seed 0"
    labels = [f"maneuver {where}, search map_elites", f"maneuver {where}, search random", f"no_attack {where}"]
    assert labels_apart(labels) == (["maneuver, search map elites", "maneuver, search random", "no attack"], where)
    assert labels_apart(["a on merge, seed 0", "a on straight, seed 0"])[1] == ""


def estimate(value, low, high):
    return Thing(value=value, low=low, high=high)


def test_a_study_says_the_difference_and_whether_it_is_one():
    conditions = [
        Thing(condition=name, counts=(1, 2, 3, 4, 5), mean=estimate(3.2, 3.0, 3.4), num_clips=1)
        for name in ("recorded", "broken_slide", "generated")
    ]
    differences = [
        Thing(condition="broken_slide", mean=estimate(-2.0, -2.5, -1.5)),
        Thing(condition="generated", mean=estimate(-0.44, -0.98, 0.14)),
    ]
    part = Thing(conditions=conditions, differences=differences, num_raters=30, num_ratings=360, agreement=None)
    analysis = Thing(kept=None, everybody=part, reference="recorded", simulated=True)
    answer = study_answer(analysis, ["1", "2", "3", "4", "5"])
    assert answer.sentence == "Generated traffic is rated 0.44 below recorded; the interval includes zero."
    assert answer.badges == ("simulated raters",)


def test_a_single_point_far_out_stands_behind_a_break():
    points = [Spot(name=n, x=x, y=0.0) for n, x in (("a", 0.0), ("b", 0.7), ("echo", 7.4))]
    document = Scatter(points=points, x_label="", y_label="", alt="").document()
    assert [p["far"] for p in document["points"]] == [False, False, True]
    assert document["xTicks"][-1] < 1.1


def test_numbers_stand_beside_every_chart_and_nothing_unknown_becomes_one():
    chart = Forest(rows=[Row(label="m", marks=(Mark(value=0.5),))], label="AUC; dotted", alt="")
    assert chart.table() == (("", "split", "AUC", "95 % interval"), [("m", "", "0.500", "–")])
    assert chart.document()["rows"][0]["marks"][0]["low"] is None


def test_damaged_cells_do_not_take_the_answer_away(tmp_path):
    invented_store(tmp_path / "R", 600)
    results = Results.open(tmp_path / "R")
    frame = results.frame()
    for path in (tmp_path / "R").rglob("cells/**/*.json"):
        path.write_bytes(b"{}")
    answer = gap_answer(results.store, frame, ["synthetic"])
    assert answer.chart.rows and "0 cases" in answer.foot


def test_without_random_splits_there_is_no_empty_chart(tmp_path):
    invented_store(tmp_path / "R", 60)
    results = Results.open(tmp_path / "R")
    places = ["model", "dataset", "metric", "t0", "n_input"]
    frame = results.frame().with_columns(pl.lit("critical").alias("split")).unique(places, maintain_order=True)
    answer = gap_answer(results.store, frame, [])
    assert answer.chart is None and answer.sentence.startswith("No model has an AUC here.")


def test_the_answer_warns_of_a_saturated_test_and_names_who_saturates_it():
    def scores(*values: float) -> Scores:
        return Scores(repetition=tuple(range(len(values))), value=np.array(values), critical=math.nan,
                      num_samples=40, num_critical=0)  # fmt: skip

    open_ = {"LR_1D": scores(0.9, 0.91), "CV": scores(0.6, 0.7)}
    assert list(_warnings(open_, (20, 20), (20, 20), ())) == []
    shut = {"LR_1D": scores(0.99, 1.0), "T++": scores(0.98, 0.99), "CV": scores(0.6, 0.7)}
    (said,) = _warnings(shut, (20, 20), (20, 20), ())
    assert said.startswith("Saturated: LR_1D and T++ reach 0.98.")
