"""A process in which planners live, so that one that hangs can be ended."""

from __future__ import annotations

import io
import multiprocessing
import signal
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing.reduction import ForkingPickler
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from giveway.core.errors import UsageError
from giveway.planning import make_planner
from giveway.planning.protocol import Answer, Episode, Planner, Situation
from giveway.sim.drivers.hosts import Fault, Finding, Instances, attempt, found, keeps_state, read, settled, taken

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

START_S = 60.0
"""How long a planner may take to be imported."""

NO_PATH = np.zeros((0, 6))
"""Stands for a path that the other process has already."""


class _Pickler(ForkingPickler):
    """Of messages to a process of our own; maps hold read-only mappings, which pickle refuses."""

    def reducer_override(self, obj: Any) -> Any:
        return (_read_only, (dict(obj),)) if isinstance(obj, MappingProxyType) else NotImplemented


def _read_only(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(values)


def packed(message: Any) -> bytes:
    """A message as a pipe sends it."""
    stream = io.BytesIO()
    _Pickler(stream).dump(message)
    return stream.getvalue()


class ProcessHost:
    """All instances of a planner in one process of their own.

    A process that had to be ended takes the state of all its instances with it. Those of the other episodes are made
    again in a new process by repeating what they were asked so far, so that an episode does not depend on its batch.

    Args:
        planner: name, import path, or an object that can be sent.
        deadline_s: for one answer; for n answers in one batch n times as long; None for as long as it takes.
        warm_up_s: added to the deadline of the first answer of a process (imports, compiled code); not again once a
            first answer did not come.

    Raises:
        UsageError: an object that cannot be sent.
    """

    def __init__(self, planner: str | Planner, *, deadline_s: float | None, warm_up_s: float) -> None:
        made = make_planner(planner) if isinstance(planner, str) else planner
        error, _ = attempt(ForkingPickler.dumps, planner)
        if error:
            raise UsageError(
                "this planner cannot be sent to a process of its own",
                where=made.info.name,
                found=error,
                hint="define it in a module and give package.module:Class, or run without a deadline",
            )
        self._planner = planner
        self._is_batched = Instances(made).is_batched
        self._keeps_state = keeps_state(made)
        self._deadline_s, self._warm_up_s = deadline_s, warm_up_s
        self._is_warm = False
        self._process: Any = None
        self._pipe: Connection | None = None
        self._asked: dict[int, list[bytes]] = {}
        self._route_sent: dict[int, int] = {}
        self._failed: dict[int, tuple[Fault, str]] = {}

    def reset(self, slot: int, episode: Episode) -> None:
        """An episode begins; a planner that cannot begin it fails at its first tick."""
        self._failed.pop(slot, None)
        self._route_sent.pop(slot, None)
        if self._keeps_state:
            self._asked[slot] = [packed(("reset", slot, episode))]
            if self._pipe is not None:
                self._repeat(slot)

    def plan(self, situations: Mapping[int, Situation]) -> dict[int, Answer | Finding]:
        """Ask slot by slot, or all at once."""
        out: dict[int, Answer | Finding] = {}
        if self._is_batched:
            self._plan_batch(situations, out)
        else:
            for slot, seen in situations.items():
                out[slot] = self._plan_one(slot, seen)
        return out

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None

    def _plan_one(self, slot: int, seen: Situation) -> Answer | Finding:
        self._make_ready()
        if slot in self._failed:
            fault, sentence = self._failed[slot]
            return found(fault, seen, sentence)
        message = packed(("plan", slot, self._shortened(slot, seen)))
        fault, sentence, answer = self._exchange(message)
        if fault is not None:
            self._lose([slot], fault, sentence)
            return found(fault, seen, sentence)
        if self._keeps_state:
            self._asked[slot].append(message)
        return settled(answer, seen)

    def _plan_batch(self, situations: Mapping[int, Situation], out: dict[int, Answer | Finding]) -> None:
        self._make_ready()
        for slot in situations.keys() & self._failed.keys():
            out[slot] = found(self._failed[slot][0], situations[slot], self._failed[slot][1])
        slots = [slot for slot in situations if slot not in out]
        if not slots:
            return
        message = packed(("batch", slots, [self._shortened(slot, situations[slot]) for slot in slots]))
        fault, sentence, answers = self._exchange(message, answers=len(slots))
        if fault is not None:
            self._lose(slots, fault, sentence)
            answers = [(fault, sentence, None)] * len(slots)
        out |= {slot: settled(answer, situations[slot]) for slot, answer in zip(slots, answers, strict=True)}

    def _shortened(self, slot: int, seen: Situation) -> Situation:
        """Without what the planner's process knows from the beginning of the episode."""
        if self._route_sent.get(slot) == seen.route:
            return replace(seen, path=NO_PATH, map=None)
        self._route_sent[slot] = seen.route
        return seen

    def _exchange(self, message: bytes, *, answers: int = 1) -> tuple[Fault | None, str, Any]:
        """Send and wait for the answer; a fault and its sentence if there is none. 0 answers: a reset."""
        assert self._pipe is not None
        allowed = None
        if self._deadline_s is not None:
            allowed = max(answers, 1) * self._deadline_s + (0.0 if self._is_warm else self._warm_up_s)
        try:
            self._pipe.send_bytes(message)
            if not self._pipe.poll(allowed):
                if not self._is_warm:
                    self._warm_up_s = 0.0
                return Fault.HUNG, f"no answer within {self._deadline_s:g} s", None
            answer = self._pipe.recv()
            self._is_warm |= answers > 0
            return None, "", answer
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return Fault.RAISED, "the planner's process ended", None

    def _make_ready(self) -> None:
        """A process in which all episodes are where they were."""
        while self._pipe is None:
            self._pipe = self._started()
            self._route_sent.clear()
            for slot in list(self._asked):
                if not self._repeat(slot):
                    break

    def _repeat(self, slot: int) -> bool:
        """Bring the instance of a slot to where it was; answers are known and thrown away. False: process lost."""
        for number, message in enumerate(self._asked[slot]):
            fault, sentence, answer = self._exchange(message, answers=min(number, 1))
            if fault is not None:
                self._lose([slot], fault, sentence)
                return False
            if number == 0 and answer:
                self._failed[slot] = Fault.RAISED, answer
        return True

    def _lose(self, slots: list[int], fault: Fault, sentence: str) -> None:
        """These episodes have failed and the process is of no use any more."""
        for slot in slots:
            self._failed[slot] = fault, sentence
            self._asked.pop(slot, None)
        self.close()

    def _started(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        own, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(self._planner, other), daemon=True)
        self._process.start()
        self._is_warm = False
        other.close()
        error, _ = attempt(own.recv) if own.poll(START_S) else (f"nothing within {START_S:g} s", None)
        if error:
            self.close()
            raise UsageError("the planner's process does not start", where=str(self._planner), found=error)
        return own


def _serve(planner: str | Planner, pipe: Connection) -> None:
    """Body of the planner's process: situations in; error texts and answers out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked, which ends this one
    instances = Instances(make_planner(planner) if isinstance(planner, str) else planner)
    pipe.send("ready")
    known: dict[int, tuple[Any, Any]] = {}
    while True:
        try:
            kind, slot, what = pipe.recv()
        except EOFError:
            return
        if kind == "reset":
            pipe.send(attempt(instances.reset, slot, what)[0])
        elif kind == "plan":
            pipe.send(taken(instances.plan, slot, _complete(known, slot, what)))
        else:
            seen = [_complete(known, s, x) for s, x in zip(slot, what, strict=True)]
            error, answers = attempt(instances.plan_batch, seen)
            failed = [(Fault.RAISED, error, None)] * len(seen)
            pipe.send(failed if error else [read(answer) for answer in answers])


def _complete(known: dict[int, tuple[Any, Any]], slot: int, seen: Situation) -> Situation:
    if len(seen.path):
        known[slot] = seen.path, seen.map
        return seen
    path, road = known[slot]
    return replace(seen, path=path, map=road)
