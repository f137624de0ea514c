"""Where the simulation's thread and the stream of a planner meet.

The simulation waits for as long as nobody is connected. From the moment on at which a situation is handed out its
deadline runs; what comes later is thrown away. An episode belongs to the stream that began it, because a planner may
keep state: if that stream breaks, the case fails, and the next one begins with whoever is connected.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from giveway.serve.rpc.exchange import Desk, ServerClosed
from giveway.serve.rpc.messages import PlanResponse
from giveway.serve.rpc.planner_wire import reply_of
from giveway.serve.rpc.wire import BUSY, IDLE, OK, OVER
from giveway.sim.drivers.hosts import Fault, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One situation to plan for.

    Attributes:
        name: for sentences.
        situation: message.
        begins: message of the episode, at its first situation; None later.
    """

    name: str
    situation: Any
    begins: Any = None


class PlanExchange(Desk):
    """Hands out one situation at a time and takes its answer.

    Args:
        deadline_s: from handing out a situation to its answer; None waits forever.
        warm_up_s: added to the deadline of the first answer on a stream.
        poll_s: how long a message is held back while nothing is to be planned.
        takeover_s: after this long without a word while nothing is in hand, another stream may take the session.
        clock: seconds that never go back.
    """

    compat = False

    def __init__(
        self,
        *,
        deadline_s: float | None,
        warm_up_s: float = 20.0,
        poll_s: float = 0.25,
        takeover_s: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(poll_s=poll_s, takeover_s=takeover_s, clock=clock)
        self.deadline_s, self._warm_up_s = deadline_s, warm_up_s
        self._task: Task | None = None
        self._reply: Reply | None = None
        self._number = 0
        self._handed_at = self._limit_s = 0.0
        self._stream: object = None
        self._owner: object = None
        self._is_warm = False
        self._client = ""

    @property
    def holder(self) -> str:
        """The client that holds the session; empty if nobody does."""
        return self._client if self._stream is not None else ""

    def ask(self, task: Task) -> Reply:
        """Wait for the answer to a situation; called by the simulation.

        Raises:
            ServerClosed: the server is being stopped.
        """
        with self._changed:
            self._task, self._reply, self._in_hand = task, None, False
            self._number += 1
            self.tally.add("asked")
            if task.begins is not None:
                self._owner = None
            elif self._owner is not self._stream or self._owner is None:
                self._reply = self._give_up("ended", Fault.RAISED, "the client's stream ended during the episode")
            self._changed.notify_all()
            while self._reply is None:
                if self._closed:
                    raise ServerClosed
                left = self._time_left()
                if left is not None and left <= 0:
                    sentence = f"no answer within {self._limit_s:g} s"
                    self._reply = self._give_up("late", Fault.HUNG, sentence)
                else:
                    self._changed.wait(left)
            self._task, self._in_hand = None, False
            return self._reply

    def _time_left(self) -> float | None:
        if self.deadline_s is None or not self._in_hand:
            return None
        return self._handed_at + self._limit_s - self._clock()

    def _give_up(self, kind: str, fault: Fault, sentence: str) -> Reply:
        assert self._task is not None
        self.tally.add(kind, f"{self._task.name}: {sentence}")
        return fault, sentence, None

    def turn(self, stream: object, client: str, message: Any, still_there: Callable[[], bool]) -> Any:
        """The answer to one message of a stream: take what it says, hand out the next situation."""
        with self._changed:
            if not self._admit(stream, client):
                sentence = f"another client ({self._client}) is connected; one at a time"
                self.tally.add("busy", sentence)
                self._changed.wait(self._poll_s)
                return PlanResponse(resp_code=BUSY, msg=sentence)
            note = self._take(message)
            until = self._clock() + self._poll_s
            while not (self._over or self._closed or self._waits()) and (left := until - self._clock()) > 0:
                self._changed.wait(left)
            self._heard_at = self._clock()
            if self._over:
                self._said_goodbye = True
                self._changed.notify_all()
                return PlanResponse(resp_code=OVER, msg="the session is over")
            if self._closed or not self._waits() or not still_there():
                self.tally.add("idle")
                return PlanResponse(resp_code=IDLE, msg=note or "nothing to plan at the moment")
            return self._hand_out(stream, note)

    def _waits(self) -> bool:
        return self._task is not None and self._reply is None

    def _take(self, message: Any) -> str:
        """Take an answer; returns why it was thrown away, if it was."""
        if not message.number:
            return ""
        if message.number != self._number or not self._waits() or not self._in_hand:
            sentence = f"the answer to situation {message.number} came too late or twice, and was thrown away"
            self.tally.add("unexpected_pushes", sentence)
            return sentence
        self._reply = reply_of(message)
        self._is_warm = True
        self.tally.latency_s.append(self._clock() - self._handed_at)
        assert self._task is not None
        fault, sentence, _ = self._reply
        self.tally.add("answered" if fault is None else "refused", f"{self._task.name}: {sentence}" if fault else "")
        self._changed.notify_all()
        # The simulation goes on: the next situation is another task.
        self._task = None
        return ""

    def _hand_out(self, stream: object, note: str) -> Any:
        assert self._task is not None
        if self._in_hand:
            self.tally.add("repeated_fetches")
        else:
            self._in_hand, self._handed_at, self._owner = True, self._clock(), stream
            self._limit_s = (self.deadline_s or 0.0) + (0.0 if self._is_warm else self._warm_up_s)
            self.tally.first_fetch_at = self.tally.first_fetch_at or self._handed_at
            self._changed.notify_all()  # the deadline runs from now on
        response = PlanResponse(resp_code=OK, msg=note, number=self._number)
        response.situation.CopyFrom(self._task.situation)
        if self._task.begins is not None:
            response.begins.CopyFrom(self._task.begins)
        return response

    def _admit(self, stream: object, client: str) -> bool:
        now = self._clock()
        if self._stream is not None and self._stream is not stream:
            if self._in_hand or now - self._heard_at < self._takeover_s:
                return False
            self.tally.add("takeovers", f"{client} took over from {self._client}")
        if self._stream is not stream:
            self._stream, self._client, self._is_warm = stream, client, False
        self._heard_at = now
        return True

    def lost(self, stream: object) -> None:
        """A stream has ended; what it had in hand fails."""
        with self._changed:
            if self._stream is not stream:
                return
            self._stream, self._client = None, ""
            if self._waits() and self._in_hand and not self._over:
                self._reply = self._give_up("ended", Fault.RAISED, "the client's stream ended during the episode")
            self._changed.notify_all()
