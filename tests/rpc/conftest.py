from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from giveway.drive.scenes import GivenScenes
from giveway.planning.builtin import DefaultPlanner
from giveway.rpc.exchange import ServerClosed
from giveway.rpc.server import ServerOptions
from giveway.rpc.sessions import Session, SessionOptions, SessionServer
from giveway.sim.cases import Case
from giveway.testing.drive_scenes import crossing_case, crossing_scene

SOURCE = GivenScenes({"crossing": crossing_scene()})


def short_case(name: str = "crossing", seconds: float = 1.0) -> Case:
    return crossing_case(case_id=name, seconds=seconds)


@dataclass
class Served:
    """A session that runs in the background."""

    server: SessionServer
    address: str
    thread: threading.Thread
    results: list[Session]

    def result(self) -> Session:
        self.thread.join(60)
        assert not self.thread.is_alive(), "the session did not end"
        return self.results[0]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    started: list[Served] = []

    def start(
        cases: Sequence[Case] = (), *, server: dict[str, Any] | None = None, out: Path | None = None, **session: Any
    ) -> Served:
        options = SessionOptions(planner=DefaultPlanner(), **session)
        serving = SessionServer(
            cases or [short_case()], SOURCE, session=options, server=ServerOptions(port=0, **(server or {}))
        )
        serving.start()
        results: list[Session] = []

        def drive() -> None:
            with contextlib.suppress(ServerClosed):
                results.append(serving.drive(out or tmp_path / "out"))

        thread = threading.Thread(target=drive, daemon=True)
        thread.start()
        started.append(Served(server=serving, address=f"127.0.0.1:{serving.port}", thread=thread, results=results))
        return started[-1]

    yield start
    for served in started:
        served.server.stop()
        served.thread.join(10)
