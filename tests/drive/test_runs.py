"""What a run says when some of its cases fail."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from giveway.cli.main import run as command
from giveway.core.errors import DataError
from giveway.drive.document import document_of, scored_again
from giveway.drive.rows import rows_of, rows_of_logs
from giveway.drive.run import drive_all
from giveway.drive.scenes import GivenScenes
from giveway.drive.spec import DriveSpec, NamedPredictor, PlannedDrives, driven_by
from giveway.drive.tables import leaderboard
from giveway.experiments import Store
from giveway.metrics.challenge import DEFAULT
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


def drive(
    out: Path, *bad: str, cases: Any = CASES, planner: str = "default", seed: int = 0, variant: str = ""
) -> dict[str, Any]:
    """Drive into a folder; the document of everything in it."""
    predictor, chosen = Fragile(*bad), make_planner(planner)
    plan = PlannedDrives(
        spec=DriveSpec(predictors=(predictor,), planner=chosen, seed=seed),
        predictors=(NamedPredictor(model=predictor, variant=variant),),
        planner=chosen,
        cases=cases,
        source=SOURCE,
    )
    drive_all(plan, out)
    return document_of(Store(out), partial=True)


def call(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as stop:
        command(["drive", *args])
    out = capsys.readouterr()
    assert stop.value.code == code, out.err
    return out.out


def test_humans_score_the_same_whichever_cases_the_predictor_failed_in(tmp_path: Path) -> None:
    whole, broken = drive(tmp_path / "whole"), drive(tmp_path / "broken", "b", "c")
    assert broken["predictors"][0]["failed"] == 2
    assert broken["humans"] == whole["humans"]


def test_differences_are_taken_over_the_cases_that_both_finished(tmp_path: Path) -> None:
    few, broken = drive(tmp_path / "few", cases=[CASES[0], CASES[3]]), drive(tmp_path / "broken", "b", "c")
    ours, theirs = (document["predictors"][0]["against_humans"]["score"] for document in (broken, few))
    assert ours["cases"] == theirs["cases"] == 2
    assert ours == theirs


def test_with_more_than_a_tenth_failed_there_is_no_score_unless_asked_for(tmp_path: Path) -> None:
    shown = drive(tmp_path / "R", "b")
    (row,) = document_of(Store(tmp_path / "R"))["predictors"]
    assert (row["partial"], row["score"], row["intervals"]) == (True, None, {})
    assert shown["predictors"][0]["score"] is not None
    text = leaderboard(shown).text()
    assert "fragile †" in text
    assert "3/4" in text
    assert "b failed" in text
    assert not drive(tmp_path / "whole")["predictors"][0]["partial"]


def test_a_case_that_nobody_can_drive_is_left_out_of_the_means_of_the_humans(tmp_path: Path) -> None:
    cases = [replace(CASES[0], tracks_sha256="e" * 64), *CASES[1:]]
    broken, rest = drive(tmp_path / "broken", cases=cases), drive(tmp_path / "rest", cases=CASES[1:])
    assert (broken["humans"]["cases"], broken["humans"]["failed"]) == (4, 1)
    assert broken["humans"]["score"] == pytest.approx(rest["humans"]["score"])
    estimates = [d["predictors"][0]["against_humans"]["score"]["estimate"] for d in (broken, rest)]
    assert estimates[0] == pytest.approx(estimates[1])


def test_a_run_in_which_everything_failed_has_no_score(tmp_path: Path) -> None:
    document = drive(tmp_path / "R", *"abcd")
    (row,) = document["predictors"]
    assert (row["failed"], row["s_eff"], row["s_jer"], row["score"]) == (4, 0.0, None, None)
    assert document["humans"]["failed"] == 0
    assert all("out of memory" in reason for reason in row["failed_cases"].values())


def test_scoring_again_counts_the_failed_cases_like_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = drive(tmp_path / "R", "b", "c")
    (row,) = json.loads(call(capsys, "score", str(tmp_path / "R"), "--partial", "--json"))["result"]["predictors"]
    assert (row["cases"], row["failed"]) == (4, 2)
    assert row["score"] == pytest.approx(run["predictors"][0]["score"])
    assert "4 cases" in (line := call(capsys, "score", str(tmp_path / "R")))
    assert "2 failed" in line


def test_scoring_again_gives_the_numbers_of_the_run(tmp_path: Path) -> None:
    (row,) = drive(tmp_path / "R")["predictors"]
    (again,) = scored_again(tmp_path / "R", DEFAULT)
    assert {name: again[name] for name in ("s_eff", "s_jer", "s_vel", "s_cou", "score", "intervals")} == {
        name: row[name] if name != "intervals" else {k: list(v) for k, v in row[name].items()}
        for name in ("s_eff", "s_jer", "s_vel", "s_cou", "score", "intervals")
    }


def test_a_single_log_can_be_scored(tmp_path: Path) -> None:
    drive(tmp_path / "R", "b")
    store = Store(tmp_path / "R")
    row = next(row for row in rows_of(store) if row.title == "fragile")
    (again,) = rows_of_logs(store.attachments(row.keys["a"]))
    assert list(again.terms) == ["a"]
    assert again.terms["a"] == row.terms["a"]


def test_a_case_that_failed_and_was_driven_later_counts_once(tmp_path: Path) -> None:
    drive(tmp_path / "R", "b")
    (row,) = drive(tmp_path / "R")["predictors"]
    assert [(case["case"], case["failed"]) for case in row["per_case"]] == [(name, "") for name in "abcd"]


def test_drives_of_two_planners_seeds_or_checkpoints_are_scored_apart(tmp_path: Path) -> None:
    for options in ({}, {"planner": "idm"}, {"seed": 1}, {"variant": "5a17"}):
        document = drive(tmp_path / "R", **options)
    assert [row["cases"] for row in document["predictors"]] == [4] * 4
    assert sorted(row["name"] for row in document["predictors"]) == [
        "fragile (planner idm, seed 0)",
        "fragile (planner lattice, seed 0)",
        "fragile (planner lattice, seed 1)",
        "fragile (variant 5a17, planner lattice, seed 0)",
    ]
    assert len(document["differences"]) == 4, "only one predictor or one planner"


def test_of_two_cases_with_one_name_the_one_that_was_asked_for_last_counts(tmp_path: Path) -> None:
    drive(tmp_path / "R", cases=CASES[:2])
    changed = [replace(CASES[0], desired_speed_mps=7.0), CASES[1]]
    (row,), (expected,) = (drive(tmp_path / name, cases=changed)["predictors"] for name in ("R", "S"))
    assert row["per_case"] == expected["per_case"]


def test_two_loose_logs_of_one_case_in_one_run_are_refused(tmp_path: Path) -> None:
    for number, case in enumerate((CASES[0], replace(CASES[0], desired_speed_mps=7.0))):
        drive(tmp_path / f"R{number}", cases=[case])
    with pytest.raises(DataError, match="two logs of one case"):
        rows_of_logs(tmp_path)


def test_a_table_without_a_score_shows_a_dash(tmp_path: Path) -> None:
    hardly_move = [crossing_case(case_id=name, seconds=0.1) for name in "ab"]
    drive(tmp_path / "R", cases=hardly_move)
    document = drive(tmp_path / "R", cases=hardly_move, variant="5a17")
    assert [row["no_progress_expected"] for row in document["predictors"]] == [2, 2]
    names = [row["name"] for row in document["predictors"]]
    table = leaderboard(document).text()
    assert f"{names[1]} - reference traffic (synthetic): -\n" in table
    assert f"{names[0]} - {names[1]}: -\n" in table


def test_drives_in_other_traffic_are_a_row_of_their_own(tmp_path: Path) -> None:
    predictor, planner = Fragile(), make_planner("idm")
    for options in ({}, {"traffic": "paper"}, {"driver": "constant_speed"}):
        spec = DriveSpec(predictors=(predictor,), planner=planner, **options)
        cases = [driven_by(case, spec.driver) if spec.driver else case for case in CASES]
        named = (NamedPredictor(model=predictor, variant=""),)
        drive_all(PlannedDrives(spec=spec, predictors=named, planner=planner, cases=cases, source=SOURCE), tmp_path)
    document = document_of(Store(tmp_path))
    assert [row["name"] for row in document["predictors"]] == [
        "fragile (traffic clean, driver of the cases)",
        "fragile (traffic paper, driver of the cases)",
        "fragile (traffic clean, driver constant_speed)",
    ]
    assert [row["cases"] for row in document["predictors"]] == [4] * 3
    assert len(document["differences"]) == 3, "each in what differs"
