from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from giveway.core.errors import StoreError
from giveway.experiments import Cell, CellResult, FailedCell, Measurement, Store, collect, read_index, status

Cells = Callable[..., list[Cell]]


def result(value: float = 1.0, *, samples: bool = True) -> CellResult:
    frame = pl.DataFrame({"sample_id": ["a", "b"], "ade": [0.5, None]}) if samples else None
    measurements = (Measurement(metric="ade", value=value, num_samples=2), Measurement(metric="auc", value=math.nan))
    return CellResult(measurements=measurements, samples=frame, info={"note": "ü", "list": [1, 2]})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "R", create=True)


def test_a_result_comes_back_as_it_went_in(store: Store, cells: Cells) -> None:
    (cell,) = cells(1)
    store.write(cell, result(0.1 + 0.2))
    again = store.read(cell.key, with_samples=True)
    assert again.measurements[0].value == 0.1 + 0.2
    assert math.isnan(again.measurements[1].value)
    assert again.info == {"note": "ü", "list": [1, 2]}
    assert again.samples is not None and again.samples.equals(result().samples)


def test_the_tidy_table_has_a_column_per_parameter_and_a_row_per_metric(store: Store) -> None:
    first = {"dataset": "lgap", "n_input": 2, "split": "random", "options": {"b": 1, "a": [2]}}
    store.write(Cell(kind="gaps", params=first), result(samples=False))
    store.write(Cell(kind="gaps", params={"dataset": "round", "n_input": 3}), result(2.0))
    frame = collect(store)
    assert frame.height == 4
    assert frame.columns[:3] == ["key", "kind", "data"]
    assert frame.columns[-5:] == ["metric", "value", "num_samples", "metric_version", "note"]
    assert frame.schema["n_input"] == pl.Int64
    row = frame.row(by_predicate=(pl.col("dataset") == "lgap") & (pl.col("metric") == "ade"), named=True)
    assert row["value"] == 1.0
    assert row["options"] == '{"a": [2], "b": 1}'
    assert frame.filter(metric="auc")["value"].to_list() == [None, None]


def test_an_empty_store_gives_an_empty_table(store: Store) -> None:
    assert collect(store).height == 0
    assert status(store).total == 0


def test_the_index_is_only_a_cache(store: Store, cells: Cells) -> None:
    for i, cell in enumerate(cells(5)):
        store.write(cell, result(i))
    before = collect(store)
    (store.root / "index.parquet").write_bytes(b"not parquet")
    assert collect(store).equals(before)
    (store.root / "index.parquet").unlink()
    assert collect(store).equals(before)
    store.write(cells(6)[5], result(9.0))
    assert collect(store).height == before.height + 2


@pytest.mark.parametrize("damage", ["truncate", "flip", "swap", "empty", "samples"])
def test_a_damaged_record_counts_as_missing_and_the_others_are_kept(store: Store, cells: Cells, damage: str) -> None:
    first, second = cells(2)
    store.write(first, result())
    store.write(second, result())
    path = store.record_path(first.key)
    if damage == "truncate":
        path.write_bytes(path.read_bytes()[:-40])
    elif damage == "flip":
        path.write_bytes(path.read_bytes().replace(b'"value":1.0', b'"value":2.0'))
    elif damage == "swap":
        path.write_bytes(store.record_path(second.key).read_bytes())
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        path.with_suffix(".parquet").write_bytes(b"PAR1")
    index = read_index(store)
    assert index.keys() == {second.key}
    assert [d.key for d in index.damaged] == [first.key]
    with pytest.raises(StoreError, match="damaged"):
        store.read(first.key, with_samples=True)


def test_a_record_damaged_after_it_was_indexed_is_noticed(store: Store, cells: Cells) -> None:
    (cell,) = cells(1)
    store.write(cell, result())
    assert read_index(store).keys() == {cell.key}
    store.record_path(cell.key).write_bytes(b"{}")
    assert read_index(store).keys() == set()


def test_a_store_of_a_newer_version_is_refused(store: Store) -> None:
    (store.root / "store.json").write_text(json.dumps({"format": 99, "written_by": "giveway 9.0"}))
    with pytest.raises(StoreError, match="newer version") as caught:
        Store(store.root)
    assert "format 99 by giveway 9.0" in str(caught.value)
    assert caught.value.hint == "pip install --upgrade giveway"


def test_a_folder_that_is_no_store_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(StoreError, match="not an empty folder"):
        Store(tmp_path, create=True)
    with pytest.raises(StoreError, match="no result store"):
        Store(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_failure_is_forgotten_when_a_result_arrives(store: Store, cells: Cells) -> None:
    (cell,) = cells(1)
    failure = FailedCell(key=cell.key, cell=cell, error="ValueError", message="no", traceback="Traceback …", attempts=2)
    store.write_failure(failure)
    assert store.failures() == [failure]
    store.write(cell, result())
    assert store.failures() == []


def test_two_runs_on_one_store_are_refused(store: Store) -> None:
    assert not store.lock().is_held()
    with store.lock():
        assert store.lock().is_held()
        with pytest.raises(StoreError, match="another run") as caught, store.lock():
            pass
        assert "process " in str(caught.value)
    assert not store.lock().is_held()


def test_the_lock_of_a_killed_process_is_taken_over(store: Store) -> None:
    code = (
        "import sys, os, signal; from giveway.experiments import Store\n"
        "with Store(sys.argv[1]).lock(): os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(store.root)], check=False).returncode == -9
    assert (store.root / "lock").read_text()
    with store.lock():
        pass


def test_without_locks_of_the_file_system_the_note_of_a_living_process_counts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with store.lock(), pytest.raises(StoreError, match="another run"), store.lock():
        pass
    (store.root / "lock").write_text(
        json.dumps({"pid": 2**22 + 1, "host": __import__("platform").node(), "since": "x"})
    )
    with store.lock():
        pass


def test_plans_say_what_was_asked_for(store: Store, cells: Cells) -> None:
    plan = store.write_plan({"models": ["LR_1D"]}, "m:f", cells(3))
    assert store.plans() == [plan]
    store.write(cells(3)[0], result())
    counts = status(store)
    assert (counts.total, counts.done, counts.missing) == (3, 1, 2)
