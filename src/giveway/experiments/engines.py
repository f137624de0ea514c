"""Engines under the names of the public API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from giveway.core.errors import UsageError
from giveway.experiments.engine import Control, Executor, Job, Outcome

if TYPE_CHECKING:
    from giveway.experiments.cluster import ClusterSpec


class _Engine:
    """What the engines of the public API have in common: another one computes."""

    _engine: Executor

    @property
    def name(self) -> str:
        """``serial`` in this process, ``local`` in others of this machine, ``dask`` on a cluster."""
        return self._engine.name

    @property
    def num_workers(self) -> int:
        """How many cells are computed at the same time; 0 for a cluster before its first run."""
        return self._engine.num_workers

    def run(self, jobs: Iterable[Job], control: Control) -> Iterator[Outcome]:
        """See :class:`giveway.experiments.engine.Executor`."""
        return self._engine.run(jobs, control)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'this process' if self.name == 'serial' else f'{self.num_workers} workers'})"


class LocalEngine(_Engine):
    """Computes cells on this machine, one process per core.

    Args:
        workers: number of processes; 0 computes in this process, which needs nothing to be importable by others.
        time_limit_s: a cell that takes longer is ended and recorded as failed.
        memory_limit_mb: a cell whose process uses more is ended and recorded as failed.

    Raises:
        UsageError: limits without a process that could be ended.
    """

    def __init__(
        self, workers: int | None = None, *, time_limit_s: float | None = None, memory_limit_mb: float | None = None
    ) -> None:
        from giveway.experiments.local import ProcessExecutor, SerialExecutor

        if workers == 0 and (time_limit_s is not None or memory_limit_mb is not None):
            raise UsageError(
                "limits need worker processes, which can be ended",
                where="LocalEngine",
                found="workers=0",
                hint="workers=1 or more",
            )
        self._engine = (
            SerialExecutor()
            if workers == 0
            else ProcessExecutor(num_workers=workers, time_limit_s=time_limit_s, memory_limit_mb=memory_limit_mb)
        )


class DaskEngine(_Engine):
    """Computes cells on the workers of a Dask cluster.

    Args:
        scheduler: address of a running scheduler, ``tcp://HOST:8786``.
        cluster: a cluster to start: a TOML file or its validated description; by default workers of this machine.
        workers: how many to start; not together with ``scheduler``, whose workers are started elsewhere.
        time_limit_s, memory_limit_mb: see :class:`LocalEngine`.

    Raises:
        UsageError: arguments that contradict one another.
        MissingDependencyError: without Dask.
        ClusterError: if the scheduler cannot be reached.
    """

    def __init__(
        self,
        scheduler: str | None = None,
        cluster: Path | str | ClusterSpec | None = None,
        *,
        workers: int | None = None,
        time_limit_s: float | None = None,
        memory_limit_mb: float | None = None,
    ) -> None:
        check_cluster(scheduler, cluster, workers)
        from giveway.experiments.cluster import ClusterSpec, cluster_from, read_cluster
        from giveway.experiments.dask_engine import DaskExecutor, at_scheduler, import_distributed

        import_distributed()
        if scheduler is not None:
            connect = at_scheduler(scheduler)
            with connect():  # before recordings are read or made, which can take minutes
                pass
        else:
            given = read_cluster(Path(cluster)) if isinstance(cluster, str | Path) else cluster
            spec = given or ClusterSpec(kind="local")
            connect = cluster_from(spec if workers is None else spec.model_copy(update={"workers": workers}))
        self._engine = DaskExecutor(connect, time_limit_s=time_limit_s, memory_limit_mb=memory_limit_mb)


def check_cluster(scheduler: str | None, cluster: object, workers: int | None) -> None:
    """Refuse arguments of a Dask engine that contradict one another.

    Raises:
        UsageError: naming them as the command line does.
    """
    if scheduler is not None and cluster is not None:
        raise UsageError(
            "give the address of a scheduler or the description of a cluster, not both",
            where="--scheduler, --cluster",
            found=f"{scheduler}, {cluster}",
        )
    if scheduler is not None and workers is not None:
        raise UsageError(
            "the workers of a running scheduler are started elsewhere",
            where="--workers",
            found=workers,
            hint=f"leave --workers out; start more with: dask worker {scheduler} --nthreads 1",
        )
