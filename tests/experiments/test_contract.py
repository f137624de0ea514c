"""Experiments of every shape through one engine: single cells, batches, chains, attachments, scratch, migration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import experiments.contract_experiments as shapes
import giveway
from giveway.core.errors import StoreError
from giveway.core.seals import seal
from giveway.experiments import Cell, Executor, ProcessExecutor, SerialExecutor, Store, compute, run, status, verify
from giveway.experiments.files import canonical_json
from giveway.experiments.jobs import batches
from giveway.experiments.mirror import FOLDERS

ENGINES = {"serial": SerialExecutor, "processes": lambda: ProcessExecutor(num_workers=2)}


@pytest.fixture(params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest) -> Executor:
    return ENGINES[request.param]()


def group_of(count: int, **moods: str) -> list[Cell]:
    return [
        Cell(kind="t", params={"n": n, **({"mood": moods[f"n{n}"]} if f"n{n}" in moods else {})}, group="g")
        for n in range(count)
    ]


def chain_of(count: int, *, seed: int = 0, **moods: str) -> list[Cell]:
    return [
        Cell(
            kind="t",
            params={"seed": seed, "n": n, **({"mood": moods[f"n{n}"]} if f"n{n}" in moods else {})},
            chain=f"chain {seed}",
        )
        for n in range(count)
    ]


def content(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for folder in ("cells", "attachments")
        for path in sorted((root / folder).rglob("*"))
        if path.is_file()
    }


def options(tmp_path: Path, experiment: str) -> dict[str, Any]:
    return {"experiment": f"contract_experiments:{experiment}", "machine": {"folder": str(tmp_path)}}


def calls(tmp_path: Path) -> list[Any]:
    lines = (tmp_path / "calls").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_group_is_evaluated_in_one_batch_in_one_process(tmp_path: Path) -> None:
    compute(group_of(10), store=tmp_path / "R", engine=SerialExecutor(), **options(tmp_path, "SQUARES"))
    assert calls(tmp_path) == [list(range(10))]


def test_a_group_is_cut_into_several_batches_for_several_workers() -> None:
    cut = list(batches(group_of(40), {c.key for c in group_of(40)}, (), 2))
    assert [len(batch) for batch in cut] == [5] * 8


def test_results_are_the_same_bytes_for_any_batch_size_and_engine(tmp_path: Path) -> None:
    compute(group_of(9), store=tmp_path / "A", engine=SerialExecutor(), **options(tmp_path, "SQUARES"))
    compute(group_of(9), store=tmp_path / "B", engine=ProcessExecutor(num_workers=2), **options(tmp_path, "SQUARES"))
    for n in range(9):
        one = group_of(9)[n : n + 1]
        compute(one, store=tmp_path / "C", engine=SerialExecutor(), **options(tmp_path, "SQUARES"))
    assert content(tmp_path / "A") == content(tmp_path / "B") == content(tmp_path / "C")


def test_a_cell_that_raises_fails_alone_and_the_others_of_its_batch_are_kept(tmp_path: Path, engine: Executor) -> None:
    summary = compute(group_of(6, n3="error"), store=tmp_path / "R", engine=engine, **options(tmp_path, "SQUARES"))
    assert (summary.done, summary.failed, summary.missing) == (5, 1, 0)
    assert summary.failures[0].cell.params["n"] == 3
    assert summary.failures[0].reason == "ValueError: no square"


def test_a_failure_that_is_yielded_does_not_end_the_batch(tmp_path: Path) -> None:
    summary = compute(
        group_of(6, n3="yielded"), store=tmp_path / "R", engine=SerialExecutor(), **options(tmp_path, "SQUARES")
    )
    assert (summary.done, summary.failed) == (5, 1)
    assert summary.failures[0].reason == "PredictionError: gave NaN"
    assert calls(tmp_path) == [list(range(6))]


def test_a_worker_that_dies_in_a_batch_costs_the_guilty_cell_only(tmp_path: Path) -> None:
    summary = compute(
        group_of(8, n5="kill"),
        store=tmp_path / "R",
        engine=ProcessExecutor(num_workers=1, max_attempts=2),
        **options(tmp_path, "SQUARES"),
    )
    assert (summary.done, summary.failed, summary.missing) == (7, 1, 0)
    assert summary.failures[0].cell.params["n"] == 5
    assert summary.failures[0].error == "WorkerDied"
    computed = [n for call in calls(tmp_path) for n in call]
    assert computed.count(0) == 1, "what was written before the worker died is not computed again"


def test_the_time_limit_of_a_batch_is_that_of_its_cells(tmp_path: Path) -> None:
    summary = compute(
        group_of(4, n2="slow"),
        store=tmp_path / "R",
        engine=ProcessExecutor(num_workers=1, time_limit_s=1.0),
        **options(tmp_path, "SQUARES"),
    )
    assert (summary.done, summary.failed) == (3, 1)
    assert summary.failures[0].error == "TimeLimit"


def test_a_chain_is_told_its_finished_cells_and_computes_the_rest(tmp_path: Path, engine: Executor) -> None:
    whole = compute(chain_of(5), store=tmp_path / "whole", engine=engine, **options(tmp_path, "SUMS"))
    assert whole.done == 5
    place = {"store": tmp_path / "parts", "engine": engine, **options(tmp_path, "SUMS")}
    first = compute(chain_of(5), limit=2, **place)
    assert (first.done, first.missing) == (2, 3)
    assert compute(chain_of(5), **place).done == 3
    assert content(tmp_path / "whole") == content(tmp_path / "parts")


def test_chains_are_computed_side_by_side(tmp_path: Path) -> None:
    cells = [*chain_of(4, seed=1), *chain_of(4, seed=2)]
    compute(cells, store=tmp_path / "A", engine=ProcessExecutor(num_workers=2), **options(tmp_path, "SUMS"))
    compute(cells, store=tmp_path / "B", engine=SerialExecutor(), **options(tmp_path, "SUMS"))
    assert content(tmp_path / "A") == content(tmp_path / "B")
    assert len(content(tmp_path / "A")) == 8


def test_a_damaged_cell_in_the_middle_of_a_chain_is_computed_again_alone(tmp_path: Path) -> None:
    place = {"store": tmp_path / "R", "engine": SerialExecutor(), **options(tmp_path, "SUMS")}
    cells = chain_of(4)
    compute(cells, **place)
    before = content(tmp_path / "R")
    path = Store(tmp_path / "R").record_path(cells[1].key)
    path.write_bytes(path.read_bytes()[:-9])
    summary = compute(cells, **place)
    assert (summary.done, summary.skipped) == (1, 3)
    assert content(tmp_path / "R") == before


def test_a_failed_cell_ends_its_chain_and_the_others_go_on(tmp_path: Path, engine: Executor) -> None:
    cells = [*chain_of(4, seed=1, n2="error"), *chain_of(4, seed=2)]
    place = {"store": tmp_path / "R", "engine": engine, **options(tmp_path, "SUMS")}
    summary = compute(cells, **place)
    assert (summary.done, summary.failed, summary.missing) == (6, 1, 1)
    again = compute(cells, **place)
    assert (again.done, again.skipped, again.failed, again.missing) == (0, 6, 1, 1)


def test_a_chain_whose_worker_dies_goes_on_from_its_scratch(tmp_path: Path) -> None:
    cells = chain_of(4, n2="kill-once")
    engine = ProcessExecutor(num_workers=1)
    summary = compute(cells, store=tmp_path / "R", engine=engine, **options(tmp_path, "COUNTERS"))
    assert summary.ok
    found = [Store(tmp_path / "R").read(cell.key).info for cell in cells]
    assert [info["total"] for info in found] == [1, 2, 3, 4], "the state in scratch was lost or used twice"
    assert not any((tmp_path / "R" / "scratch").iterdir()), "scratch of a finished chain is deleted"


def test_a_chain_begins_no_further_cell_after_the_time_is_over(tmp_path: Path, engine: Executor) -> None:
    place = {"store": tmp_path / "R", "engine": engine, **options(tmp_path, "SUMS")}
    summary = compute(chain_of(50, n0="pause", n1="pause"), max_hours=0.05 / 3600, **place)
    assert 1 <= summary.done < 50
    assert summary.missing == 50 - summary.done


def test_what_a_batch_has_computed_is_kept_when_the_time_is_over(tmp_path: Path, engine: Executor) -> None:
    summary = compute(group_of(4), store=tmp_path / "R", engine=engine, max_hours=0.0, **options(tmp_path, "SQUARES"))
    assert summary.done == sum(len(call) for call in calls(tmp_path)) > 0


def test_computing_some_cells_again_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    place = {"store": tmp_path / "R", "engine": SerialExecutor(), **options(tmp_path, "SQUARES")}
    compute(group_of(6), **place)
    summary = compute(group_of(6), rerun="all", limit=2, **place)
    assert (summary.done, summary.skipped, summary.missing) == (2, 4, 0)


def test_records_of_a_group_do_not_depend_on_what_others_of_the_batch_used(tmp_path: Path) -> None:
    place = {"engine": SerialExecutor(), **options(tmp_path, "USERS")}
    compute(group_of(3), store=tmp_path / "A", **place)
    for cell in group_of(3):
        compute([cell], store=tmp_path / "B", **place)
    assert content(tmp_path / "A") == content(tmp_path / "B")


def test_a_dry_run_makes_no_folder(tmp_path: Path) -> None:
    assert run(shapes.SQUARES, shapes.Spec(count=3), tmp_path / "R", dry_run=True).missing == 3
    assert not (tmp_path / "R").exists()


def test_attachments_are_read_back_and_checked(tmp_path: Path) -> None:
    cells = group_of(2)
    compute(cells, store=tmp_path / "R", engine=SerialExecutor(), **options(tmp_path, "SQUARES"))
    store = Store(tmp_path / "R")
    assert store.attachment(cells[1].key, "square.txt") == b"1"
    assert (store.attachments(cells[1].key) / "square.txt").read_bytes() == b"1"
    path = store.attachment_folder(cells[1].key) / "square.txt"
    path.write_bytes(b"7")  # the same size
    with pytest.raises(StoreError, match="damaged"):
        store.attachment(cells[1].key, "square.txt")
    assert status(store).done == 1, "a result whose attachment is gone counts as missing"
    summary = compute(cells, store=tmp_path / "R", engine=SerialExecutor(), **options(tmp_path, "SQUARES"))
    assert summary.done == 1
    assert store.attachment(cells[1].key, "square.txt") == b"1"


def test_an_altered_attachment_of_the_same_size_is_found_by_verify(tmp_path: Path) -> None:
    cells = group_of(1)
    compute(cells, store=tmp_path / "R", engine=SerialExecutor(), **options(tmp_path, "SQUARES"))
    store = Store(tmp_path / "R")
    (store.attachment_folder(cells[0].key) / "square.txt").write_bytes(b"7")
    assert [damaged.key for damaged in verify(store)] == [cells[0].key]


@pytest.mark.parametrize("name", ["../square.txt", ".hidden", "a/b", ""])
def test_an_attachment_needs_a_plain_file_name(tmp_path: Path, name: str) -> None:
    cells = [Cell(kind="t", params={"name": name})]
    summary = compute(cells, store=tmp_path / "R", engine=SerialExecutor(), **options(tmp_path, "named"))
    assert summary.failures[0].error == "ValueError"
    assert not (tmp_path / "square.txt").exists()


def test_remote_stores_send_attachments_before_the_records_that_name_them() -> None:
    assert FOLDERS.index("attachments") < FOLDERS.index("cells")


def test_group_and_chain_are_not_part_of_the_key() -> None:
    plain = Cell(kind="t", params={"n": 1})
    assert plain.key == Cell(kind="t", params={"n": 1}, group="g", chain="c").key
    assert plain.key != Cell(kind="t", params={"n": 1}, settings={"a": 1}).key


def test_an_experiment_is_run_from_its_specification_with_provenance(tmp_path: Path) -> None:
    spec = shapes.Spec(count=3)
    planned = run(shapes.SQUARES, spec, tmp_path / "R", dry_run=True)
    assert (planned.total, planned.missing, planned.done) == (3, 3, 0)
    summary = run(shapes.SQUARES, spec, tmp_path / "R", engine=SerialExecutor(), machine={"folder": str(tmp_path)})
    assert summary.ok
    (start,) = Store(tmp_path / "R").provenance()
    assert start["experiment"] == "contract_experiments:SQUARES"
    assert start["spec"] == {"count": 3}
    assert start["inputs"] == {"numbers": "0123"}
    assert start["code"]["giveway"] == giveway.__version__
    again = run(shapes.SQUARES, spec, tmp_path / "R", engine=SerialExecutor(), machine={"folder": str(tmp_path)})
    assert (again.done, again.skipped) == (0, 3)
    assert len(Store(tmp_path / "R").provenance()) == 2, "every start is recorded, also one that finds nothing to do"


class Renaming:
    """Knows that parameter ``n`` was called ``number``, and that ``unread`` was never read."""

    name = "t"

    def upgraded(self, cell: Mapping[str, Any]) -> Cell:
        return Cell(kind=cell["kind"], params={"n": cell["params"]["number"]})


def old_store(root: Path, *cells: tuple[dict[str, Any], float]) -> None:
    """A store as release 0.1 wrote it."""
    root.mkdir()
    (root / "store.json").write_text(json.dumps({"format": 1, "written_by": "giveway 0.1.0"}))
    for number, (params, value) in enumerate(cells):
        key = f"{number:02x}" * 32
        measured = {"metric": "m", "value": value, "num_samples": 1, "metric_version": 1, "note": ""}
        document = {
            "format": 1,
            "key": key,
            "cell": {"kind": "t", "params": params, "data": "", "versions": {}},
            "measurements": [measured],
            "info": {},
            "samples": None,
        }
        path = root / "cells" / key[:2] / f"{key}.json"
        path.parent.mkdir(parents=True)
        path.write_bytes(seal(canonical_json(document)))


def test_a_store_of_the_first_release_is_refused_with_a_sentence(tmp_path: Path) -> None:
    old_store(tmp_path / "R", ({"number": 1}, 1.0))
    with pytest.raises(StoreError, match="earlier version") as raised:
        Store(tmp_path / "R")
    assert "again" in str(raised.value.hint)


def test_cells_of_the_first_release_are_taken_over_under_their_new_keys(tmp_path: Path) -> None:
    from giveway.experiments.migration import migrate

    old_store(tmp_path / "R", ({"number": 1, "unread": "a"}, 1.0), ({"number": 1, "unread": "b"}, 1.0))
    assert migrate(tmp_path / "R", Renaming()) == 2
    store = Store(tmp_path / "R")
    assert store.read(Cell(kind="t", params={"n": 1}).key).measurements[0].value == 1.0
    assert status(store).done == 1
    assert migrate(tmp_path / "R", Renaming()) == 0


def test_a_store_of_the_first_release_with_other_kinds_is_refused(tmp_path: Path) -> None:
    from giveway.experiments.migration import migrate

    class Other(Renaming):
        name = "u"

    old_store(tmp_path / "R", ({"number": 1}, 1.0))
    with pytest.raises(StoreError, match="kind 't'"):
        migrate(tmp_path / "R", Other())


def test_two_old_cells_that_fall_together_must_be_equal(tmp_path: Path) -> None:
    from giveway.experiments.migration import migrate

    old_store(tmp_path / "R", ({"number": 1, "unread": "a"}, 1.0), ({"number": 1, "unread": "b"}, 2.0))
    with pytest.raises(StoreError, match="differ") as raised:
        migrate(tmp_path / "R", Renaming())
    assert "0" * 16 in str(raised.value.found) and "01" * 8 in str(raised.value.found)
