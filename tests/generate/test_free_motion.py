"""Free motion: exact arcs, and hard bounds whatever is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.sim.bicycle import MotionBounds, curvature_of, drive_free, steer_for
from references.kinematics import Bicycle, Controls, Limits, VehicleState

LENGTH = 4.5
LOOSE = MotionBounds(
    max_accel_mps2=50, max_brake_mps2=50, max_jerk_mps3=1e4, max_lateral_mps2=1e4, max_curvature_pm=10,
    max_steer_rate_radps=100, max_speed_mps=100,
)  # fmt: skip
BOUNDS = MotionBounds()


@settings(max_examples=50, deadline=None)
@given(st.floats(0, 20), st.floats(-0.5, 0.5), st.floats(-6, 3), st.floats(-3, 3))
def test_a_step_equals_the_reference_bicycle(speed, steer, accel, heading):
    wheelbase = 0.6 * LENGTH
    model = Bicycle(wheelbase_m=wheelbase, rear_to_reference_m=0.5 * wheelbase, limits=Limits(max_curvature_pm=10.0))
    before = VehicleState(xy=np.array([1.0, 2.0]), heading=np.array(heading), speed=np.array(speed))
    expected = model.step(before, Controls(accel=np.array(accel), steer=np.array(steer)), 0.1)
    after = np.empty(6)
    drive_free(np.array([1.0, 2.0, heading, speed, steer, 0.0]), accel, 0.0, LENGTH, 0.1, LOOSE, after)
    assert after[:2] == pytest.approx(expected.xy, abs=1e-9)
    assert np.cos(after[2] - expected.heading) == pytest.approx(1.0)
    assert after[3] == pytest.approx(float(expected.speed))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(-30, 30), st.floats(-5, 5)), min_size=1, max_size=40), st.floats(0, 18))
def test_no_request_breaks_a_bound(requests, speed):
    state = np.array([0.0, 0.0, 0.0, speed, 0.0, 0.0])
    for accel, rate in requests:
        before = state.copy()
        drive_free(state, accel, rate, LENGTH, 0.1, BOUNDS, state)
        curvature = abs(curvature_of(state[4], LENGTH))
        assert -6.0 - 1e-9 <= state[5] <= 3.0 + 1e-9
        assert state[3] >= 0.0
        if state[3] > 0.0 and before[3] > 0.0:
            assert abs(state[5] - before[5]) <= 1.0 + 1e-9
        assert curvature <= 0.2 + 1e-9
        assert max(state[3], before[3]) ** 2 * curvature <= 4.9 + 1e-6


@settings(max_examples=30, deadline=None)
@given(st.floats(-0.2, 0.2))
def test_steering_and_curvature_are_inverse(curvature):
    assert curvature_of(steer_for(curvature, LENGTH), LENGTH) == pytest.approx(curvature, abs=1e-12)
