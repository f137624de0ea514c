from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from giveway.cli.main import run
from giveway.core.errors import EmptySelectionError, UsageError
from giveway.stats.agreement import band
from giveway.study.analysis import analyze_study
from giveway.study.export import export_study, harmless_cell, long_answers, rater_table
from giveway.study.pages import html_report
from giveway.study.participation import count_items
from giveway.study.power import simulate_power
from giveway.study.rehearsal import answer_all, enroll
from giveway.study.report import text_report
from giveway.study.workspace import Study, open_study
from support.studies import published_study, synthetic_study


def careful(rng: np.random.Generator, recorded: float = 4.2, generated: float = 3.2):
    """A rater who finds recorded traffic more realistic than generated, and broken motion unrealistic."""

    def rate(clip) -> int:
        center = 1.3 if clip.broken else recorded if clip.condition == "recorded" else generated
        return int(np.clip(round(center + rng.normal(0, 0.7)), 1, 5))

    return rate


@pytest.fixture
def answered(study: Study) -> Study:
    rng = np.random.default_rng(0)
    for _ in range(8):
        answer_all(study, enroll(study), careful(rng))
    answer_all(study, enroll(study), careful(rng), pass_checks=False)
    answer_all(study, enroll(study), careful(rng), rt_ms=100)
    answer_all(study, enroll(study), lambda clip: 3)
    enroll(study)
    return study


def test_declared_rules_exclude_and_are_counted(answered: Study) -> None:
    analysis = analyze_study(answered, draws=200, with_model=False)
    counts = {rule.rule: len(rule.raters) for rule in analysis.exclusions}
    assert counts == {
        "require_complete": 0,
        "max_failed_checks": 1,
        "min_median_rt_share": 1,
        "min_rating_variance": 1,
        "max_anchor_mean": 0,
    }
    assert (analysis.everybody.num_raters, analysis.kept.num_raters, analysis.num_excluded) == (11, 8, 3)


def test_half_answered_raters_are_excluded_when_complete_ones_are_required(answered: Study) -> None:
    rater = enroll(answered)
    answer_all(answered, rater, lambda clip: 3, limit=1)
    rules = {r.rule: r.raters for r in analyze_study(answered, draws=100, with_model=False).exclusions}
    assert rules["require_complete"] == (rater.code,)


def test_summary_equals_plain_means_of_the_export(answered: Study) -> None:
    results = analyze_study(answered, draws=200, with_model=False).everybody
    first = long_answers(answered).filter(pl.col("repeat") == 0)
    for summary in results.conditions:
        ratings = first.filter(pl.col("condition") == summary.condition)["rating"].to_numpy()
        assert summary.mean.value == pytest.approx(ratings.mean(), abs=1e-12)
        assert summary.share_realistic.value == pytest.approx((ratings >= 4).mean(), abs=1e-12)
        assert sum(summary.counts) == summary.num_ratings == ratings.size
        assert summary.mean.low <= summary.mean.value <= summary.mean.high
    assert results.num_ratings == first.height


def test_mixed_model_finds_the_difference(answered: Study) -> None:
    kept = analyze_study(answered, draws=200).kept
    effects = {d.condition: d.effect for d in kept.differences}
    assert effects["generated"].high < 0
    assert effects["broken_slide"].value < effects["generated"].value
    assert kept.model.converged


@pytest.mark.parametrize(
    ("conditions", "recorded", "reference"),
    [
        (("generated", "recorded"), None, "recorded"),
        (("generated", "recordings"), None, "generated"),
        (("recorded", "drone"), "drone", "drone"),
        (("ours", "theirs"), None, "ours"),
    ],
)
def test_conditions_are_compared_with_the_recorded_one(tmp_path: Path, conditions, recorded, reference) -> None:
    study = open_study(synthetic_study(tmp_path / "s", conditions=conditions, recorded=recorded))
    answer_all(study, enroll(study), lambda clip: 3)
    analysis = analyze_study(study, draws=100, with_model=False)
    assert analysis.reference == reference
    study.engine.dispose()


def test_nobody_knows_what_is_recorded_in_studies_from_before_the_key(study: Study) -> None:
    toml = study.folder / "study.toml"
    toml.write_text(toml.read_text().replace('recorded = "recorded"\n', "").replace('reference = "recorded"\n', ""))
    older = open_study(study.folder)
    assert older.design.recorded is None
    assert older.recorded is None
    older.engine.dispose()


def test_no_answers_is_an_error(study: Study) -> None:
    enroll(study)
    with pytest.raises(EmptySelectionError):
        analyze_study(study)


def read_rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_export_holds_every_answer_and_no_identity(answered: Study, tmp_path: Path) -> None:
    files = {path.name: path for path in export_study(answered, tmp_path / "out")}
    rows = read_rows(files["answers.csv"])
    order = "study_id rater clip condition position repeat rating rt_ms plays played_ms visible_ms ts_utc app_version"
    assert " ".join(rows[0]) == f"{order} simulated"
    assert len(rows) == 11 * 9
    wide = read_rows(files["wide.csv"])
    counts = read_rows(files["counts.csv"])
    assert len(wide) == len(counts) == 8
    for one, other in zip(wide, counts, strict=True):
        ratings = [v for k, v in one.items() if k != "clip"]
        assert [str(ratings.count(str(j))) for j in range(1, 6)] == [other[str(j)] for j in range(1, 6)]
    assert len(read_rows(files["checks.csv"])) == 11 * 2
    assert len(read_rows(files["raters.csv"])) == 12
    book = json.loads(files["codebook.json"].read_text())
    assert book["rating"]["5"] == "Very realistic"
    assert set(rows[0]) <= set(book["columns"])
    assert "token" not in "".join(path.read_text() for path in files.values())


def test_agree_reads_the_export(answered: Study, tmp_path: Path, capsys) -> None:
    export_study(answered, tmp_path)
    kappas = []
    for name in ("answers.csv", "counts.csv"):
        run_quietly(["agree", str(tmp_path / name), "--json"])
        kappas.append(json.loads(capsys.readouterr().out)["result"]["kappa_corrected"])
    live = analyze_study(answered, draws=100, with_model=False).everybody.agreement.kappa_corrected
    assert kappas == pytest.approx([live, live], abs=1e-12)


def run_quietly(arguments: list[str]) -> int:
    try:
        run(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_free_text_cannot_become_a_formula() -> None:
    assert harmless_cell("=HYPERLINK(1)") == "'=HYPERLINK(1)"
    assert harmless_cell("fine") == "fine"


def test_reports_show_both_sets_and_both_kappas(answered: Study) -> None:
    analysis = analyze_study(answered, draws=100, with_model=False)
    for text in (text_report(analysis), html_report(answered, analysis)):
        assert "After exclusions: 8 raters" in text
        assert "Without exclusions: 11 raters" in text
        assert f"{analysis.kept.agreement.kappa_corrected:.3f}" in text
        assert f"{analysis.kept.agreement.kappa_as_printed:.3f}" in text
    assert "http" not in html_report(answered, analysis).replace("http-equiv", "")


def test_kappa_has_one_interval_and_every_report_says_over_what(answered: Study) -> None:
    analysis = analyze_study(answered, draws=100, with_model=False)
    interval = analysis.kept.agreement.main_interval
    assert (len(analysis.kept.agreement.intervals), interval.over, interval.method) == (1, "both", "jackknife")
    for words in (text_report(analysis), html_report(answered, analysis)):
        assert f"{interval.low:.3f} to {interval.high:.3f}" in words
        assert "over clips and raters (two-way jackknife)" in words
        assert "bands as printed" in words
        assert "measured coverage 0.93" in words
        assert "for these raters only" not in words
    wider = analyze_study(answered, draws=100, with_model=False, over=("both", "clips", "raters"))
    assert wider.kept.agreement.main_interval == interval
    for words in (text_report(wider), html_report(answered, wider)):
        assert "over clips, for these raters only (bootstrap, 100 draws)" in words
        assert "over raters, for these clips only (bootstrap, 100 draws)" in words


def test_large_studies_have_the_two_way_bootstrap(tmp_path: Path) -> None:
    study = open_study(synthetic_study(tmp_path / "s", num_clips=20, num_anchors=0))
    rng = np.random.default_rng(0)
    for _ in range(20):
        answer_all(study, enroll(study), careful(rng))
    analysis = analyze_study(study, with_model=False)
    assert "over clips and raters (two-way bootstrap, 2000 draws)" in text_report(analysis)
    study.engine.dispose()


def test_the_printed_form_is_analyzed_with_the_printed_formula(tmp_path: Path) -> None:
    study = open_study(published_study(tmp_path / "s"))
    rng = np.random.default_rng(0)
    for _ in range(6):
        rater = enroll(study)
        assert rater.step == "rate"
        answer_all(study, rater, careful(rng))
        assert count_items(study, rater) == (36, 36)
    assert rater_table(study)["step"].to_list() == ["done"] * 6
    analysis = analyze_study(study, draws=100, with_model=False)
    agreement = analysis.everybody.agreement
    assert (agreement.profile, agreement.band) == ("printed", band(agreement.kappa_as_printed))
    assert agreement.band != band(agreement.kappa_corrected)
    assert analysis.num_excluded == 0
    for words in (text_report(analysis), html_report(study, analysis)):
        assert f"“{agreement.band}” of kappa as printed" in words
        assert f"{agreement.kappa_corrected:.3f}" in words
    study.engine.dispose()


def test_commands_end_to_end(answered: Study, tmp_path: Path, capsys) -> None:
    folder = str(answered.folder)
    assert run_quietly(["study", "analyze", folder, "--draws", "100", "--no-model", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["analysis"]["num_excluded"] == 3
    assert (answered.folder / "report.html").read_text().startswith("<!doctype html>")
    assert run_quietly(["study", "export", folder, "--out", str(tmp_path / "x")]) == 0
    assert run_quietly(["study", "payments", folder, "--json"]) == 0
    assert run_quietly(["study", "power", "--draws", "50", "--json"]) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["study", "analyze", "nowhere"],
        ["study", "serve", "nowhere"],
        ["study", "create", "--clips", "nowhere", "--out", "x"],
        ["study", "create", "--clips", ".", "--out", "x", "--template", "odd"],
        ["study", "create", "--clips", ".", "--out", "x", "--up", "down"],
    ],
)
def test_bad_input_is_a_sentence_with_exit_code_2(arguments, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_quietly(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_power_grows_with_effect_and_size_and_keeps_its_level() -> None:
    effects = np.array([0.0, 0.6, 1.2])

    def powers(raters: int, clips: int) -> list[float]:
        rng = np.random.default_rng(0)
        curve = simulate_power(num_raters=raters, clips_per_condition=clips, draws=600, effects=effects, rng=rng)
        return [point.power for point in curve.points]

    small, large = powers(10, 6), powers(30, 12)
    assert small[0] < small[1] < small[2]
    assert large[1] > small[1]
    assert 0.02 < large[0] < 0.085
    with pytest.raises(UsageError):
        simulate_power(num_raters=1, rng=np.random.default_rng(0))
