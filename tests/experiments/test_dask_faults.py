"""Workers and schedulers killed at random; what is left must equal what nobody disturbed."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.dask_processes import LoopbackCluster
from giveway.core.errors import ClusterError
from giveway.experiments import Cell, SerialExecutor, Store, compute, read_index
from giveway.experiments.dask_engine import DaskExecutor, at_scheduler

Cells = Callable[..., list[Cell]]
Contents = Callable[[Path], dict[str, str]]
DRAW = "run_evaluations:draw"


class Saboteur(threading.Thread):
    """Kills a worker after some more cells, again and again, and starts another; then the scheduler."""

    def __init__(self, cluster: LoopbackCluster, store: Path, *, scheduler_at: int | None, seed: int) -> None:
        super().__init__(daemon=True)
        self.cluster, self.store, self.scheduler_at = cluster, store, scheduler_at
        self.chance, self.over = random.Random(seed), threading.Event()
        self.killed_workers = 0

    def compute(self) -> None:
        next_kill = self._done() + self.chance.randint(10, 30)
        while not self.over.wait(self.chance.uniform(0.02, 0.2)):
            done = self._done()
            if self.scheduler_at is not None and done >= self.scheduler_at:
                self.cluster.kill_scheduler()
                return
            if done >= next_kill:
                next_kill = done + self.chance.randint(20, 50)
                self.cluster.kill_worker(self.chance.randrange(len(self.cluster.workers)))
                self.cluster.start_workers(1)
                self.killed_workers += 1

    def _done(self) -> int:
        return len(list(self.store.glob("cells/*/*.json")))


@pytest.mark.slow
def test_killing_workers_and_schedulers_at_random_changes_nothing(
    tmp_path: Path, cells: Cells, contents: Contents
) -> None:
    count, place, lost_schedulers, lost_workers = 300, tmp_path / "R", 0, 0
    for attempt, scheduler_at in enumerate((60, 150, None)):
        with LoopbackCluster(tmp_path) as cluster:
            cluster.start_scheduler()
            cluster.start_workers(2)
            saboteur = Saboteur(cluster, place, scheduler_at=scheduler_at, seed=attempt)
            saboteur.start()
            try:
                summary = compute(
                    cells(count),
                    experiment=DRAW,
                    store=place,
                    engine=DaskExecutor(at_scheduler(cluster.address), max_attempts=10),
                    machine={"pause_s": 0.05},
                    rerun="failed",
                )
                assert summary.ok, summary.failures[0].message
            except ClusterError:
                lost_schedulers += 1
            finally:
                saboteur.over.set()
                saboteur.join()
                lost_workers += saboteur.killed_workers
        deadline = time.monotonic() + 20  # cells that were running may still be written by processes about to end
        while list(place.glob("cells/*/.*.tmp")) and time.monotonic() < deadline:
            time.sleep(0.1)
    assert lost_schedulers == 2
    assert lost_workers >= 2
    index = read_index(Store(place))
    assert len(index.keys()) == index.frame.height == count
    assert not index.damaged
    assert not Store(place).failures()
    compute(cells(count), experiment=DRAW, store=tmp_path / "S", engine=SerialExecutor())
    assert contents(place) == contents(tmp_path / "S")
