"""The replay document: a scene as small, plain JSON.

Positions are integers in centimeters relative to ``origin`` and headings integers in milliradians, each coded as
a first value followed by differences: much smaller than decimals and exact to half a unit.
The layout is version 1 of the format ``giveway-replay``; ``player.js`` refuses others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core import elementary, grid
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.lanes import LaneMap
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind, Tracks

FORMAT = "giveway-replay"
VERSION = 1
POSITION_UNIT_M = 0.01
ANGLE_UNIT_RAD = 0.001
POSITION_STEPS, ANGLE_STEPS = 100, 100
"""Grid steps per unit of the document: 0.1 mm to 1 cm, 10 µrad to 1 mrad."""
DEFAULT_SIZE_M = {True: (0.8, 0.8), False: (4.5, 1.8)}
"""Drawn size where the source gives none: vulnerable road users, vehicles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something to mark on the timeline.

    Attributes:
        time_s: in the time base of the scene.
        label: shown on hover.
        kind: ``"collision"``, ``"decision"`` or ``"note"``; chooses the color.
    """

    time_s: float
    label: str
    kind: str = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fan:
    """Predicted or planned paths of one agent, made at one instant.

    Attributes:
        frame: instant at which they were made.
        agent_id: whom they are about.
        kind: ``"prediction"`` or ``"plan"``.
        xy: (K, S, 2) paths [m].
        probability: (K,) weight of each path; drawn as opacity.
    """

    frame: int
    agent_id: str
    kind: str
    xy: FloatArray
    probability: FloatArray


def replay_document(
    scene: Scene,
    *,
    title: str = "",
    ego: str | None = None,
    roles: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    events: Sequence[Event] = (),
    fans: Sequence[Fan] = (),
    start: int = 0,
    stop: int | None = None,
    every: int = 1,
) -> dict[str, Any]:
    """A scene as the JSON document that ``player.js`` draws.

    Args:
        scene: what to show.
        title: shown above the canvas; empty for none.
        ego: id of the agent the camera follows in the ego frame; None leaves the choice to the viewer.
        roles: agent id to ``"ego"``, ``"rated"`` or ``"other"``; chooses the color. The ego is ``"ego"`` by default.
        labels: agent id to the text drawn beside it; ids are shown on request otherwise.
        events: marks on the timeline.
        fans: predictions and plans.
        start: first instant to show.
        stop: instant after the last one to show; None for all.
        every: keep each n-th instant only.

    Returns:
        A dictionary of JSON types. Agents that are absent throughout the window are left out.

    Raises:
        ValueError: if the window is empty.
    """
    window = slice(start, stop, every)
    time_s = scene.tracks.time_s[window]
    if time_s.size == 0:
        raise ValueError(f"no instants between {start} and {stop} of {scene.tracks.num_instants}")
    shown = _thin(scene.tracks, window)
    present = np.flatnonzero(shown.observed.any(axis=1))
    center = np.flatnonzero(shown.ids == ego) if ego is not None else present
    center = center if center.size and center[0] in present else present
    origin = _origin(shown, int(center[0])) if present.size else np.zeros(2)
    colors = dict(roles or {})
    if ego is not None:
        colors.setdefault(ego, "ego")
    agents = [_agent(shown, int(i), origin, colors, labels or {}) for i in present]
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title,
        "origin": [float(v) / grid.STEPS_PER_M for v in origin],
        "unit": POSITION_UNIT_M,
        "angleUnit": ANGLE_UNIT_RAD,
        "start": float(time_s[0]),
        "dt": _spacing(time_s),
        "frames": int(time_s.size),
        "ego": ego,
        "agents": agents,
        "map": None if scene.road is None else _map(scene.road, origin),
        "events": [{"time": e.time_s, "label": e.label, "kind": e.kind} for e in events],
        "fans": [_fan(f, origin, start, every) for f in fans if f.frame >= start and (f.frame - start) % every == 0],
    }


def _thin(tracks: Tracks, window: slice) -> Tracks:
    return Tracks(
        time_s=tracks.time_s[window],
        xy=tracks.xy[:, window],
        heading=tracks.heading[:, window],
        velocity=tracks.velocity[:, window],
        observed=tracks.observed[:, window],
        size=tracks.size,
        kind=tracks.kind,
        ids=tracks.ids,
    )


def _origin(tracks: Tracks, first: int) -> FloatArray:
    """(2,) grid position of one agent where it is first seen.

    A mean or median of floats would do as well for looking at, but rounding it makes every coordinate of the document
    jump when its last bit changes.
    """
    return grid.snapped(tracks.xy[first, tracks.observed[first].argmax()], grid.STEPS_PER_M)


def _spacing(time_s: FloatArray) -> float:
    """Median time between two instants [s], on the grid; 0.1 if there is only one."""
    between = np.sort(np.diff(grid.steps(time_s, grid.STEPS_PER_S)))
    return int(between[between.size // 2]) / grid.STEPS_PER_S if between.size else 0.1


def _delta(steps: FloatArray, steps_per_unit: int) -> list[int]:
    """Whole grid steps as integers in a coarser unit, ties to even: the first value, then differences."""
    whole = grid.divided(steps, steps_per_unit)
    return [int(v) for v in np.diff(whole, prepend=0)]


def _segments(observed: BoolArray) -> list[tuple[int, int]]:
    """Half-open runs of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], observed, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _heading(tracks: Tracks, row: int, part: slice) -> FloatArray:
    """Heading for drawing: as given, else the direction of motion, else the last known; 0 if never known."""
    velocity = tracks.velocity[row, part]
    moving = np.hypot(velocity[:, 0], velocity[:, 1]) > 0.3
    from_motion = np.where(moving, elementary.arctan2(velocity[:, 1], velocity[:, 0]), np.nan)
    heading = np.where(np.isnan(tracks.heading[row, part]), from_motion, tracks.heading[row, part])
    known = ~np.isnan(heading)
    if not known.any():
        return np.zeros(heading.shape)
    last = np.maximum.accumulate(np.where(known, np.arange(heading.size), -1))
    filled = heading[np.where(last < 0, int(known.argmax()), last)]
    return np.unwrap(filled)


def _agent(
    tracks: Tracks, row: int, origin: FloatArray, roles: Mapping[str, str], labels: Mapping[str, str]
) -> dict[str, Any]:
    kind = AgentKind(int(tracks.kind[row]))
    size = np.where(np.isnan(tracks.size[row]), DEFAULT_SIZE_M[kind.is_vulnerable], tracks.size[row])
    identifier = str(tracks.ids[row])
    segments: list[dict[str, Any]] = []
    for begin, end in _segments(tracks.observed[row]):
        part = slice(begin, end)
        xy = grid.snapped(tracks.xy[row, part], grid.STEPS_PER_M) - origin
        segments.append(
            {
                "start": begin,
                "x": _delta(xy[:, 0], POSITION_STEPS),
                "y": _delta(xy[:, 1], POSITION_STEPS),
                "h": _delta(grid.snapped(_heading(tracks, row, part), grid.STEPS_PER_RAD), ANGLE_STEPS),
            }
        )
    return {
        "id": identifier,
        "kind": kind.name.lower(),
        "length": round(float(size[0]), 3),
        "width": round(float(size[1]), 3),
        "role": roles.get(identifier, "other"),
        "label": labels.get(identifier, ""),
        "vulnerable": kind.is_vulnerable,
        "segments": segments,
    }


def _points(points: FloatArray, origin: FloatArray) -> dict[str, list[int]]:
    xy = grid.snapped(points, grid.STEPS_PER_M) - origin
    return {"x": _delta(xy[:, 0], POSITION_STEPS), "y": _delta(xy[:, 1], POSITION_STEPS)}


def _map(road: LaneMap, origin: FloatArray) -> dict[str, Any]:
    areas = [np.concatenate([lane.left, lane.right[::-1]]) for lane in road.lanes.values()]
    return {
        "name": road.name,
        "lanes": [_points(area, origin) for area in areas],
        "lines": [
            {"type": line.type, "subtype": line.subtype, **_points(line.points, origin)}
            for line in road.lines
            if line.type != "virtual" and line.points.shape[0] > 1
        ],
        "keepouts": [_points(area, origin) for area in road.keepouts],
    }


def _fan(fan: Fan, origin: FloatArray, start: int, every: int) -> dict[str, Any]:
    return {
        "frame": (fan.frame - start) // every,
        "agent": fan.agent_id,
        "kind": fan.kind,
        "p": [round(float(p), 4) for p in fan.probability],
        "paths": [_points(path[~np.isnan(path).any(axis=1)], origin) for path in fan.xy],
    }
