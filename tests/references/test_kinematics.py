import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from references.kinematics import (
    Bicycle,
    Controls,
    Limits,
    PointMassState,
    VehicleState,
    point_mass_invert,
    point_mass_step,
    travel,
)

FREE = Limits(max_accel_mps2=np.inf, max_brake_mps2=np.inf, max_curvature_pm=np.inf)
SPEEDS, ACCELS, STEERS = st.floats(0, 30), st.floats(-9, 5), st.floats(-0.6, 0.6)
BICYCLES = st.builds(
    lambda r: Bicycle(wheelbase_m=2.7, rear_to_reference_m=r, limits=FREE), st.sampled_from([0.0, 1.35, 2.0])
)


def state(x=0.0, y=0.0, heading=0.0, speed=10.0) -> VehicleState:
    return VehicleState(xy=np.array([x, y]), heading=np.array(heading), speed=np.array(speed))


def controls(accel, steer) -> Controls:
    return Controls(accel=np.array(accel), steer=np.array(steer))


def integrate_reference(bicycle, start, accel, steer, dt_s, steps=2000):
    """The differential equations of the single-track model by small midpoint steps."""
    x, y, heading, speed = *start.xy, float(start.heading), float(start.speed)
    h = dt_s / steps
    ratio = bicycle.rear_to_reference_m / bicycle.wheelbase_m
    beta = np.arctan(ratio * np.tan(steer))
    for _ in range(steps):
        middle = max(speed + 0.5 * h * accel, 0.0)
        rate = middle * np.cos(beta) * np.tan(steer) / bicycle.wheelbase_m
        course = heading + beta + 0.5 * h * rate
        x, y = x + h * middle * np.cos(course), y + h * middle * np.sin(course)
        heading, speed = heading + h * rate, max(speed + h * accel, 0.0)
    return np.array([x, y, heading, speed])


@settings(max_examples=15, deadline=None)
@given(bicycle=BICYCLES, speed=SPEEDS, accel=ACCELS, steer=STEERS)
def test_a_step_solves_the_differential_equations(bicycle, speed, accel, steer):
    start = state(3.0, -2.0, 0.7, speed)
    expected = integrate_reference(bicycle, start, accel, steer, 1.0)
    end = bicycle.step(start, controls(accel, steer), 1.0)
    np.testing.assert_allclose(end.xy, expected[:2], atol=3e-3)
    np.testing.assert_allclose(np.exp(1j * end.heading), np.exp(1j * expected[2]), atol=3e-3)
    np.testing.assert_allclose(end.speed, expected[3], atol=1e-2)


@settings(max_examples=50)
@given(bicycle=BICYCLES, speed=SPEEDS, accel=ACCELS, steer=STEERS)
def test_one_long_step_equals_ten_short_ones(bicycle, speed, accel, steer):
    start = state(speed=speed)
    long = bicycle.step(start, controls(accel, steer), 1.0)
    short = start
    for _ in range(10):
        short = bicycle.step(short, controls(accel, steer), 0.1)
    np.testing.assert_allclose(short.xy, long.xy, atol=1e-9)
    np.testing.assert_allclose(np.exp(1j * short.heading), np.exp(1j * long.heading), atol=1e-9)


def test_steps_with_changing_controls_converge_with_second_order():
    bicycle = Bicycle(limits=FREE)

    def drive(num):
        dt, now = 4.0 / num, state(speed=8.0)
        for k in range(num):
            middle = (k + 0.5) * dt
            now = bicycle.step(now, controls(np.sin(middle), 0.1 * np.cos(2 * middle)), dt)
        return now.xy

    exact = drive(5120)
    errors = [np.linalg.norm(drive(num) - exact) for num in (20, 40, 80)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 2.0, atol=0.1)


@settings(max_examples=50)
@given(bicycle=BICYCLES, speed=st.floats(1.0, 30), accel=st.floats(-4, 4), steer=STEERS)
def test_the_inverse_finds_the_controls_again(bicycle, speed, accel, steer):
    start = state(heading=3.0, speed=speed)
    found = bicycle.invert(start, bicycle.step(start, controls(accel, steer), 0.1), 0.1)
    np.testing.assert_allclose([found.accel, found.steer], [accel, steer], atol=1e-6)


@given(bicycle=BICYCLES, steer=STEERS)
def test_steering_and_curvature_belong_together(bicycle, steer):
    np.testing.assert_allclose(bicycle.steer(bicycle.curvature(steer)), steer, atol=1e-12)


def test_a_full_circle_comes_back():
    bicycle = Bicycle(limits=FREE)
    steer = float(bicycle.steer(0.1))
    now = state(speed=10.0)
    for _ in range(40):
        now = bicycle.step(now, controls(0.0, steer), 2 * np.pi * 10.0 / 10.0 / 40)
    np.testing.assert_allclose(now.xy, [0, 0], atol=1e-9)


def test_a_braking_vehicle_stops_and_stays():
    way, speed = travel(10.0, -5.0, 100.0)
    assert (way, speed) == (10.0, 0.0)
    assert travel(0.0, -5.0, 1.0)[0] == 0.0
    np.testing.assert_allclose(travel([0.0, 0.0], [0.0, 2.0], 1.0)[0], [0.0, 1.0])


def test_limits_bound_what_a_step_does():
    bicycle = Bicycle(limits=Limits(max_accel_mps2=2.0, max_brake_mps2=4.0, max_curvature_pm=0.1, max_speed_mps=11.0))
    assert bicycle.step(state(speed=5.0), controls(50.0, 0.0), 1.0).speed == pytest.approx(7.0)
    assert bicycle.step(state(speed=10.5), controls(50.0, 0.0), 1.0).speed == pytest.approx(11.0)
    assert bicycle.step(state(speed=15.0), controls(50.0, 0.0), 1.0).speed == pytest.approx(15.0)
    assert bicycle.step(state(speed=10.0), controls(-50.0, 0.0), 1.0).speed == pytest.approx(6.0)
    assert bicycle.step(state(speed=10.0), controls(0.0, 1.5), 0.1).heading == pytest.approx(0.1)


def test_feasibility_has_both_signs_and_refuses_nan():
    limits = Limits()
    allowed = limits.allow(np.array([0, 10.5, -10.5, 0, np.nan, 3]), np.array([0, 0, 0, -0.31, 0, 0.3]))
    np.testing.assert_array_equal(allowed, [True, False, False, False, False, True])


def test_a_turn_on_the_spot_has_no_steering():
    found = Bicycle().invert(state(speed=0.0), state(heading=0.2, speed=0.0), 0.1)
    assert found.steer == 0.0


@given(vx=ACCELS, vy=ACCELS, ax=ACCELS, ay=ACCELS)
def test_the_point_mass_is_a_parabola_there_and_back(vx, vy, ax, ay):
    start = PointMassState(xy=np.array([1.0, 2.0]), velocity=np.array([vx, vy]))
    accel = np.array([ax, ay])
    whole = point_mass_step(start, accel, 1.0)
    halves = point_mass_step(point_mass_step(start, accel, 0.5), accel, 0.5)
    np.testing.assert_allclose(whole.xy, halves.xy, atol=1e-12)
    np.testing.assert_allclose(point_mass_invert(start, whole, 1.0), accel, atol=1e-12)
