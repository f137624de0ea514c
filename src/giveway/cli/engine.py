"""The engine that the options of a command ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveway.core.errors import UsageError

if TYPE_CHECKING:
    from giveway.experiments import Executor


def make_engine(options: Mapping[str, Any], *, here: bool = False) -> Executor:
    """The engine of the options in :data:`giveway.cli.options.ENGINE`.

    Args:
        options: by name.
        here: a single local worker without limits is this process.

    Raises:
        UsageError: for options that contradict one another.
    """
    cluster = _checked(options)
    from giveway.experiments.engines import DaskEngine, LocalEngine

    workers = options["workers"]
    limits = {"time_limit_s": options["time_limit"], "memory_limit_mb": options["memory_limit"]}
    if options["engine"] == "dask":
        return DaskEngine(options["scheduler"], cluster, workers=workers, **limits)
    if here and workers == 1 and not any(limits.values()):
        return LocalEngine(0)
    return LocalEngine(workers, **limits)


def expected_workers(options: Mapping[str, Any]) -> int | None:
    """Number of workers that the engine would have; None if the options leave that to this machine.

    Raises:
        UsageError: for options that contradict one another.
        ClusterError: if the scheduler cannot be reached.
    """
    cluster = _checked(options)
    if options["workers"] is not None or options["engine"] == "local":
        return options["workers"]
    if cluster is not None:
        from giveway.experiments.cluster import read_cluster

        return read_cluster(cluster).workers
    if options["scheduler"] is None:
        return None
    from giveway.experiments.dask_engine import at_scheduler

    with at_scheduler(options["scheduler"])() as client:
        return len(client.scheduler_info(n_workers=-1)["workers"]) or None


def _checked(options: Mapping[str, Any]) -> Path | None:
    """The file of the cluster, after a look at options that exclude one another."""
    from giveway.experiments.engines import check_cluster

    cluster = None if options["cluster"] is None else Path(options["cluster"])
    for name in ("scheduler", "cluster"):
        if options["engine"] == "local" and options[name] is not None:
            raise UsageError(
                f"--{name} needs the Dask engine", where=f"--{name}", found="--engine local", hint="add --engine dask"
            )
    check_cluster(options["scheduler"], cluster, options["workers"])
    return cluster
