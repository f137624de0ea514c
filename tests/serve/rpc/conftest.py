from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from giveway.core.case import Case
from giveway.drive.scenes import GivenScenes
from giveway.planning.builtin import LatticePlanner
from giveway.serve.rpc.connection import Connection, Turn
from giveway.serve.rpc.exchange import ServerClosed
from giveway.serve.rpc.server import ServerOptions
from giveway.serve.rpc.sessions import Session, SessionOptions, SessionServer
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


class Talk:
    """Fetches and pushes one by one, with calls or on a stream (where each push brings the next fetch's answer)."""

    def __init__(self, address: str, *, stream: bool, **options: Any) -> None:
        self.stream = stream
        self.connection = Connection(address, stream=stream, **options)
        self._next: Turn | None = None

    def fetch(self) -> Any:
        if not self.stream:
            return self.connection.fetch()[0]
        turn, self._next = self._next or self.connection.turn(), None
        return turn.env

    def push(self, message: Any) -> Any:
        if not self.stream:
            return self.connection.push(message)
        self._next = None
        self._next = self.connection.turn(message)
        return self._next.pushed

    def fetch_car(self) -> Any:
        """The next car, past idle answers."""
        for _ in range(200):
            response = self.fetch()
            if response.resp_code == 0 and response.my_traj.state[0].track_id:
                return response
        raise AssertionError("no car came")


both_ways = pytest.mark.parametrize("stream", [False, True], ids=["calls", "stream"])


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    started: list[Served] = []

    def start(
        cases: Sequence[Case] = (), *, server: dict[str, Any] | None = None, out: Path | None = None, **session: Any
    ) -> Served:
        options = SessionOptions(planner=LatticePlanner(), **session)
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
