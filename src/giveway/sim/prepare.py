"""From a case and its recording to arrays on the tick grid, one case at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from giveway.core.boxes import VEHICLE_SIZE_M, VULNERABLE, VULNERABLE_DIAMETER_M
from giveway.core.case import TICK_S, Car, Case, Role
from giveway.core.errors import DataError, UsageError
from giveway.core.lanes import LaneMap
from giveway.core.origins import RowOrigin
from giveway.core.scene import Scene
from giveway.core.tracks import Tracks
from giveway.roads.routes import CarPath, path_of_way, path_through, project
from giveway.sim.drivers import DRIVERS
from giveway.sim.drivers.base import Driver
from giveway.sim.starts import past_along, shifted
from giveway.sim.state import FUTURE, PAST, DriverCode
from giveway.sim.verify import verify_recording

CODES = {
    Role.EGO: DriverCode.PLANNER,
    Role.REACTIVE: DriverCode.PLANNER,
    Role.IDM: DriverCode.IDM,
    Role.REPLAY: DriverCode.REPLAY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCase:
    """One case, ready to be packed into a batch; A agents, L = 9 + ticks + 1 + 50 columns.

    What was recorded and where a driven car starts are two things: an altered start is in ``start`` and ``past`` and
    never in ``rec``, which cannot be written to.

    Attributes:
        case: what it was made from.
        road: lane map, or None.
        ids: (A,) identifiers.
        kind: (A,) codes of AgentKind.
        size: (A, 2) length and width [m], complete.
        recorded_size: (A, 2) the same without what altered starts say.
        heading_known: (A,) whether the source gives headings; restored in the log.
        role: (A,) role of each agent.
        driver: (A,) :class:`~giveway.sim.state.DriverCode`.
        driver_name: (A,) registered driver of a car that is not moved by the compiled step itself; empty otherwise.
        predicted: (A,) whether predictions are asked for.
        hidden: (A,) not seen by the ego's planner.
        favored: (A,) has the right of way over the ego.
        desired_speed: (A,) [m/s].
        spawn_tick: (A,) first tick.
        start: (A, 4) x, y, heading, speed at the first tick.
        start_s: (A,) arc length at the first tick; 0 without a path.
        paths: (A,) path of each car that is not on replay.
        rec: (A, L, 5) recorded x, y, vx, vy, heading; nothing else, read-only.
        rec_on: (A, L) recorded presence, read-only.
        past: (A, 9, 5) states before tick 0 of a car that is driven: recorded, or along its path to an altered start.
        past_on: (A, 9) presence in ``past``.
        ego: index of the ego.
        recorded_path: path of the recorded ego, whatever its start; None if it is not known.
        recorded_start_s: arc length on it where the recording shows the ego first.
        expected_progress_m: distance along the ego's path from its own start to where the recorded ego is at the end.
        origins: (A,) origin of each recorded row; empty if it is not known.
        notes: what a reader should know.
        replay_paths: (A,) recorded path of each agent on replay in traffic that reacts; empty where it does not.
    """

    case: Case
    road: LaneMap | None
    ids: StrArray
    kind: IntArray
    size: FloatArray
    recorded_size: FloatArray
    heading_known: BoolArray
    role: tuple[Role, ...]
    driver: IntArray
    driver_name: tuple[str, ...]
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
    past: FloatArray
    past_on: BoolArray
    ego: int
    recorded_path: CarPath | None
    recorded_start_s: float
    expected_progress_m: float
    origins: tuple[RowOrigin, ...] = ()
    notes: tuple[str, ...] = ()
    replay_paths: tuple[CarPath | None, ...] = ()

    @property
    def reacts(self) -> bool:
        """Whether cars give way and replay cars can be handed over."""
        return bool(self.replay_paths)


def prepare(case: Case, scene: Scene, *, reacts: bool = False) -> PreparedCase:
    """Cut the window of a case out of its recording and give every car its driver.

    Recordings at another rate are resampled linearly to 0.1 s first (noted). The recording must be the one the case was
    made for, see :func:`~giveway.sim.verify.verify_recording`.

    Args:
        case: what to drive.
        scene: its recording.
        reacts: whether traffic gives way and reacts, see :mod:`giveway.sim.traffic`.

    Raises:
        DataError: another recording, a window outside it, or an ego that is not there.
    """
    where = f"case {case.id!r}, recording {case.recording!r}"
    notes: list[str] = []
    tracks = scene.tracks
    if reacts:
        case = _priority_driven(case, tracks)
    if tracks.num_instants > 1 and abs(tracks.dt_s - TICK_S) > 1e-6:
        notes.append(f"resampled from {tracks.dt_s:.4g} s to {TICK_S} s")
        tracks = resample(tracks, TICK_S)
    first = round((case.start_s - float(tracks.time_s[0])) / TICK_S)
    stop = first + case.num_ticks + 1
    if first < 0 or stop > tracks.num_instants:
        span = f"{tracks.time_s[0]:.1f} s to {tracks.time_s[-1]:.1f} s"
        raise DataError("the case lies outside its recording", where=where, found=f"recording from {span}")
    verify_recording(case, scene, tracks)
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
    size = _sizes(window)
    roles = tuple(cast[str(i)].role if str(i) in cast else Role.REPLAY for i in window.ids)
    codes, names = _drivers(
        [(cast[str(i)].driver if str(i) in cast else "", role) for i, role in zip(window.ids, roles, strict=True)]
    )
    prepared = PreparedCase(
        case=case,
        road=scene.road,
        ids=window.ids,
        kind=window.kind,
        size=size,
        recorded_size=size,
        heading_known=_headings_known(window),
        role=roles,
        driver=codes,
        driver_name=names,
        predicted=np.array([str(i) in cast and cast[str(i)].predicted for i in window.ids], dtype=np.bool_),
        hidden=np.array([case.hide_unpredicted and str(i) not in cast for i in window.ids], dtype=np.bool_),
        favored=np.array([str(i) in case.right_of_way for i in window.ids], dtype=np.bool_),
        desired_speed=np.array([_cruise(cast.get(str(i)), case) for i in window.ids], dtype=np.float64),
        spawn_tick=np.zeros(len(keep), dtype=np.int64),
        start=np.zeros((len(keep), 4)),
        start_s=np.zeros(len(keep)),
        paths=(None,) * len(keep),
        rec=rec,
        rec_on=rec_on,
        past=rec[:, :PAST],
        past_on=rec_on[:, :PAST],
        ego=int(np.flatnonzero(window.ids == case.ego.id)[0]),
        recorded_path=None,
        recorded_start_s=0.0,
        expected_progress_m=0.0,
        origins=tuple(_origin(case, scene.origins[row]) for row in keep.tolist()),
        notes=tuple(notes),
    )
    made = _with_starts(prepared, tracks.select(keep))
    return replace(made, replay_paths=_replay_paths(made, tracks.select(keep))) if reacts else made


def _priority_driven(case: Case, tracks: Tracks) -> Case:
    """The same case with every motor vehicle that has the right of way over the ego driven instead of replayed.

    A replayed car cannot suffer from an ego that takes its right of way, so nothing would show in the metric. It gets
    the driver that all other driven cars of the case name, if they name one.
    """
    named = {car.driver for car in case.cars if car.role not in (Role.EGO, Role.REPLAY)}
    driver = named.pop() if len(named) == 1 else ""
    motor = {str(i) for i, kind in zip(tracks.ids, tracks.kind, strict=True) if int(kind) not in VULNERABLE}
    listed = {car.id for car in case.cars}
    cars = tuple(
        replace(car, role=Role.REACTIVE, driver=driver)
        if car.role is Role.REPLAY and not car.driver and car.id in case.right_of_way and car.id in motor
        else car
        for car in case.cars
    )
    more = tuple(
        Car(id=i, role=Role.REACTIVE, driver=driver) for i in case.right_of_way if i not in listed and i in motor
    )
    return case if cars == case.cars and not more else replace(case, cars=(*cars, *more))


def _cruise(car: Car | None, case: Case) -> float:
    """Speed that the driver of a car wants on a free road [m/s]."""
    return case.desired_speed_mps if car is None or car.cruise_mps is None else car.cruise_mps


def _replay_paths(prepared: PreparedCase, tracks: Tracks) -> tuple[CarPath | None, ...]:
    """(A,) paths through all recorded positions of agents that have none yet."""
    paths: list[CarPath | None] = []
    for i, path in enumerate(prepared.paths):
        seen = np.flatnonzero(tracks.observed[i])
        known = prepared.rec[i, np.flatnonzero(prepared.rec_on[i])]
        heading = float(known[0, 4]) if len(known) and np.isfinite(known[0, 4]) else 0.0
        paths.append(path_through(tracks.xy[i, seen], heading) if path is None and seen.size else None)
    return tuple(paths)


def _drivers(wanted: Sequence[tuple[str, Role]]) -> tuple[IntArray, tuple[str, ...]]:
    """Driver codes, and names of drivers that the compiled step does not know, of (name, role) pairs."""
    codes: list[int] = []
    names: list[str] = []
    for name, role in wanted:
        code = _code_of(name) if name else CODES[role]
        codes.append(int(code))
        names.append(name if name and code == DriverCode.EXTERNAL else "")
    return np.array(codes, dtype=np.int64), tuple(names)


def _code_of(name: str) -> DriverCode:
    """Driver code of a registered driver that can move a car of a case by itself."""
    driver: Any = DRIVERS.get(name)
    if driver.code == DriverCode.ACTIONS or (driver.code == DriverCode.EXTERNAL and driver.decide is Driver.decide):
        raise UsageError(
            "this driver waits for somebody outside of the case to decide",
            where=f"driver {name!r}",
            hint="idm, planner, constant_speed, cognitive, replay, or a giveway.Driver of your own",
        )
    return driver.code


def with_traffic(prepared: PreparedCase, driver: str) -> PreparedCase:
    """The same case with one driver for every car that is neither the ego nor on replay and declares none itself."""
    declared = {car.id: car.driver for car in prepared.case.cars}
    chosen = [
        (str(name) if role is Role.EGO or role is Role.REPLAY else declared.get(str(i), "") or driver, role)
        for i, role, name in zip(prepared.ids, prepared.role, prepared.driver_name, strict=True)
    ]
    codes, names = _drivers(chosen)
    codes[prepared.ego] = prepared.driver[prepared.ego]
    return replace(prepared, driver=codes, driver_name=names)


def _origin(case: Case, row: RowOrigin) -> RowOrigin:
    """What is known about a recorded row; what the case declares beats an assumption."""
    if row.is_assumed and case.origin is not None:
        return RowOrigin(origin=case.origin, declared_by="file")
    return row


def with_drivers(prepared: PreparedCase, ego: DriverCode, *, everyone_replays: bool = False) -> PreparedCase:
    """The same case with another driver for the ego, or with every car on replay.

    A car on replay is the recorded one, also where the case alters its start: recorded size, recorded past.
    """
    driver = prepared.driver.copy()
    driver[prepared.ego] = ego
    names = prepared.driver_name
    if everyone_replays:
        driver[:] = DriverCode.REPLAY
        names = ("",) * len(names)
    replayed = driver == DriverCode.REPLAY
    return replace(
        prepared,
        driver=driver,
        driver_name=names,
        size=np.where(replayed[:, None], prepared.recorded_size, prepared.size),
        past=np.where(replayed[:, None, None], prepared.rec[:, :PAST], prepared.past),
        past_on=np.where(replayed[:, None], prepared.rec_on[:, :PAST], prepared.past_on),
    )


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
    on = window.observed.copy()
    rec.flags.writeable = on.flags.writeable = False
    return rec, on


def _with_starts(prepared: PreparedCase, tracks: Tracks) -> PreparedCase:
    """Paths and starts of all cars of the cast, whoever drives them in the end."""
    case, rec = prepared.case, prepared.rec
    cast = {car.id: car for car in case.cars}
    paths: list[CarPath | None] = [None] * len(prepared.ids)
    spawn, start, start_s = prepared.spawn_tick.copy(), prepared.start.copy(), prepared.start_s.copy()
    size, past, past_on = prepared.size.copy(), prepared.past.copy(), prepared.past_on.copy()
    notes = list(prepared.notes)
    recorded_path, recorded_start_s, expected = None, 0.0, 0.0
    for i, name in enumerate(prepared.ids.tolist()):
        if name not in cast or prepared.role[i] is Role.REPLAY:
            continue
        seen = tracks.observed[i]
        altered = cast[name].start
        inside = np.flatnonzero(prepared.rec_on[i, PAST : PAST + case.num_ticks + 1])
        recorded = np.zeros(5) if inside.size == 0 else rec[i, PAST + inside[0]]
        route = cast[name].route
        path = (
            path_through(tracks.xy[i, seen], float(recorded[4]))
            if route is None
            else path_of_way(np.array(route.points_m))
        )
        if int(seen.sum()) < 2 and route is None:
            notes.append(f"car {name} has a single recorded position: its path is a 2 m stub along its heading")
        if i == prepared.ego:
            recorded_path, recorded_start_s = path, max(project(path, recorded[:2])[0], 0.0) if inside.size else 0.0
        if altered is None:
            spawn[i] = inside[0]
            start[i] = (recorded[0], recorded[1], recorded[4], np.hypot(recorded[2], recorded[3]))
        else:
            spawn[i] = max(round((altered.time_s - case.start_s) / TICK_S), 0)
            start[i] = (altered.x_m, altered.y_m, altered.heading_rad, altered.speed_mps)
            size[i] = (altered.length_m or size[i, 0], altered.width_m or size[i, 1])
            path = shifted(path, start[i, :2])
        start_s[i] = max(project(path, start[i, :2])[0], 0.0)
        if route is not None and altered is None:
            start_s[i], start[i, 3] = route.s_m, route.speed_mps
        if altered is not None:
            past_on[i] = spawn[i] == 0
            past[i] = past_along(path, start_s[i], start[i, 3]) if spawn[i] == 0 else np.nan
        paths[i] = path
        if i == prepared.ego:
            expected = _expected_progress(prepared, path, start_s[i])
    return replace(
        prepared,
        paths=tuple(paths),
        spawn_tick=spawn,
        start=start,
        start_s=start_s,
        size=size,
        past=past,
        past_on=past_on,
        recorded_path=recorded_path,
        recorded_start_s=recorded_start_s,
        expected_progress_m=expected,
        notes=tuple(notes),
    )


def _expected_progress(prepared: PreparedCase, path: CarPath, start_s: float) -> float:
    """Distance along the path from the start to the recorded position at the end (or the last one before it)."""
    case = prepared.case
    if case.ego_end_m is not None:
        return project(path, np.array(case.ego_end_m))[0] - start_s
    inside = np.flatnonzero(prepared.rec_on[prepared.ego, PAST : PAST + case.num_ticks + 1])
    if inside.size == 0:
        return 0.0
    return project(path, prepared.rec[prepared.ego, PAST + inside[-1], :2])[0] - start_s
