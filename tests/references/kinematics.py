"""How vehicles move: point mass and kinematic bicycle, forward and inverse, with limits.

Inputs are constant over a step and the step is integrated exactly (a parabola in the point mass, a circular arc
in the bicycle), so there is no integration error for any ``dt_s``: a step of 1 s equals ten of 0.1 s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.frames import wrap_angle

MIN_INVERSE_STEP_M = 0.05
"""Below this way per step the inverse bicycle reports no steering: a turn on the spot has no curvature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VehicleState:
    """States of a batch of vehicles.

    Attributes:
        xy: (..., 2) position of the reference point [m].
        heading: (...) direction of the body [rad].
        speed: (...) of the reference point, not negative [m/s].
    """

    xy: FloatArray
    heading: FloatArray
    speed: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """What a driver does during one step.

    Attributes:
        accel: (...) along the path [m/s^2].
        steer: (...) angle of the front wheel, positive to the left [rad].
    """

    accel: FloatArray
    steer: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a vehicle can do.

    Attributes:
        max_accel_mps2: of speeding up.
        max_brake_mps2: of braking, positive.
        max_curvature_pm: of the path [1/m].
        max_speed_mps: beyond this it does not speed up.
    """

    max_accel_mps2: float = 10.4
    max_brake_mps2: float = 10.4
    max_curvature_pm: float = 0.3
    max_speed_mps: float = float("inf")

    def clip_accel(self, accel: FloatArray, speed: FloatArray, dt_s: float) -> FloatArray:
        """The nearest acceleration that keeps all limits over a step."""
        to_top = np.maximum((self.max_speed_mps - speed) / dt_s, 0.0)
        accel = np.clip(accel, -self.max_brake_mps2, self.max_accel_mps2)
        return np.where(accel > 0, np.minimum(accel, to_top), accel)

    def allow(self, accel: FloatArray, curvature: FloatArray) -> BoolArray:
        """Whether accelerations [m/s^2] and curvatures [1/m] are feasible; NaN is not."""
        return (
            (accel <= self.max_accel_mps2)
            & (accel >= -self.max_brake_mps2)
            & (np.abs(curvature) <= self.max_curvature_pm)
        )


FEASIBLE = Limits()
"""|a| <= 10.4 m/s^2 and |curvature| <= 0.3 1/m: feasibility as in Waymax (Gulino et al. 2023)."""


def travel(speed: ArrayLike, accel: ArrayLike, dt_s: float) -> tuple[FloatArray, FloatArray]:
    """Way and speed after a step at constant acceleration, stopping for good at standstill.

        s = v t + a t^2 / 2  with  t = min(dt, -v / a) when braking

    Returns:
        (way [m], speed after [m/s]), both not negative for speeds that are not.
    """
    speed, accel = np.asarray(speed, dtype=np.float64), np.asarray(accel, dtype=np.float64)
    stops = speed + accel * dt_s < 0
    braking = np.where(stops, accel, -1.0)
    duration = np.where(stops, -speed / braking, dt_s)
    way = speed * duration + 0.5 * accel * duration**2
    return way, np.where(stops, 0.0, speed + accel * dt_s)


def follow_arc(xy: FloatArray, course: ArrayLike, curvature: ArrayLike, way: ArrayLike) -> FloatArray:
    """(..., 2) end of a circular arc: from ``xy`` in direction ``course``, ``way`` meters long.

    chord = way sinc(turn / 2),  direction of the chord = course + turn / 2,  turn = curvature way
    """
    way = np.asarray(way, dtype=np.float64)
    half = 0.5 * np.asarray(curvature, dtype=np.float64) * way
    chord = way * np.sinc(half / np.pi)
    direction = np.asarray(course, dtype=np.float64) + half
    return xy + chord[..., None] * np.stack([np.cos(direction), np.sin(direction)], axis=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bicycle:
    """Kinematic single-track model without side slip of the tires.

    With beta the angle between body and course of the reference point, L the wheelbase and r its distance ahead of the
    rear axle::

        tan(beta) = (r / L) tan(steer),  curvature = cos(beta) tan(steer) / L,  course = heading + beta

    Constant steering is a circle for every point of the body, so a step is exact.

    Attributes:
        wheelbase_m: L.
        rear_to_reference_m: r; 0 puts the reference point on the rear axle, L / 2 about on the center of the box.
        limits: applied by :meth:`step`.

    Reference:
        Rajamani, Vehicle Dynamics and Control, 2nd edition, section 2.2.
    """

    wheelbase_m: float = 2.7
    rear_to_reference_m: float = 0.0
    limits: Limits = FEASIBLE

    def curvature(self, steer: ArrayLike) -> FloatArray:
        """Curvature of the path of the reference point [1/m]."""
        slope = np.tan(np.asarray(steer, dtype=np.float64))
        return np.cos(self._slip(slope)) * slope / self.wheelbase_m

    def steer(self, curvature: ArrayLike) -> FloatArray:
        """Steering angle for a curvature of the path [rad]; NaN where the reference point cannot turn as tightly."""
        curvature = np.asarray(curvature, dtype=np.float64)
        lever = curvature * self.rear_to_reference_m
        with np.errstate(invalid="ignore"):
            return np.arctan(self.wheelbase_m * curvature / np.sqrt(1.0 - lever**2))

    def step(self, state: VehicleState, controls: Controls, dt_s: float) -> VehicleState:
        """The state after ``dt_s`` of constant controls, clipped to the limits; vehicles do not reverse."""
        bound = self.limits.max_curvature_pm
        curvature = np.clip(self.curvature(controls.steer), -bound, bound)
        beta = np.arcsin(np.clip(curvature * self.rear_to_reference_m, -1.0, 1.0))
        accel = self.limits.clip_accel(controls.accel, state.speed, dt_s)
        way, speed = travel(state.speed, accel, dt_s)
        return VehicleState(
            xy=follow_arc(state.xy, state.heading + beta, curvature, way),
            heading=wrap_angle(state.heading + curvature * way),
            speed=speed,
        )

    def invert(self, before: VehicleState, after: VehicleState, dt_s: float) -> Controls:
        """Controls that explain the change of speed and heading between two states.

            accel = (v' - v) / dt,  curvature = turn / (dt (v + v') / 2)

        Exact for states made by :meth:`step`, except that of a step that ends in standstill only a mean is known.
        Steering is 0 for steps shorter than :data:`MIN_INVERSE_STEP_M` and NaN for impossible turns.
        """
        way = 0.5 * (before.speed + after.speed) * dt_s
        turn = wrap_angle(after.heading - before.heading)
        moves = way >= MIN_INVERSE_STEP_M
        curvature = np.where(moves | np.isnan(way), turn / np.where(moves, way, 1.0), 0.0)
        return Controls(accel=(after.speed - before.speed) / dt_s, steer=self.steer(curvature))

    def _slip(self, slope: FloatArray) -> FloatArray:
        return np.arctan(self.rear_to_reference_m / self.wheelbase_m * slope)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointMassState:
    """Attributes:
    xy: (..., 2) [m].
    velocity: (..., 2) [m/s].
    """

    xy: FloatArray
    velocity: FloatArray


def point_mass_step(state: PointMassState, accel: FloatArray, dt_s: float) -> PointMassState:
    """The state after ``dt_s`` of constant acceleration (..., 2) [m/s^2]; it may reverse."""
    return PointMassState(
        xy=state.xy + state.velocity * dt_s + 0.5 * accel * dt_s**2, velocity=state.velocity + accel * dt_s
    )


def point_mass_invert(before: PointMassState, after: PointMassState, dt_s: float) -> FloatArray:
    """(..., 2) the constant acceleration between two velocities [m/s^2]."""
    return (after.velocity - before.velocity) / dt_s
