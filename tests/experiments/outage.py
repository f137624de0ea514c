"""A connection to a server that can be cut: what a store that dies during a run looks like from here."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from urllib.parse import urlsplit


class Proxy:
    """Passes bytes on to a server until told not to.

    Args:
        server: e.g. ``http://127.0.0.1:5000``.
        before: called with every piece that a client sends; False cuts all connections and refuses new ones.
        port: where to listen; any free one by default.
    """

    def __init__(self, server: str, before: Callable[[bytes], bool], *, port: int = 0) -> None:
        parts = urlsplit(server)
        self._server = (str(parts.hostname), int(parts.port or 80))
        self._before = before
        self._listening = socket.create_server(("127.0.0.1", port))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.port: int = self._listening.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.works = True

    def __enter__(self) -> Proxy:
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._cut()
        for thread in self._threads:
            thread.join(timeout=10)

    def _start(self, what: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=what, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError), self._listening:
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._server)
                self._open += [client, server]
                self._start(self._pass_on, client, server, self._before)
                self._start(self._pass_on, server, client, lambda data: True)

    def _pass_on(self, source: socket.socket, target: socket.socket, before: Callable[[bytes], bool]) -> None:
        with source, contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if not before(data):
                    self._cut()
                    return
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def _cut(self) -> None:
        self.works = False
        for connection in [self._listening, *self._open]:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._open.clear()
