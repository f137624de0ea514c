"""Who drives the ego: planners that exist in compiled code, and any other one in a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.generate.environment.arrays import DT_S, EgoDriver, Given
from giveway.generate.protocol import Outcome
from giveway.planning import make_planner
from giveway.planning.idm import IdmParameters
from giveway.planning.profiles import CHECK_STEPS, ROW_FACTS, ProfileParameters
from giveway.planning.protocol import Plan, Situation
from giveway.sim.plans import problem_of

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from giveway.generate.worlds import Worlds

COMPILED = {"IDM": EgoDriver.IDM, "PLANNER": EgoDriver.DEFAULT, "CONSTANT_SPEED": EgoDriver.CONSTANT_SPEED}

START_S = 60.0
"""How long a planner may take to be imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ego:
    """How the ego is driven.

    Attributes:
        driver: compiled, or outside.
        idm: parameters of an IDM ego.
        profiles: parameters of the default planner.
    """

    driver: EgoDriver
    idm: IdmParameters | None = None
    profiles: ProfileParameters = field(default_factory=ProfileParameters)


def resolve_ego(name: str) -> Ego:
    """The driver of a planner's name.

    Raises:
        UnknownNameError: nothing of that name.
        UsageError: something that is not a planner.
    """
    planner: Any = make_planner(name)
    driver = COMPILED.get(planner.info.driver, EgoDriver.OUTSIDE)
    parameters = getattr(planner, "parameters", None)
    return Ego(
        driver=driver,
        idm=parameters if isinstance(parameters, IdmParameters) else None,
        profiles=parameters if isinstance(parameters, ProfileParameters) else ProfileParameters(),
    )


class OutsideEgo:
    """A planner in its own process, so that one that hangs can be ended.

    Args:
        name: registered name or import path.
        deadline_s: for one plan.
        warm_up_s: added to the deadline of the first plan of a process (imports, compiled code); not again once a
            first plan has hung.
    """

    def __init__(self, name: str, *, deadline_s: float, warm_up_s: float = 20.0) -> None:
        self.name = name
        self.deadline_s = deadline_s
        self.warm_up_s = warm_up_s
        self._is_warm = False
        self._process: Any = None
        self._pipe: Connection | None = None
        self._previous: dict[int, FloatArray] = {}

    def plan(self, worlds: Worlds, running: BoolArray, given: Given) -> None:
        """Ask for a plan of every running world; what goes wrong is noted as a finding of that world."""
        given.finding[:] = 0
        for w in np.flatnonzero(running).tolist():
            code, message, plan = self._ask(situation_of(worlds, w))
            if plan is None:
                given.finding[w] = int(code)
                worlds.findings[w] = message
            else:
                given.ego_s[w] = plan.s_m
                given.ego_speed[w] = plan.speed_mps

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None

    def _ask(self, situation: Situation) -> tuple[Outcome, str, Plan | None]:
        pipe = self._pipe or self._started()
        try:
            pipe.send(situation)
            if not pipe.poll(self.deadline_s + (0.0 if self._is_warm else self.warm_up_s)):
                if not self._is_warm:
                    self.warm_up_s = 0.0
                self.close()
                return Outcome.PLANNER_HUNG, f"no plan within {self.deadline_s:g} s", None
            answer = pipe.recv()
            self._is_warm = True
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self.close()
            return Outcome.PLANNER_RAISED, "the planner's process ended", None
        if isinstance(answer, str):
            return Outcome.PLANNER_RAISED, answer, None
        plan = Plan(s_m=answer[0], speed_mps=answer[1])
        problem = problem_of(plan, situation)
        if problem:
            return Outcome.PLANNER_INVALID, problem, None
        return Outcome.RUNNING, "", plan

    def _started(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        own, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.name, other), daemon=True)
        self._process.start()
        self._is_warm = False
        other.close()
        self._pipe = own
        if own.poll(START_S):
            with contextlib.suppress(EOFError):
                own.recv()
        return own


def _serve(name: str, pipe: Connection) -> None:
    """Body of the planner's process: situations in, plans or error texts out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked, which ends this one
    planner = make_planner(name)
    pipe.send("ready")
    while True:
        try:
            situation = pipe.recv()
        except EOFError:
            return
        try:
            plan = planner.plan(situation)
            answer: Any = (np.array(plan.s_m, dtype=np.float64), float(plan.speed_mps))
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        pipe.send(answer)


def situation_of(worlds: Worlds, w: int) -> Situation:
    """What the planner of world w may know: everybody's state, and straight-on predictions of all others."""
    moving, tables, rules = worlds.moving, worlds.tables, worlds.rules
    state = moving.state[w]
    cos, sin = np.cos(state[:, 2]), np.sin(state[:, 2])
    others = np.flatnonzero(moving.present[w, 1:]) + 1
    ahead = 2.0 * DT_S * np.arange(1, CHECK_STEPS + 1)
    modes = np.empty((others.size, CHECK_STEPS, 4))
    modes[..., 0] = state[others, 0][:, None] + ahead * (state[others, 3] * cos[others])[:, None]
    modes[..., 1] = state[others, 1][:, None] + ahead * (state[others, 3] * sin[others])[:, None]
    modes[..., 2] = cos[others][:, None]
    modes[..., 3] = sin[others][:, None]
    facts = np.zeros((others.size, ROW_FACTS))
    facts[:, :2] = rules.size[others]
    facts[:, 2] = others
    facts[:, 3] = 1.0
    facts[:, 4] = 0.2
    way = int(moving.way[w, 0])
    first = int(tables.first[way])
    return Situation(
        path=tables.path[first : first + int(tables.num_rows[way])],
        path_step_m=float(tables.step[way]),
        s_m=float(moving.lane[w, 0, 0]),
        speed_mps=float(state[0, 3]),
        accel_mps2=float(state[0, 5]),
        size_m=rules.size[0],
        desired_speed_mps=float(moving.desired[w, 0]),
        previous_s_m=moving.plan_s[w].copy(),
        mode_states=modes,
        mode_facts=facts,
        own=0,
        states=np.stack([state[:, 0], state[:, 1], state[:, 3], cos, sin], axis=1),
        present=moving.present[w].copy(),
        sizes=rules.size,
    )
