"""A short session that finds out whether a client keeps the protocol.

Four cases of one second are driven with whoever connects. On the way an idle answer is given although a car waits, and
one good push is refused, because clients meet both sooner or later. Everything said on the wire is kept, and judged
afterwards by :mod:`giveway.serve.rpc.verdicts`.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from giveway.core.case import Case
from giveway.core.errors import ProtocolError
from giveway.drive.bundled import bundled_set
from giveway.drive.driving import drive_cases
from giveway.drive.scenes import SceneSource
from giveway.serve.rpc.exchange import Exchange, ServerClosed
from giveway.serve.rpc.remote import RemotePredictor
from giveway.serve.rpc.server import PredictionServer, ServerOptions
from giveway.serve.rpc.wire import Request, idle_response, prediction_of

CASES = ("merge-00", "roundabout-00", "junction-00")
AGAIN = "merge-00-again"
"""The first case once more: the same questions should get the same answers."""

CASE_S = 1.0
IDLE_AT_FETCH = 6
REFUSE_AT_PUSH = 9
PROBE = "this push is refused on purpose, to see what the client does; push again"
SILENCE_S = 10.0
"""A client that says nothing for so long is taken as dead."""

TURNED_AWAY_S = 3.0
"""How long a client is given to come back by the rules after it was turned away."""

GOODBYE_S = 5.0
AFTERWARDS_S = 1.0
"""How long a client is watched after its goodbye."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One call of the client and its answer.

    Attributes:
        kind: ``fetch`` or ``push``.
        at_s: when it was answered, since the client's first call.
        code: of the answer.
        text: of the answer.
        probe: ``idle`` or ``refusal`` if the answer was given on purpose; else empty.
        request: the car handed out or answered; None if there was none.
        message: what was pushed; None for a fetch.
    """

    kind: str
    at_s: float
    code: int
    text: str
    probe: str = ""
    request: Request | None = None
    message: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What was said in a session.

    Attributes:
        said: all calls in their order.
        counts: of the exchange's tally.
        compat: whether the server behaved as in 2020.
        deadline_s: from fetch to push; None without.
        latency_s: from fetch to push.
        finished: whether all cases were driven.
        goodbye: whether the client answered 233 with a push.
        repeats: pairs of case identifiers that ask the same.
    """

    said: tuple[Said, ...]
    counts: dict[str, int]
    compat: bool
    deadline_s: float | None
    latency_s: tuple[float, ...]
    finished: bool
    goodbye: bool
    repeats: dict[str, str] = field(default_factory=lambda: {AGAIN: CASES[0]})


class WatchedExchange(Exchange):
    """Keeps everything that is said and gives two answers on purpose."""

    def __init__(self, *, compat: bool, deadline_s: float | None) -> None:
        super().__init__(compat=compat, deadline_s=deadline_s)
        self.said: list[Said] = []
        self._began = 0.0
        self._asked_to_wait = self._refused_once = False

    @property
    def silent_s(self) -> float:
        """Time since the client's last call; 0 before the first one."""
        return time.monotonic() - self._began - self.said[-1].at_s if self.said else 0.0

    @property
    def turned_away(self) -> bool:
        """Whether somebody called who was not let in."""
        return any(self.tally.count[kind] for kind in ("other_protocol", "unreadable", "unauthenticated"))

    def fetch(self, client: str, still_there: Callable[[], bool] = lambda: True) -> tuple[Any, Request | None]:
        """As ever, but one answer is idle although a car waits."""
        with self._changed:
            due = not self._asked_to_wait and len(self.said) >= IDLE_AT_FETCH and not self._in_hand and not self._over
            if due:
                self._asked_to_wait = True
                response, request = idle_response(compat=self.compat), None
            else:
                response, request = super().fetch(client, still_there)
            self._keep("fetch", response, request, probe="idle" if due else "")
            return response, request

    def push(self, client: str, message: Any) -> Any:
        """As ever, but one good push is refused."""
        with self._changed:
            request = self._current if self._in_hand else None
            due = not self._refused_once and len(self.said) >= REFUSE_AT_PUSH and _is_good(message, request)
            if due:
                self._refused_once = True
                response = self._refuse(PROBE)
            else:
                response = super().push(client, message)
            self._keep("push", response, request, message=message, probe="refusal" if due else "")
            return response

    def _keep(self, kind: str, response: Any, request: Request | None, *, message: Any = None, probe: str = "") -> None:
        now = time.monotonic()
        self._began = self._began or now
        entry = Said(
            kind=kind,
            at_s=now - self._began,
            code=int(response.resp_code),
            text=str(response.msg),
            probe=probe,
            request=request,
            message=message,
        )
        self.said.append(entry)


def _is_good(message: Any, request: Request | None) -> bool:
    if request is None:
        return False
    try:
        prediction_of(message, request.track_id)
    except ProtocolError:
        return False
    return True


def conformance_cases() -> tuple[list[Case], SceneSource]:
    """Three of the bundled cases, one second each, and the first of them again."""
    cases, source = bundled_set()
    by_name = {case.id: case for case in cases}
    short = [replace(by_name[name], end_s=by_name[name].start_s + CASE_S) for name in CASES]
    return [*short, replace(short[0], id=AGAIN)], source


class ConformanceServer:
    """Listens for one client and watches it.

    Args:
        options: where to listen.
        compat: behave as the server of 2020.
        deadline_s: from fetch to push; None waits forever.
    """

    def __init__(self, options: ServerOptions, *, compat: bool, deadline_s: float | None) -> None:
        self._cases, self._source = conformance_cases()
        self._exchange = WatchedExchange(compat=compat, deadline_s=deadline_s)
        self._server = PredictionServer(self._exchange, options)
        self.port = self._server.port

    def watch(self, *, wait_s: float, silence_s: float = SILENCE_S) -> Transcript:
        """Wait for a client, drive with it, and tell what was said.

        Args:
            wait_s: for the client's first call.
            silence_s: after so long without a call the client is given up.
        """
        self._server.start()
        drive = threading.Thread(target=self._drive, name="giveway-conformance", daemon=True)
        drive.start()
        exchange, until = self._exchange, time.monotonic() + wait_s
        try:
            while drive.is_alive() and exchange.silent_s < silence_s and (exchange.said or time.monotonic() < until):
                drive.join(0.1)
                if exchange.turned_away:
                    until = min(until, time.monotonic() + TURNED_AWAY_S)
            finished, goodbye = not drive.is_alive(), False
            if finished:
                exchange.finish()
                goodbye = exchange.wait_for_goodbye(GOODBYE_S)
                time.sleep(AFTERWARDS_S if goodbye else 0.0)
        finally:
            self._server.stop()
            drive.join(5.0)
        return Transcript(
            said=tuple(exchange.said),
            counts=dict(exchange.tally.count),
            compat=exchange.compat,
            deadline_s=exchange.deadline_s,
            latency_s=tuple(exchange.tally.latency_s),
            finished=finished,
            goodbye=goodbye,
        )

    def _drive(self) -> None:
        predictor = RemotePredictor(self._exchange, self._cases)
        with contextlib.suppress(ServerClosed):
            for _ in drive_cases(self._cases, self._source, predictor=predictor, batch=1):
                pass
