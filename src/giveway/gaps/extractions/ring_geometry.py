"""Distances in a roundabout: along the ring, and into it.

Frame of a sample: origin in the center of the roundabout, T arrives along +x, traffic runs counter-clockwise. Angles
are unwrapped so that a passage of T's entry is at angle 0.

Reference:
    Schumann et al. 2023 (supplement), eqs. 9-11.
"""

from __future__ import annotations

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.gaps.profile import Profile
from giveway.gaps.raw import Description, RawGaps, empty_distances
from giveway.gaps.times import velocity_windows

LANE_WIDTH_M = 3.5
VEHICLE_LENGTH_M = 5.0
ESCAPE_MPS2 = 2.0  # acceleration of T once inside
MISSING_M = 500.0
SPEED_FRAMES = 5


def along_ring(radius: FloatArray, angle: FloatArray, outer: FloatArray) -> FloatArray:
    """d_I: way along the ring to T's entry; positive before it.

    d_I = -softplus(r - R_L) tanh(5 alpha) - R_L alpha,  R_L = R - w/2
    """
    lane = outer - LANE_WIDTH_M / 2
    return -elementary.softplus(radius - lane) * elementary.tanh(5 * angle) - lane * angle


def into_ring(radius: FloatArray, angle: FloatArray, outer: FloatArray) -> FloatArray:
    """d_O: way of an entering vehicle to the outer edge of the ring; positive outside, zero at r = R.

    ::

        h   = softplus(r - R) tanh(5 (pi/4 - alpha))
        d_O = h - ln 2 + R_L (w/R - alpha) max(0, 1 - exp(5 h)/32)²
    """
    lane = outer - LANE_WIDTH_M / 2
    height = elementary.softplus(radius - outer) * elementary.tanh(5 * (np.pi / 4 - angle))
    fade = np.maximum(0.0, 1.0 - elementary.exp(np.minimum(5 * height, 50.0)) / 32.0) ** 2
    return height - elementary.log(2.0) + lane * (LANE_WIDTH_M / outer - angle) * fade


def wraps(angle: FloatArray) -> BoolArray:
    """Where an angle jumps from above +pi/2 to below it within a step, along the last axis; not at the first entry."""
    jumped = np.zeros(angle.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        jumped[..., 1:] = (angle[..., 1:] < np.pi / 2) & (angle[..., :-1] > np.pi / 2) & _goes_round(angle)
    return jumped


def _goes_round(angle: FloatArray) -> BoolArray:
    """A step down by more than half a turn; a slow step back across +pi/2 is not a lap."""
    return (angle[..., :-1] - angle[..., 1:]) > np.pi


@njit(cache=True)
def _laps_so_far(offset: IntArray, jumped: BoolArray) -> IntArray:
    laps = np.zeros(len(jumped), dtype=np.int64)
    for i in range(len(offset) - 1):
        count = 0
        for k in range(offset[i], offset[i + 1]):
            if jumped[k] and k > offset[i]:
                count += 1
            laps[k] = count
    return laps


def reference_row(radius: FloatArray, angle: FloatArray, outer: float) -> int:
    """Row nearest to T's entry: least |alpha|, inside the ring first; -1 if the agent is never recorded."""
    score = np.abs(angle) + 2 * np.pi * (radius > outer)
    return int(np.nanargmin(score)) if np.isfinite(score).any() else -1


def unwrapped(raw: RawGaps, role: str, *, only_later: bool) -> FloatArray:
    """(K,) angle of a role, counted from the lap that ``raw.constants['laps_<role>']`` names.

    Laps before that one count negative, or not at all with ``only_later`` (entering vehicles).
    """
    xy = raw.xy[:, raw.roles.index(role)]
    angle = elementary.arctan2(xy[:, 1], xy[:, 0])
    laps = _laps_so_far(raw.offset, wraps(angle)) - raw.per_row(f"laps_{role}")
    return angle + 2 * np.pi * (np.maximum(laps, 0) if only_later else laps)


def describe_ring(raw: RawGaps, profile: Profile) -> Description:
    """The 1D description of gaps in a roundabout.

    ::

        D_C = d_I(E) - l/2   D_A = d_O(T)   D_1 = d_I(E) - d_I(1) - l   D_2 = d_I(2) - d_I(E) - l
        D_3 = d_O(T) - d_O(3) - l           L_E = w
        L_T = max(w, a t²/2 - Ddot_A t),  t = max(Ddot_A - Ddot_C, 0) / a
        valid: E on the ring, and 1 beyond the contested space
    """
    outer = raw.per_row("radius_m")
    ring: dict[str, FloatArray] = {}
    for role in ("E", "1", "2"):
        ring[role] = along_ring(_radius(raw, role), unwrapped(raw, role, only_later=False), outer)
    entry = {role: into_ring(_radius(raw, role), unwrapped(raw, role, only_later=True), outer) for role in ("T", "3")}
    distance = empty_distances(len(raw.time_s))
    distance[:, 0] = ring["E"] - VEHICLE_LENGTH_M / 2
    distance[:, 1] = entry["T"]
    distance[:, 2] = ring["E"] - ring["1"] - VEHICLE_LENGTH_M
    distance[:, 3] = ring["2"] - ring["E"] - VEHICLE_LENGTH_M
    distance[:, 4] = entry["T"] - entry["3"] - VEHICLE_LENGTH_M
    distance[:, 5] = LANE_WIDTH_M
    if profile.velocity_window == "truncate":
        windows = np.minimum(SPEED_FRAMES, np.maximum(np.diff(raw.offset) - 1, 1))
    else:
        windows = velocity_windows(offset=raw.offset, time_s=raw.time_s, rule="round")
    rate_c = _rates(raw.offset, raw.time_s, distance[:, 0], windows)
    rate_a = _rates(raw.offset, raw.time_s, distance[:, 1], windows)
    escape = np.maximum(rate_a - rate_c, 0.0) / ESCAPE_MPS2
    distance[:, 6] = np.fmax(LANE_WIDTH_M, ESCAPE_MPS2 * escape**2 / 2 - rate_a * escape)
    in_place, in_the_way = _places(raw, outer)
    valid = in_place & ~in_the_way
    return Description(valid=valid, distance=distance, missing_m=MISSING_M, ego_in_place=in_place)


def _places(raw: RawGaps, outer: FloatArray) -> tuple[BoolArray, BoolArray]:
    """(K,) E is on the ring; (K,) the vehicle ahead of it is still in the way."""
    radius = _radius(raw, "E")
    ahead = raw.xy[:, raw.roles.index("1")]
    angle = unwrapped(raw, "1", only_later=False)
    with np.errstate(invalid="ignore"):
        off_ring = (radius > outer) | (radius < outer - 2 * LANE_WIDTH_M)
        in_the_way = (angle < 0) | ((angle < np.pi / 2) & (ahead[:, 1] < LANE_WIDTH_M + VEHICLE_LENGTH_M / 2))
    return ~off_ring, in_the_way


def _radius(raw: RawGaps, role: str) -> FloatArray:
    xy = raw.xy[:, raw.roles.index(role)]
    return np.hypot(xy[:, 0], xy[:, 1])


@njit(cache=True)
def _rates(offset: IntArray, time_s: FloatArray, values: FloatArray, windows: IntArray) -> FloatArray:
    out = np.zeros(len(values))
    for i in range(len(offset) - 1):
        first, stop = offset[i], offset[i + 1]
        window = min(windows[i], stop - first - 1)
        if window < 1:
            continue
        for k in range(first + window, stop):
            out[k] = (values[k] - values[k - window]) / (time_s[k] - time_s[k - window])
        for k in range(first, first + window):
            out[k] = out[first + window]
    return out
