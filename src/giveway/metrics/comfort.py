"""How a drive felt: accelerations, yaw and jerk with declared filters."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.log import DriveLog
from giveway.core.smoothing import savitzky_golay
from giveway.metrics.metric import MetricValue, metric, undefined
from giveway.metrics.shared import once_per_log
from giveway.metrics.speeds import jerk_of_speed, runs_of

BOUNDS = {
    "longitudinal_accel_mps2": (-4.05, 2.40),
    "lateral_accel_mps2": (-4.89, 4.89),
    "yaw_rate_radps": (-0.95, 0.95),
    "yaw_accel_radps2": (-1.93, 1.93),
    "longitudinal_jerk_mps3": (-4.13, 4.13),
    "jerk_mps3": (0.0, 8.37),
}
"""Comfortable range of each quantity (nuPlan, from human drivers)."""

COMFORT_WINDOW, COMFORT_ORDER = 5, 2
"""Savitzky-Golay filter of the comfort bounds, as in nuPlan's published utility."""

JERK_WINDOW, JERK_ORDER = 11, 3
"""Filter with which simulated and recorded jerk are compared: recordings are noisy, simulations are not."""

MIN_WINDOW = 5

HARD_BRAKING_MPS2 = 4.0
"""Braking that people avoid."""

STANDING_MPS, FROZEN_S = 0.3, 3.0
"""An ego that is slower than this for so much longer than the recorded driver is frozen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comfort:
    """Attributes:
    extremes: quantity to (least, largest) value.
    is_comfortable: every quantity stays within its bounds.
    rms_jerk: root mean square of the smoothed jerk [m/s^3].
    filter: how derivatives were taken.
    """

    extremes: dict[str, tuple[float, float]]
    is_comfortable: bool
    rms_jerk: float
    filter: str


def smoothed(values: FloatArray, dt_s: float, *, window: int, order: int, derivative: int) -> FloatArray:
    """Derivative by Savitzky-Golay, edges by polynomial fit.

    A track that is shorter than the window gets the largest odd window that fits, at least 5; shorter ones get
    plain differences.

    Args:
        values: (T,) without gaps.
        dt_s: sampling interval.
        window: odd number of samples.
        order: of the polynomial.
        derivative: which one.
    """
    fits = values.size if values.size % 2 else values.size - 1
    window = min(window, fits)
    if window < MIN_WINDOW:
        for _ in range(derivative):
            values = np.gradient(values, dt_s) if values.size > 1 else np.zeros(values.shape)
        return values
    return savitzky_golay(values, window, min(order, window - 1), derivative=derivative, spacing=dt_s)


def smoothed_rms_jerk(speed: FloatArray, dt_s: float) -> float:
    """Root mean square of the second derivative of speed, Savitzky-Golay 11/3 [m/s^3]; 0 below three samples."""
    if speed.size < 3:
        return 0.0
    if speed.size < MIN_WINDOW:
        jerk = jerk_of_speed(speed, dt_s)
    else:
        jerk = smoothed(speed, dt_s, window=JERK_WINDOW, order=JERK_ORDER, derivative=2)
    return float(np.sqrt(np.mean(jerk**2)))


def comfort(speed: FloatArray, heading: FloatArray, dt_s: float) -> Comfort:
    """Comfort of one uninterrupted drive.

    Args:
        speed: (T,) m/s.
        heading: (T,) rad, wrapped or not.
        dt_s: sampling interval.

    Reference:
        nuPlan devkit, metrics documentation: ego is comfortable.
    """

    def derive(values: FloatArray, derivative: int) -> FloatArray:
        return smoothed(values, dt_s, window=COMFORT_WINDOW, order=COMFORT_ORDER, derivative=derivative)

    turning = np.unwrap(heading)
    yaw_rate = derive(turning, 1)
    accel, lateral = derive(speed, 1), speed * yaw_rate
    quantities = {
        "longitudinal_accel_mps2": accel,
        "lateral_accel_mps2": lateral,
        "yaw_rate_radps": yaw_rate,
        "yaw_accel_radps2": derive(turning, 2),
        "longitudinal_jerk_mps3": derive(speed, 2),
        "jerk_mps3": np.hypot(derive(speed, 2) - lateral * yaw_rate, derive(lateral, 1) + accel * yaw_rate),
    }
    extremes = {name: (float(values.min()), float(values.max())) for name, values in quantities.items()}
    return Comfort(
        extremes=extremes,
        is_comfortable=all(BOUNDS[n][0] <= low and high <= BOUNDS[n][1] for n, (low, high) in extremes.items()),
        rms_jerk=smoothed_rms_jerk(speed, dt_s),
        filter=f"Savitzky-Golay {COMFORT_WINDOW}/{COMFORT_ORDER}; rms_jerk {JERK_WINDOW}/{JERK_ORDER}",
    )


@once_per_log
def comfort_of(log: DriveLog) -> Comfort | None:
    """Comfort of the ego over its longest uninterrupted presence; None with fewer than three samples."""
    runs = runs_of(log.tracks.observed[log.ego])
    longest = max(runs, key=lambda run: run[1] - run[0], default=(0, 0))
    if longest[1] - longest[0] < 3:
        return None
    part = slice(*longest)
    return comfort(log.tracks.speed[log.ego, part], log.tracks.heading[log.ego, part], log.tracks.dt_s)


TOO_SHORT = "the ego is present for fewer than three instants"


@metric(
    name="comfortable",
    title="Comfortable",
    formula="1 if accelerations, yaw rate and acceleration and jerk of the ego stay within human bounds, else 0",
    better="higher",
    range=(0.0, 1.0),
    of="drive",
    items="extremes",
    column="comfort",
    reference="nuPlan devkit, metrics documentation: ego is comfortable; Savitzky-Golay filter 5/2.",
)
def comfortable(log: DriveLog) -> MetricValue:
    """Whether the drive was comfortable; items are the extremes of each quantity."""
    felt = comfort_of(log)
    if felt is None:
        return undefined(TOO_SHORT)
    extremes = {
        f"{n} {end}": v for n, pair in felt.extremes.items() for end, v in zip(("least", "most"), pair, strict=True)
    }
    values = np.array(list(extremes.values()))
    mask = np.ones(values.shape, dtype=np.bool_)
    return MetricValue(value=float(felt.is_comfortable), per_item=values, mask=mask, labels=tuple(extremes))


@metric(
    name="rms_jerk_smoothed",
    title="RMS jerk, smoothed",
    formula="sqrt(mean of j^2), j the second derivative of speed by a Savitzky-Golay filter 11/3",
    unit="m/s^3",
    better="lower",
    range=(0.0, math.inf),
    of="drive",
    column="",
    reference="Comparable with recordings, whose speed is noisy; S_jer is not smoothed.",
)
def rms_jerk_smoothed(log: DriveLog) -> MetricValue:
    """Jerk of the ego over its longest uninterrupted presence."""
    felt = comfort_of(log)
    return undefined(TOO_SHORT) if felt is None else MetricValue(value=felt.rms_jerk)


@metric(
    name="hard_braking",
    title="Braked hard",
    formula="1 if the ego loses more than 0.4 m/s within 0.1 s at least once, else 0",
    better="lower",
    range=(0.0, 1.0),
    of="drive",
    column="",
    reference="Braking harder than 4 m/s^2, of the speeds as driven, without a filter.",
)
def hard_braking(log: DriveLog) -> MetricValue:
    """Whether the ego brakes harder than 4 m/s^2."""
    runs = [log.tracks.speed[log.ego, slice(*run)] for run in runs_of(log.tracks.observed[log.ego])]
    accel = np.concatenate([np.zeros(0), *(np.diff(speed) / log.tracks.dt_s for speed in runs)])
    if accel.size == 0:
        return undefined(TOO_SHORT)
    return MetricValue(value=float(accel.min() < -HARD_BRAKING_MPS2 - 1e-9))


@metric(
    name="frozen",
    title="Frozen",
    formula="1 if the ego stands (v < 0.3 m/s) at least 3 s longer than the recorded driver, else 0",
    better="lower",
    range=(0.0, 1.0),
    of="drive",
    column="frozen",
    reference="While both are there; a case with an altered start has no such driver.",
)
def frozen(log: DriveLog) -> MetricValue:
    """Whether the ego freezes where the human went on."""
    both = log.tracks.observed[log.ego] & log.recorded.observed[log.ego]
    if not both.any() or log.case.is_altered:
        return undefined("there is no recorded driver to compare with")
    stands, stood = (
        np.count_nonzero(tracks.speed[log.ego, both] < STANDING_MPS) * tracks.dt_s
        for tracks in (log.tracks, log.recorded)
    )
    return MetricValue(value=float(stands - stood >= FROZEN_S - 1e-9))


@metric(
    name="emergencies",
    title="Emergencies",
    formula="number of times the planner of the ego leaves its bounds of comfort",
    better="lower",
    range=(0.0, math.inf),
    of="drive",
    column="emergencies",
    reference="Events `emergency` of the log; planners without bounds of comfort have none.",
)
def emergencies(log: DriveLog) -> MetricValue:
    """How often the ego brakes or accelerates beyond comfort."""
    return MetricValue(value=float(sum(event.kind == "emergency" for event in log.events)))
