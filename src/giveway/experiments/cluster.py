"""A cluster described in a TOML file, started for one run and ended with it.

::

    kind = "slurm"            # local, ssh, slurm or pbs
    workers = 64              # processes, one core each
    memory = "4GB"            # per worker
    queue = "short"
    walltime = "04:00:00"
    workers_per_job = 16
    prologue = ["module load python", "source ~/venv/bin/activate"]
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import logging
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from giveway.core.checked import Expect, read_toml
from giveway.core.errors import ClusterError, ConfigError, MissingDependencyError
from giveway.experiments.dask_engine import import_distributed
from giveway.experiments.threads import VARIABLES, num_cores

if TYPE_CHECKING:
    from distributed import Client

KINDS = ("local", "ssh", "slurm", "pbs")
ONE_THREAD = dict.fromkeys(VARIABLES, "1")

CONNECT_S = 20.0
"""For the scheduler of a cluster that we have just started."""


class ClusterSpec(BaseModel):
    """Attributes:
    kind: where workers run.
    workers: processes in all; one core each.
    memory: per worker, e.g. ``"4GB"``.
    hosts: ssh: machines; the scheduler runs on the first one.
    user, key_file, port, known_hosts: ssh: how to log in, and the file that machines are recognized by; as in the
        user's own configuration by default.
    python: ssh, slurm, pbs: interpreter on the other machines; the same path as here by default.
    queue, account, walltime: slurm, pbs: as the batch system calls them.
    workers_per_job: slurm, pbs: workers in one job.
    prologue: slurm, pbs: lines of the job script before the workers start.
    directives: slurm, pbs: further lines for the batch system, e.g. ``"--constraint=cpu"``.
    interface: network interface that scheduler and workers talk over, e.g. ``"ib0"``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["local", "ssh", "slurm", "pbs"]
    workers: int = Field(default_factory=num_cores, ge=1, le=100_000)
    memory: str = Field(default="4GB", pattern=r"^\d+(\.\d+)?\s*[kMGT]i?B$")
    hosts: tuple[str, ...] = ()
    user: str | None = None
    key_file: Path | None = None
    port: int | None = Field(default=None, ge=1, le=65535)
    known_hosts: Path | None = None
    python: str = sys.executable
    queue: str | None = None
    account: str | None = None
    walltime: str = Field(default="04:00:00", pattern=r"^(\d+-)?\d{1,3}:\d{2}(:\d{2})?$")
    workers_per_job: int = Field(default=1, ge=1, le=1024)
    prologue: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()
    interface: str | None = None


def read_cluster(path: Path) -> ClusterSpec:
    """A description from TOML.

    Raises:
        ConfigError: if the file cannot be read, is not TOML, or names something unknown.
    """
    expect = Expect(
        error=ConfigError, what="the description of the cluster", hint="give a TOML file, see docs/how-to/cluster.md"
    )
    values = read_toml(path, expect=expect)
    try:
        spec = ClusterSpec(**values)
    except ValidationError as error:
        raise _config_error(error, path) from error
    if spec.kind == "ssh" and not spec.hosts:
        raise ConfigError("a cluster over ssh needs hosts", where=path, hint='hosts = ["node1", "node2"]')
    return spec


def cluster_from(spec: ClusterSpec) -> Callable[[], contextlib.AbstractContextManager[Client]]:
    """Start the cluster and connect; everything ends when the context is left."""

    @contextlib.contextmanager
    def connect() -> Generator[Client]:
        import_distributed()
        from dask import config
        from distributed import Client

        with config.set({"distributed.worker.daemon": False}):
            cluster = _start(spec)
            try:
                client = Client(cluster, timeout=CONNECT_S, set_as_default=False)
                try:
                    yield client
                finally:
                    with contextlib.suppress(Exception):
                        client.close(timeout=5)
            finally:
                with contextlib.suppress(Exception):
                    cluster.close(timeout=10)

    return connect


def _start(spec: ClusterSpec) -> Any:
    try:
        if spec.kind == "local":
            return _local(spec)
        if spec.kind == "ssh":
            return _ssh(spec)
        return _submitted(batch_cluster(spec), spec.workers)
    except (OSError, TimeoutError, RuntimeError, ValueError) as error:
        raise ClusterError(
            f"cannot start the {spec.kind} cluster",
            where=", ".join(spec.hosts) or spec.queue or spec.kind,
            found=f"{type(error).__name__}: {error}"[:400],
            hint="try the same by hand first (ssh HOST, sbatch, qsub); see docs/how-to/cluster.md",
        ) from error


def _local(spec: ClusterSpec) -> Any:
    from distributed import LocalCluster

    start: Any = LocalCluster  # its annotations forbid what its documentation allows
    return start(
        n_workers=spec.workers,
        threads_per_worker=1,
        processes=True,
        memory_limit=spec.memory,
        dashboard_address="127.0.0.1:0",
        host="127.0.0.1",
        env=ONE_THREAD,
        preload=["giveway.experiments.ignore_interrupt"],
        silence_logs=logging.ERROR,
    )


def _ssh(spec: ClusterSpec) -> Any:
    from distributed import SSHCluster

    try:
        import asyncssh  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise MissingDependencyError("asyncssh", extra="cluster", purpose="a cluster over ssh") from error
    login = {
        "username": spec.user,
        "port": spec.port,
        "client_keys": spec.key_file and [str(spec.key_file)],
        "known_hosts": spec.known_hosts and str(spec.known_hosts),
    }
    per_host = -(-spec.workers // len(spec.hosts))
    return SSHCluster(
        [spec.hosts[0], *spec.hosts],
        connect_options={name: value for name, value in login.items() if value is not None},
        worker_options={"nthreads": 1, "n_workers": per_host, "memory_limit": spec.memory, **_interface(spec)},
        scheduler_options={"dashboard": False, "dashboard_address": ":0", **_interface(spec)},
        remote_python=spec.python,
    )


def batch_cluster(spec: ClusterSpec) -> Any:
    """A cluster whose workers are jobs of a batch system; none has been submitted yet.

    Raises:
        MissingDependencyError: without dask-jobqueue.
    """
    try:
        batch: Any = importlib.import_module("dask_jobqueue")
    except ImportError as error:
        raise MissingDependencyError(
            "dask_jobqueue", extra="cluster", purpose=f"a cluster of {spec.kind} jobs"
        ) from error
    kind = batch.SLURMCluster if spec.kind == "slurm" else batch.PBSCluster
    from dask.utils import format_bytes, parse_bytes

    lines = [f"export {name}=1" for name in VARIABLES]
    return kind(
        queue=spec.queue,
        account=spec.account,
        walltime=spec.walltime,
        cores=spec.workers_per_job,
        processes=spec.workers_per_job,
        memory=format_bytes(parse_bytes(spec.memory) * spec.workers_per_job).replace(" ", ""),
        python=spec.python,
        job_script_prologue=[*spec.prologue, *lines],
        job_extra_directives=list(spec.directives),
        scheduler_options={"dashboard": False, "dashboard_address": ":0"},
        **_interface(spec),
    )


def _submitted(cluster: Any, workers: int) -> Any:
    """The cluster after its jobs were handed in; a queue that refuses them is an error now, not a long wait."""

    async def submit() -> None:
        cluster.scale(n=workers)
        await cluster._correct_state()  # what scale() starts in the background, where an error would only be logged

    with _quiet("tornado.application", "asyncio", "distributed", "dask_jobqueue"):
        try:
            cluster.sync(submit)
        except BaseException:
            with contextlib.suppress(Exception):
                cluster.close(timeout=10)
            raise
    return cluster


@contextlib.contextmanager
def _quiet(*names: str) -> Generator[None]:
    """Libraries that log a traceback beside raising what happened keep it to themselves."""
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _interface(spec: ClusterSpec) -> dict[str, str]:
    return {} if spec.interface is None else {"interface": spec.interface}


def _config_error(error: ValidationError, path: Path) -> ConfigError:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"]) or "kind"
    hint = f"known keys: {', '.join(ClusterSpec.model_fields)}"
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(key, list(ClusterSpec.model_fields), n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}?" if near else hint
    elif key == "kind":
        hint = f"kind is one of {', '.join(KINDS)}"
    return ConfigError(f"{key}: {first['msg'].lower()}", where=path, found=repr(first.get("input"))[:200], hint=hint)
