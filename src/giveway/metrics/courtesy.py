"""What a drive cost the cars that had the right of way, as a difference to the recording."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.log import DriveLog
from giveway.core.tracks import Tracks
from giveway.metrics.comfort import JERK_ORDER, JERK_WINDOW, smoothed, smoothed_rms_jerk
from giveway.metrics.metric import MetricValue, metric, undefined
from giveway.metrics.shared import once_per_log
from giveway.metrics.speeds import runs_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CourtesyCost:
    """What one car paid.

    Attributes:
        car: whom.
        jerk_mps3: its smoothed RMS jerk minus the recorded one.
        delay_s: how much later it is where it is at the end, compared with the recording; negative if it is earlier.
        imposed_decel_mps2: how much harder it had to brake than in the recording; never negative.
    """

    car: str
    jerk_mps3: float
    delay_s: float
    imposed_decel_mps2: float


def courtesy_cost(simulated: Tracks, recorded: Tracks, row: int) -> CourtesyCost | None:
    """Compare one car with its recording, both smoothed alike, over the instants at which both are present.

    Returns:
        None if there are no such instants.
    """
    both = simulated.observed[row] & recorded.observed[row]
    runs = runs_of(both)
    if not runs:
        return None
    start, stop = runs[0]
    driven, human = (tracks.speed[row, start:stop] for tracks in (simulated, recorded))
    dt_s = simulated.dt_s
    return CourtesyCost(
        car=str(simulated.ids[row]),
        jerk_mps3=smoothed_rms_jerk(driven, dt_s) - smoothed_rms_jerk(human, dt_s),
        delay_s=_delay(_way(simulated.xy[row, start:stop]), _way(recorded.xy[row, start:stop]), dt_s),
        imposed_decel_mps2=max(_hardest_braking(driven, dt_s) - _hardest_braking(human, dt_s), 0.0),
    )


def _hardest_braking(speed: FloatArray, dt_s: float) -> float:
    accel = smoothed(speed, dt_s, window=JERK_WINDOW, order=JERK_ORDER, derivative=1)
    return max(-float(accel.min()), 0.0)


def _way(xy: FloatArray) -> FloatArray:
    """Distance driven since the first instant."""
    return np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(xy, axis=0).T))])


def _delay(driven: FloatArray, human: FloatArray, dt_s: float) -> float:
    """Time between the two being at the place which the slower one has reached at the end."""
    behind = driven[-1] <= human[-1]
    slow, fast = (driven, human) if behind else (human, driven)
    at = np.arange(fast.size) * dt_s
    passed = float(np.interp(slow[-1], fast, at)) if fast[-1] > 0 else at[-1]
    if np.isclose(slow[-1], fast[-1], rtol=0.0, atol=1e-9):
        passed = at[-1]
    late = at[-1] - passed
    return late if behind else -late


ALTERED = "cars start elsewhere than in the recording"
"""Why differences to the recording say nothing about a case with altered starts."""


@once_per_log
def courtesy_of(log: DriveLog) -> tuple[CourtesyCost, ...]:
    """What each right-of-way car paid; nobody is compared from another start than the recorded one."""
    if log.case.is_altered:
        return ()
    rows = {str(car): i for i, car in enumerate(log.tracks.ids)}
    costs = [courtesy_cost(log.tracks, log.recorded, rows[car]) for car in log.case.right_of_way if car in rows]
    return tuple(cost for cost in costs if cost is not None)


@metric(
    name="courtesy_jerk",
    title="Imposed jerk",
    formula="sum over right-of-way cars of (smoothed RMS jerk - the recorded one)",
    unit="m/s^3",
    better="lower",
    range=(-math.inf, math.inf),
    of="drive",
    items="cars",
    needs="recording",
    column="",
    reference="As S_cou, as a difference to the recording.",
)
def courtesy_jerk(log: DriveLog) -> MetricValue:
    """Jerk that the ego imposed on the cars with the right of way."""
    costs = [cost.jerk_mps3 for cost in courtesy_of(log)]
    return _over_cars(log, costs, sum(costs, 0.0))


@metric(
    name="courtesy_delay_s",
    title="Imposed delay",
    formula="sum over right-of-way cars of how much later they are where they are at the end",
    unit="s",
    better="lower",
    range=(-math.inf, math.inf),
    of="drive",
    items="cars",
    needs="recording",
    column="delay s",
    reference="As S_cou, as a difference to the recording; negative where cars gained time.",
)
def courtesy_delay_s(log: DriveLog) -> MetricValue:
    """Delay that the ego imposed on the cars with the right of way."""
    costs = [cost.delay_s for cost in courtesy_of(log)]
    return _over_cars(log, costs, sum(costs, 0.0))


@metric(
    name="courtesy_imposed_decel",
    title="Imposed braking",
    formula="largest over right-of-way cars of max(hardest braking - the recorded one, 0)",
    unit="m/s^2",
    better="lower",
    range=(0.0, math.inf),
    of="drive",
    items="cars",
    needs="recording",
    column="",
    reference="As S_cou, as a difference to the recording; Savitzky-Golay filter 11/3.",
)
def courtesy_imposed_decel(log: DriveLog) -> MetricValue:
    """Braking that the ego imposed on the cars with the right of way."""
    costs = [cost.imposed_decel_mps2 for cost in courtesy_of(log)]
    return _over_cars(log, costs, max(costs, default=0.0))


def _over_cars(log: DriveLog, costs: Sequence[float], value: float) -> MetricValue:
    if log.case.is_altered:
        return undefined(ALTERED)
    cars = tuple(cost.car for cost in courtesy_of(log))
    per_car = np.array(costs, dtype=np.float64)
    return MetricValue(value=value, per_item=per_car, mask=np.isfinite(per_car), labels=cars)
