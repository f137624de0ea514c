"""A study server in its own process, for tests that need a real one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

RESEARCHER_TOKEN = "researcher-token-for-tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """Attributes:
    address: ``http://127.0.0.1:port``.
    process: to be killed or asked for its end.
    log: file with everything the server wrote to standard error.
    """

    address: str
    process: subprocess.Popen[str]
    log: Path


@contextmanager
def running_server(
    folder: Path, *, database: str | None = None, port: int = 0, quiet: bool = False
) -> Generator[RunningServer]:
    """``giveway study serve`` on loopback; ends with the block."""
    command = [sys.executable, "-m", "giveway.cli.main", "study", "serve", str(folder), "--port", str(port), "--json"]
    if database is not None:
        command += ["--database", database]
    if quiet:
        command.append("--quiet")
    log = folder.parent / f"{folder.name}.server.log"
    environment = {**os.environ, "GIVEWAY_STUDY_TOKEN": RESEARCHER_TOKEN}
    with log.open("a") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
    if process.stdout is None:
        raise RuntimeError("no pipe")
    with process.stdout:
        announced = ""
        while not announced.rstrip().endswith("}"):
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server did not start: {log.read_text()[-2000:]}")
            announced += line
        try:
            yield RunningServer(address=json.loads(announced)["result"]["address"], process=process, log=log)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
