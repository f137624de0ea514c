"""What a damaged store says: counted as missing, named, put aside, computed again; old stores open as before."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from giveway.cli.main import run as giveway
from giveway.core.errors import StoreError
from giveway.experiments import Cell, SerialExecutor, Store, collect, compute, read_index, status, verify
from giveway.experiments.artifacts import MANIFEST, Artifacts, checked_seal

Cells = Callable[[int], Sequence[Cell]]
DRAW = "run_evaluations:draw"


def flip(path: Path, at: int = -100) -> None:
    """Change one bit, keep size and time."""
    before, data = path.stat(), bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture
def computed(tmp_path: Path, cells: Cells) -> Store:
    compute(cells(4), experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor(), spec={"a": 1})
    return Store(tmp_path / "R")


def test_a_flipped_index_is_rebuilt_with_one_line_and_the_same_table(
    computed: Store, caplog: pytest.LogCaptureFixture
) -> None:
    table = collect(computed)
    whole = (computed.root / "index.parquet").read_bytes()
    flip(computed.root / "index.parquet", len(whole) // 2)
    with caplog.at_level(logging.WARNING):
        assert collect(computed).equals(table)
        assert collect(computed).equals(table)
    assert [r.getMessage().partition(":")[0] for r in caplog.records] == ["the index was damaged and has been rebuilt"]
    assert (computed.root / "index.parquet").read_bytes() == whole


@pytest.mark.parametrize("name", ["index.seal", "index.parquet"])
def test_an_index_without_its_other_half_is_rebuilt(computed: Store, name: str) -> None:
    table = collect(computed)
    (computed.root / name).unlink()
    assert collect(computed).equals(table)
    assert (computed.root / name).exists()


def test_a_kill_between_the_two_files_of_the_index_is_no_damage(
    computed: Store, cells: Cells, caplog: pytest.LogCaptureFixture
) -> None:
    before = (computed.root / "index.parquet").read_bytes()
    compute(cells(5), experiment=DRAW, store=computed.root, engine=SerialExecutor(), spec={"a": 1})
    (computed.root / "index.parquet").write_bytes(before)  # the new seal, the table before
    with caplog.at_level(logging.WARNING):
        assert len(read_index(computed).keys()) == 5
    assert caplog.records == []


def test_a_record_flipped_behind_the_index_is_found_by_verify(computed: Store, cells: Cells) -> None:
    assert verify(computed) == ()
    key = cells(4)[2].key
    whole = computed.record_path(key).read_bytes()
    flip(computed.record_path(key))
    assert [d.key for d in verify(computed)] == [key]
    assert status(computed).shortfall == "3 of 4 cells (1 damaged)"
    summary = compute(cells(4), experiment=DRAW, store=computed.root, engine=SerialExecutor(), spec={"a": 1})
    assert (summary.done, [d.key for d in summary.damaged]) == (1, [key])
    assert computed.record_path(key).read_bytes() == whole
    assert status(computed).shortfall == ""


def test_a_record_that_a_reader_found_damaged_is_computed_by_the_next_run(computed: Store, cells: Cells) -> None:
    key = cells(4)[2].key
    flip(computed.record_path(key))
    with pytest.raises(StoreError, match="damaged"):
        computed.read(key)
    assert [d.key for d in status(computed).damaged] == [key]
    assert compute(cells(4), experiment=DRAW, store=computed.root, engine=SerialExecutor(), spec={"a": 1}).done == 1


def test_flipped_samples_are_put_aside_named_and_computed_again(computed: Store, cells: Cells) -> None:
    key = cells(4)[1].key
    path = computed.record_path(key).with_suffix(".parquet")
    whole = path.read_bytes()
    flip(path, 60)
    assert [d.key for d in verify(computed)] == [key]
    assert (computed.root / "damaged" / f"{key}.parquet.damaged").exists()
    state = status(computed)
    assert state.shortfall == "3 of 4 cells (1 damaged)"
    compute(cells(4), experiment=DRAW, store=computed.root, engine=SerialExecutor(), spec={"a": 1})
    assert status(computed).shortfall == ""
    assert path.read_bytes() == whole


def test_a_damaged_plan_and_run_are_named_and_tables_say_so(computed: Store, cells: Cells) -> None:
    (plan,) = (computed.root / "plans").glob("*.json")
    (start,) = (computed.root / "runs").glob("*.json")
    whole = plan.read_bytes()
    flip(plan, 20)
    flip(start, 20)
    state = status(computed)
    assert sorted(d.key for d in state.documents) == [f"plans/{plan.name}", f"runs/{start.name}"]
    assert "provenance incomplete" in state.shortfall
    assert collect(computed).height > 0
    compute(cells(4), experiment=DRAW, store=computed.root, engine=SerialExecutor(), spec={"a": 1})
    assert plan.read_bytes() == whole


def test_the_command_names_damage_and_ends_with_one(
    computed: Store, cells: Cells, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        giveway(["gaps", "status", str(computed.root), "--verify"])
    assert ended.value.code == 0
    assert "every file with a digest is what was written" in capsys.readouterr().out
    flip(computed.record_path(cells(4)[0].key))
    with pytest.raises(SystemExit) as ended:
        giveway(["gaps", "status", str(computed.root), "--verify"])
    assert ended.value.code == 1
    assert cells(4)[0].key in capsys.readouterr().out


def test_a_store_of_the_first_release_opens_and_its_documents_count_as_unsealed(computed: Store) -> None:
    table = collect(computed)
    for path in [
        computed.root / "store.json",
        *(computed.root / "plans").glob("*"),
        *(computed.root / "runs").glob("*.json"),
    ]:
        document = json.loads(path.read_bytes())
        del document["seal"]
        path.write_text(json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n")
    (computed.root / "index.seal").unlink()
    old = Store(computed.root)
    assert status(old).shortfall == ""
    assert collect(old).equals(table)
    assert len(old.provenance()) == 1


def _write(text: str) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        (folder / "a.txt").write_text(text)

    return build


def test_a_flipped_artifact_is_put_aside_and_built_again(tmp_path: Path) -> None:
    folder = Artifacts(tmp_path).get({"a": 1}, _write("content"))
    sealed = checked_seal(folder)
    flip(folder / "a.txt", 2)
    assert checked_seal(folder) is None
    again = Artifacts(tmp_path)
    assert (again.get({"a": 1}, _write("content")) / "a.txt").read_text() == "content"
    assert again.used == {folder.name: sealed}
    assert (folder.with_name(f"{folder.name}.damaged") / "a.txt").read_text() == "cootent"


def test_an_artifact_of_the_first_release_is_built_again_without_being_called_damaged(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path / "artifacts")
    folder = artifacts.get({"a": 1}, _write("old"))
    (folder / MANIFEST).write_text('{"files":{"a.txt":3},"spec":{"a":1}}')
    store = Store(tmp_path / "R", create=True)
    folder.parent.parent.rename(store.artifacts.root)
    artifacts, folder = store.artifacts, store.artifacts.path({"a": 1})
    assert verify(store) == ()
    assert (artifacts.get({"a": 1}, _write("new")) / "a.txt").read_text() == "new"
    assert not folder.with_name(f"{folder.name}.damaged").exists()


def test_what_was_only_needed_to_build_an_artifact_is_in_its_manifest_and_not_in_the_cell(tmp_path: Path) -> None:
    def outer(folder: Path) -> None:
        artifacts.get({"inner": 1}, _write("inner"))
        (folder / "b.txt").write_text("outer")

    artifacts = Artifacts(tmp_path)
    folder = artifacts.get({"outer": 1}, outer)
    assert set(artifacts.used) == {folder.name}
    inner = artifacts.path({"inner": 1}).name
    assert set(json.loads((folder / MANIFEST).read_text())["inputs"]) == {inner}


def test_cells_of_an_artifact_that_was_rebuilt_differently_count_as_damaged(tmp_path: Path, cells: Cells) -> None:
    from giveway.experiments import CellResult, Measurement
    from giveway.experiments.records import encode_result

    store = Store(tmp_path / "R", create=True)
    folder = store.artifacts.get({"a": 1}, _write("first"))
    cell = cells(1)[0]
    result = CellResult(measurements=(Measurement(metric="m", value=1.0),))
    store.write_encoded(cell.key, encode_result(cell, result, store.artifacts.used))
    assert read_index(store).keys() == {cell.key}
    flip(folder / "a.txt", 0)
    store.artifacts.fresh().get({"a": 1}, _write("first"))
    assert read_index(store).keys() == {cell.key}
    flip(folder / "a.txt", 0)
    store.artifacts.fresh().get({"a": 1}, _write("other"))
    index = read_index(store)
    assert index.keys() == set()
    assert "rebuilt" in index.damaged[0].reason
