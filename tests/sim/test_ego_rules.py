"""Actions, rewards and observations of a learning ego."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from giveway.planning.profiles import ProfileParameters
from giveway.sim.plans import problem_of
from giveway.sim.views.acting import KEEP, plan_of_accel, plan_of_positions, plan_of_profile, reward
from giveway.sim.views.observing import (
    PART_BOUNDS,
    clip_observation,
    empty_observation,
    observe_areas,
    observe_others,
    observe_path,
)
from giveway.testing.planners import situations

SEEN = situations(ticks=16)


def test_the_golden_reward():
    assert reward(10.0, 10.8, 50.0, 2.0, 0.0, False) == pytest.approx(0.156, abs=1e-12)


def test_each_term_of_the_reward():
    assert reward(49.0, 60.0, 50.0, 0.0, -3.0, False) == pytest.approx(0.2)
    assert reward(0.0, 5.0, 0.0, 0.0, 0.0, False) == 0.0
    assert reward(5.0, 5.0, 50.0, 0.0, 4.0, True) == pytest.approx(-20.04)


@pytest.mark.parametrize("seen", SEEN)
def test_an_acceleration_is_kept_for_the_tick(seen):
    plan = plan_of_accel(-2.0, seen, bounded=False)
    assert plan.speed_mps == pytest.approx(max(seen.speed_mps - 0.2, 0.0))
    assert plan.s_m[0] - seen.s_m == pytest.approx(0.05 * (seen.speed_mps + plan.speed_mps))
    assert problem_of(plan, seen) == ""
    soft = plan_of_accel(-8.0, seen, bounded=True)
    assert soft.speed_mps == pytest.approx(max(seen.speed_mps + 0.1 * max(seen.accel_mps2 - 1.6, -8.0), 0.0))
    assert plan_of_accel(99.0, seen, bounded=False).speed_mps == pytest.approx(seen.speed_mps + 0.3)


@given(ahead=arrays(np.float64, 50, elements=st.floats(-10, 300)), which=st.sampled_from(SEEN))
@settings(max_examples=60, deadline=None)
def test_any_positions_become_a_plan_that_can_be_driven(ahead, which):
    assert problem_of(plan_of_positions(ahead, which), which) == ""


@pytest.mark.parametrize("seen", SEEN)
def test_positions_that_can_be_driven_are_driven_as_they_are(seen):
    plan = plan_of_accel(1.0, seen, bounded=False)
    again = plan_of_positions(plan.s_m - seen.s_m, seen)
    np.testing.assert_allclose(again.s_m, plan.s_m, atol=1e-12)
    assert again.speed_mps == pytest.approx(plan.speed_mps, abs=1e-9)


@pytest.mark.parametrize("number", [0, 14, 28, KEEP])
def test_every_profile_can_be_driven(number):
    for seen in SEEN:
        assert problem_of(plan_of_profile(number, seen, ProfileParameters()), seen) == ""


def straight_path(step=0.25, length=100.0):
    s = np.arange(0.0, length + 1e-9, step)
    path = np.zeros((s.size, 6))
    path[:, 0], path[:, 2], path[:, 5] = s, 1.0, 9.0
    return path, step


def test_the_route_is_seen_from_the_car_and_goes_on_beyond_its_end():
    path, step = straight_path()
    out = np.zeros((40, 4), dtype=np.float32)
    observe_path(path, step, 60.0, 60.0, 1.0, 0.5 * math.pi, out)
    np.testing.assert_allclose(out[0], [-1.0, 0.0, -0.5 * math.pi, 9.0], atol=1e-5)
    np.testing.assert_allclose(out[:, 1], -2.0 * np.arange(40), atol=1e-4)


def test_others_are_seen_nearest_first_and_the_rest_is_zero():
    states = np.array([[0, 0, 5, 0, 1], [3, 20, 8, 1, 0], [0, 5, 2, 0, 1], [1, 1, 1, 1, 0]], dtype=float)
    present = np.array([True, True, True, False])
    sizes, out = np.tile([4.5, 1.8], (4, 1)), np.full((16, 9), 7.0, dtype=np.float32)
    observe_others(0, 0.5 * math.pi, states, present, sizes, np.array([0, -1, 1, 0]), out)
    np.testing.assert_allclose(out[0], [5, 0, 1, 0, 2, 4.5, 1.8, 1, 1], atol=1e-5)
    np.testing.assert_allclose(out[1], [20, -3, 0, -1, 8, 4.5, 1.8, -1, 1], atol=1e-5)
    assert not out[2:].any()


def test_areas_say_how_far_it_is_and_when_the_other_one_is_there():
    areas = np.array([[1, 49.0, 50.8, 30.0, 31.8, -1.0], [2, 10.0, 12.0, 5.0, 7.0, 1.0]])
    s, speeds = np.array([20.0, 17.75, 50.0]), np.array([8.0, 10.0, 3.0])
    sizes, out = np.tile([4.5, 1.8], (3, 1)), np.ones((8, 5), dtype=np.float32)
    observe_areas(0, areas, s, speeds, np.ones(3, dtype=bool), sizes, out)
    np.testing.assert_allclose(out[0], [26.75, 1.8, 1.0, 1.63, -1.0], atol=1e-5)
    assert not out[1:].any()  # both have left the other area


def test_observations_are_cut_to_their_bounds():
    parts = empty_observation(2)
    assert {name: part.shape for name, part in parts.items()} == {
        "ego": (2, 5), "path": (2, 40, 4), "others": (2, 16, 9), "areas": (2, 8, 5)
    }  # fmt: skip
    parts["others"][:] = 1e9
    clip_observation(parts)
    np.testing.assert_array_equal(parts["others"][1, 3], np.float32(PART_BOUNDS["others"][1]))
