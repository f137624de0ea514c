"""Results: the same numbers as the commands print, and a sentence for everything that cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import giveway as gw
from giveway.cli.main import run
from giveway.core.errors import ConfigError, EmptySelectionError, StoreError, UnknownNameError, UsageError


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        run([str(word) for word in words])
    assert ended.value.code in (0, None)
    return capsys.readouterr().out


def test_the_gap_table_is_what_the_command_prints(gaps: gw.Results, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "gaps", "table", gaps.place, "--metric", "auc", "--t0", "constant")
    assert gaps.table(metric="auc", t0="constant").text() == out
    latex = printed(capsys, "gaps", "table", gaps.place, "--paper", "IV", "--format", "latex")
    assert gaps.table("IV").latex() == latex


def test_the_frame_has_the_numbers_of_the_json_document(gaps: gw.Results, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(printed(capsys, "gaps", "table", gaps.place, "--json"))["result"]
    for entry in document["table"]:
        if entry["split"] == "random":
            values = gaps.frame(metric="auc", model=entry["model"], split="random").sort("repetition")["value"]
            assert float(values.to_numpy().mean()) == entry["value"]


def test_the_gap_comparison_is_what_the_command_prints(gaps: gw.Results, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "gaps", "compare", gaps.place, "LR_1D", "CV", "--resamples", 50)
    assert gaps.compare("LR_1D", "CV", draws=50).text() == out


def test_samples_carry_the_parameters_of_their_cell(gaps: gw.Results) -> None:
    samples = gaps.samples(model="LR_1D", split="random", repetition=0)
    assert set(samples["model"]) == {"LR_1D"} and {"sample_id", "accepted", "p"} <= set(samples.columns)
    assert samples.height == gaps.frame(model="LR_1D", split="random", repetition=0, metric="auc")["num_samples"][0]


def test_gap_figures_are_matplotlib_figures(gaps: gw.Results, tmp_path: Path) -> None:
    gaps.figure("splits").savefig(tmp_path / "splits.png")
    gaps.figure("calibration", model="LR_1D").savefig(tmp_path / "calibration.png")
    assert (tmp_path / "splits.png").stat().st_size > 1000


def test_every_run_of_the_benchmark_is_on_record(gaps: gw.Results) -> None:
    assert gaps.kind == "gaps" and gaps.spec["datasets"] == ["lgap"] and len(gaps.runs) >= 1
    assert (gaps.status.done, gaps.status.missing) == (gaps.status.total, 0)


def test_the_drive_table_is_what_the_command_prints(drives: gw.Results, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("-p", "constant_velocity", "-p", "echo", "--limit", 3, "--out", drives.place)
    out = printed(capsys, "drive", "run", *words)
    assert out.startswith(drives.table().text())


def test_means_of_the_drive_frame_are_those_of_the_json_document(
    drives: gw.Results, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("-p", "constant_velocity", "-p", "echo", "--limit", 3, "--out", drives.place, "--json")
    for row in json.loads(printed(capsys, "drive", "run", *words))["result"]["predictors"]:
        for metric in ("gated_score", "ade_m", "at_fault_collisions"):
            values = drives.frame(predictor=row["predictor"], metric=metric).sort("case")["value"].drop_nulls()
            assert float(values.to_numpy().mean()) == row["means"][metric]


def test_a_difference_changes_its_sign_with_the_order(drives: gw.Results) -> None:
    one = drives.compare("echo", "constant_velocity", metric="challenge")
    two = drives.compare("constant_velocity", "echo", metric="challenge")
    scores = [row.split(",")[-1] for row in drives.table().csv().splitlines() if ",Score," in row]
    assert one.estimate == -two.estimate and (one.low, one.high) == (-two.high, -two.low)
    assert np.isclose(two.estimate, float(scores[0]) - float(scores[1]))
    assert drives.compare("echo", "recorded").text().startswith("echo - reference traffic (synthetic), score: ")


def test_a_log_is_the_drive_that_was_asked_for(drives: gw.Results) -> None:
    log = drives.log(case="merge-00", predictor="echo")
    assert isinstance(log, gw.DriveLog) and (log.case.id, log.meta["predictor"]) == ("merge-00", "echo")
    assert "<iframe" in log._repr_html_()
    with pytest.raises(UsageError, match="3 drives fit"):
        drives.log(case="merge-00")
    assert [case.id for case in drives.cases()] == ["merge-00", "merge-01", "merge-02"]


def test_the_measures_of_failures_are_what_the_command_prints(
    failures: gw.Results, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(capsys, "generate", "table", failures.place, "--realism")
    assert out == failures.table(realism=True).text()


def test_failures_are_cases_that_can_be_driven_again(failures: gw.Results, tmp_path: Path) -> None:
    cases = failures.cases(outcome="collision")
    assert len(cases) == failures.frame(metric="failed")["value"].sum()
    again = gw.run_drive(out=tmp_path, cases=cases, predictors=["constant_velocity"], planner="idm", max_cases=2)
    assert (again.status.done, again.status.failed) == (4, 0), "as driven, and as nobody recorded it"
    first = failures.log(outcome="collision", first=True)
    assert isinstance(first, gw.Scene) and "<iframe" in first._repr_html_()


def test_everything_shows_itself_in_a_notebook(gaps: gw.Results, drives: gw.Results, failures: gw.Results) -> None:
    for results, said in ((gaps, "synthetic"), (drives, "synthetic"), (failures, "generated")):
        shown = results._repr_html_()
        assert "Not real traffic" in shown and said in shown and "<table>" in shown and str(results.place) in shown
        assert repr(results).startswith(f"Results({results.kind}, ")
        for form in ("text", "markdown", "latex", "csv", "html"):
            assert getattr(results.table(), form)()


def test_values_describe_themselves_in_a_line(folder: Path, gaps: gw.Results) -> None:
    data = gw.open_dataset("lgap", folder / "recordings")
    scene = next(iter(data))
    samples = gw.extract_gaps("lgap", folder / "recordings", n_input_max=2)
    assert repr(scene).startswith("Scene(lgap ") and repr(scene.tracks).startswith("Tracks(2 agents, ")
    assert "<iframe" in scene._repr_html_() and "<svg" in scene.tracks._repr_html_()
    assert "accepted" in samples._repr_html_() and samples._repr_html_().count("<rect") == 24
    assert f"{samples.num_samples} samples" in repr(samples) and len(repr(scene)) < 200
    assert data.verify().ok and len(data) == len(data.recordings)


def test_a_filter_that_leaves_nothing_names_itself_and_what_there_is(gaps: gw.Results) -> None:
    with pytest.raises(EmptySelectionError, match=r"metric = auk[\s\S]*metric is one of:.*auc"):
        gaps.frame(metric="auk")
    with pytest.raises(UnknownNameError, match="did you mean 'model'"):
        gaps.frame(modell="CV")
    assert set(gaps.frame(n_input=2, model=["CV"], synthetic=True)["model"]) == {"CV"}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda r: r.table("XL"), "unknown table 'XL'"),
        (lambda r: r.table(metrik="auc"), "did you mean 'metric'"),
        (lambda r: r.table(metric="auk"), "did you mean"),
        (lambda r: r.table(t0="konstant"), "did you mean 'constant'"),
        (lambda r: r.figure("split"), "did you mean 'splits'"),
        (lambda r: r.figure("calibration"), "model must be chosen"),
        (lambda r: r.compare("CV", "CV"), "compared with itself"),
        (lambda r: r.compare("CV", "LR_2D"), "unknown model"),
        (lambda r: r.log(model="CV"), "have no logs"),
        (lambda r: r.cases(), "have no cases"),
    ],
)
def test_a_wrong_question_gets_a_sentence(gaps: gw.Results, wrong, says: str) -> None:
    with pytest.raises(gw.GivewayError) as error:
        wrong(gaps)
    assert says in str(error.value)


def test_folders_without_results_are_refused_with_a_sentence(folder: Path, tmp_path: Path, gaps: gw.Results) -> None:
    with pytest.raises(StoreError, match="no such folder"):
        gw.Results.open(tmp_path / "missing")
    with pytest.raises(StoreError, match=r"no store\.json"):
        gw.Results.open(tmp_path)
    (tmp_path / "store.json").write_text('{"format": 99, "written_by": "giveway 9"}', encoding="utf-8")
    with pytest.raises(StoreError, match="newer version"):
        gw.Results.open(tmp_path)
    (tmp_path / "store.json").write_text('{"format": 1, "written_by": "giveway 0.1.0"}', encoding="utf-8")
    with pytest.raises(StoreError, match="earlier version"):
        gw.Results.open(tmp_path)
    (tmp_path / "store.json").write_text('{"format": 2, "written_by": "giveway 0.2.0"}', encoding="utf-8")
    with pytest.raises(StoreError, match="the store is empty"):
        gw.Results.open(tmp_path)
    with pytest.raises(EmptySelectionError, match="no results of kind 'drive'"):
        gw.Results.open(gaps.place, kind="drive")


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (lambda out: gw.run_gaps("quik", out), UnknownNameError, "did you mean 'quick'"),
        (lambda out: gw.run_gaps("quick", out, sed=1), ConfigError, "did you mean 'seed'"),
        (lambda out: gw.run_gaps("quick"), UsageError, "needs a folder"),
        (lambda out: gw.run_gaps(17, out), UsageError, "a specification is"),
        (lambda out: gw.run_drive(out=out, predictors=["constant_speed"]), UnknownNameError, "constant"),
        (lambda out: gw.run_drive(out=out, predictors=[]), ConfigError, "predictors"),
        (lambda out: gw.run_drive(out=out, predictors=[3]), UsageError, "this is not a predictor"),
        (lambda out: gw.run_drive(out=out, predictors=["echo"], planner=3), UsageError, "not a planner"),
        (lambda out: gw.run_drive(out=out, predictors=["echo"], max_case=3), ConfigError, "did you mean 'max_cases'"),
        (lambda out: gw.find_failures(out, planner="idm", budgets=3), ConfigError, "did you mean 'budget'"),
        (lambda out: gw.find_failures(out, planner="idm", road="strait"), UnknownNameError, "'straight'"),
        (lambda out: gw.find_failures(out, planner=object()), UsageError, "by name"),
        (lambda out: gw.train_traffic(out, weights={"naturalnes": 1}), UnknownNameError, "did you mean"),
        (lambda out: gw.create_study(out, clips=out, titel="x"), UnknownNameError, "did you mean 'title'"),
        (lambda out: gw.open_dataset("lgapp", out), UnknownNameError, "did you mean 'lgap'"),
        (lambda out: gw.cite(out, form="word"), UsageError, "text or bibtex"),
        (lambda out: gw.report(out, out, titel="x"), UnknownNameError, "did you mean 'title'"),
    ],
)
def test_a_wrong_call_gets_a_sentence(wrong, error: type[gw.GivewayError], says: str, tmp_path: Path) -> None:
    with pytest.raises(error) as raised:
        wrong(tmp_path / "out")
    assert says in str(raised.value)


def test_an_engine_with_processes_needs_names(tmp_path: Path) -> None:
    from giveway.predictors import make_predictor

    mine = make_predictor("echo")
    with pytest.raises(UsageError, match="cannot be given a predictor as an object"):
        gw.run_drive(out=tmp_path, predictors=[mine], max_cases=1, engine=gw.LocalEngine(1))
    here = gw.run_drive(out=tmp_path / "here", predictors=[mine], max_cases=2)
    named = gw.run_drive(out=tmp_path / "named", predictors=["echo"], max_cases=2)
    assert here.frame().equals(named.frame())
