"""Planners that are not compiled: one instance per episode, in this process or in one of its own.

A host owns the instances. It is told when an episode begins in a *slot* (the number of a world in its batch), is asked
for all slots of a tick at once, and answers with what can be driven or with a :class:`Finding`: a planner that raises,
hangs or answers nonsense is a result about that planner, with the episode in which it happened, and never the end of
the others.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

import numpy as np

from giveway.core.errors import UsageError
from giveway.planning import base, make_planner
from giveway.planning.protocol import Answer, Control, Episode, Plan, Planner, Situation, Trajectory
from giveway.sim.plans import problem_of


class Fault(StrEnum):
    """What a planner did wrong."""

    RAISED = "raised"
    HUNG = "hung"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A planner that failed.

    Attributes:
        fault: how.
        episode: in which episode.
        tick: at which tick of it.
        sentence: what happened.
    """

    fault: Fault
    episode: str
    tick: int
    sentence: str


class Host(Protocol):
    """Where planners live."""

    def reset(self, slot: int, episode: Episode) -> None:
        """An episode begins in a slot; the one before, if any, is over."""
        ...

    def plan(self, situations: Mapping[int, Situation]) -> dict[int, Answer | Finding]:
        """What to do in each slot; called in order of time."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


def keeps_state(planner: Planner) -> bool:
    """Whether a planner wants to know when an episode begins."""
    reset = getattr(type(planner), "reset", None)
    return reset is not None and reset is not base.Planner.reset


class Instances:
    """Instances of a planner, one per slot where it keeps state; nothing they do is caught.

    Args:
        planner: is never asked itself if it keeps state and has no ``plan_batch``; the instances are its copies.

    Raises:
        UsageError: it keeps state and cannot be copied.
    """

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.is_batched = callable(getattr(planner, "plan_batch", None))
        self._is_shared = self.is_batched or not keeps_state(planner)
        self._of_slot: dict[int, Planner] = {}
        if not self._is_shared:
            error, _ = attempt(copy.deepcopy, planner)
            if error:
                raise UsageError(
                    "a planner that keeps state must be copied for each episode, and this one cannot be",
                    where=planner.info.name,
                    found=error,
                    hint="make it in reset(episode), or define plan_batch(situations)",
                )

    def reset(self, slot: int, episode: Episode) -> None:
        """Begin an episode with a fresh copy."""
        if not self._is_shared:
            self._of_slot[slot] = copy.deepcopy(self.planner)
        if keeps_state(self.planner):
            self._of_slot.get(slot, self.planner).reset(episode)  # type: ignore[attr-defined]

    def plan(self, slot: int, situation: Situation) -> Any:
        """What the planner of one slot says."""
        return self._of_slot.get(slot, self.planner).plan(situation)

    def plan_batch(self, situations: Sequence[Situation]) -> list[Any]:
        """What a planner says that serves all slots."""
        answers = list(self.planner.plan_batch(situations))  # type: ignore[attr-defined]
        if len(answers) != len(situations):
            raise ValueError(f"plan_batch gave {len(answers)} answers to {len(situations)} situations")
        return answers


class LocalHost:
    """Planners in this process: nothing is sent, and nothing that hangs can be ended.

    Args:
        planner: see :class:`Instances`.
    """

    def __init__(self, planner: Planner) -> None:
        self._instances = Instances(planner)
        self._failed: dict[int, str] = {}

    def reset(self, slot: int, episode: Episode) -> None:
        """An episode begins; a planner that cannot begin it fails at its first tick."""
        self._failed.pop(slot, None)
        error, _ = attempt(self._instances.reset, slot, episode)
        if error:
            self._failed[slot] = error

    def plan(self, situations: Mapping[int, Situation]) -> dict[int, Answer | Finding]:
        """Ask slot by slot, or all at once."""
        out: dict[int, Answer | Finding] = {
            slot: found(Fault.RAISED, seen, self._failed[slot])
            for slot, seen in situations.items()
            if slot in self._failed
        }
        asked = {slot: seen for slot, seen in situations.items() if slot not in out}
        if self._instances.is_batched and asked:
            error, answers = attempt(self._instances.plan_batch, list(asked.values()))
            for (slot, seen), answer in zip(asked.items(), answers or [None] * len(asked), strict=True):
                out[slot] = found(Fault.RAISED, seen, error) if error else settled(read(answer), seen)
            return out
        for slot, seen in asked.items():
            out[slot] = settled(taken(self._instances.plan, slot, seen), seen)
        return out

    def close(self) -> None:
        """Nothing to give back."""


def attempt(call: Callable[..., Any], *args: Any) -> tuple[str, Any]:
    """The sentence of whatever a call raises, and what it returns otherwise."""
    try:
        return "", call(*args)
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}", None


def found(fault: Fault, situation: Situation, sentence: str) -> Finding:
    """A finding with the episode and tick of its situation."""
    return Finding(fault=fault, episode=situation.episode, tick=situation.tick, sentence=sentence)


Reply: TypeAlias = tuple[Fault | None, str, Answer | None]
"""What is wrong and how to say it, or an answer."""


def taken(call: Callable[..., Any], *args: Any) -> Reply:
    """What a planner says when it is called."""
    error, answer = attempt(call, *args)
    return (Fault.RAISED, error, None) if error else read(answer)


def read(answer: Any) -> Reply:
    """An answer in the types of this package."""
    problem, plain = attempt(plain_answer, answer)
    return (Fault.INVALID, problem.partition(": ")[2], None) if problem else (None, "", plain)


def settled(reply: Reply, situation: Situation) -> Answer | Finding:
    """What can be driven, or the finding that it cannot."""
    fault, sentence, answer = reply
    if fault is not None or answer is None:
        return found(fault or Fault.INVALID, situation, sentence)
    problem = problem_of(answer, situation)
    return found(Fault.INVALID, situation, problem) if problem else answer


def plain_answer(answer: Any) -> Answer:
    """The same answer in the types of this package, with arrays of float64.

    Raises:
        TypeError, ValueError: it is no answer.
    """
    if hasattr(answer, "s_m"):
        offset = getattr(answer, "offset_m", None)
        route = getattr(answer, "route", None)
        return Plan(
            s_m=_floats(answer.s_m),
            speed_mps=float(answer.speed_mps),
            offset_m=None if offset is None else _floats(offset),
            route=None if route is None else int(route),
        )
    if hasattr(answer, "states"):
        return Trajectory(states=_floats(answer.states))
    if hasattr(answer, "steer_rate_radps"):
        return Control(accel_mps2=float(answer.accel_mps2), steer_rate_radps=float(answer.steer_rate_radps))
    raise TypeError(f"a planner returns a Plan, a Trajectory or a Control, this one returned {type(answer).__name__}")


def _floats(values: Any) -> Any:
    return np.array(values, dtype=np.float64, order="C")


def make_host(
    planner: str | Planner, *, deadline_s: float | None = None, warm_up_s: float = 20.0, own_process: bool = False
) -> Host:
    """Planners where they should live: in a process of their own if there is a deadline, here otherwise.

    Args:
        planner: name, import path or object; an object that is to be sent to another process must be importable.
        deadline_s: for one answer; None for as long as it takes.
        warm_up_s: added to the deadline of the first answer of a process.
        own_process: another process even without a deadline.

    Raises:
        UsageError: a deadline that is not positive, or an object that cannot be sent.
    """
    elsewhere = getattr(planner, "make_host", None)
    if callable(elsewhere):  # it has a place of its own, e.g. the other end of a wire, with deadlines of its own
        return elsewhere()  # pyright: ignore[reportReturnType]
    if deadline_s is not None and not deadline_s > 0.0:
        raise UsageError("the deadline of a planner must be positive", where="deadline_s", found=deadline_s)
    if deadline_s is None and not own_process:
        return LocalHost(make_planner(planner) if isinstance(planner, str) else planner)
    from giveway.sim.drivers.host_process import ProcessHost

    return ProcessHost(planner, deadline_s=deadline_s, warm_up_s=warm_up_s)
