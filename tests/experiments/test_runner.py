from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from giveway.core.errors import ConfigError, DiskFullError, StoreError, UnknownNameError, UsageError
from giveway.experiments import (
    Cell,
    LineProgress,
    ProcessExecutor,
    SerialExecutor,
    Store,
    collect,
    compute,
    status,
)
from giveway.experiments.engine import Control
from giveway.experiments.evaluation import work

Cells = Callable[..., list[Cell]]
Contents = Callable[[Path], dict[str, str]]
DRAW = "run_evaluations:draw"
SOMETIMES = "run_evaluations:sometimes"


def test_any_number_of_workers_writes_the_same_files(tmp_path: Path, cells: Cells, contents: Contents) -> None:
    work = [*cells(6), *cells(2, model="x")]
    for name, executor in {
        "s": SerialExecutor(),
        "1": ProcessExecutor(num_workers=1),
        "2": ProcessExecutor(num_workers=2),
    }.items():
        assert compute(work, experiment=DRAW, store=tmp_path / name, engine=executor).ok
    assert len(contents(tmp_path / "s")) == 16
    assert contents(tmp_path / "s") == contents(tmp_path / "1") == contents(tmp_path / "2")


def test_linear_algebra_is_the_same_in_process_and_in_workers(tmp_path: Path, cells: Cells, contents: Contents) -> None:
    for name, executor in {"s": SerialExecutor(), "2": ProcessExecutor(num_workers=2)}.items():
        compute(cells(2), experiment="run_evaluations:solve", store=tmp_path / name, engine=executor)
    assert contents(tmp_path / "s") == contents(tmp_path / "2")


def test_a_second_run_computes_only_what_is_missing(tmp_path: Path, cells: Cells, contents: Contents) -> None:
    first = compute(cells(6), experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor(), limit=4)
    assert (first.done, first.missing, first.ok) == (4, 2, False)
    second = compute(cells(6), experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor())
    assert (second.skipped, second.done, second.ok) == (4, 2, True)
    compute(cells(6), experiment=DRAW, store=tmp_path / "S", engine=SerialExecutor())
    assert contents(tmp_path / "R") == contents(tmp_path / "S")


def test_equal_cells_are_computed_once(tmp_path: Path, cells: Cells) -> None:
    summary = compute([*cells(2), *cells(2)], experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor())
    assert (summary.total, summary.done) == (2, 2)


def test_a_damaged_cell_is_reported_and_computed_again(tmp_path: Path, cells: Cells, contents: Contents) -> None:
    compute(cells(3), experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor())
    before = contents(tmp_path / "R")
    path = Store(tmp_path / "R").record_path(cells(3)[1].key)
    path.write_bytes(path.read_bytes()[:100])
    stream = io.StringIO()
    summary = compute(
        cells(3), experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor(), progress=LineProgress(stream)
    )
    assert (summary.skipped, summary.done) == (2, 1)
    assert [d.key for d in summary.damaged] == [cells(3)[1].key]
    assert "damaged record" in stream.getvalue()
    assert contents(tmp_path / "R") == before


def test_damaged_samples_of_the_right_size_are_computed_again_once_they_were_read(
    tmp_path: Path, cells: Cells, contents: Contents
) -> None:
    options = {"experiment": DRAW, "store": tmp_path / "R", "engine": SerialExecutor()}
    compute(cells(3), **options)
    before, store, key = contents(tmp_path / "R"), Store(tmp_path / "R"), cells(3)[1].key
    path = store.record_path(key).with_suffix(".parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
    with pytest.raises(StoreError, match="damaged"):
        store.read_samples(key)
    assert [d.key for d in status(store).damaged] == [key]
    summary = compute(cells(3), **options)
    assert (summary.skipped, summary.done, len(summary.damaged)) == (2, 1, 1)
    assert contents(tmp_path / "R") == before


@pytest.mark.parametrize("executor", [SerialExecutor(), ProcessExecutor(num_workers=1)], ids=["serial", "pool"])
def test_a_failing_cell_is_recorded_and_the_others_go_on(
    tmp_path: Path, cells: Cells, executor: SerialExecutor
) -> None:
    moods = ["fine", "error", "user-error", "exit", "wrong", "unspeakable", "fine"]
    todo = [Cell(kind="t", params={"mood": m, "i": i}) for i, m in enumerate(moods)]
    summary = compute(todo, experiment=SOMETIMES, store=tmp_path / "R", engine=executor)
    assert (summary.done, summary.failed, summary.missing) == (2, 5, 0)
    by_mood = {f.cell.params["mood"]: f for f in Store(tmp_path / "R").failures()}
    assert by_mood["error"].message == "this cell cannot be computed"
    assert "in sometimes" in by_mood["error"].traceback
    assert by_mood["user-error"].error == "PredictionError"
    assert "sample 3" in by_mood["user-error"].message
    assert by_mood["exit"].error == "SystemExit"
    assert "not a CellResult" in by_mood["wrong"].message
    assert by_mood["unspeakable"].message == r"no file a\udcff.csv"


def test_failed_cells_are_tried_again_only_on_request(tmp_path: Path) -> None:
    todo = [Cell(kind="t", params={"mood": "repairable"})]
    options = {"experiment": SOMETIMES, "store": tmp_path / "R", "machine": {"folder": str(tmp_path)}}
    assert compute(todo, engine=SerialExecutor(), **options).failed == 1
    (tmp_path / "repaired").touch()
    assert compute(todo, engine=SerialExecutor(), **options).failed == 1
    assert status(Store(tmp_path / "R")).failed == 1
    assert compute(todo, engine=SerialExecutor(), rerun="failed", **options).ok
    assert status(Store(tmp_path / "R")).failed == 0


def test_rerun_all_computes_everything_again(tmp_path: Path, cells: Cells) -> None:
    compute(cells(2), experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor())
    assert compute(cells(2), experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor(), rerun="all").done == 2


def test_provenance_is_kept_beside_the_results_and_not_in_them(tmp_path: Path, cells: Cells) -> None:
    compute(cells(2), experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor(), spec={"models": ["a"]})
    store = Store(tmp_path / "R")
    (document,) = store.provenance()
    assert document["spec"] == {"models": ["a"]}
    assert document["code"]["giveway"]
    assert document["machine"]["cores"] >= 1
    assert document["counts"]["done"] == 2
    (log,) = (store.root / "runs").glob("*.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["key"] for line in lines} == {c.key for c in cells(2)}
    assert all(line["wall_s"] >= 0 and line["host"] for line in lines)
    record = store.record_path(cells(2)[0].key).read_text()
    assert document["machine"]["host"] not in record
    assert str(tmp_path) not in record


def test_a_wrong_path_to_the_evaluation_is_one_error_before_anything_runs(tmp_path: Path, cells: Cells) -> None:
    for path in ("no_such_module:f", "run_evaluations:no_such_function"):
        with pytest.raises(ConfigError, match="cannot import"):
            compute(cells(1), experiment=path, store=tmp_path / "R")
    with pytest.raises(UnknownNameError, match="nonsense"):
        compute(cells(1), experiment="nonsense", store=tmp_path / "R")
    assert not (tmp_path / "R").exists()


def test_nonsense_options_are_refused(tmp_path: Path, cells: Cells) -> None:
    with pytest.raises(UsageError, match="--rerun"):
        compute(cells(1), experiment=DRAW, store=tmp_path / "R", rerun="sometimes")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="workers"):
        ProcessExecutor(num_workers=0)


def test_a_run_on_a_store_in_use_is_refused(tmp_path: Path, cells: Cells) -> None:
    store = Store(tmp_path / "R", create=True)
    with store.lock(), pytest.raises(StoreError, match="another run is using this store"):
        compute(cells(1), experiment=DRAW, store=store, engine=SerialExecutor())


def test_an_artifact_is_built_once_for_several_processes(tmp_path: Path, cells: Cells) -> None:
    summary = compute(
        cells(6),
        experiment="run_evaluations:shared",
        store=tmp_path / "R",
        engine=ProcessExecutor(num_workers=2),
        machine={"folder": str(tmp_path)},
    )
    assert summary.ok
    assert (tmp_path / "built").read_text() == "x"
    assert set(collect(Store(tmp_path / "R"))["value"]) == {7.0}


def test_progress_lines_tell_count_rate_and_failures(tmp_path: Path) -> None:
    stream = io.StringIO()
    todo = [Cell(kind="t", params={"mood": m, "i": i}) for i, m in enumerate(["fine", "error", "fine"])]
    compute(todo, experiment=SOMETIMES, store=tmp_path / "R", engine=SerialExecutor(), progress=LineProgress(stream))
    lines = stream.getvalue().splitlines()
    assert lines[0] == "3 cells, 1 worker"
    assert lines[1] == "failed: t error 1: ValueError: this cell cannot be computed"
    assert lines[-1].startswith("3/3 (100 %), 1 failed, ")


def test_a_worker_without_a_store_sends_its_result_back(tmp_path: Path, cells: Cells, contents: Contents) -> None:
    """What an engine on machines without shared storage relies on."""

    class Remote:
        name, num_workers = "remote", 1

        def run(self, jobs: object, control: Control) -> object:
            for job in jobs:  # type: ignore[attr-defined]
                yield from work(replace(job, store=None))

    compute(cells(3), experiment=DRAW, store=tmp_path / "far", engine=Remote())  # type: ignore[arg-type]
    compute(cells(3), experiment=DRAW, store=tmp_path / "near", engine=SerialExecutor())
    assert contents(tmp_path / "far") == contents(tmp_path / "near")


def test_no_cell_starts_after_the_hours_are_over(tmp_path: Path, cells: Cells) -> None:
    summary = compute(cells(5), experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor(), max_hours=0.0)
    assert (summary.done, summary.missing, summary.stopped) == (1, 4, True)


def test_what_killed_processes_left_behind_is_swept_by_the_next_run(tmp_path: Path, cells: Cells) -> None:
    compute(cells(1), experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor())
    folder = tmp_path / "R" / "cells" / "ab"
    folder.mkdir(exist_ok=True)
    (folder / ".abc.json.1.2.tmp").write_text("half")
    (tmp_path / "R" / "artifacts" / "cd" / ".cde.1.2.tmp").mkdir(parents=True)
    compute(cells(1), experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor())
    assert not list((tmp_path / "R").rglob(".*.tmp"))


def test_a_worker_killed_while_writing_leaves_nothing_behind(tmp_path: Path, cells: Cells) -> None:
    compute(cells(1), experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor())
    folder = next((tmp_path / "R" / "cells").iterdir())
    summary = compute(
        [Cell(kind="t", params={"mood": "kill-writing"})],
        experiment="run_evaluations:sometimes",
        store=tmp_path / "R",
        engine=ProcessExecutor(num_workers=1),
        machine={"folder": str(folder)},
    )
    assert summary.ok, summary.failures
    assert not list((tmp_path / "R").rglob(".*.tmp"))


def test_a_result_that_found_no_room_is_not_counted_as_safe(
    tmp_path: Path, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Remote(SerialExecutor):
        def run(self, jobs: object, control: Control) -> object:
            for job in jobs:  # type: ignore[attr-defined]
                if not control.draining:
                    yield from work(replace(job, store=None))

    write, written = Store.write_encoded, []

    def fill_up(store: Store, key: str, encoded: object) -> None:
        if len(written) == 2:
            raise DiskFullError("the disk is full", where=store.root)
        write(store, key, encoded)  # type: ignore[arg-type]
        written.append(key)

    monkeypatch.setattr(Store, "write_encoded", fill_up)
    with pytest.raises(DiskFullError, match="2 of 5 cells are finished and safe"):
        compute(cells(5), experiment=DRAW, store=tmp_path / "R", engine=Remote())  # type: ignore[arg-type]
