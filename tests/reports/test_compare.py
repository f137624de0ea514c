from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from giveway.core.errors import EmptySelectionError, UnknownNameError
from giveway.experiments import Cell, CellResult, Measurement, Store
from giveway.gaps.compare import compare_models, render_comparison
from giveway.stats.mann_whitney import mann_whitney

NUM_SPLITS = 6


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two models on six overlapping test parts of 60 samples; "good" knows more than "poor"."""
    return make_store(tmp_path / "R")


def make_store(
    root: Path, *, group: Callable[[int], str] | None = lambda i: f"g{i // 3}", dataset: str = "lgap", version: int = 1
) -> Store:
    """The results of :func:`store`, added to what is there; without groups if there is no rule for them."""
    rng = np.random.default_rng(0)
    accepted = rng.uniform(size=60) < 0.4
    error = rng.uniform(1, 2, 60)
    store = Store(root, create=True)
    for model, skill, extra in (("good", 0.6, 0.0), ("poor", 0.1, 0.3)):
        p = np.clip(skill * accepted + rng.uniform(0, 1 - skill, 60), 0, 1)
        for repetition in range(NUM_SPLITS + 1):
            critical = repetition == NUM_SPLITS
            part = np.sort(np.random.default_rng(repetition).permutation(60)[:30])
            ade = error[part] + extra + 0.05 * rng.normal(size=30)
            params = {
                "profile": "clean",
                "dataset": dataset,
                "t0": "constant",
                "n_input": 2,
                "split": "critical" if critical else "random",
                "repetition": 0 if critical else repetition,
                "model": model,
            }
            samples = pl.DataFrame(
                {
                    "sample_id": [f"s{i:02d}" for i in part],
                    **({} if group is None else {"group": [group(i) for i in part]}),
                    "accepted": accepted[part],
                    "p": p[part],
                    "ade": ade,
                }
            )
            auc = mann_whitney(accepted[part], p[part])
            measurements = (
                Measurement(metric="auc", value=auc, num_samples=30, metric_version=version),
                Measurement(metric="ade", value=float(ade.mean()), num_samples=30, metric_version=version),
            )
            cell = Cell(kind="gaps", params=params, versions={"auc": version, "ade": version})
            store.write(cell, CellResult(measurements=measurements, samples=samples))
    return store


@pytest.mark.parametrize("metric", ["auc", "ade"])
def test_the_better_model_wins_by_every_test(store: Store, metric: str) -> None:
    report = compare_models(store, "good", "poor", metric=metric, t0="constant", num_resamples=200)
    (c,) = report.comparisons
    assert c.t_test is not None and c.t_test.significant
    assert c.corrected is not None and c.corrected.p_value > c.t_test.p_value
    assert c.holm_p == pytest.approx(c.corrected.p_value)
    assert c.a_measure > 0.9
    assert c.bootstrap is not None and c.bootstrap.low > 0
    assert c.bootstrap.num_units == 20
    assert c.critical is not None and math.isfinite(c.critical.statistic)


def test_the_bootstrap_estimate_is_the_mean_difference_of_the_splits(store: Store) -> None:
    (c,) = compare_models(store, "good", "poor", metric="auc", t0="constant", num_resamples=20).comparisons
    assert c.bootstrap is not None
    assert c.bootstrap.estimate == pytest.approx(c.first_mean - c.second_mean)


def test_exchanging_the_models_changes_the_sign(store: Store) -> None:
    (there,) = compare_models(store, "good", "poor", metric="ade", t0="constant", num_resamples=0).comparisons
    (back,) = compare_models(store, "poor", "good", metric="ade", t0="constant", num_resamples=0).comparisons
    assert there.t_test is not None and back.t_test is not None
    assert there.t_test.mean == pytest.approx(-back.t_test.mean)
    assert there.a_measure == pytest.approx(1 - back.a_measure)
    assert there.bootstrap is None


def test_the_same_seed_gives_the_same_report_and_text(store: Store) -> None:
    texts = {
        render_comparison(compare_models(store, "good", "poor", metric="auc", t0="constant", num_resamples=50, seed=3))
        for _ in range(2)
    }
    assert len(texts) == 1
    assert "L-GAP" in texts.pop()


def test_unknown_models_and_empty_comparisons_are_clear_errors(store: Store) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'good'"):
        compare_models(store, "goood", "poor", metric="auc", t0="constant")
    with pytest.raises(EmptySelectionError):
        compare_models(store, "good", "poor", metric="auc", t0="critical")


def compared(store: Store, metric: str = "ade"):
    return compare_models(store, "good", "poor", metric=metric, t0="constant", num_resamples=200)


def test_what_was_drawn_is_told(store: Store) -> None:
    report = compared(store)
    assert report.comparisons[0].resampling == "20 groups"
    assert render_comparison(report).splitlines()[2].endswith("] 20 groups")


def test_a_dataset_with_a_single_group_has_no_interval_and_others_keep_theirs(tmp_path: Path) -> None:
    make_store(tmp_path / "R", dataset="leeds")
    report = compared(make_store(tmp_path / "R", group=lambda i: "everybody"))
    found = {c.dataset: c for c in report.comparisons}
    assert found["lgap"].bootstrap is None
    assert found["lgap"].t_test is not None
    assert found["leeds"].bootstrap is not None
    assert "– (a single group)" in render_comparison(report)


def test_samples_are_drawn_one_by_one_where_a_store_keeps_no_groups_and_this_is_said(tmp_path: Path) -> None:
    report = compared(make_store(tmp_path / "R", group=None))
    (c,) = report.comparisons
    assert c.bootstrap is not None and c.bootstrap.num_units == 60
    assert c.resampling == "60 samples, groups unknown"
    assert "compute them again in a new folder" in render_comparison(report)


def test_samples_that_are_each_a_group_of_their_own_need_no_warning(tmp_path: Path) -> None:
    report = compared(make_store(tmp_path / "R", group=lambda i: f"driver {i}"))
    assert report.comparisons[0].resampling == "60 samples"
    assert "new folder" not in render_comparison(report)


def test_groups_of_some_cells_hold_for_the_same_samples_in_others(tmp_path: Path) -> None:
    old, new = make_store(tmp_path / "old", group=None), make_store(tmp_path / "new")
    mixed = Store(tmp_path / "mixed", create=True)
    for key in old.stamps():
        cell = Cell.from_json(old.read_record(key)["cell"])
        source = old if cell.params["model"] == "poor" else new
        mixed.write(cell, source.read(key, with_samples=True))
    assert compared(mixed).comparisons[0].resampling == "20 groups"


def test_results_of_an_older_metric_version_take_no_part(tmp_path: Path) -> None:
    plain = compared(make_store(tmp_path / "plain"))
    root = tmp_path / "R"
    make_store(root, version=2)
    shifted = make_store(root, version=1)
    spoil(shifted, version=1)
    report = compared(shifted)
    assert report.metric_version == 2
    assert report.comparisons == plain.comparisons
    assert "version 2" in render_comparison(report)


def spoil(store: Store, *, version: int) -> None:
    """Make all per-sample errors of one metric version nonsense."""
    for key in store.stamps():
        record = store.read_record(key)
        if record["cell"]["versions"]["ade"] == version:
            result = store.read(key, with_samples=True)
            assert result.samples is not None
            store.write(
                Cell.from_json(record["cell"]), replace(result, samples=result.samples.with_columns(ade=pl.lit(1e6)))
            )


def test_scores_of_another_definition_than_the_installed_one_get_no_interval(tmp_path: Path) -> None:
    report = compared(make_store(tmp_path / "R", version=7), metric="auc")
    (c,) = report.comparisons
    assert c.bootstrap is None
    assert c.resampling == "version 7 of the metric is not installed"
