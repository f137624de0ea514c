"""Is anybody there: a scheduler's address is tried with the standard library first, within a few seconds."""

from __future__ import annotations

import socket
import threading
import time
from urllib.parse import urlsplit

from giveway.core.errors import ClusterError

PATIENCE_S = 6.0
"""For everything until a scheduler has answered; the message comes within 10 s."""

STEP_S = 5.0
"""For resolving the name, and for each of two attempts to connect."""

AGAIN_AFTER_S = 0.5
NEEDS_A_PORT = "tcp://HOST:8786"


class Deadline:
    """Time that several steps share."""

    def __init__(self, seconds: float = PATIENCE_S) -> None:
        self._end = time.monotonic() + seconds

    def left_s(self, at_least: float = 0.5) -> float:
        """What is left, and never nothing."""
        return max(at_least, self._end - time.monotonic())


def try_address(address: str, deadline: Deadline) -> None:
    """Resolve a scheduler's name, connect to its port and wait for its first byte, twice if need be.

    Dask's own client waits for ever for a port that accepts connections and says nothing (seen with 2026.7).

    Args:
        address: e.g. ``tcp://host:8786``; other ways of connecting than TCP and TLS are left to Dask.
        deadline: shared with what comes afterwards.

    Raises:
        ClusterError: with the address and the reason.
    """
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise unreachable(address, str(error)) from None
    if parts.scheme not in ("tcp", "tls"):
        return
    if not host or port is None:
        raise unreachable(address, "the address has no port", hint=f"give it as {NEEDS_A_PORT}")
    where = _resolve(address, host, port, min(STEP_S, deadline.left_s()))
    try:
        _connect(where, parts.scheme, min(STEP_S, deadline.left_s() / 2))
    except OSError:
        time.sleep(AGAIN_AFTER_S)
        try:
            _connect(where, parts.scheme, min(STEP_S, deadline.left_s()))
        except OSError as error:
            raise unreachable(address, f"{error.strerror or error}, tried twice") from error


def unreachable(address: str, reason: str, *, hint: str | None = None) -> ClusterError:
    """The error for a scheduler that cannot be reached."""
    return ClusterError(
        "cannot reach the scheduler",
        where=f"--scheduler {address}",
        found=reason[:300],
        hint=hint or "check address and firewall; start one with: dask scheduler",
    )


def _resolve(address: str, host: str, port: int, timeout_s: float) -> tuple[str, int]:
    """In a thread of its own: the system's resolver has no time limit."""
    found: list[tuple[str, int]] = []
    problem = [f"the name {host!r} could not be resolved within {timeout_s:.0f} s"]

    def ask() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.extend((str(sockaddr[0]), port) for *_, sockaddr in answers)
        except OSError as error:
            problem[0] = f"the name {host!r} cannot be resolved: {error.strerror or error}"

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(timeout_s)
    if not found:
        raise unreachable(address, problem[0])
    return found[0]


def _connect(where: tuple[str, int], scheme: str, timeout_s: float) -> None:
    """Over TCP a scheduler speaks first; over TLS it waits for us, and being connected has to do."""
    with socket.create_connection(where, timeout=timeout_s) as connection:
        if scheme != "tcp":
            return
        try:
            first = connection.recv(1)
        except TimeoutError:
            raise OSError("the port accepts connections and says nothing") from None
        if not first:
            raise OSError("the port closes connections without a word")
