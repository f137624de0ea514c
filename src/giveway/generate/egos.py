"""Who drives the ego: planners that exist in compiled code, and any other one in a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.generate.objective.arrays import DT_S
from giveway.generate.protocol import Outcome
from giveway.planning import make_planner
from giveway.planning.idm import IdmParameters
from giveway.planning.profiles import CHECK_STEPS, PLAN_STEPS, ROW_FACTS, ProfileParameters
from giveway.planning.protocol import Plan, Situation
from giveway.sim.bicycle import ACCEL, HEADING, SPEED, X, Y
from giveway.sim.state import LANE_S, PAST, DriverCode

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from giveway.generate.worlds import Worlds

COMPILED = {code.name: code for code in (DriverCode.IDM, DriverCode.PLANNER, DriverCode.CONSTANT_SPEED)}

START_S = 60.0
"""How long a planner may take to be imported."""

MAX_JUMP_M = 10.0
"""A plan whose first step is longer than this (100 m/s) is not a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ego:
    """How the ego is driven.

    Attributes:
        driver: compiled, or outside.
        idm: parameters of an IDM ego.
        profiles: parameters of the default planner.
    """

    driver: DriverCode
    idm: IdmParameters | None = None
    profiles: ProfileParameters = field(default_factory=ProfileParameters)


def resolve_ego(name: str) -> Ego:
    """The driver of a planner's name.

    Raises:
        UnknownNameError: nothing of that name.
        UsageError: something that is not a planner.
    """
    planner: Any = make_planner(name)
    driver = COMPILED.get(planner.info.driver, DriverCode.EXTERNAL)
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

    def plan(self, worlds: Worlds, running: BoolArray) -> None:
        """Ask for a plan of every running world; what goes wrong is noted as a finding of that world."""
        worlds.judged.finding[:] = 0
        for w in np.flatnonzero(running).tolist():
            code, message, plan = self._ask(situation_of(worlds, w))
            if plan is None:
                worlds.judged.finding[w] = int(code)
                worlds.findings[w] = message
                worlds.decisions.along_s[w, 0] = worlds.state.lane[w, 0, LANE_S]  # it stands where it failed
                worlds.decisions.speed[w, 0] = 0.0
            else:
                worlds.decisions.along_s[w, 0] = plan.s_m
                worlds.decisions.speed[w, 0] = plan.speed_mps

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
        s, speed = answer
        problem = plan_problem(s, speed, situation)
        if problem:
            return Outcome.PLANNER_INVALID, problem, None
        plan = Plan(s_m=np.asarray(s, dtype=np.float64), speed_mps=float(speed))
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


def plan_problem(s: Any, speed: Any, situation: Situation) -> str:
    """What is wrong with a plan; empty text if nothing is."""
    s = np.asarray(s)
    if s.shape != (PLAN_STEPS,):
        return f"a plan has {PLAN_STEPS} positions, this one has shape {s.shape}"
    if not np.isfinite(s).all() or not np.isfinite(speed):
        return "a plan with NaN or infinity"
    if speed < 0.0 or (np.diff(s) < -1e-6).any() or s[0] < situation.s_m - 1e-6:
        return "a plan that drives backwards"
    if s[0] > situation.s_m + MAX_JUMP_M:
        return f"a plan that jumps {s[0] - situation.s_m:.1f} m in {DT_S} s"
    return ""


def situation_of(worlds: Worlds, w: int) -> Situation:
    """What the planner of world w may know: everybody's state, and straight-on predictions of all others."""
    state, tables, size = worlds.state, worlds.tables, worlds.rules.size
    car = state.car[w]
    cos, sin = np.cos(car[:, HEADING]), np.sin(car[:, HEADING])
    others = np.flatnonzero(state.present[w, 1:]) + 1
    ahead = 2.0 * DT_S * np.arange(1, CHECK_STEPS + 1)
    now = state.log[w, :, (PAST + int(state.tick[w])) % state.log.shape[2]]
    modes = np.empty((others.size, CHECK_STEPS, 4))
    modes[..., 0] = now[others, 0][:, None] + ahead * now[others, 2][:, None]
    modes[..., 1] = now[others, 1][:, None] + ahead * now[others, 3][:, None]
    modes[..., 2] = cos[others][:, None]
    modes[..., 3] = sin[others][:, None]
    facts = np.zeros((others.size, ROW_FACTS))
    facts[:, :2] = size[others]
    facts[:, 2] = others
    facts[:, 3] = 1.0
    facts[:, 4] = 0.2
    route = int(state.route[w, 0])
    first = int(tables.first[route])
    return Situation(
        path=tables.path[first : first + int(tables.num_rows[route])],
        path_step_m=float(tables.step[route]),
        s_m=float(state.lane[w, 0, LANE_S]),
        speed_mps=float(car[0, SPEED]),
        accel_mps2=float(car[0, ACCEL]),
        size_m=size[0],
        desired_speed_mps=float(worlds.static.desired_speed[w, 0]),
        previous_s_m=state.plan_s[int(state.tick[w]) % 2, w, 0].copy(),
        mode_states=modes,
        mode_facts=facts,
        own=0,
        states=np.stack([car[:, X], car[:, Y], car[:, SPEED], cos, sin], axis=1),
        present=state.present[w].copy(),
        sizes=size,
    )
