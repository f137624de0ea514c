"""How far the motion of cars is from that of recorded ones, where no car has a recorded counterpart.

Distributions over all cars are compared; :mod:`giveway.metrics.realism` judges each car by its own recording.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from scipy import stats

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.frames import wrap_angle
from giveway.core.tracks import AgentKind, Tracks

QUANTITIES = {
    "speed": "m/s",
    "acceleration": "m/s^2",
    "jerk": "m/s^3",
    "yaw_rate": "rad/s",
    "headway": "s",
}
"""What is compared, and its unit."""

MAX_VALUES = 20_000
MAX_HEADWAY_S = 10.0
LANE_HALF_M = 1.5
MOTORIZED = (AgentKind.CAR, AgentKind.VAN, AgentKind.TRUCK, AgentKind.BUS)
BINS = 40


def motion_values(tracks: Tracks, rows: BoolArray | None = None) -> dict[str, FloatArray]:
    """Speed, acceleration, jerk, yaw rate and headway of vehicles, all instants together.

    Args:
        tracks: of a recording or a log, at its own rate; differences are taken over about 0.2 s, so that the noise of a
            camera and the steps of a simulation weigh alike.
        rows: (A,) which agents; all motorized ones if None.

    Returns:
        Quantity to values; headway is the time to the place of the nearest vehicle ahead within 1.5 m of the own line
        and 100 m, below 10 s; instants without one are left out.
    """
    if rows is None:
        rows = np.isin(tracks.kind, [int(kind) for kind in MOTORIZED])
    stride = max(round(0.2 / tracks.dt_s), 1) if tracks.num_instants > 1 else 1
    dt = stride * tracks.dt_s
    speed = tracks.speed[:, ::stride]
    heading = tracks.heading[:, ::stride]
    xy = tracks.xy[:, ::stride]
    accel = np.diff(speed, axis=1) / dt
    found = {
        "speed": speed[rows],
        "acceleration": accel[rows],
        "jerk": (np.diff(accel, axis=1) / dt)[rows],
        "yaw_rate": (wrap_angle(np.diff(heading, axis=1)) / dt)[rows],
        "headway": _headway(xy, heading, speed, rows),
    }
    return {name: values[np.isfinite(values)].ravel() for name, values in found.items()}


def _headway(xy: FloatArray, heading: FloatArray, speed: FloatArray, rows: BoolArray) -> FloatArray:
    best = np.full((int(rows.sum()), xy.shape[1]), np.inf)
    cos, sin = np.cos(heading[rows]), np.sin(heading[rows])
    own = np.flatnonzero(rows)
    for other in range(len(xy)):
        to = xy[other][None] - xy[rows]
        along = cos * to[..., 0] + sin * to[..., 1]
        across = -sin * to[..., 0] + cos * to[..., 1]
        ahead = (along > 1.0) & (along < 100.0) & (np.abs(across) < LANE_HALF_M) & (own != other)[:, None]
        best = np.where(ahead & (along < best), along, best)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = best / speed[rows]
    return np.where(gap < MAX_HEADWAY_S, gap, np.nan)


def joined(parts: Iterable[Mapping[str, FloatArray]], seed: int = 0) -> dict[str, FloatArray]:
    """Values of several logs together, thinned at random to a size that distances are quick for."""
    collected: dict[str, list[FloatArray]] = {name: [] for name in QUANTITIES}
    for part in parts:
        for name, values in part.items():
            collected[name].append(values)
    rng = np.random.default_rng(seed)
    out: dict[str, FloatArray] = {}
    for name, pieces in collected.items():
        values = np.concatenate(pieces) if pieces else np.zeros(0)
        out[name] = rng.choice(values, MAX_VALUES, replace=False) if values.size > MAX_VALUES else values
    return out


def distances(generated: Mapping[str, FloatArray], recorded: Mapping[str, FloatArray]) -> dict[str, float]:
    """Wasserstein distances between generated and recorded motion, in the unit of each quantity.

    Returns:
        ``wasserstein_<quantity>``; NaN where one side has no values. ``likelihood`` is the mean over the quantities of
        the probability that the recorded histogram gives to generated values, relative to what it gives to recorded
        ones, capped at 1: a simple form of the realism meta-metric of the Waymo sim agents challenge.
    """
    found: dict[str, float] = {}
    shares: list[float] = []
    for name in QUANTITIES:
        ours, theirs = generated[name], recorded[name]
        if ours.size == 0 or theirs.size == 0:
            found[f"wasserstein_{name}"] = math.nan
            continue
        found[f"wasserstein_{name}"] = float(stats.wasserstein_distance(ours, theirs))
        shares.append(_likelihood(ours, theirs))
    found["likelihood"] = float(np.mean(shares)) if shares else math.nan
    return found


def _likelihood(ours: FloatArray, theirs: FloatArray) -> float:
    low, high = np.quantile(theirs, [0.001, 0.999])
    if high <= low:
        return math.nan
    edges = np.linspace(low, high, BINS + 1)
    mass = (np.histogram(np.clip(theirs, low, high), edges)[0] + 1.0) / (theirs.size + BINS)

    def log_mean(values: FloatArray) -> float:
        at = np.clip(((values - low) / (high - low) * BINS).astype(np.int64), 0, BINS - 1)
        inside = (values >= low) & (values <= high)
        return float(np.mean(np.where(inside, elementary.log(mass[at]), elementary.log(1.0 / (theirs.size + BINS)))))

    return min(1.0, math.exp(log_mean(ours) - log_mean(theirs)))
