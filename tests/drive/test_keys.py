"""What names a drive, and what is refused because it could not be told apart or is not what was named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import giveway as gw
from giveway.cli.main import run as command
from giveway.core.errors import UsageError
from giveway.core.scene import Scene
from giveway.drive import experiment
from giveway.drive.bundled import bundled_set
from giveway.drive.driving import Drive, drive_cases
from giveway.drive.experiment import DRIVE
from giveway.drive.rows import rows_of
from giveway.drive.run import drive_all
from giveway.drive.scenes import GivenScenes, RecordedScenes
from giveway.drive.spec import DriveSpec, NamedPredictor, PlannedDrives, planned
from giveway.experiments import Cell, SerialExecutor, Store, compute
from giveway.experiments.specs import values_of
from giveway.planning import make_planner
from giveway.predictors import make_predictor
from giveway.predictors.protocol import PredictorInfo
from giveway.sim.case_files import read_cases
from giveway.sim.case_sets import CaseSet
from giveway.testing.drive_scenes import crossing_case, crossing_scene

SCENE = crossing_scene()
INFO = PredictorInfo(name="tuned", title="tuned")


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A predictor with a parameter."""

    info: PredictorInfo = INFO
    gain: float = 1.0

    def predict(self, inputs: Any, rng: Any) -> Any:
        return make_predictor("constant_velocity").predict(inputs, rng)


def plan_of(*predictors: Any, cases: Any = None, scene: Scene = SCENE, **spec: Any) -> PlannedDrives:
    planner = make_planner("idm")
    given = predictors or (Tuned(),)
    return PlannedDrives(
        spec=DriveSpec(predictors=given, planner=planner, **spec),
        predictors=tuple(NamedPredictor(model=one) for one in given),
        planner=planner,
        cases=cases or [crossing_case()],
        source=GivenScenes({"crossing": scene}),
    )


def cells_of(plan: PlannedDrives, tmp_path: Path) -> list[Cell]:
    with experiment.in_this_process(plan):
        return list(DRIVE.cells(plan.spec, DRIVE.resolve(plan.spec, {}, Store(tmp_path / "K", create=True).artifacts)))


def keys_of(plan: PlannedDrives, tmp_path: Path) -> set[str]:
    return {cell.key for cell in cells_of(plan, tmp_path)}


def test_version_and_parameters_of_a_predictor_are_part_of_the_key(tmp_path: Path) -> None:
    plain = keys_of(plan_of(), tmp_path)
    assert keys_of(plan_of(Tuned()), tmp_path) == plain
    newer = Tuned(info=PredictorInfo(name="tuned", title="tuned", version=2))
    for other in (Tuned(gain=2.0), newer):
        assert len(keys_of(plan_of(other), tmp_path) & plain) == 1, "only the recorded drive is the same"


def test_two_predictors_of_one_name_in_one_run_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two predictors with one name") as refused:
        gw.run_drive(out=tmp_path / "R", predictors=[Tuned(), Tuned(gain=2.0)], max_cases=1)
    assert "give them different names" in str(refused.value)


def test_two_cases_with_one_id_are_refused() -> None:
    cases = bundled_set()[0]
    same = replace(cases[1], id=cases[0].id)
    with pytest.raises(UsageError, match="two cases with one id"):
        planned(DriveSpec(predictors=("echo",), cases=CaseSet(cases=(cases[0], same))))


def test_maps_of_one_site_name_in_two_datasets_are_kept_apart() -> None:
    class Both:
        """The same site in two datasets, with a map in one of them only."""

        def scene_of(self, case: Any) -> Scene:
            return SCENE if case.dataset == "testing" else replace(SCENE, road=None)

        def digest_of(self, case: Any) -> str:
            return ""

    first = crossing_case()
    second = replace(first, id="b", dataset="elsewhere")
    together = list(drive_cases([first, second], Both(), predictor=make_predictor("echo")))
    (alone,) = drive_cases([second], Both(), predictor=make_predictor("echo"))
    assert SCENE.road is not None
    assert first.dataset == "testing"
    logs = [drive.log for drive in (*together, alone) if isinstance(drive, Drive)]
    has_map = [bool(np.isfinite(log.outside_m).any()) for log in logs]
    assert has_map == [True, False, False]


def test_the_map_is_part_of_the_key(tmp_path: Path) -> None:
    road = SCENE.road
    assert road is not None
    lane_id, lane = next(iter(road.lanes.items()))
    moved = replace(road, lanes={**road.lanes, lane_id: replace(lane, center=lane.center + 0.5)})
    plain = keys_of(plan_of(), tmp_path)
    assert keys_of(plan_of(scene=crossing_scene()), tmp_path) == plain
    for other in (replace(SCENE, road=moved), replace(SCENE, road=None)):
        assert not keys_of(plan_of(scene=other), tmp_path) & plain


def test_recording_and_map_files_are_part_of_the_key_of_challenge_cases(altered_cases: Any) -> None:
    root, folder = altered_cases
    case = read_cases(folder)[0]
    assert case.tracks_sha256 == ""
    before = RecordedScenes(root).digest_of(case)
    assert RecordedScenes(root).digest_of(case) == before
    (road,) = sorted(root.rglob(f"{case.site}*.osm"))[:1]
    content = road.read_bytes()
    road.write_bytes(content + b"\n<!-- another -->\n")
    try:
        assert RecordedScenes(root).digest_of(case) != before
    finally:
        road.write_bytes(content)
    assert RecordedScenes(root).digest_of(case) == before


@pytest.fixture
def named(tmp_path: Path) -> tuple[Cell, dict[str, Any]]:
    spec = DriveSpec(predictors=("echo",), max_cases=1, planner="idm")
    inputs = DRIVE.resolve(spec, {}, Store(tmp_path / "K", create=True).artifacts)
    return next(iter(DRIVE.cells(spec, inputs))), dict(inputs.machine)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"versions": {"predictor": "7"}}, "versions of predictors or planners"),
        ({"versions": {"planner": "7"}}, "versions of predictors or planners"),
        ({"versions": {"a metric of a plug-in": 1}}, "other metrics"),
        ({"params": {"planner_parameters": "0" * 12}}, "predictors or planners"),
        ({"settings": {"predictor": "0" * 12}}, "versions of predictors or planners"),
        ({"data": "0" * 64}, "recordings and maps"),
        ({}, ""),
    ],
)
def test_a_worker_that_has_something_else_than_the_cell_names_says_so(
    named: tuple[Cell, dict[str, Any]], changes: dict[str, Any], says: str, tmp_path: Path
) -> None:
    cell, machine = named
    changed = replace(cell, **{n: {**getattr(cell, n), **v} if isinstance(v, dict) else v for n, v in changes.items()})
    summary = compute([changed], experiment="drive", store=tmp_path / "R", engine=SerialExecutor(), machine=machine)
    if not says:
        assert summary.ok
        return
    (failure,) = summary.failures
    assert says in failure.reason
    assert "DataError" in failure.reason


def test_a_worker_with_another_checkpoint_says_so(
    named: tuple[Cell, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cell, machine = named
    other = NamedPredictor(model=make_predictor("echo"), text="echo", variant="5a17")
    monkeypatch.setattr(experiment, "_made", lambda text, checkpoint: other)
    summary = compute([cell], experiment="drive", store=tmp_path / "R", engine=SerialExecutor(), machine=machine)
    assert "other predictors or planners" in summary.failures[0].reason


def test_a_specification_keeps_its_objects() -> None:
    spec = DriveSpec(predictors=(Tuned(gain=3.0),), threads=2, max_hours=1.0)
    values = values_of(spec)
    assert values["predictors"] == (Tuned(gain=3.0),)
    assert (values["threads"], values["max_hours"]) == (2, 1.0)


def test_threads_and_hours_do_not_make_another_plan(tmp_path: Path) -> None:
    for options in ({}, {"threads": 2}, {"max_hours": 1.0}):
        drive_all(plan_of(**options), tmp_path / "R")
    assert len(Store(tmp_path / "R").plans()) == 1


def test_a_cell_that_is_asked_for_again_counts_over_one_that_was_asked_for_in_between(tmp_path: Path) -> None:
    changed = replace(crossing_case(), desired_speed_mps=3.0)
    drive_all(plan_of(), tmp_path / "R")
    (first, _) = rows_of(Store(tmp_path / "R"))
    drive_all(plan_of(cases=[changed], metric="challenge_coded"), tmp_path / "R")
    (between, _) = rows_of(Store(tmp_path / "R"))
    drive_all(plan_of(metric="challenge_documented"), tmp_path / "R")
    (last, _) = rows_of(Store(tmp_path / "R"))
    assert first.keys != between.keys
    assert last.keys == first.keys


@pytest.mark.parametrize("call", [gw.find_failures, gw.train_traffic])
def test_an_object_store_is_refused_where_nothing_can_write_to_one(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="only gaps run and drive run write to an object store"):
        call(out="s3://bucket/R")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", ["generate run", "generate train", "drive serve --once"])
def test_a_command_refuses_an_object_store(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        command([*words.split(), "--out", "s3://bucket/R"])
    assert ended.value.code == 2
    assert "only gaps run and drive run write to an object store" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("options", "threads"), [("--workers 3", 3), ("--workers 3 --time-limit 9", 1)])
def test_workers_are_threads_or_processes_and_never_both(
    options: str, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, Any]] = []

    def watch(plan: PlannedDrives, out: Any, engine: Any, progress: Any, **_: Any) -> None:
        seen.append((plan.spec.threads, engine))
        raise UsageError("seen")

    monkeypatch.setattr("giveway.drive.run.drive_all", watch)
    with pytest.raises(SystemExit):
        command(["drive", "run", "-p", "echo", *options.split(), "--out", str(tmp_path / "R")])
    ((found, engine),) = seen
    assert found == threads
    assert (engine is None) == (threads > 1)
    assert engine is None or engine.num_workers == 3


def test_cases_are_driven_again_on_request_only(tmp_path: Path) -> None:
    counts = [
        gw.run_drive(out=tmp_path / "R", predictors=["echo"], max_cases=1, rerun=rerun).runs[-1]["counts"]
        for rerun in ("failed", "failed", "all")
    ]
    assert [(c["done"], c["skipped"]) for c in counts] == [(2, 0), (0, 2), (2, 0)]
