"""Which stretch of a recording to show, whom to center, and whom to rate.

A good clip shows two vehicles that have to do with one another: both present throughout, both moving, and close to each
other at some time. Logs that know their ego and the vehicle of interest say so in ``Scene.attributes`` (``ego``,
``rated``, ``start_s``, ``situation``), and then nothing is searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core import grid
from giveway.core.arrays import FloatArray
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind, Tracks

SEARCH_STEP_S = 2.0
COMPARE_RATE_HZ = 2.0
MIN_PATH_M = 10.0
"""A vehicle that moves less during the clip is not worth rating."""
NEAR_M = 15.0
"""Closer than this at some time: they have to do with one another."""
MAX_CANDIDATES = 20_000
MOTORIZED = (AgentKind.CAR, AgentKind.VAN, AgentKind.TRUCK, AgentKind.BUS, AgentKind.MOTORCYCLE, AgentKind.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of a scene with its two roles.

    Attributes:
        start: first instant.
        stop: instant after the last.
        ego: row of the vehicle in the center.
        rated: row of the vehicle that is judged.
        nearest_m: smallest distance of their centers during the window.
    """

    start: int
    stop: int
    ego: int
    rated: int
    nearest_m: float


def find_windows(scene: Scene, *, duration_s: float, limit: int) -> list[Window]:
    """The best stretches of a scene, nearest encounters first; no vehicle is rated twice.

    Args:
        scene: recording or log.
        duration_s: length of a clip.
        limit: how many at most.

    Returns:
        Possibly fewer than ``limit``, none if nothing lasts long enough.
    """
    tracks = scene.tracks
    length = round(duration_s / tracks.dt_s) + 1 if tracks.num_instants > 1 else 0
    if length < 2 or length > tracks.num_instants:
        return []
    if scene.attributes.get("ego") is not None:
        declared = _declared(scene, length)
        return [] if declared is None else [declared]
    found: list[Window] = []
    step = max(1, round(SEARCH_STEP_S / tracks.dt_s))
    for start in range(0, tracks.num_instants - length + 1, step):
        found += _encounters(tracks, start, start + length)
        if len(found) > MAX_CANDIDATES:
            break
    found.sort(key=lambda w: (w.nearest_m, w.start, w.ego, w.rated))
    chosen: list[Window] = []
    used: set[int] = set()
    for window in found:
        if len(chosen) == limit:
            break
        if window.rated not in used and window.ego not in used:
            chosen.append(window)
            used |= {window.rated, window.ego}
    return chosen


def _declared(scene: Scene, length: int) -> Window | None:
    """The stretch that the scene names; where it names no start, the one around the nearest approach."""
    tracks = scene.tracks
    ids = [str(i) for i in tracks.ids]
    hints: dict[str, Any] = {key: scene.attributes.get(key) for key in ("ego", "rated", "start_s")}
    if str(hints["ego"]) not in ids or (hints["rated"] is not None and str(hints["rated"]) not in ids):
        return None
    ego = ids.index(str(hints["ego"]))
    rated = None if hints["rated"] is None else ids.index(str(hints["rated"]))
    if hints["start_s"] is not None:
        start = int(np.searchsorted(tracks.time_s, tracks.time_s[0] + float(hints["start_s"])))
        start = max(0, min(start, tracks.num_instants - length))
    elif rated is not None:
        start = _around_nearest(tracks, ego, rated, length)
        if start is None:
            return None
    else:
        start = 0
    if rated is not None:
        distance = _apart(tracks, ego, rated)[start : start + length]
        nearest = float(np.nanmin(distance)) if np.isfinite(distance).any() else float("inf")
        return Window(start=start, stop=start + length, ego=ego, rated=rated, nearest_m=nearest)
    with_ego = [w for w in _encounters(tracks, start, start + length) if w.ego == ego]
    return min(with_ego, key=lambda w: w.nearest_m, default=None)


def _around_nearest(tracks: Tracks, ego: int, rated: int, length: int) -> int | None:
    """Start of the window in which both are present throughout, with their nearest approach closest to its middle."""
    both = (tracks.observed[ego] & tracks.observed[rated]).astype(np.int64)
    count = np.convolve(both, np.ones(length, dtype=np.int64), mode="valid")
    starts = np.flatnonzero(count == length)
    if starts.size == 0:
        return None
    distance = _apart(tracks, ego, rated)
    nearest = int(np.nanargmin(distance))
    return int(starts[np.abs(starts + length // 2 - nearest).argmin()])


def _apart(tracks: Tracks, one: int, two: int) -> FloatArray:
    """(T,) distance of two centers [m], the same wherever on earth they are."""
    place = grid.snapped(tracks.xy[[one, two]], grid.STEPS_PER_M)
    return np.hypot(*(place[0] - place[1]).T) / grid.STEPS_PER_M


def _encounters(tracks: Tracks, start: int, stop: int) -> list[Window]:
    """Per rated vehicle its nearest encounter within one window."""
    present = tracks.observed[:, start:stop].all(axis=1) & np.isin(tracks.kind, [int(k) for k in MOTORIZED])
    rows = np.flatnonzero(present)
    if rows.size < 2:
        return []
    every = max(1, round(1 / COMPARE_RATE_HZ / tracks.dt_s))
    xy = grid.snapped(tracks.xy[rows, start:stop:every], grid.STEPS_PER_M)  # differences are exact: no ties by place
    path = np.hypot(*np.moveaxis(np.diff(xy, axis=1), -1, 0)).sum(axis=1) / grid.STEPS_PER_M
    rows, xy = rows[path >= MIN_PATH_M], xy[path >= MIN_PATH_M]
    if rows.size < 2:
        return []
    between = np.hypot(*np.moveaxis(xy[:, None] - xy[None, :], -1, 0)).min(axis=2) / grid.STEPS_PER_M
    np.fill_diagonal(between, np.inf)
    partner = between.argmin(axis=1)
    nearest = between[np.arange(rows.size), partner]
    return [
        Window(start=start, stop=stop, ego=int(rows[partner[i]]), rated=int(rows[i]), nearest_m=float(nearest[i]))
        for i in range(rows.size)
        if nearest[i] <= NEAR_M
    ]
