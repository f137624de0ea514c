"""Planners with and without state, good and bad, for the hosts."""

from __future__ import annotations

import os
import time

import numpy as np

import giveway as gw
from giveway.planning.builtin import ConstantSpeedPlanner
from giveway.planning.protocol import Control, Plan, Situation, Trajectory


class Careless(gw.Planner, name="careless"):
    """Drives straight on."""

    def plan(self, situation: Situation) -> Plan:
        return ConstantSpeedPlanner().plan(situation)


class Counts(gw.Planner, name="counts"):
    """Says in its acceleration how often it was called since its reset, and in its steering who it is."""

    calls = -100.0

    def reset(self, episode):
        if episode.id == "bad start":
            raise RuntimeError("no road here")
        self.calls, self.seed = 0.0, episode.seed

    def plan(self, situation):
        self.calls += 1.0
        if situation.episode == "hangs" and situation.tick == 1:
            time.sleep(600)
        if situation.episode == "dies" and situation.tick == 1:
            os._exit(3)
        return Control(accel_mps2=self.calls, steer_rate_radps=self.seed)


class CountsTogether(gw.Planner, name="together"):
    """The same for all episodes at once."""

    def __init__(self):
        self.calls = {}

    def reset(self, episode):
        self.calls[episode.id] = 0.0

    def plan_batch(self, situations):
        for seen in situations:
            self.calls[seen.episode] += 1.0
            if seen.episode == "raises":
                raise RuntimeError("out of ideas")
        return [Control(accel_mps2=self.calls[seen.episode], steer_rate_radps=len(situations)) for seen in situations]


class Steers(Careless, name="steers"):
    """Follows a trajectory straight on."""

    def plan(self, situation):
        x, y, speed, cos, sin = situation.states[situation.own]
        ahead = 0.1 * speed * np.arange(1, 11)
        heading = np.full(10, np.arctan2(sin, cos))
        return Trajectory(states=np.stack([x + ahead * cos, y + ahead * sin, heading, np.full(10, speed)], axis=1))


class Secretive(gw.Planner, name="secretive"):
    """Begins each episode properly, but shares a list with all its copies."""

    heard = []  # noqa: RUF012

    def reset(self, episode):
        self.heard.clear()

    def plan(self, situation):
        self.heard.append(situation.episode)
        return Control(accel_mps2=0.01 * len(self.heard), steer_rate_radps=0.0)


class Random(Careless, name="random"):
    """Draws from no seed."""

    def plan(self, situation):
        return Control(accel_mps2=float(np.random.default_rng().normal()), steer_rate_radps=0.0)


class Raises(Careless, name="raises"):
    def plan(self, situation):
        raise RuntimeError("out of ideas")


class Exits(Careless, name="exits"):
    def plan(self, situation):
        raise SystemExit(3)


class Nan(Careless, name="nan"):
    def plan(self, situation):
        return Trajectory(states=np.full((5, 4), np.nan))


class Nothing(Careless, name="nothing"):
    def plan(self, situation):
        return None


class Text(Careless, name="text"):
    def plan(self, situation):
        return Plan(s_m=["far"], speed_mps=1.0)


class SeesPath(Careless, name="sees"):
    """Puts what it sees of path and map into its answer."""

    def plan(self, situation):
        return Control(
            accel_mps2=float(np.sum(situation.path)), steer_rate_radps=len(situation.map.lanes) + situation.route
        )


def not_importable():
    class Local(gw.Planner, name="local"):
        pass

    return Local()


class HangsLater(Careless, name="hangs_later"):
    """Never answers in its fifth tick."""

    def plan(self, situation):
        if situation.tick == 4:
            time.sleep(600)
        return super().plan(situation)
