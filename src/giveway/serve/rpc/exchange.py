"""Where the simulation's thread and the calls of a client meet.

::

    simulation  ──ask(requests)──▶  one car at a time:
                                    waiting ──fetch──▶ in hand ──push──▶ answered
                                                          └─deadline, third refusal──▶ constant velocity
    simulation  ◀──answers────────

The simulation waits for as long as nobody fetches: a client may be away. From the fetch on, the deadline runs.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from giveway.core.arrays import FloatArray
from giveway.core.errors import ProtocolError
from giveway.core.logs import one_line
from giveway.serve.rpc.messages import FetchEnvResponse, PushMyTrajectoryResponse
from giveway.serve.rpc.wire import BUSY, OK, OVER, REFUSED, Request, idle_response, prediction_of

MAX_REFUSALS = 3
"""Refused pushes for one car before constant velocity is taken instead."""

KEPT_SENTENCES = 20
"""Sentences of a kind kept for the report; all are counted."""


HELD_TAKEOVER_S = 60.0
"""Silence after which a car that has no deadline may be taken out of its client's hands."""


class ServerClosed(BaseException):
    """The server is being stopped; unwinds the simulation's thread, past every handler of errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one request.

    Attributes:
        states: (K, 30, 5); None if there is no usable answer.
        probability: (K,).
        missing: why there is none; empty if there is one.
    """

    states: FloatArray | None = None
    probability: FloatArray | None = None
    missing: str = ""


@dataclass(slots=True)
class Tally:
    """What happened on the wire.

    Attributes:
        count: ``asked``, ``answered``, ``late``, ``refused``, ``given_up``, ``repeated_fetches``, ``idle``, ``busy``,
            ``takeovers``, ``unexpected_pushes``, ``unreadable``, ``other_protocol``, ``unauthenticated``, ``streams``,
            ``streams_ended``.
        latency_s: from fetch to push of every answer.
        first_fetch_at: when the first car was handed out, on the monotonic clock; 0 before.
        sentences: the first few of what clients were told, with the kind.
    """

    count: Counter[str] = field(default_factory=lambda: Counter[str]())
    first_fetch_at: float = 0.0
    latency_s: list[float] = field(default_factory=lambda: list[float]())
    sentences: list[tuple[str, str]] = field(default_factory=lambda: list[tuple[str, str]]())

    def add(self, kind: str, sentence: str = "") -> None:
        """Count, and keep the sentence if there are not too many yet."""
        self.count[kind] += 1
        if sentence and self.count[kind] <= KEPT_SENTENCES:
            self.sentences.append((kind, one_line(sentence)))


class Desk:
    """A session on the wire: what was counted, and whether it is over.

    Args:
        poll_s: how long a call is held back while nothing is asked, before the idle answer.
        takeover_s: after this long without a word from its client, a session may be taken over by another one.
        clock: seconds that never go back.
        lock: shared with other conditions; a new one if not given.
    """

    def __init__(
        self, *, poll_s: float, takeover_s: float, clock: Callable[[], float], lock: threading.RLock | None = None
    ) -> None:
        self.tally = Tally()
        self._poll_s, self._takeover_s, self._clock = poll_s, takeover_s, clock
        self._changed = threading.Condition(lock)
        self._heard_at = 0.0
        self._in_hand = self._over = self._said_goodbye = self._closed = False

    def refuse_unreadable(self, sentence: str) -> str:
        """Count a message that cannot be read; returns the sentence."""
        with self._changed:
            self.tally.add("unreadable", sentence)
        return sentence

    def refuse_version(self, sentence: str) -> str:
        """Count a client that speaks no or another version of the protocol; returns the sentence."""
        with self._changed:
            self.tally.add("other_protocol", sentence)
        return sentence

    def count_stream(self, client: str, *, instead_of: str) -> None:
        """Count a stream that was opened, and whose had to be ended for it."""
        with self._changed:
            self.tally.add("streams")
            if instead_of:
                self.tally.add("streams_ended", f"the stream of {instead_of} was ended for one of {client}")

    def finish(self) -> None:
        """Answer 233 from now on."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def wait_for_goodbye(self, timeout_s: float) -> bool:
        """Wait until the client knows that the session is over: it has been told, or has answered it."""
        with self._changed:
            return self._changed.wait_for(lambda: self._said_goodbye or self._closed, timeout_s)

    def restart(self) -> None:
        """Begin another session."""
        with self._changed:
            self._over = self._said_goodbye = False
            self.tally = Tally()

    def close(self) -> None:
        """Unwind whoever waits."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class Exchange(Desk):
    """Hands out one car at a time and takes its prediction.

    Args:
        compat: behave as the server of 2020.
        deadline_s: from a fetch to its push; None waits forever.
        poll_s: how long a fetch is held back while no car waits, before the idle answer.
        takeover_s: after this long without a word from its client, a session may be taken over by another one; not
            while the deadline of a car in hand runs, and after :data:`HELD_TAKEOVER_S` if that car has none.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        *,
        compat: bool,
        deadline_s: float | None,
        poll_s: float = 0.25,
        takeover_s: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        lock = threading.RLock()
        super().__init__(poll_s=poll_s, takeover_s=takeover_s, clock=clock, lock=lock)
        self.compat = compat
        self.deadline_s = deadline_s
        self._settled = threading.Condition(lock)
        self._asked: deque[Request] = deque()
        self._current: Request | None = None
        self._answers: list[Answer] = []
        self._fetched_at = 0.0
        self._refusals = 0
        self._last_gone = ""
        self._holder = ""

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        """Wait for the predictions of these cars; called by the simulation.

        Raises:
            ServerClosed: the server is being stopped.
        """
        with self._changed:
            self._asked, self._answers = deque(requests), []
            self._next()
            while len(self._answers) < len(requests):
                if self._closed:
                    raise ServerClosed
                left = self._time_left()
                if left is not None and left <= 0:
                    assert self.deadline_s is not None
                    self._give_up("late", f"no prediction within {1000 * self.deadline_s:.0f} ms")
                else:
                    # A car fetched after this is not late before one whole deadline has passed.
                    self._settled.wait(self.deadline_s if left is None else left)
            return self._answers

    def _next(self) -> None:
        """Offer the next car of the tick; with none left, wake the simulation."""
        self._in_hand, self._refusals = False, 0
        self._current = self._asked.popleft() if self._asked else None
        if self._current is None:
            self._settled.notify_all()
        else:
            self.tally.add("asked")
            self._changed.notify_all()

    def _take(self, answer: Answer) -> None:
        self._answers.append(answer)
        self._next()

    def _time_left(self) -> float | None:
        if self.deadline_s is None or not self._in_hand:
            return None
        return self._fetched_at + self.deadline_s - self._clock()

    def _give_up(self, kind: str, reason: str) -> None:
        assert self._current is not None
        self._last_gone = f"{self._current.name}: {reason}; constant velocity was taken"
        self.tally.add(kind, self._last_gone)
        self._take(Answer(missing=reason))

    def fetch(self, client: str, still_there: Callable[[], bool] = lambda: True) -> tuple[Any, Request | None]:
        """The answer to a FetchEnv and the request in it, if any.

        Args:
            client: who asks.
            still_there: whether the client waits for the answer; no car is put into the hands of one that left.
        """
        with self._changed:
            if not self._admit(client):
                sentence = f"another client ({self._holder}) is connected; one at a time"
                self.tally.add("busy", sentence)
                if self.compat:
                    return idle_response(compat=True), None
                return FetchEnvResponse(resp_code=BUSY, msg=sentence), None
            until = self._clock() + self._poll_s
            while not self._over and not self._closed and not self._open():
                left = until - self._clock()
                if left <= 0:
                    break
                self._changed.wait(left)
            self._heard_at = self._clock()
            if self._over:
                return FetchEnvResponse(resp_code=OVER, msg="the session is over"), None
            if self._closed or not self._open() or not still_there():
                self.tally.add("idle")
                return idle_response(compat=self.compat), None
            return self._hand_out()

    def _open(self) -> bool:
        """Whether a car waits for a prediction, in hand or not."""
        return self._current is not None

    def _hand_out(self) -> tuple[Any, Request]:
        assert self._current is not None
        if self._in_hand:
            self.tally.add("repeated_fetches")
        else:
            self._in_hand, self._fetched_at = True, self._clock()
            self.tally.first_fetch_at = self.tally.first_fetch_at or self._fetched_at
        return self._current.response, self._current

    def push(self, client: str, message: Any) -> Any:
        """The answer to a PushMyTrajectory."""
        with self._changed:
            if not self._admit(client):
                return self._unexpected(f"another client ({self._holder}) is connected; one at a time")
            if self.is_goodbye(message):
                self._said_goodbye = True
                self._changed.notify_all()
                return PushMyTrajectoryResponse(resp_code=OK, msg="goodbye")
            if not self._open() or not self._in_hand:
                gone = f" ({self._last_gone})" if self._last_gone else ""
                return self._unexpected(f"no car is waiting for this prediction{gone}; fetch first")
            assert self._current is not None
            try:
                states, probability = prediction_of(message, self._current.track_id)
            except ProtocolError as error:
                return self._refuse(error.what)
            self.tally.add("answered")
            self.tally.latency_s.append(self._clock() - self._fetched_at)
            self._take(Answer(states=states, probability=probability))
            return PushMyTrajectoryResponse(resp_code=OK, msg="taken")

    @property
    def holder(self) -> str:
        """The client that holds the session; empty if nobody does."""
        return self._holder

    def is_goodbye(self, message: Any) -> bool:
        """Whether this push ends the session: an empty one after all cases are driven."""
        return self._over and not message.pred_trajs and not message.probability

    def _unexpected(self, sentence: str) -> Any:
        """A push nobody asked for: thrown away as in 2020, refused in strict mode."""
        self.tally.add("unexpected_pushes", sentence)
        return PushMyTrajectoryResponse(resp_code=OK if self.compat else REFUSED, msg=sentence)

    def _refuse(self, sentence: str) -> Any:
        assert self._current is not None
        self.tally.add("refused", f"{self._current.name}: {sentence}")
        self._refusals += 1
        if self._refusals >= MAX_REFUSALS:
            self._give_up("given_up", f"{MAX_REFUSALS} pushes were refused, the last one: {sentence}")
        return PushMyTrajectoryResponse(resp_code=REFUSED, msg=sentence)

    def _admit(self, client: str) -> bool:
        """Whether this client holds the session, now or from now on."""
        now = self._clock()
        if self._holder and client != self._holder:
            if not self._may_be_taken_over(now):
                return False
            self.tally.add("takeovers", f"{client} took over from {self._holder}")
        self._holder, self._heard_at = client, now
        return True

    def _may_be_taken_over(self, now: float) -> bool:
        """Whether the holder has been silent for too long."""
        limit_s = self._takeover_s
        if self._in_hand:
            left = self._time_left()
            if left is not None and left > 0:
                return False
            if left is None:
                limit_s = max(limit_s, HELD_TAKEOVER_S)
        return now - self._heard_at >= limit_s

    def restart(self) -> None:
        """Begin another session: nobody holds it and it is not over."""
        with self._changed:
            super().restart()
            self._holder, self._last_gone = "", ""

    def close(self) -> None:
        """Unwind whoever waits."""
        with self._changed:
            super().close()
            self._settled.notify_all()
