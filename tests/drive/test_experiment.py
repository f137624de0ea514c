"""Drives as cells of the engine: the same bytes wherever and in whatever batches they are driven."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import giveway as gw
from giveway.cli.main import run as command
from giveway.core.errors import FileFormatError, StoreError, UsageError
from giveway.core.log import Grade
from giveway.drive.experiment import DRIVE, RECORDED
from giveway.drive.roads import road_of
from giveway.drive.run import drive_all
from giveway.drive.spec import DriveSpec, planned
from giveway.experiments import Cell, ProcessExecutor, SerialExecutor, Store, compute, run
from giveway.experiments.engine import Executor
from giveway.experiments.index import verify
from giveway.metrics import metrics_of
from giveway.metrics.background import contacts_of
from giveway.metrics.safety import ego_contacts
from giveway.predictors import make_predictor
from giveway.predictors.protocol import PredictorInfo
from giveway.sim.log_files import read_log
from giveway.study.sources import find_sources

SPEC = DriveSpec(predictors=("constant_velocity", "echo"), max_cases=4, threads=2)


def content(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for folder in ("cells", "attachments", "shared")
        for path in sorted((root / folder).rglob("*"))
        if path.is_file()
    }


def cells_of(spec: DriveSpec, store: Store) -> tuple[list[Cell], dict[str, Any]]:
    inputs = DRIVE.resolve(spec, {}, store.artifacts)
    return list(DRIVE.cells(spec, inputs)), dict(inputs.machine)


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("driven") / "R"
    assert drive_all(planned(SPEC), out).ok
    return out


def test_a_run_has_a_cell_per_case_and_predictor_and_one_as_recorded(driven: Path) -> None:
    frame = gw.Results.open(driven).frame(metric="challenge")
    assert frame.height == 4 * 3
    assert set(frame["predictor"]) == {"constant_velocity", "echo", RECORDED}
    cells, _ = cells_of(SPEC, Store(driven))
    assert len({cell.group for cell in cells}) == 3, "one group per predictor, planner and seed"


def test_the_log_of_a_cell_is_read_from_its_attachments(driven: Path) -> None:
    store = Store(driven)
    for cell in cells_of(SPEC, store)[0]:
        log = read_log(store.attachments(cell.key))
        assert (log.case.id, log.meta["predictor"]) == (cell.params["case"], cell.params["predictor"])
        assert store.read(cell.key).info["digest"] == log.digest
    assert not (driven / "logs").exists()
    assert not (driven / "drive.json").exists()


def test_a_store_keeps_each_map_once_and_logs_find_it_without_recordings(driven: Path, tmp_path: Path) -> None:
    store = Store(driven)
    cells = cells_of(SPEC, store)[0]
    sites = {cell.params["site"] for cell in cells}
    assert len(list((driven / "shared").rglob("*.json"))) == len(sites)
    for cell in cells:
        log = read_log(store.attachments(cell.key))
        assert log.road is not None and log.road.lanes.keys() == road_of(log.case, None).lanes.keys()
    scene = next(scene for source in find_sources(driven) for read in source.readers for scene in read())
    assert scene.road is not None, "clips of a study have the map as well"
    assert gw.Results.open(driven).log(first=True).road is not None
    alone = tmp_path / "alone"
    shutil.copytree(store.attachments(cells[0].key), alone)
    assert read_log(alone).road is None
    assert verify(store) == ()
    copy = tmp_path / "copy"
    shutil.copytree(driven, copy)
    altered = next((copy / "shared").rglob("*.json"))
    altered.write_bytes(altered.read_bytes()[:-1] + b" ")
    named = [cell for cell in cells if altered.stem in Store(copy).read_record(cell.key)["shared"]]
    with pytest.raises(FileFormatError, match="is not what was written"):
        read_log(Store(copy).attachments(named[0].key))
    assert {damaged.key for damaged in verify(Store(copy))} == {cell.key for cell in named}


def test_cells_one_by_one_are_the_bytes_of_a_batch(driven: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "R", create=True)
    cells, machine = cells_of(SPEC, store)
    for cell in cells:
        compute([cell], experiment="drive", store=store, engine=SerialExecutor(), machine={**machine, "threads": 1})
    assert content(tmp_path / "R") == content(driven)
    assert len(content(driven)) == 12 + 8 * 3 + 4 * 2 + 1, "records, logs of predictors, recorded logs, one map"


def test_two_processes_write_the_bytes_of_one(driven: Path, tmp_path: Path) -> None:
    assert drive_all(planned(SPEC), tmp_path / "R", ProcessExecutor(num_workers=2)).ok
    assert content(tmp_path / "R") == content(driven)


@pytest.mark.slow
def test_a_dask_cluster_writes_the_bytes_of_one_process(driven: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    assert drive_all(planned(SPEC), tmp_path / "R", gw.DaskEngine(workers=2)).ok
    assert content(tmp_path / "R") == content(driven)


@pytest.mark.parametrize("engine", [SerialExecutor, lambda: ProcessExecutor(num_workers=1)])
def test_the_engine_drives_from_the_specification_alone(tmp_path: Path, engine: Any) -> None:
    spec = DriveSpec(predictors=("echo",), max_cases=1)
    chosen: Executor = engine()
    summary = run(DRIVE, spec, tmp_path / "R", engine=chosen)
    assert (summary.done, summary.failed) == (2, 0)


def test_every_run_leaves_its_provenance(driven: Path) -> None:
    (start, *_) = Store(driven).provenance()
    assert start["experiment"] == "drive"
    assert start["spec"]["predictors"] == ["constant_velocity", "echo"]
    assert start["code"]["giveway"]
    assert len(start["inputs"]["cases"]) == 64


def test_a_second_run_into_the_folder_adds_its_predictor_to_table_and_comparison(tmp_path: Path) -> None:
    first = gw.run_drive(out=tmp_path / "R", predictors=["echo"], max_cases=3)
    row = next(line for line in first.table().text().splitlines() if line.startswith("echo "))
    second = gw.run_drive(out=tmp_path / "R", predictors=["oracle"], max_cases=3)
    text = second.table().text()
    assert row.split() in [line.split() for line in text.splitlines()], "the row of the first run is unchanged"
    assert any(line.startswith("oracle ") for line in text.splitlines())
    assert second.compare("oracle", "echo", metric="challenge").text()
    assert len(second.runs) == 2
    assert second.status.done == 3 * 3, "the recorded drives are shared"


def test_runs_over_other_cases_are_compared_over_the_shared_ones(tmp_path: Path) -> None:
    gw.run_drive(out=tmp_path / "R", predictors=["echo"], max_cases=4)
    results = gw.run_drive(out=tmp_path / "R", predictors=["oracle"], max_cases=2)
    same = gw.run_drive(out=tmp_path / "S", predictors=["echo", "oracle"], max_cases=2)
    assert "2/2" in results.table().text()
    ours, theirs = (r.compare("oracle", "echo", metric="s_jer") for r in (results, same))
    assert ours == theirs


def test_a_predictor_given_as_object_drives_in_this_process_and_is_refused_elsewhere(tmp_path: Path) -> None:
    class Mine:
        info = PredictorInfo(name="mine", title="my own")

        def predict(self, inputs: Any, rng: Any) -> Any:
            return make_predictor("echo").predict(inputs, rng)

    results = gw.run_drive(out=tmp_path / "R", predictors=[Mine(), "echo"], max_cases=2)
    mine, echo = (results.frame(metric="s_jer", predictor=name).sort("case") for name in ("mine", "echo"))
    assert mine["value"].to_list() == echo["value"].to_list()
    assert "my own" in results.table().text()
    with pytest.raises(UsageError, match="import path"):
        gw.run_drive(out=tmp_path / "R", predictors=[Mine()], max_cases=2, engine=gw.LocalEngine(1))


def test_a_run_that_lost_a_log_drives_only_that_case(tmp_path: Path) -> None:
    spec = DriveSpec(predictors=("echo",), max_cases=2)
    drive_all(planned(spec), tmp_path / "R")
    before = content(tmp_path / "R")
    lost = sorted((tmp_path / "R" / "attachments").rglob("log.json"))[0]
    lost.unlink()
    summary = drive_all(planned(spec), tmp_path / "R")
    assert (summary.done, summary.skipped) == (1, 3)
    assert content(tmp_path / "R") == before


def test_an_altered_log_is_refused_and_driven_again(tmp_path: Path) -> None:
    results = gw.run_drive(out=tmp_path / "R", predictors=["echo"], max_cases=1)
    before = content(tmp_path / "R")
    (key,) = results.frame(metric="s_jer", predictor="echo")["key"]
    table = results.store.attachment_folder(key) / "states.parquet"
    changed = bytearray(table.read_bytes())
    changed[len(changed) // 2] ^= 1
    table.write_bytes(changed)
    with pytest.raises(StoreError, match="damaged"):
        results.log(predictor="echo")
    gw.run_drive(out=tmp_path / "R", predictors=["echo"], max_cases=1)
    assert content(tmp_path / "R") == before


def test_a_folder_of_release_0_1_is_refused_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "R").mkdir()
    (tmp_path / "R" / "store.json").write_text(json.dumps({"format": 1, "written_by": "giveway 0.1.0"}))
    (tmp_path / "R" / "drive.json").write_text("{}")
    with pytest.raises(SystemExit) as ended:
        command(["drive", "run", "-p", "echo", "--max-cases", "1", "--out", str(tmp_path / "R")])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert "earlier version" in error
    assert "new folder" in error


def test_the_key_of_a_drive_changes_with_what_its_log_depends_on_and_with_nothing_else(tmp_path: Path) -> None:
    store = Store(tmp_path / "R", create=True)

    def keys(**changes: Any) -> set[str]:
        spec = DriveSpec(**{"predictors": ("echo",), "max_cases": 1, **changes})
        cells, _ = cells_of(spec, store)
        return {cell.key for cell in cells if cell.params["predictor"] != RECORDED}

    plain = keys()
    for same in ({"threads": 4}, {"max_hours": 1.0}, {"metric": "challenge_coded"}):
        assert keys(**same) == plain
    for other in ({"seed": 1}, {"planner": "idm"}, {"predictors": ("oracle",)}, {"keep_predictions": False}):
        assert not keys(**other) & plain
    versions = cells_of(SPEC, store)[0][0].versions
    assert {metric.info.name for metric in metrics_of("drive")} <= set(versions)


def test_the_table_of_contacts_counts_them_by_law_and_by_pair_of_drivers(tmp_path: Path) -> None:
    results = gw.run_drive(
        out=tmp_path / "R", predictors=["echo"], planner="constant_speed", max_cases=12, traffic="paper"
    )
    laws, pairs = results.table("contacts").blocks
    rows = {row[1].value: [cell.value for cell in row[2:]] for row in laws.rows}
    logs = [results.log(case=case.id, predictor="echo") for case in results.cases().cases]
    grades = [c.grade for log in logs for c in ego_contacts(log)]
    assert rows["default"] == [grades.count(g) for g in (Grade.A, Grade.B, Grade.C, Grade.D)]
    assert sum(rows["ad_rss"]) == len(grades) > 0, "the same contacts, judged again"
    assert sum(int(row[3].value) for row in pairs.rows) == sum(len(contacts_of(log)) for log in logs)
    assert "ad_rss" in results.table("contacts", predictor="echo").text()
