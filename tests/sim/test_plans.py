"""One check of plans, for drives and for generated traffic."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from giveway.core.arrays import FloatArray
from giveway.drive.bundled import bundled_set
from giveway.drive.driving import Drive, FailedDrive, drive_cases
from giveway.planning import make_planner
from giveway.planning.protocol import Plan
from giveway.predictors import make_predictor
from giveway.sim.plans import problem_of
from giveway.testing.planners import situations

SITUATION = replace(situations(ticks=1)[0], s_m=10.0, speed_mps=8.0)


def plan(first=0.8, speed=8.0, **more):
    return Plan(s_m=10.0 + first + 0.8 * np.arange(50), speed_mps=speed, **more)


@dataclass
class Trajectory:
    states: FloatArray


@dataclass
class Control:
    accel_mps2: float
    steer_rate_radps: float


@pytest.mark.parametrize(
    "fine",
    [plan(), plan(speed=8.8), plan(speed=6.8, first=0.74), plan(first=0.849), plan(first=0.751), Control(-3.0, 0.1)],
)
def test_what_a_car_can_drive_is_fine(fine):
    assert problem_of(fine, SITUATION) == ""


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (plan(speed=8.81), "changes speed by 8.1"),
        (plan(speed=6.79), "changes speed by -12.1"),
        (plan(first=0.86), "jumps 0.86 m"),
        (plan(first=0.74), "jumps 0.74 m"),
        (plan(first=30.0), "jumps 30.00 m"),
        (plan(first=-0.1), "drives backwards"),
        (plan(speed=-0.1), "drives backwards"),
        (plan(speed=np.nan), "NaN"),
        (Plan(s_m=np.zeros(49), speed_mps=8.0), "50 positions"),
        (Plan(s_m="fifty", speed_mps=8.0), "50 positions"),
        (Control(np.inf, 0.0), "finite"),
        (None, "not NoneType"),
    ],
)
def test_what_no_car_can_drive_is_named(bad, says):
    assert says in problem_of(bad, SITUATION)


def trajectory(step=0.8, turn=0.0, speed=8.0):
    x, y, _, cos, sin = SITUATION.states[SITUATION.own]
    way, heading = step * np.arange(1, 31), np.arctan2(sin, cos)
    turned = heading + turn
    return Trajectory(
        np.stack([x + way * np.cos(turned), y + way * np.sin(turned), np.full(30, turned), np.full(30, speed)], axis=1)
    )


def test_trajectories_obey_the_same_on_their_arc_length():
    assert problem_of(trajectory(), SITUATION) == ""
    assert problem_of(trajectory(turn=0.4), SITUATION) == ""
    assert "turns by 0.60 rad" in problem_of(trajectory(turn=0.6), SITUATION)
    assert "jumps 3.00 m" in problem_of(trajectory(step=3.0), SITUATION)
    assert "changes speed" in problem_of(trajectory(speed=9.0), SITUATION)
    assert "(P, 4)" in problem_of(Trajectory(np.zeros((3, 3))), SITUATION)


class Watched:
    """A built-in planner as one from outside, so that every plan is checked."""

    def __init__(self, name):
        self.inner = make_planner(name)
        self.info = replace(self.inner.info, driver="")
        self.plan = self.inner.plan


@pytest.mark.parametrize("name", ["default", "idm", "constant_speed"])
def test_the_check_never_fires_on_built_in_planners(name):
    cases, source = bundled_set()
    for result in drive_cases(
        cases[::12], source, predictor=make_predictor("constant_velocity"), planner=Watched(name)
    ):
        assert isinstance(result, Drive), result


@pytest.mark.slow
@pytest.mark.parametrize("name", ["default", "idm", "constant_speed"])
def test_the_check_never_fires_on_any_bundled_case(name):
    cases, source = bundled_set()
    for result in drive_cases(cases, source, predictor=make_predictor("constant_velocity"), planner=Watched(name)):
        assert isinstance(result, Drive), result


def test_a_planner_that_jumps_fails_its_case_in_drives():
    class Jumps(Watched):
        def __init__(self):
            super().__init__("constant_speed")
            self.plan = self.jump

        def jump(self, situation):
            good = self.inner.plan(situation)
            return replace(good, s_m=good.s_m + 30.0)

    cases, source = bundled_set()
    (result,) = drive_cases(cases[:1], source, predictor=None, planner=Jumps())
    assert isinstance(result, FailedDrive)
    assert "jumps 3" in result.reason
