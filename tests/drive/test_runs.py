"""What a run says when some of its cases fail."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from giveway.cli.main import run as command
from giveway.core.errors import DataError, FileFormatError
from giveway.drive.results import as_json
from giveway.drive.runs import run_predictor, summary_document
from giveway.drive.scenes import GivenScenes
from giveway.drive.section import leaderboard
from giveway.drive.stored import stored_runs
from giveway.experiments import SerialExecutor
from giveway.planning import make_planner
from giveway.predictors import make_predictor
from giveway.predictors.protocol import PredictorInfo
from giveway.testing.drive_scenes import crossing_case, crossing_scene

SOURCE = GivenScenes({"crossing": crossing_scene()})
CASES = [crossing_case(case_id=name, seconds=3.0 + i) for i, name in enumerate("abcd")]


class Fragile:
    """Constant velocity that raises in some cases."""

    def __init__(self, *bad: str, name: str = "fragile") -> None:
        self.info = PredictorInfo(name=name, title=name)
        self.bad = set(bad)

    def predict(self, inputs: Any, rng: Any) -> Any:
        if self.bad & set(inputs.case_ids):
            raise RuntimeError("out of memory")
        return make_predictor("constant_velocity").predict(inputs, rng)


def drive(out: Path, *bad: str, cases: Any = CASES, planner: str = "default", **options: Any) -> Any:
    return run_predictor(cases, SOURCE, predictor=Fragile(*bad), planner=make_planner(planner), out=out, **options)


def call(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as stop:
        command(["drive", *args])
    out = capsys.readouterr()
    assert stop.value.code == code, out.err
    return out.out


def test_humans_score_the_same_whichever_cases_the_predictor_failed_in(tmp_path: Path) -> None:
    whole, broken = drive(tmp_path / "whole"), drive(tmp_path / "broken", "b", "c")
    assert broken.scored.score.failed == 2
    np.testing.assert_equal(as_json(broken.human), as_json(whole.human))


def test_a_failed_case_counts_worst_in_the_difference_to_the_humans(tmp_path: Path) -> None:
    whole, broken = drive(tmp_path / "whole"), drive(tmp_path / "broken", "b", "c")
    difference = broken.scored.score.score - whole.human.score.score
    assert broken.against_humans["score"].estimate == pytest.approx(difference)
    assert broken.against_humans["score"].estimate < whole.against_humans["score"].estimate


def test_a_case_that_nobody_can_drive_is_left_out_of_the_means_of_the_humans(tmp_path: Path) -> None:
    cases = [replace(CASES[0], tracks_sha256="e" * 64), *CASES[1:]]
    broken, rest = drive(tmp_path / "broken", cases=cases), drive(tmp_path / "rest", cases=CASES[1:])
    assert (broken.human.score.cases, broken.human.score.failed) == (4, 1)
    assert broken.human.score.score == pytest.approx(rest.human.score.score)
    assert broken.against_humans["score"].estimate == pytest.approx(rest.against_humans["score"].estimate)


def test_a_run_in_which_everything_failed_has_no_score(tmp_path: Path) -> None:
    document = summary_document([drive(tmp_path, *"abcd")], make_planner("default"))
    (row,) = document["predictors"]
    assert (row["failed"], row["s_eff"], row["s_jer"], row["score"]) == (4, 0.0, None, None)
    assert document["humans"]["failed"] == 0


def test_scoring_again_counts_the_failed_cases_like_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = drive(tmp_path, "b", "c")
    row = json.loads(call(capsys, "score", str(tmp_path), "--json"))["result"]["predictors"][0]
    assert (row["cases"], row["failed"]) == (4, 2)
    assert row["score"] == pytest.approx(run.scored.score.score)
    assert "4 cases" in (line := call(capsys, "score", str(tmp_path)))
    assert "2 failed" in line


def test_scoring_part_of_a_run_leaves_the_failures_of_the_rest_alone(tmp_path: Path) -> None:
    drive(tmp_path, "b")
    (log,) = (tmp_path / "logs" / "fragile").glob("a-*")
    (run,) = stored_runs(log)
    assert [entry.case_id for entry in run.inputs] == ["a"]


def test_a_case_that_failed_and_was_driven_later_counts_once(tmp_path: Path) -> None:
    drive(tmp_path, "b", cases=[replace(case, tracks_sha256="e" * 64) for case in CASES])
    drive(tmp_path)
    (run,) = stored_runs(tmp_path)
    assert [(entry.case_id, entry.failed) for entry in run.inputs] == [(name, "") for name in "abcd"]


def test_drives_of_two_planners_seeds_or_checkpoints_are_scored_apart(tmp_path: Path) -> None:
    for options in ({}, {"planner": "idm"}, {"seed": 1}, {"variant": "5a17"}):
        drive(tmp_path, **options)
    runs = stored_runs(tmp_path)
    assert [len(run.inputs) for run in runs] == [4] * 4
    assert sorted(run.name for run in runs) == [
        "fragile (planner default, seed 0)",
        "fragile (planner default, seed 1)",
        "fragile (planner idm, seed 0)",
        "fragile (variant 5a17, planner default, seed 0)",
    ]


def test_two_logs_of_one_case_in_one_run_are_refused(tmp_path: Path) -> None:
    drive(tmp_path, cases=CASES[:1])
    drive(tmp_path, cases=[replace(CASES[0], desired_speed_mps=7.0)])
    with pytest.raises(DataError, match="two logs of one case"):
        stored_runs(tmp_path)


def test_predictors_with_one_title_are_told_apart_in_the_summary(tmp_path: Path) -> None:
    runs = [drive(tmp_path, cases=CASES[:2], variant=variant) for variant in ("5a17", "77e0", "77e0")]
    document = summary_document(runs, make_planner("default"))
    names = ["fragile 5a17", "fragile 77e0", "fragile 77e0 (2)"]
    assert [row["name"] for row in document["predictors"]] == names
    assert list(document["differences"]) == [
        f"{names[0]} - {names[1]}",
        f"{names[0]} - {names[2]}",
        f"{names[1]} - {names[2]}",
    ]


def test_a_case_that_failed_on_an_engine_is_not_driven_again_without_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "stuck.py").write_text(
        "from giveway.predictors.protocol import PredictorInfo\n"
        "calls = []\n"
        "class Stuck:\n"
        "    info = PredictorInfo(name='stuck', title='stuck')\n"
        "    def predict(self, inputs, rng):\n"
        "        calls.append(tuple(inputs.case_ids))\n"
        "        raise RuntimeError('took too long')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("giveway.cli.engine.make_engine", lambda *_args, **_kwargs: SerialExecutor())
    out = call(
        capsys,
        "run",
        "-p",
        "stuck:Stuck",
        "--limit",
        "2",
        "--max-hours",
        "9",
        "-o",
        str(tmp_path / "R"),
        "--json",
        code=1,
    )
    import stuck  # pyright: ignore[reportMissingImports]

    assert len(stuck.calls) == 2
    (row,) = json.loads(out)["result"]["predictors"]
    assert row["failed"] == 2
    assert all("took too long" in reason for reason in row["failed_cases"].values())


def test_a_table_without_a_score_shows_a_dash(tmp_path: Path) -> None:
    hardly_move = [crossing_case(case_id=name, seconds=0.1) for name in "ab"]
    run = drive(tmp_path, cases=hardly_move)
    assert run.scored.score.no_progress_expected == 2
    table = leaderboard(summary_document([run, run], make_planner("default"))).text()
    assert "fragile (2) - reference traffic (synthetic): -\n" in table
    assert "fragile - fragile (2): -\n" in table


def test_a_drive_whose_log_was_altered_is_driven_again_and_is_the_same(tmp_path: Path) -> None:
    whole = drive(tmp_path / "R", cases=CASES[:2])
    tables = sorted((tmp_path / "R" / "logs").rglob("states.parquet"))
    before = [table.read_bytes() for table in tables]
    changed = bytearray(before[0])
    changed[len(changed) // 2] ^= 1
    tables[0].write_bytes(changed)
    with pytest.raises(FileFormatError, match="not what was written"):
        stored_runs(tmp_path / "R")
    again = drive(tmp_path / "R", cases=CASES[:2])
    assert again.driven == 1
    assert [table.read_bytes() for table in tables] == before
    np.testing.assert_equal(as_json(again.scored), as_json(whole.scored))
