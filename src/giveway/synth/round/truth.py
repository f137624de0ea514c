"""Which gaps a recording holds and when they open, are taken, close and become critical.

Gaps and roles are found by the rules of section 2.3 of the protocol note, distances by those of section 3.2, on
the exact motion instead of the rounded one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.synth.levelx import FRAME_RATE_HZ
from giveway.synth.road_users import DENSE, Track
from giveway.synth.round.sites import LANE_WIDTH_M, Site
from giveway.synth.times import characteristic_times
from giveway.synth.traffic import GapDecisions

VEHICLE_LENGTH_M = 5.0
FAR_M = 500.0
SECTOR_RAD = np.pi / 6
APPROACH_M = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Polar:
    """A vehicle about the center of the roundabout."""

    track: Track
    radius: FloatArray
    angle: FloatArray
    dense_radius: FloatArray
    dense_angle: FloatArray

    def frames(self, first: int, last: int) -> slice:
        return slice(max(first - self.track.first_frame, 0), last - self.track.first_frame + 1)


def gap_samples(site: Site, tracks: list[Track], decisions: GapDecisions) -> list[dict[str, Any]]:
    """One row per gap of the recording, in order of T's id, then of the frame in which E passes."""
    moving = {
        number: _polar(track, np.asarray(site.center_m)) for number, track in enumerate(tracks) if track.dense_xy.size
    }
    id_of = {track.vehicle: number for number, track in enumerate(tracks) if track.vehicle >= 0}
    chosen: dict[tuple[int, int], tuple[float, float]] = {}
    for t, e, p, at in zip(
        decisions.target, decisions.priority_car, decisions.probability, decisions.time_s, strict=True
    ):
        if int(t) in id_of and int(e) in id_of:
            chosen[id_of[int(t)], id_of[int(e)]] = float(p), float(at)
    rows: list[dict[str, Any]] = []
    for number, target in moving.items():
        rows += _gaps_of(site, number, target, moving, chosen)
    return rows


def _gaps_of(
    site: Site,
    number: int,
    target: _Polar,
    moving: dict[int, _Polar],
    chosen: dict[tuple[int, int], tuple[float, float]],
) -> list[dict[str, Any]]:
    outer = site.radius_m
    inside = target.radius < outer
    if not inside.any() or target.radius[0] <= outer + APPROACH_M:
        return []
    near = int(np.argmax(target.radius < outer + APPROACH_M))
    away = target.track.xy[0] - target.track.xy[near]
    phi = float(elementary.arctan2(away[1], away[0]))
    first, last = target.track.first_frame, target.track.last_frame
    accept_frame = first + int(np.argmax(inside))
    passages: list[tuple[int, int]] = []
    ring: list[tuple[int, int]] = []
    for other, polar in moving.items():
        if other == number or polar.track.first_frame > last or polar.track.last_frame < first:
            continue
        cut = polar.frames(first, last)
        start = max(polar.track.first_frame, first)
        radius, angle = polar.radius[cut], _wrapped(polar.angle[cut] - phi)
        ring += [(start + k, other) for k in _in_ring(radius, angle, outer, polar.track.xy[cut], phi)]
        if start <= accept_frame:
            passages += [(start + k, other) for k in _circulating(radius, angle, outer)]
    passages.sort()
    ring.sort()
    rejected = [p for p in passages if p[0] <= accept_frame]
    accepted = [p for p in passages if p[0] > accept_frame][:1]
    return [_sample(site, number, target, ego, frame, phi, moving, ring, chosen) for frame, ego in rejected + accepted]


def _circulating(radius: FloatArray, angle: FloatArray, outer: float) -> IntArray:
    sector = (radius <= outer) & (angle > 0) & (angle < SECTOR_RAD)
    return np.flatnonzero(sector[1:] & ~sector[:-1] & (radius[:-1] <= outer)) + 1


def _in_ring(radius: FloatArray, angle: FloatArray, outer: float, xy: FloatArray, phi: float) -> list[int]:
    sector = (radius <= outer) & (np.abs(angle) < SECTOR_RAD)
    starts = np.flatnonzero(sector[1:] & ~sector[:-1]) + 1
    found = [int(k) for k in starts if not (radius[k - 1] > outer and angle[k - 1] > 0)]
    if sector[0]:
        step = xy[min(5, xy.shape[0] - 1)] - xy[0]
        turned = float(_wrapped(elementary.arctan2(step[1], step[0]) - phi - np.pi / 2 - angle[0]))
        if not (turned > 0.2 and angle[0] > 0):
            found.insert(0, 0)
    return found


def _sample(
    site: Site,
    number: int,
    target: _Polar,
    ego: int,
    frame: int,
    phi: float,
    moving: dict[int, _Polar],
    ring: list[tuple[int, int]],
    chosen: dict[tuple[int, int], tuple[float, float]],
) -> dict[str, Any]:
    outer, lane = site.radius_m, site.lane_radius_m
    place = next((k for k, (_, owner) in enumerate(ring) if owner == ego), None)
    before = ring[place - 1][1] if place else None
    after = ring[place + 1][1] if place is not None and place + 1 < len(ring) else None
    first = max(target.track.first_frame, moving[ego].track.first_frame)
    last = min(target.track.last_frame, moving[ego].track.last_frame)
    time = np.arange((last - first) * DENSE + 1) / (DENSE * FRAME_RATE_HZ) + first / FRAME_RATE_HZ
    e_radius, e_angle = _dense(moving[ego], first, last, phi)
    e_unwrapped, e_near = _unwrapped(e_radius, e_angle, outer)
    e_along = _ring_distance(e_radius, e_unwrapped, lane)
    t_radius, t_angle = _dense(target, first, last, phi)
    d_a = _entry_distance(t_radius, _unwrapped_after(t_angle), outer, lane)
    valid = (e_radius <= outer) & (e_radius >= outer - 2 * LANE_WIDTH_M)
    d_1 = np.full(time.size, FAR_M)
    conflict = False
    if before is not None:
        radius, angle = _dense(moving[before], first, last, phi)
        unwrapped, near = _unwrapped(radius, angle, outer)
        d_1 = _filled(e_along - _ring_distance(radius, unwrapped, lane) - VEHICLE_LENGTH_M, FAR_M)
        y = radius * np.sin(unwrapped)
        near_entry = (unwrapped < np.pi / 2) & (y < LANE_WIDTH_M + VEHICLE_LENGTH_M / 2)
        valid &= ~((unwrapped < 0) | near_entry)
        conflict |= near is not None and e_near is not None and near >= e_near
    if after is not None:
        radius, angle = _dense(moving[after], first, last, phi)
        near = _unwrapped(radius, angle, outer)[1]
        conflict |= near is not None and e_near is not None and near <= e_near
    times = characteristic_times(
        time, valid=valid, d_c=e_along - VEHICLE_LENGTH_M / 2, d_a=d_a, d_1=d_1, l_e=LANE_WIDTH_M, stride=DENSE
    )
    probability, decided_at = chosen.get((number, ego), (float("nan"), float("nan")))
    return {
        "t_id": number,
        "e_id": ego,
        "id_1": -1 if before is None else before,
        "id_2": -1 if after is None else after,
        "pass_frame": frame,
        "t_S": times.t_s,
        "t_A": times.t_a,
        "t_C": times.t_c,
        "t_crit": times.t_crit,
        "accepted": times.t_a < times.t_c,
        "t_A_observed": times.t_a_observed,
        "t_C_observed": times.t_c_observed,
        "role_conflict": bool(conflict),
        "p_accept": probability,
        "decided_at": decided_at,
    }


def _polar(track: Track, center: FloatArray) -> _Polar:
    away, dense = track.xy - center, track.dense_xy - center
    return _Polar(
        track=track,
        radius=np.hypot(away[:, 0], away[:, 1]),
        angle=elementary.arctan2(away[:, 1], away[:, 0]),
        dense_radius=np.hypot(dense[:, 0], dense[:, 1]),
        dense_angle=elementary.arctan2(dense[:, 1], dense[:, 0]),
    )


def _dense(polar: _Polar, first: int, last: int, phi: float) -> tuple[FloatArray, FloatArray]:
    """Radius and angle between two frames; NaN where the vehicle is not recorded."""
    size = (last - first) * DENSE + 1
    radius, angle = np.full(size, np.nan), np.full(size, np.nan)
    shift = (polar.track.first_frame - first) * DENSE
    low, high = max(shift, 0), min(shift + polar.dense_radius.size, size)
    if high > low:
        radius[low:high] = polar.dense_radius[low - shift : high - shift]
        angle[low:high] = _wrapped(polar.dense_angle[low - shift : high - shift] - phi)
    return radius, angle


def _wrapped(angle: Any) -> Any:
    return (np.asarray(angle) + np.pi) % (2 * np.pi) - np.pi


def _wraps(angle: FloatArray) -> IntArray:
    """Indices at which an angle jumps from beyond pi/2 to below it."""
    return np.flatnonzero((angle[1:] < np.pi / 2) & (angle[:-1] > np.pi / 2)) + 1


def _unwrapped(radius: FloatArray, angle: FloatArray, outer: float) -> tuple[FloatArray, int | None]:
    score = np.abs(angle) + 2 * np.pi * (radius > outer)
    if np.isnan(score).all():
        return angle, None
    near = int(np.nanargmin(score))
    fixed = angle.copy()
    for wrap in _wraps(angle):
        if wrap <= near:
            fixed[:wrap] -= 2 * np.pi
        else:
            fixed[wrap:] += 2 * np.pi
    return fixed, near


def _unwrapped_after(angle: FloatArray) -> FloatArray:
    fixed = angle.copy()
    for wrap in _wraps(angle):
        fixed[wrap:] += 2 * np.pi
    return fixed


def _ring_distance(radius: FloatArray, angle: FloatArray, lane: float) -> FloatArray:
    """d_I of the protocol note."""
    known = np.where(np.isnan(radius), 0.0, radius - lane)
    return -elementary.softplus(known) * elementary.tanh(5 * angle) - lane * angle


def _entry_distance(radius: FloatArray, angle: FloatArray, outer: float, lane: float) -> FloatArray:
    """d_O of the protocol note."""
    h = elementary.softplus(radius - outer) * elementary.tanh(5 * (np.pi / 4 - angle))
    fade = np.maximum(0.0, 1 - elementary.exp(np.minimum(5 * h, 50.0)) / 32) ** 2
    return h - elementary.log(2) + lane * (LANE_WIDTH_M / outer - angle) * fade


def _filled(values: FloatArray, missing: float) -> FloatArray:
    """Linear in between, ends held, ``missing`` where there is nothing at all."""
    known: BoolArray = ~np.isnan(values)
    if not known.any():
        return np.full_like(values, missing)
    index = np.arange(values.size)
    return np.interp(index, index[known], values[known])
