"""Options of every run command: which engine, how many workers, which limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from giveway.core.errors import UsageError

if TYPE_CHECKING:
    from giveway.experiments import Executor

ENGINE = typer.Option("local", "--engine", help="local (processes of this machine) or dask (a cluster).")
WORKERS: int | None = typer.Option(
    None, "--workers", "-w", min=1, max=100_000, help="Processes; one per core by default."
)
SCHEDULER: str | None = typer.Option(None, "--scheduler", help="Dask: address of a running scheduler, tcp://HOST:8786.")
CLUSTER: Path | None = typer.Option(
    None, "--cluster", help="Dask: TOML file that describes a cluster to start (local, ssh, slurm, pbs)."
)
TIME_LIMIT: float | None = typer.Option(None, "--time-limit", min=0.01, help="Seconds a cell may take.")
MEMORY_LIMIT: float | None = typer.Option(None, "--memory-limit", min=1.0, help="Megabytes a cell may use.")
MAX_HOURS: float | None = typer.Option(None, "--max-hours", min=0.0, help="Start no further cell after this time.")
ENGINES = ("local", "dask")


def make_engine(
    engine: str,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    cluster: Path | None = None,
    time_limit_s: float | None = None,
    memory_limit_mb: float | None = None,
    alone_here: bool = False,
) -> Executor:
    """The engine that the options ask for.

    Args:
        engine: one of :data:`ENGINES`.
        workers: see :data:`WORKERS`.
        scheduler: see :data:`SCHEDULER`.
        cluster: see :data:`CLUSTER`.
        time_limit_s: see :data:`TIME_LIMIT`.
        memory_limit_mb: see :data:`MEMORY_LIMIT`.
        alone_here: for cells that cannot harm their process: a single local worker without limits is this process.

    Raises:
        UsageError: for options that contradict one another.
    """
    _check(engine, workers, scheduler, cluster)
    from giveway.experiments.engines import DaskEngine, LocalEngine

    if engine == "local":
        if alone_here and workers == 1 and time_limit_s is None and memory_limit_mb is None:
            return LocalEngine(0)
        return LocalEngine(workers, time_limit_s=time_limit_s, memory_limit_mb=memory_limit_mb)
    return DaskEngine(scheduler, cluster, workers=workers, time_limit_s=time_limit_s, memory_limit_mb=memory_limit_mb)


def expected_workers(
    engine: str, *, workers: int | None = None, scheduler: str | None = None, cluster: Path | None = None
) -> int | None:
    """How many workers the engine would have; None if the options leave that to this machine.

    Raises:
        UsageError: for options that contradict one another.
        ClusterError: if the scheduler cannot be reached.
    """
    _check(engine, workers, scheduler, cluster)
    if workers is not None or engine == "local":
        return workers
    if cluster is not None:
        from giveway.experiments.cluster import read_cluster

        return read_cluster(cluster).workers
    if scheduler is None:
        return None
    from giveway.experiments.dask_engine import at_scheduler

    with at_scheduler(scheduler)() as client:
        return len(client.scheduler_info(n_workers=-1)["workers"]) or None


def _check(engine: str, workers: int | None, scheduler: str | None, cluster: Path | None) -> None:
    if engine not in ENGINES:
        raise UsageError("unknown engine", where="--engine", found=engine, hint=f"one of {', '.join(ENGINES)}")
    if engine == "local" and (scheduler is not None or cluster is not None):
        raise UsageError(
            "a scheduler or cluster needs the Dask engine",
            where="--scheduler" if scheduler is not None else "--cluster",
            found="--engine local",
            hint="add --engine dask",
        )
    from giveway.experiments.engines import check_cluster

    check_cluster(scheduler, cluster, workers)
