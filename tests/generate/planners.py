"""Planners that misbehave, for the ego's process."""

from __future__ import annotations

import time

import numpy as np

from giveway.planning.builtin import ConstantSpeedPlanner, IdmPlanner
from giveway.planning.protocol import Control, Episode, Plan, PlannerInfo, Situation


class Careless:
    """Drives straight on, in a process of its own."""

    @property
    def info(self) -> PlannerInfo:
        return PlannerInfo(name="careless", title="careless", version="1", uses_predictions=False)

    def plan(self, situation: Situation) -> Plan:
        return ConstantSpeedPlanner().plan(situation)


class OutsideIdm(Careless):
    def plan(self, situation: Situation) -> Plan:
        return IdmPlanner().plan(situation)


class Freezes(Careless):
    """Brakes with 3 m/s^2 and never drives on."""

    def plan(self, situation: Situation) -> Plan:
        speed = np.maximum(situation.speed_mps - 0.3 * np.arange(1, 51), 0.0)
        return Plan(s_m=situation.s_m + 0.1 * np.cumsum(speed), speed_mps=float(speed[0]))


class Raises(Careless):
    def plan(self, situation: Situation) -> Plan:
        raise RuntimeError("out of ideas")


class Hangs(Careless):
    def plan(self, situation: Situation) -> Plan:
        time.sleep(600)
        return ConstantSpeedPlanner().plan(situation)


class Nan(Careless):
    def plan(self, situation: Situation) -> Plan:
        return Plan(s_m=np.full(50, np.nan), speed_mps=1.0)


class Jumps(Careless):
    """Is 30 m further in every tick, at the speed that it had."""

    def plan(self, situation: Situation) -> Plan:
        plan = ConstantSpeedPlanner().plan(situation)
        return Plan(s_m=plan.s_m + 30.0, speed_mps=plan.speed_mps)


class Creeps(Careless):
    """Is 2 m further in every tick than its speed allows, which 100 m/s would be enough for."""

    def plan(self, situation: Situation) -> Plan:
        plan = ConstantSpeedPlanner().plan(situation)
        return Plan(s_m=plan.s_m + 2.0, speed_mps=plan.speed_mps)


class Dies(Careless):
    def plan(self, situation: Situation) -> Plan:
        raise SystemExit(3)


class LeavesRoad(Careless):
    """Turns the wheel to the right."""

    def plan(self, situation: Situation) -> Control:
        return Control(accel_mps2=0.0, steer_rate_radps=-0.1)


class ChangesLane(Careless):
    """Goes over to the lane on its left, which is the next route of the straight road."""

    def reset(self, episode: Episode) -> None:
        self.routes = episode.routes
        self.target = None

    def plan(self, situation: Situation) -> Plan:
        if self.target is None:
            self.target = situation.route + 1
            assert self.target in self.routes
        plan = ConstantSpeedPlanner().plan(situation)
        return Plan(s_m=plan.s_m, speed_mps=plan.speed_mps, route=self.target)
