"""The planners that come with the package; each does in Python what the compiled step does for many cars at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.planning.idm import IdmParameters, comfortable_accel, idm_acceleration
from giveway.planning.negotiation import NUM_NEGOTIATED, fresh_memory, plan_profile
from giveway.planning.occupancy import lead_on_path
from giveway.planning.profiles import CHECK_STEPS, DT_S, LATTICE_2, LATTICE_3, PLAN_STEPS, ProfileParameters
from giveway.planning.protocol import Episode, Plan, PlannerInfo, Situation
from giveway.roads.route_tables import coarse_points

LOOK_AHEAD_M = 40.0
"""How far the car-following planner looks."""

SIDE_MARGIN_M = 0.2
"""Lateral distance below which it takes a car as being on its path."""


class LatticePlanner:
    """Sampled speed profiles that negotiate gaps, within comfort; docs/drive/planner.md.

    Args:
        parameters: limits and weights.
    """

    def __init__(self, parameters: ProfileParameters | None = None) -> None:
        self.parameters = parameters or LATTICE_3
        self._memory = fresh_memory()

    @property
    def info(self) -> PlannerInfo:
        """Fact sheet."""
        return PlannerInfo(
            name="lattice",
            title="speed lattice",
            version="3",
            uses_predictions=True,
            parameters=self.parameters._asdict(),
            driver="PLANNER",
        )

    def reset(self, episode: Episode) -> None:
        """Forget the gap that was chosen and how long the planner has waited."""
        self._memory = fresh_memory()

    def plan(self, situation: Situation) -> Plan:
        """The cheapest candidate."""
        return _cheapest_plan(situation, self.parameters, self._memory)


class Lattice2Planner(LatticePlanner):
    """Version 2: no gaps as candidates, nobody reacts, no bounds of comfort. Drives the reactive cars of a case."""

    def __init__(self) -> None:
        super().__init__(LATTICE_2)

    @property
    def info(self) -> PlannerInfo:
        """Fact sheet."""
        return replace(super().info, name="lattice-2", title="speed lattice, version 2", version="2")


def _cheapest_plan(situation: Situation, parameters: ProfileParameters, memory: FloatArray) -> Plan:
    """What the compiled step does for a planning car."""
    modes = situation.mode_states.shape[0]
    trial = np.empty((3, PLAN_STEPS + 1, NUM_NEGOTIATED))
    best = plan_profile(
        situation.path,
        coarse_points(situation.path),
        situation.path_step_m,
        situation.s_m,
        situation.speed_mps,
        situation.accel_mps2,
        float(situation.size_m[0]),
        float(situation.size_m[1]),
        situation.desired_speed_mps,
        situation.previous_s_m,
        modes,
        situation.mode_states,
        situation.mode_facts.copy(),
        parameters,
        np.empty((modes, CHECK_STEPS, 2)),
        trial,
        np.empty(NUM_NEGOTIATED),
        memory,
    )
    return Plan(s_m=trial[0, 1:, best].copy(), speed_mps=float(trial[1, 1, best]))


class IdmPlanner:
    """Follows the car ahead on its path; looks at nothing that is predicted.

    Args:
        parameters: of the car-following model.
    """

    def __init__(self, parameters: IdmParameters | None = None) -> None:
        self.parameters = parameters or IdmParameters()

    @property
    def info(self) -> PlannerInfo:
        """Fact sheet."""
        return PlannerInfo(
            name="idm",
            title="IDM",
            version="2",
            uses_predictions=False,
            parameters=self.parameters._asdict(),
            driver="IDM",
        )

    def plan(self, situation: Situation) -> Plan:
        """Keep this tick's acceleration."""
        gap, lead = lead_on_path(
            situation.path,
            coarse_points(situation.path),
            situation.path_step_m,
            situation.own,
            situation.s_m,
            situation.states,
            situation.present,
            situation.sizes,
            LOOK_AHEAD_M,
            SIDE_MARGIN_M,
        )
        speed, desired = situation.speed_mps, situation.desired_speed_mps
        wanted = idm_acceleration(speed, desired, gap, lead, self.parameters)
        accel = wanted
        if self.parameters.is_comfortable > 0.0:
            accel, _ = comfortable_accel(wanted, situation.accel_mps2, speed, gap, lead, DT_S)
        s = cruise_plan(situation.s_m, speed, accel, desired)
        return Plan(s_m=s, speed_mps=max(speed + accel * DT_S, 0.0))


class Idm3Planner(IdmPlanner):
    """Car following within bounds of comfort, beyond which only an emergency goes."""

    def __init__(self) -> None:
        super().__init__(IdmParameters(is_comfortable=1.0))

    @property
    def info(self) -> PlannerInfo:
        """Fact sheet."""
        return replace(super().info, name="idm-3", title="comfortable IDM", version="3")


class ConstantSpeedPlanner:
    """Drives on as fast as it is, whatever happens: the recklessness floor."""

    @property
    def info(self) -> PlannerInfo:
        """Fact sheet."""
        return PlannerInfo(
            name="constant_speed",
            title="constant speed",
            version="1",
            uses_predictions=False,
            driver="CONSTANT_SPEED",
        )

    def plan(self, situation: Situation) -> Plan:
        """S + v t."""
        speed = situation.speed_mps
        return Plan(s_m=cruise_plan(situation.s_m, speed, 0.0, speed), speed_mps=speed)


class ReplayPlanner:
    """The ego drives as it did in the recording; the simulator replays it, so :meth:`plan` only stands in."""

    @property
    def info(self) -> PlannerInfo:
        """Fact sheet."""
        return PlannerInfo(name="replay", title="recorded human", version="1", uses_predictions=False, driver="REPLAY")

    def plan(self, situation: Situation) -> Plan:
        """Constant speed, for callers outside the simulator, who have no recording."""
        return ConstantSpeedPlanner().plan(situation)


def cruise_plan(s: float, v: float, a: float, top: float) -> FloatArray:
    """Keep an acceleration until standstill or the top speed; the first step is never capped."""
    plan = np.empty(PLAN_STEPS)
    for k in range(PLAN_STEPS):
        new = max(v + a * DT_S, 0.0)
        if a > 0.0 and new > top and k > 0:
            new = max(v, top)
        s += 0.5 * (v + new) * DT_S
        v = new
        plan[k] = s
    return plan
