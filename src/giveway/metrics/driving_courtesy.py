"""What a drive cost the cars that had the right of way, as a difference to the recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.tracks import Tracks
from giveway.metrics.driving_challenge import runs_of
from giveway.metrics.driving_comfort import JERK_ORDER, JERK_WINDOW, smoothed, smoothed_rms_jerk


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
