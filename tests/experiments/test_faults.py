"""Workers that die, disks that fill up, users who press Ctrl-C, and kill -9 of the whole run."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from giveway.core.errors import StoreError
from giveway.experiments import Cell, ProcessExecutor, SerialExecutor, Store, compute, read_index, status
from giveway.experiments.engine import Job
from giveway.experiments.worker_process import Limits, WorkerProcess

Cells = Callable[..., list[Cell]]
Contents = Callable[[Path], dict[str, str]]
HERE = Path(__file__).parent
SOMETIMES = "run_evaluations:sometimes"

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from giveway.experiments import Cell, LineProgress, ProcessExecutor, compute

if __name__ == "__main__":
    cells = [Cell(kind="test", params={"seed": 0, "repetition": i}, data="d") for i in range(int(sys.argv[4]))]
    summary = compute(cells, experiment="run_evaluations:draw", store=sys.argv[2],
                  machine={"pause_s": float(sys.argv[3])},
                  engine=ProcessExecutor(num_workers=2), progress=LineProgress(every_s=0.0))
    print(summary.done, summary.skipped, summary.stopped, flush=True)
"""


def start(tmp_path: Path, store: Path, *, pause_s: float, count: int) -> subprocess.Popen[str]:
    script = tmp_path / "start_run.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(HERE), str(store), str(pause_s), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_results(store: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(list(store.glob("cells/*/*.json"))) < count:
        assert time.monotonic() < deadline, "the run does not get anywhere"
        time.sleep(0.02)


def children_of(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_run_killed_at_random_points_resumes_to_the_same_files(
    tmp_path: Path, cells: Cells, contents: Contents
) -> None:
    count, chance = 40, random.Random(3)
    for step in (4, 15, 27):
        process = start(tmp_path, tmp_path / "R", pause_s=0.02, count=count)
        wait_for_results(tmp_path / "R", step)
        time.sleep(chance.uniform(0, 0.05))
        workers = children_of(process.pid)
        process.kill()
        process.wait(timeout=30)  # not communicate(): workers that live on would hold the pipes
        assert 0 < len(read_index(Store(tmp_path / "R")).keys()) < count
        deadline = time.monotonic() + 20
        while any(is_alive(pid) for pid in workers):
            if time.monotonic() > deadline:
                for pid in workers:
                    os.kill(pid, signal.SIGKILL)
                pytest.fail("workers outlive their parent")
            time.sleep(0.05)
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
    last = compute(cells(count), experiment="run_evaluations:draw", store=tmp_path / "R", engine=SerialExecutor())
    assert last.ok and last.skipped >= 27
    compute(cells(count), experiment="run_evaluations:draw", store=tmp_path / "S", engine=SerialExecutor())
    assert contents(tmp_path / "R") == contents(tmp_path / "S")


def test_a_cell_that_kills_its_worker_is_marked_and_costs_no_other_cell(tmp_path: Path) -> None:
    moods = ["fine"] * 4 + ["kill"] + ["fine"] * 4 + ["kill-once"]
    todo = [Cell(kind="t", params={"mood": m, "i": i}) for i, m in enumerate(moods)]
    summary = compute(
        todo,
        experiment=SOMETIMES,
        store=tmp_path / "R",
        engine=ProcessExecutor(num_workers=2, max_attempts=2),
        machine={"folder": str(tmp_path)},
    )
    assert (summary.done, summary.failed, summary.missing) == (9, 1, 0)
    (failure,) = summary.failures
    assert failure.error == "WorkerDied"
    assert failure.cell.params["mood"] == "kill"
    assert failure.attempts == 2


def test_limits_hold_while_other_workers_keep_finishing(tmp_path: Path) -> None:
    todo = [Cell(kind="t", params={"mood": "slow"})]
    todo += [Cell(kind="t", params={"mood": "brief", "i": i}) for i in range(150)]
    executor = ProcessExecutor(num_workers=2, time_limit_s=1.0)
    compute(todo, experiment=SOMETIMES, store=tmp_path / "R", engine=executor)
    lines = next((tmp_path / "R" / "runs").glob("*.jsonl")).read_text().splitlines()
    order = [json.loads(line)["status"] for line in lines]
    assert order.count("failed") == 1
    assert order.index("failed") < len(order) - 30


def test_a_limit_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that was given back after the look does not turn a reason into another one."""
    used = iter([900.0])
    monkeypatch.setattr("giveway.experiments.worker_process.resident_mb", lambda pid: next(used, 10.0))
    worker = WorkerProcess(limits=Limits(memory_mb=100.0))
    cell = Cell(kind="t", params={"mood": "slow"})
    worker.start(Job(cells=(cell,), todo=frozenset({cell.key}), experiment=SOMETIMES, store=None))
    excess = None
    while excess is None:
        excess = worker.excess()
    (outcome,) = worker.settle(excess)
    assert outcome.failure is not None
    assert (outcome.failure.error, worker.future) == ("MemoryLimit", None)


def test_a_cell_over_its_time_limit_is_ended_and_marked(tmp_path: Path) -> None:
    todo = [Cell(kind="t", params={"mood": m, "i": i}) for i, m in enumerate(["slow", "fine"])]
    executor = ProcessExecutor(num_workers=1, time_limit_s=1.0)
    summary = compute(todo, experiment=SOMETIMES, store=tmp_path / "R", engine=executor)
    assert summary.done == 1
    assert summary.failures[0].error == "TimeLimit"


def test_ctrl_c_once_finishes_running_cells_and_ends(tmp_path: Path) -> None:
    process = start(tmp_path, tmp_path / "R", pause_s=0.3, count=100)
    wait_for_results(tmp_path / "R", 3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    done, skipped, stopped = out.split()
    assert stopped == "True"
    assert "press Ctrl-C again" in err
    assert len(read_index(Store(tmp_path / "R")).keys()) == int(done) + int(skipped) < 100


def test_ctrl_c_twice_stops_at_once_and_keeps_the_store_whole(tmp_path: Path) -> None:
    process = start(tmp_path, tmp_path / "R", pause_s=20.0, count=4)
    wait_until_locked(tmp_path / "R")
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 15
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    assert not Store(tmp_path / "R").lock().is_held()
    assert status(Store(tmp_path / "R")).missing == 4


def wait_until_locked(root: Path) -> None:
    deadline = time.monotonic() + 60
    while not (root / "store.json").exists() or not Store(root).lock().is_held():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_full_disk_ends_the_run_with_advice_and_keeps_what_is_finished(
    tmp_path: Path, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute(cells(8), experiment="run_evaluations:draw", store=tmp_path / "R", engine=SerialExecutor(), limit=3)
    real = os.fsync
    calls = 0

    def fill_up(fd: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 6:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(fd)

    with monkeypatch.context() as patch:
        patch.setattr("giveway.core.files.os.fsync", fill_up)
        with pytest.raises(StoreError, match="disk is full") as caught:
            compute(
                cells(8),
                experiment="run_evaluations:draw",
                store=tmp_path / "R",
                engine=SerialExecutor(),
                machine={"pause_s": 0.06},  # long enough for results to wait for the disk
            )
    assert "cells are finished and safe" in str(caught.value)
    kept = len(read_index(Store(tmp_path / "R")).keys())
    assert 3 <= kept < 8
    assert not list((tmp_path / "R").rglob("*.tmp"))
    after = compute(cells(8), experiment="run_evaluations:draw", store=tmp_path / "R", engine=SerialExecutor())
    assert after.ok and after.skipped == kept


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_really_full_disk_leaves_a_readable_store(tmp_path: Path, cells: Cells) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("cannot mount a small disk here")
    try:
        with pytest.raises(StoreError, match="disk is full"):
            compute(cells(400), experiment="run_evaluations:draw", store=disk / "R", engine=SerialExecutor())
        kept = read_index(Store(disk / "R"))
        assert len(kept.keys()) > 0
        assert not kept.damaged
    finally:
        subprocess.run(["umount", str(disk)], check=True)
