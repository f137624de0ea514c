"""Driver ``external``: egos of a batch that are driven by planners in Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.case import TICK_S
from giveway.planning.profiles import PLAN_STEPS
from giveway.planning.protocol import Answer, Control, Episode, Plan, Situation, Trajectory
from giveway.sim.bicycle import SPEED
from giveway.sim.drivers.hosts import Fault, Finding, Host, found
from giveway.sim.following import follow, offset_problem, poses_of
from giveway.sim.situations import Names, route_rows, situation_of
from giveway.sim.state import LANE_S, Decision, Decisions, Forecast, State, Static


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeFacts:
    """What is known about an episode beside the arrays of its world.

    Attributes:
        names: of the episode and its cars.
        seed: for the planner.
        goal_m: arc length on the ego's route where the episode is over; the end of the route if None.
        routes: numbers of routes the ego may change to.
    """

    names: Names
    seed: int
    goal_m: float | None = None
    routes: tuple[int, ...] = ()


class ExternalEgos:
    """Asks the planners of the egos and writes what they decide.

    A plan along the route is driven exactly as long as the ego has never steered in its episode. Everything else moves
    it freely, by the bicycle within its bounds.

    Args:
        host: of the planners.
        static: of the batch.
        state: of the batch.
        decisions: of the batch; those of the egos are written.
    """

    def __init__(self, host: Host, static: Static, state: State, decisions: Decisions) -> None:
        self.host = host
        self.findings: dict[int, Finding] = {}
        """What a planner did wrong, by world, since its episode began."""
        self._static, self._state, self._decisions = static, state, decisions
        self._facts: dict[int, EpisodeFacts] = {}
        self._has_steered: set[int] = set()

    def begin(self, w: int, facts: EpisodeFacts) -> None:
        """An episode begins in a world that the simulator has begun."""
        static, ego = self._static, int(self._static.ego[w])
        route = int(static.start_route[w, ego])
        table, step = route_rows(static, route), float(static.road.step[route])
        self._facts[w] = facts
        self._has_steered.discard(w)
        self.findings.pop(w, None)
        self._decisions.kind[w, ego] = int(Decision.ALONG)
        self.host.reset(
            w,
            Episode(
                id=facts.names.episode,
                seed=facts.seed,
                route=table,
                route_step_m=step,
                map=facts.names.map,
                size_m=static.size[w, ego].copy(),
                limits=static.bounds,
                dt_s=TICK_S,
                goal_m=(len(table) - 1) * step if facts.goal_m is None else facts.goal_m,
                routes={number: route_rows(static, number) for number in facts.routes},
            ),
        )

    def decide(self, worlds: Iterable[int], forecast: Forecast) -> None:
        """Let the egos of some worlds decide about the coming tick; who cannot stands and has a finding."""
        seen = {w: self.situation(w, forecast) for w in worlds}
        for w, answer in self.host.plan(seen).items():
            drivable = answer if isinstance(answer, Finding) else self._drivable(w, answer, seen[w])
            if isinstance(drivable, Finding):
                self.findings[w] = drivable
                self._stand(w)

    def situation(self, w: int, forecast: Forecast) -> Situation:
        """What the planner of a world may know now."""
        ego = int(self._static.ego[w])
        return situation_of(self._static, self._state, self._decisions, forecast, w, ego, self._facts[w].names)

    def close(self) -> None:
        """End what the host has started."""
        self.host.close()

    def _drivable(self, w: int, answer: Answer, seen: Situation) -> Finding | None:
        """Write a decision, or say why that cannot be done."""
        if isinstance(answer, Control):
            self._steer(w, np.array([answer.accel_mps2, answer.steer_rate_radps]))
        elif isinstance(answer, Trajectory):
            self._follow(w, answer.states)
        elif answer.offset_m is None and answer.route is None and w not in self._has_steered:
            self._along(w, answer)
        else:
            if answer.route is not None and answer.route not in self._facts[w].routes:
                return found(Fault.INVALID, seen, f"a plan on route {answer.route}, which the ego cannot change to")
            route = seen.route if answer.route is None else answer.route
            poses = poses_of(answer, route_rows(self._static, route), float(self._static.road.step[route]), TICK_S)
            problem = "" if answer.offset_m is None else offset_problem(answer.offset_m, poses, self._static.bounds)
            if problem:
                return found(Fault.INVALID, seen, problem)
            self._follow(w, poses)
        return None

    def _along(self, w: int, plan: Plan) -> None:
        ego, decisions = int(self._static.ego[w]), self._decisions
        decisions.kind[w, ego] = int(Decision.ALONG)
        decisions.along_s[w, ego] = plan.s_m
        decisions.speed[w, ego] = plan.speed_mps

    def _follow(self, w: int, states: FloatArray) -> None:
        ego, static = int(self._static.ego[w]), self._static
        control = np.empty((1, 2))
        follow(self._state.car[w, ego][None], states[None], static.size[w, ego, :1], static.bounds, TICK_S, control)
        self._steer(w, control[0])

    def _steer(self, w: int, control: FloatArray) -> None:
        ego, state = int(self._static.ego[w]), self._state
        self._has_steered.add(w)
        self._decisions.kind[w, ego] = int(Decision.FREE)
        self._decisions.control[w, ego] = control
        # What others and the next tick take for its plan: straight on.
        ahead = state.car[w, ego, SPEED] * TICK_S * np.arange(1, PLAN_STEPS + 1)
        state.plan_s[1 - int(state.tick[w]) % 2, w, ego] = state.lane[w, ego, LANE_S] + ahead

    def _stand(self, w: int) -> None:
        """The car stops where its planner failed."""
        ego = int(self._static.ego[w])
        if w in self._has_steered:
            self._steer(w, np.array([-self._static.bounds.max_brake_mps2, 0.0]))
        else:
            here = float(self._state.lane[w, ego, LANE_S])
            self._along(w, Plan(s_m=np.full(PLAN_STEPS, here), speed_mps=0.0))
