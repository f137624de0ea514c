"""The streams a server has open. Each keeps a thread for as long as it lasts, so there may be only so many."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_STREAMS = 8
"""Half of the server's threads: calls always find a free one."""


@dataclass(slots=True, eq=False)
class OpenStream:
    """One stream.

    Attributes:
        client: who opened it.
        end: hangs up.
        heard_at: when its last message came, on the monotonic clock.
    """

    client: str
    end: Callable[[], object]
    heard_at: float = field(default_factory=time.monotonic)

    def hear(self) -> None:
        """A message came."""
        self.heard_at = time.monotonic()


class OpenStreams:
    """All streams of a server.

    Args:
        limit: how many may be open.
    """

    def __init__(self, limit: int = MAX_STREAMS) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._open: list[OpenStream] = []

    def add(self, stream: OpenStream, *, keep: str) -> OpenStream | None:
        """Add a stream; if there are too many, the one that was silent for longest is ended and returned.

        Args:
            stream: the new one.
            keep: the client whose streams are ended last, because it holds the session.
        """
        with self._lock:
            self._open.append(stream)
            if len(self._open) <= self._limit:
                return None
            longest = min(self._open[:-1], key=lambda other: (other.client == keep, other.heard_at))
            self._open.remove(longest)
        longest.end()
        return longest

    def remove(self, stream: OpenStream) -> None:
        """The stream is over; one that was removed already is none of our business."""
        with self._lock:
            if stream in self._open:
                self._open.remove(stream)
