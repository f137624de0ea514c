"""A real Dask cluster on loopback whose processes can be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


class LoopbackCluster:
    """Scheduler and workers as processes of their own.

    Args:
        folder: for logs.
        port: of the scheduler; a free one by default.
    """

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder, self.port = folder, port or free_port()
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def __enter__(self) -> LoopbackCluster:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.workers, *([self.scheduler] if self.scheduler else [])):
            end(process, signal.SIGKILL)

    def start_scheduler(self) -> None:
        command = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        self.scheduler = self._start(command, "scheduler")
        deadline = time.monotonic() + 300
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert time.monotonic() < deadline, "the scheduler does not start"
            time.sleep(0.1)

    def start_workers(self, count: int, *options: str, hide: Path | None = None, **environment: str) -> None:
        """Workers that cannot see the folder ``hide``, as if it were on another machine (root only)."""
        command = ["distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        for _ in range(count):
            local = ["--local-directory", str(self.folder)]
            name = f"worker{len(self.workers)}"
            self.workers.append(self._start([*command, *local, *options], name, hide=hide, **environment))

    def kill_worker(self, number: int) -> None:
        end(self.workers.pop(number), signal.SIGKILL)

    def kill_scheduler(self) -> None:
        assert self.scheduler is not None
        end(self.scheduler, signal.SIGKILL)
        self.scheduler = None

    def _start(
        self, command: list[str], name: str, hide: Path | None = None, **environment: str
    ) -> subprocess.Popen[bytes]:
        paths = [str(HERE), *(p for p in sys.path if p)]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
        with (self.folder / f"{name}-{time.monotonic_ns()}.log").open("wb") as log:
            return subprocess.Popen(
                [*_elsewhere(hide), sys.executable, "-m", *command], env=env, stdout=log, stderr=log
            )


def _elsewhere(hide: Path | None) -> list[str]:
    """Beginning of a command line that is executed with an empty folder in this place."""
    if hide is None:
        return []
    return ["unshare", "-m", "sh", "-c", 'mount -t tmpfs tmpfs "$0" && exec "$@"', str(hide)]


def can_hide_folders() -> bool:
    """Whether this user may give a process a view of its own on the file system."""
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0


def end(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is None:
        process.send_signal(number)
    process.wait(timeout=30)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
