"""Planners that keep state and steer, in drives."""

from __future__ import annotations

import numpy as np
import pytest

import giveway as gw
from giveway.drive.driving import Drive, FailedDrive, drive_cases
from giveway.drive.scenes import GivenScenes
from giveway.planning.builtin import ConstantSpeedPlanner
from giveway.planning.protocol import Control, Plan, Trajectory
from giveway.testing.drive_scenes import crossing_case, crossing_scene

SOURCE = GivenScenes({"crossing": crossing_scene()})


def driven(planner, *names, **options):
    cases = [crossing_case(case_id=name) for name in names or ("one",)]
    return list(drive_cases(cases, SOURCE, predictor=None, planner=planner, **options))


class Straight(gw.Planner, name="straight"):
    """Keeps its lane with a trajectory instead of a plan."""

    def plan(self, situation):
        x, y, speed, cos, sin = situation.states[situation.own]
        ahead = 0.1 * speed * np.arange(1, 31)
        heading = np.full(30, np.arctan2(sin, cos))
        return Trajectory(states=np.stack([x + ahead * cos, y + ahead * sin, heading, np.full(30, speed)], axis=1))


class Leaves(gw.Planner, name="leaves"):
    """Turns the wheel to the left until it has left the road."""

    def plan(self, situation):
        return Control(accel_mps2=0.0, steer_rate_radps=0.2)


class Beside(gw.Planner, name="beside"):
    """Drives a meter to the left of its route, slowly getting there."""

    def plan(self, situation):
        plan = ConstantSpeedPlanner().plan(situation)
        time_s = situation.time_s + 0.1 * np.arange(1, 51)
        return Plan(s_m=plan.s_m, speed_mps=plan.speed_mps, offset_m=np.clip(0.4 * time_s, 0.0, 1.0))


class Returns(gw.Planner, name="returns"):
    """Steers for a second, then gives plans along its route again."""

    def plan(self, situation):
        if situation.tick < 10:
            return Control(accel_mps2=0.0, steer_rate_radps=0.1)
        return ConstantSpeedPlanner().plan(situation)


class Remembers(gw.Planner, name="remembers"):
    """Brakes a little in every tick that it was asked before: depends on all that it was told."""

    def reset(self, episode):
        self.rng = np.random.default_rng(episode.seed)
        self.calls = 0
        self.goal = episode.goal_m

    def plan(self, situation):
        assert situation.tick == self.calls and situation.history.shape[1:] == (20, 5)
        assert self.goal > situation.s_m and situation.ids[situation.own] == "ego"
        self.calls += 1
        return Control(accel_mps2=-0.02 * self.calls, steer_rate_radps=0.01 * self.rng.normal())


def test_a_trajectory_along_the_lane_drives_like_the_plan_along_it():
    (steered,), (along,) = driven(Straight()), driven(ConstantSpeedPlanner())
    assert isinstance(steered, Drive) and isinstance(along, Drive)
    ego = steered.log.ego
    np.testing.assert_allclose(steered.log.tracks.xy[ego], along.log.tracks.xy[ego], atol=1e-6)
    np.testing.assert_allclose(steered.log.ego_s, along.log.ego_s, atol=1e-6)


def test_an_ego_that_steers_away_leaves_the_road_and_makes_no_progress():
    (left,), (along,) = driven(Leaves()), driven(ConstantSpeedPlanner())
    ego = left.log.ego
    assert left.log.outside_m[ego, 0] < 0.0 < left.log.outside_m[ego, -1]
    heading = left.log.tracks.heading[ego]
    assert heading[-1] > 1.0 and left.log.tracks.xy[ego, -1, 1] > 1010.0
    assert left.log.ego_s[-1] < along.log.ego_s[-1] - 10.0
    assert np.isnan(left.log.plans).all()


def test_an_offset_is_driven_and_back_from_steering_the_route_is_followed():
    (beside,), (back,) = driven(Beside()), driven(Returns())
    ego = beside.log.ego
    assert beside.log.tracks.xy[ego, -1, 1] == pytest.approx(1001.0, abs=0.05)
    away = back.log.tracks.xy[ego, :, 1] - 1000.0
    assert away.max() > 0.05 and abs(away[-1]) < 0.1
    assert np.abs(np.diff(away)).max() < 0.3  # nobody is put back onto the route


@pytest.mark.parametrize(("offset", "sentence"), [(3.0, "3.00 m beside"), (np.nan, "offsets")])
def test_offsets_that_cannot_be_driven_fail_the_case(offset, sentence):
    class Wide(gw.Planner, name="wide"):
        def plan(self, situation):
            plan = ConstantSpeedPlanner().plan(situation)
            return Plan(s_m=plan.s_m, speed_mps=plan.speed_mps, offset_m=np.full(50, offset))

    (result,) = driven(Wide())
    assert isinstance(result, FailedDrive) and sentence in result.reason


def test_a_route_that_is_not_there_fails_the_case():
    class Elsewhere(gw.Planner, name="elsewhere"):
        def plan(self, situation):
            plan = ConstantSpeedPlanner().plan(situation)
            return Plan(s_m=plan.s_m, speed_mps=plan.speed_mps, route=7)

    (result,) = driven(Elsewhere())
    assert isinstance(result, FailedDrive) and "route 7" in result.reason


def test_a_planner_with_state_drives_the_same_in_any_batch():
    together = driven(Remembers(), "a", "b", "c", "d")
    (alone,) = driven(Remembers(), "c")
    assert together[2].log.digest == alone.log.digest
    assert together[0].log.digest != alone.log.digest
    pairs = driven(Remembers(), "a", "b", "c", "d", batch=2)
    assert [d.log.digest for d in pairs] == [d.log.digest for d in together]


def test_one_case_of_a_planner_that_raises_fails_and_the_others_go_on():
    class Moody(Remembers, name="moody"):
        def plan(self, situation):
            if situation.episode == "b" and situation.tick == 3:
                raise RuntimeError("out of ideas")
            return super().plan(situation)

    together = driven(Moody(), "a", "b", "c")
    assert [isinstance(drive, FailedDrive) for drive in together] == [False, True, False]
    assert together[1].reason == "PlannerError: planner moody, tick 3: raised: RuntimeError: out of ideas"
    (alone,) = driven(Moody(), "c")
    assert together[2].log.digest == alone.log.digest


def test_a_planner_in_its_own_process_drives_the_same():
    from support.planners import Careless

    (here,), (there,) = driven(Careless()), driven(Careless(), deadline_s=5.0)
    assert here.log.digest == there.log.digest


def test_a_planner_that_hangs_fails_its_cases_and_no_other():
    from support.planners import HangsLater

    both = driven(HangsLater(), "short", "b", deadline_s=0.5, warm_up_s=10.0)
    assert [drive.reason for drive in both] == [
        "PlannerError: planner hangs_later, tick 4: hung: no answer within 0.5 s"
    ] * 2
