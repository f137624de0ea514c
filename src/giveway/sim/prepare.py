"""From a case and its recording to arrays on the tick grid, one case at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from giveway.core.boxes import VEHICLE_SIZE_M, VULNERABLE, VULNERABLE_DIAMETER_M
from giveway.core.errors import DataError
from giveway.core.maps.lanes import LaneMap
from giveway.core.scene import Scene
from giveway.core.tracks import Tracks
from giveway.planning.paths import CarPath, path_through, project
from giveway.sim.arrays import FUTURE, PAST, Driver
from giveway.sim.cases import TICK_S, Case, Role

START_FADE_M = 10.0
"""A start beside the recorded path returns to it over this distance."""

DRIVERS = {Role.EGO: Driver.PLANNER, Role.REACTIVE: Driver.PLANNER, Role.IDM: Driver.IDM, Role.REPLAY: Driver.REPLAY}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCase:
    """One case, ready to be packed into a batch; A agents, L = 9 + ticks + 1 + 50 columns.

    Attributes:
        case: what it was made from.
        road: lane map, or None.
        ids: (A,) identifiers.
        kind: (A,) codes of AgentKind.
        size: (A, 2) length and width [m], complete.
        heading_known: (A,) whether the source gives headings; restored in the log.
        role: (A,) role of each agent.
        driver: (A,) :class:`~giveway.sim.arrays.Driver`.
        predicted: (A,) whether predictions are asked for.
        hidden: (A,) not seen by the ego's planner.
        favored: (A,) has the right of way over the ego.
        desired_speed: (A,) [m/s].
        spawn_tick: (A,) first tick.
        start: (A, 4) x, y, heading, speed at the first tick.
        start_s: (A,) arc length at the first tick; 0 without a path.
        paths: (A,) path of each car that is not on replay.
        rec: (A, L, 5) recorded x, y, vx, vy, heading.
        rec_on: (A, L) recorded presence.
        ego: index of the ego.
        expected_progress_m: how far the recorded ego went along its path from tick 0 to the end.
        notes: what a reader should know.
    """

    case: Case
    road: LaneMap | None
    ids: StrArray
    kind: IntArray
    size: FloatArray
    heading_known: BoolArray
    role: tuple[Role, ...]
    driver: IntArray
    predicted: BoolArray
    hidden: BoolArray
    favored: BoolArray
    desired_speed: FloatArray
    spawn_tick: IntArray
    start: FloatArray
    start_s: FloatArray
    paths: tuple[CarPath | None, ...]
    rec: FloatArray
    rec_on: BoolArray
    ego: int
    expected_progress_m: float
    notes: tuple[str, ...] = ()


def prepare(case: Case, scene: Scene) -> PreparedCase:
    """Cut the window of a case out of its recording and give every car its driver.

    Recordings at another rate are resampled linearly to 0.1 s first (noted). The recording's hash must be the one the
    case was made for.

    Raises:
        DataError: another recording, a window outside it, or an ego that is not there.
    """
    where = f"case {case.id!r}, recording {case.recording!r}"
    hashes = set(scene.provenance.files.values())
    known = ", ".join(sorted(h[:12] for h in hashes)) or "unknown"
    if case.tracks_sha256 and case.tracks_sha256 not in hashes:
        raise DataError(
            "the track file is not the one this case was made for",
            where=where,
            found=f"SHA-256 {known}, expected {case.tracks_sha256[:12]}",
            hint="same file name, other content: get the recording the case was mined from, or mine again",
        )
    notes: list[str] = []
    tracks = scene.tracks
    if tracks.num_instants > 1 and abs(tracks.dt_s - TICK_S) > 1e-6:
        notes.append(f"resampled from {tracks.dt_s:.4g} s to {TICK_S} s")
        tracks = resample(tracks, TICK_S)
    first = round((case.start_s - float(tracks.time_s[0])) / TICK_S)
    stop = first + case.num_ticks + 1
    if first < 0 or stop > tracks.num_instants:
        span = f"{tracks.time_s[0]:.1f} s to {tracks.time_s[-1]:.1f} s"
        raise DataError("the case lies outside its recording", where=where, found=f"recording from {span}")
    cast = {car.id: car for car in case.cars}
    here = tracks.observed[:, first:stop].any(axis=1)
    altered = {car.id for car in case.cars if car.start is not None}
    keep = np.flatnonzero(here | np.array([str(i) in altered for i in tracks.ids], dtype=np.bool_))
    for absent in sorted(set(cast) - set(tracks.ids[keep].tolist())):
        if cast[absent].role is Role.EGO:
            raise DataError("the ego is not in the recording", where=where, found=f"no car {absent!r} in the window")
        notes.append(f"car {absent} is never present")
    window = _window(tracks.select(keep), first, case.num_ticks)
    rec, rec_on = _record(window)
    roles = tuple(cast[str(i)].role if str(i) in cast else Role.REPLAY for i in window.ids)
    prepared = PreparedCase(
        case=case,
        road=scene.road,
        ids=window.ids,
        kind=window.kind,
        size=_sizes(window),
        heading_known=_headings_known(window),
        role=roles,
        driver=np.array([DRIVERS[role] for role in roles], dtype=np.int64),
        predicted=np.array([str(i) in cast and cast[str(i)].predicted for i in window.ids], dtype=np.bool_),
        hidden=np.array([case.hide_unpredicted and str(i) not in cast for i in window.ids], dtype=np.bool_),
        favored=np.array([str(i) in case.right_of_way for i in window.ids], dtype=np.bool_),
        desired_speed=np.full(len(keep), case.desired_speed_mps),
        spawn_tick=np.zeros(len(keep), dtype=np.int64),
        start=np.zeros((len(keep), 4)),
        start_s=np.zeros(len(keep)),
        paths=(None,) * len(keep),
        rec=rec,
        rec_on=rec_on,
        ego=int(np.flatnonzero(window.ids == case.ego.id)[0]),
        expected_progress_m=0.0,
        notes=tuple(notes),
    )
    return _with_starts(prepared, tracks.select(keep))


def with_drivers(prepared: PreparedCase, ego: Driver, *, everyone_replays: bool = False) -> PreparedCase:
    """The same case with another driver for the ego, or with every car on replay."""
    driver = prepared.driver.copy()
    driver[prepared.ego] = ego
    if everyone_replays:
        driver[:] = Driver.REPLAY
    return replace(prepared, driver=driver)


def resample(tracks: Tracks, dt_s: float) -> Tracks:
    """Linear interpolation onto a grid of ``dt_s``; a sample is observed if both its neighbors are."""
    count = int(np.floor((tracks.time_s[-1] - tracks.time_s[0]) / dt_s + 1e-6)) + 1
    time_s = tracks.time_s[0] + dt_s * np.arange(count)
    right = np.clip(np.searchsorted(tracks.time_s, time_s - 1e-9), 1, tracks.num_instants - 1)
    left = right - 1
    weight = np.clip((time_s - tracks.time_s[left]) / (tracks.time_s[right] - tracks.time_s[left]), 0.0, 1.0)
    at_left, at_right = weight < 1e-6, weight > 1 - 1e-6
    observed = (tracks.observed[:, left] | at_right) & (tracks.observed[:, right] | at_left)

    def blend(values: FloatArray) -> FloatArray:
        w = weight[:, None] if values.ndim == 3 else weight
        low, high = values[:, left], values[:, right]
        return np.where(w < 1e-6, low, np.where(w > 1 - 1e-6, high, low + w * (high - low)))

    heading = blend(np.cos(tracks.heading)), blend(np.sin(tracks.heading))
    return replace(
        tracks,
        time_s=time_s,
        xy=np.where(observed[..., None], blend(tracks.xy), np.nan),
        velocity=np.where(observed[..., None], blend(tracks.velocity), np.nan),
        heading=np.where(observed, elementary.arctan2(heading[1], heading[0]), np.nan),
        observed=observed,
    )


def _window(tracks: Tracks, first: int, num_ticks: int) -> Tracks:
    """Columns from nine ticks before the case to 50 after it, padded where the recording does not reach."""
    columns = np.arange(first - PAST, first + num_ticks + 1 + FUTURE)
    inside = (columns >= 0) & (columns < tracks.num_instants)
    at = np.clip(columns, 0, tracks.num_instants - 1)
    observed = tracks.observed[:, at] & inside
    return replace(
        tracks,
        time_s=tracks.time_s[first] + TICK_S * (columns - first),
        xy=np.where(observed[..., None], tracks.xy[:, at], np.nan),
        velocity=np.where(observed[..., None], tracks.velocity[:, at], np.nan),
        heading=np.where(observed, tracks.heading[:, at], np.nan),
        observed=observed,
    )


def _headings_known(window: Tracks) -> BoolArray:
    return np.array(
        [not np.isnan(h[on]).all() for h, on in zip(window.heading, window.observed, strict=True)], dtype=np.bool_
    )


def _sizes(window: Tracks) -> FloatArray:
    vulnerable = np.isin(window.kind, VULNERABLE)
    default = np.where(vulnerable[:, None], VULNERABLE_DIAMETER_M, np.array(VEHICLE_SIZE_M))
    return np.where(np.all(window.size > 0, axis=1, keepdims=True), window.size, default)


def _record(window: Tracks) -> tuple[FloatArray, BoolArray]:
    """(A, L, 5) states and presence; unknown headings become the direction of motion."""
    motion = elementary.arctan2(window.velocity[..., 1], window.velocity[..., 0])
    heading = np.where(np.isnan(window.heading), motion, window.heading)
    rec = np.concatenate([window.xy, window.velocity, heading[..., None]], axis=-1)
    rec[~window.observed] = np.nan
    return rec, window.observed.copy()


def _with_starts(prepared: PreparedCase, tracks: Tracks) -> PreparedCase:
    """Paths and starts of all cars of the cast, whoever drives them in the end."""
    case = prepared.case
    cast = {car.id: car for car in case.cars}
    paths: list[CarPath | None] = [None] * len(prepared.ids)
    spawn, start, start_s = prepared.spawn_tick.copy(), prepared.start.copy(), prepared.start_s.copy()
    size, desired = prepared.size.copy(), prepared.desired_speed.copy()
    rec, rec_on = prepared.rec.copy(), prepared.rec_on.copy()
    expected, notes = 0.0, list(prepared.notes)
    for i, name in enumerate(prepared.ids.tolist()):
        if name not in cast or prepared.role[i] is Role.REPLAY:
            continue
        seen = tracks.observed[i]
        altered = cast[name].start
        inside = np.flatnonzero(rec_on[i, PAST : PAST + case.num_ticks + 1])
        recorded = np.zeros(5) if inside.size == 0 else rec[i, PAST + inside[0]]
        path = path_through(tracks.xy[i, seen], float(recorded[4]))
        if int(seen.sum()) < 2:
            notes.append(f"car {name} has a single recorded position: its path is a 2 m stub along its heading")
        if altered is None:
            spawn[i] = inside[0]
            start[i] = (recorded[0], recorded[1], recorded[4], np.hypot(recorded[2], recorded[3]))
        else:
            spawn[i] = max(round((altered.time_s - case.start_s) / TICK_S), 0)
            start[i] = (altered.x_m, altered.y_m, altered.heading_rad, altered.speed_mps)
            size[i] = (altered.length_m or size[i, 0], altered.width_m or size[i, 1])
            path = _shifted(path, start[i, :2])
        start_s[i] = max(project(path, start[i, :2])[0], 0.0)
        if altered is not None:
            _preload(rec, rec_on, i, path, start_s[i], start[i], int(spawn[i]))
        paths[i] = path
        if i == prepared.ego:
            expected = _expected_progress(prepared, tracks, path, start_s[i])
    return replace(
        prepared,
        paths=tuple(paths),
        spawn_tick=spawn,
        start=start,
        start_s=start_s,
        size=size,
        desired_speed=desired,
        rec=rec,
        rec_on=rec_on,
        expected_progress_m=expected,
        notes=tuple(notes),
    )


def _expected_progress(prepared: PreparedCase, tracks: Tracks, path: CarPath, start_s: float) -> float:
    """Distance along the path from the start to the recorded position at the end (or the last one before it)."""
    case = prepared.case
    if case.ego_end_m is not None:
        return project(path, np.array(case.ego_end_m))[0] - start_s
    inside = np.flatnonzero(prepared.rec_on[prepared.ego, PAST : PAST + case.num_ticks + 1])
    if inside.size == 0:
        return 0.0
    return project(path, prepared.rec[prepared.ego, PAST + inside[-1], :2])[0] - start_s


def _shifted(path: CarPath, start: FloatArray) -> CarPath:
    """The path moved sideways so that it passes through ``start``, fading back within 10 m."""
    s, offset = project(path, start)
    at = int(np.clip(round(s / path.step_m), 0, path.x.size - 1))
    normal = np.array([-np.sin(path.heading[at]), np.cos(path.heading[at])])
    fade = np.clip(1.0 - np.abs(np.arange(path.x.size) * path.step_m - s) / START_FADE_M, 0.0, 1.0)
    smooth = fade**2 * (3.0 - 2.0 * fade)
    moved = np.stack([path.x, path.y], axis=1) + smooth[:, None] * offset * normal
    return path_through(moved, float(path.heading[at]))


def _preload(
    rec: FloatArray, rec_on: BoolArray, i: int, path: CarPath, start_s: float, start: FloatArray, spawn: int
) -> None:
    """History of an altered start: it came along its path at its start speed; the recording is not its past."""
    rec_on[i, : PAST + spawn + 1] = False
    rec[i, : PAST + spawn + 1] = np.nan
    if spawn > 0:
        return
    for back in range(PAST + 1):
        s = start_s - start[3] * TICK_S * back
        at = min(max(s / path.step_m, 0.0), path.x.size - 1.0)
        x, y = (np.interp(at, np.arange(path.x.size), table) for table in (path.x, path.y))
        heading = float(np.interp(at, np.arange(path.x.size), path.heading)) if back else start[2]
        before = min(s, 0.0)
        state = (
            x + before * np.cos(heading) if back else start[0],
            y + before * np.sin(heading) if back else start[1],
            start[3] * np.cos(heading),
            start[3] * np.sin(heading),
            heading,
        )
        rec[i, PAST - back] = state
        rec_on[i, PAST - back] = True
