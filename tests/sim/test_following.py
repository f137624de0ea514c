"""Following a trajectory with the bounded bicycle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.planning.limits import EGO_BOUNDS
from giveway.planning.protocol import Plan
from giveway.roads.routes import path_through, table_of
from giveway.sim.bicycle import WHEELBASE_SHARE, drive_free, steer_for
from giveway.sim.following import curvature_to, follow, poses_of

LENGTH = 4.5
DT = 0.1


def drive(car, trajectory_at, ticks):
    """(ticks, 6) states of a car that follows ``trajectory_at(tick)``."""
    car, out, states = np.array(car, dtype=float), np.zeros((1, 2)), []
    for tick in range(ticks):
        follow(car[None], trajectory_at(tick)[None], np.array([LENGTH]), EGO_BOUNDS, DT, out)
        drive_free(car, out[0, 0], out[0, 1], LENGTH, DT, EGO_BOUNDS, car)
        states.append(car.copy())
    return np.array(states)


def straight(tick, y=0.0, speed=10.0):
    at = speed * DT * (tick + np.arange(1, 51))
    return np.stack([at, np.full(50, y), np.zeros(50), np.full(50, speed)], axis=1)


@given(bearing=st.floats(-1.2, 1.2), far=st.floats(2.0, 30.0))
@settings(max_examples=40, deadline=None)
def test_the_arc_of_the_pursued_curvature_passes_through_the_point(bearing, far):
    target = far * np.array([math.cos(bearing), math.sin(bearing)])
    bend = curvature_to(target[0], target[1], 0.0, 0.5 * WHEELBASE_SHARE * LENGTH)
    slip = math.asin(bend * 0.5 * WHEELBASE_SHARE * LENGTH)
    arc = 2.0 * math.asin(bend * far / 2.0) / bend if abs(bend) > 1e-9 else far
    half = 0.5 * bend * arc
    chord = arc * math.sin(half) / half if abs(half) > 1e-9 else arc
    np.testing.assert_allclose([chord * math.cos(slip + half), chord * math.sin(slip + half)], target, atol=1e-6)


def test_without_distance_to_the_rear_axle_it_is_the_classical_rule():
    assert curvature_to(3.0, 4.0, 0.0, 0.0) == pytest.approx(2 * 0.8 / 5.0)
    assert curvature_to(0.0, 0.0, 0.3, 1.0) == 0.0


def test_a_trajectory_beside_the_car_is_reached_and_kept():
    states = drive([0, 0, 0, 10, 0, 0], lambda k: straight(k, y=2.0), 60)
    assert abs(states[-1, 1] - 2.0) < 0.05 and abs(states[-1, 2]) < 0.02
    assert states[:, 1].max() < 2.3
    assert states[-1, 0] == pytest.approx(10.0 * 6.0, abs=0.1)


def test_a_circle_is_driven_within_a_few_centimeters():
    def circle(tick):
        angle = 8.0 * DT * (tick + np.arange(1, 51)) / 20.0
        return np.stack([20 * np.sin(angle), 20 - 20 * np.cos(angle), angle, np.full(50, 8.0)], axis=1)

    states = drive([0, 0, 0, 8, steer_for(1 / 20, LENGTH), 0], circle, 120)
    radius = np.hypot(states[20:, 0], states[20:, 1] - 20.0)
    np.testing.assert_allclose(radius, 20.0, atol=0.25)


def test_speed_and_place_are_made_up_for_within_the_bounds_of_the_car():
    states = drive([-3.0, 0, 0, 6, 0, 0], straight, 80)
    assert states[:, 5].max() <= EGO_BOUNDS.max_accel_mps2 + 1e-9
    assert states[-1, 3] == pytest.approx(10.0, abs=0.05) and states[-1, 0] == pytest.approx(80.0, abs=0.3)


def test_a_car_that_shall_stand_stands():
    still = np.tile([5.0, 0.0, 0.0, 0.0], (50, 1))
    states = drive([5.0, 0, 0, 0, 0, 0], lambda _: still, 10)
    np.testing.assert_array_equal(states[:, :4], np.tile([5.0, 0, 0, 0], (10, 1)))


def test_a_trajectory_of_a_single_state_goes_straight_on():
    states = drive([0, 0, 0, 10, 0, 0], lambda k: straight(k)[:1], 20)
    assert states[-1, 0] == pytest.approx(20.0, abs=1e-6) and np.abs(states[:, 1]).max() == 0.0


def test_the_poses_of_a_plan_lie_on_its_route_and_beside_it():
    path = path_through(np.array([[0.0, 0.0], [50.0, 0.0], [100.0, 0.0]]), 0.0)
    s = 95.0 + 0.8 * np.arange(1, 51)
    poses = poses_of(Plan(s_m=s, speed_mps=7.5), table_of(path), path.step_m, DT)
    np.testing.assert_allclose(poses[:, 0], s, atol=1e-9)
    np.testing.assert_allclose(poses[:, 1:3], 0.0, atol=1e-9)
    assert poses[0, 3] == 7.5 and poses[1, 3] == pytest.approx(8.0)
    beside = poses_of(Plan(s_m=s, speed_mps=8.0, offset_m=np.linspace(0.02, 1.0, 50)), table_of(path), path.step_m, DT)
    assert beside[-1, 1] == pytest.approx(1.0) and beside[10, 2] == pytest.approx(math.atan2(0.02, 0.8))
