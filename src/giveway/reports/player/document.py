"""The replay document: a scene as small, plain JSON.

Positions are integers in centimeters relative to ``origin``, headings in milliradians and speeds in millimeters per
second, each coded as a first value followed by differences: much smaller than decimals and exact to half a unit.
The layout is version 2 of the format ``giveway-replay``, see docs/reference/replay.md; the player reads version 1, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from giveway.core import elementary, grid
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.lanes import LaneMap
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.reports.player.encounter import Encounter
from giveway.reports.player.road import area_of, arrows, markings, teeth

FORMAT = "giveway-replay"
VERSION = 2
POSITION_UNIT_M = 0.01
ANGLE_UNIT_RAD = 0.001
SPEED_UNIT_MPS = 0.001
POSITION_STEPS, ANGLE_STEPS = 100, 100
"""Grid steps per unit of the document: 0.1 mm to 1 cm, 10 µrad to 1 mrad."""
DIFFERS_M = 0.05
"""A car that stays this near to its recording was driven as recorded and has no ghost."""
DEFAULT_SIZE_M = {True: (0.8, 0.8), False: (4.5, 1.8)}
"""Drawn size where the source gives none: vulnerable road users, vehicles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something to mark on the timeline.

    Attributes:
        time_s: in the time base of the scene.
        label: one sentence.
        kind: ``"contact"``, ``"handover"``, ``"deadlock"``, ``"guard"``, ``"fallback"``, ``"emergency"``, ``"stop"``,
            ``"decision"`` or ``"note"``; chooses mark and short name.
    """

    time_s: float
    label: str
    kind: str = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a drive ended, beside its name.

    Attributes:
        text: a few words.
        bad: contact or at fault; drawn with a cross.
    """

    text: str
    bad: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What is known about a drive beside its tracks; all of it optional.

    Attributes:
        name: who drove, e.g. the predictor; chosen between if several drives are shown.
        notice: what must be said about the origin of what is shown, e.g. that it is synthetic.
        encounter: zero of the clock and whom the ego meets.
        verdict: how it ended.
        recorded: what the same agents did in the recording, row by row; drawn as ghosts where it differs.
        drivers: agent id to what moves it, e.g. ``"idm"``; for the legend.
        handed_over: agent id to the instant from which on it is driven instead of replayed.
        cruise_mps: desired speed of the ego.
        role_names: role to its name in the legend, e.g. ``{"prio": "car with priority"}``.
    """

    name: str = ""
    notice: str = ""
    encounter: Encounter | None = None
    verdict: Verdict | None = None
    recorded: Tracks | None = None
    drivers: Mapping[str, str] = field(default_factory=dict[str, str])
    handed_over: Mapping[str, int] = field(default_factory=dict[str, int])
    cruise_mps: float | None = None
    role_names: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fan:
    """Predicted or planned trajectories of one agent, made at one instant.

    Attributes:
        frame: instant at which they were made.
        agent_id: whom they are about.
        kind: ``"prediction"`` or ``"plan"``.
        xy: (K, S, 2) now and every half second from now on [m].
        probability: (K,) weight of each trajectory; drawn as width and opacity.
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
    story: Story | None = None,
    speeds: bool = True,
    start: int = 0,
    stop: int | None = None,
    every: int = 1,
) -> dict[str, Any]:
    """A scene as the JSON document that ``player.js`` draws.

    Args:
        scene: what to show.
        title: shown above the canvas; empty for none.
        ego: id of the agent the replay is about; None leaves the choice to the viewer.
        roles: agent id to ``"ego"``, ``"prio"`` (has priority, is met or is rated) or ``"other"``; chooses the color.
            The ego is ``"ego"`` by default.
        labels: agent id to the text drawn beside it; ids are shown on request otherwise.
        events: marks on the timeline.
        fans: predictions and plans.
        story: what else is known.
        speeds: whether to write speeds; the player derives them from positions otherwise.
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
    story = story or Story()
    recorded = None if story.recorded is None else _thin(story.recorded, window)
    pack = _Packing(origin=origin, speeds=speeds)
    agents = [
        _agent(shown, int(i), pack, colors, labels or {})
        | _recorded(shown, recorded, int(i), pack)
        | _driven(str(shown.ids[int(i)]), story, start, every)
        for i in present
    ]
    encounter, verdict = story.encounter, story.verdict
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title,
        "origin": [float(v) / grid.STEPS_PER_M for v in origin],
        "unit": POSITION_UNIT_M,
        "angleUnit": ANGLE_UNIT_RAD,
        "speedUnit": SPEED_UNIT_MPS,
        "start": float(time_s[0]),
        "dt": _spacing(time_s),
        "frames": int(time_s.size),
        "ego": ego,
        "name": story.name,
        "notice": story.notice,
        "encounter": encounter and {"time": encounter.time_s, "kind": encounter.kind, "partner": encounter.partner},
        "verdict": verdict and {"text": verdict.text, "bad": verdict.bad},
        "cruise": story.cruise_mps,
        "roleNames": dict(story.role_names),
        "agents": agents,
        "map": None if scene.road is None else _map(scene.road, origin),
        "events": [{"time": e.time_s, "label": e.label, "kind": e.kind} for e in events],
        "fans": [_fan(f, origin, start, every) for f in fans if f.frame >= start and (f.frame - start) % every == 0],
    }


def side_by_side(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several drives of one case in one document, on one clock; a map that all share is written once."""
    first, *others = documents
    same = [{k: v for k, v in o.items() if k != "map"} if o["map"] == first["map"] else dict(o) for o in others]
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": first["title"],
        "drives": [dict(first), *same],
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Packing:
    """Attributes:
    origin: (2,) grid position that positions are relative to.
    speeds: whether speeds are written.
    """

    origin: FloatArray
    speeds: bool


def _agent(
    tracks: Tracks, row: int, pack: _Packing, roles: Mapping[str, str], labels: Mapping[str, str]
) -> dict[str, Any]:
    kind = AgentKind(int(tracks.kind[row]))
    size = np.where(np.isnan(tracks.size[row]), DEFAULT_SIZE_M[kind.is_vulnerable], tracks.size[row])
    identifier = str(tracks.ids[row])
    return {
        "id": identifier,
        "kind": kind.name.lower(),
        "length": round(float(size[0]), 3),
        "width": round(float(size[1]), 3),
        "role": roles.get(identifier, "other"),
        "label": labels.get(identifier, ""),
        "vulnerable": kind.is_vulnerable,
        "segments": _pieces(tracks, row, pack),
    }


def _pieces(tracks: Tracks, row: int, pack: _Packing) -> list[dict[str, Any]]:
    """Motion of one agent, one piece per stretch without a gap."""
    pieces: list[dict[str, Any]] = []
    for begin, end in _segments(tracks.observed[row]):
        part = slice(begin, end)
        xy = grid.snapped(tracks.xy[row, part], grid.STEPS_PER_M) - pack.origin
        piece: dict[str, Any] = {
            "start": begin,
            "x": _delta(xy[:, 0], POSITION_STEPS),
            "y": _delta(xy[:, 1], POSITION_STEPS),
            "h": _delta(grid.snapped(_heading(tracks, row, part), grid.STEPS_PER_RAD), ANGLE_STEPS),
        }
        speed = np.hypot(tracks.velocity[row, part, 0], tracks.velocity[row, part, 1])
        if pack.speeds and np.isfinite(speed).all():
            piece["v"] = _delta(np.rint(speed / SPEED_UNIT_MPS), 1)
        pieces.append(piece)
    return pieces


def _recorded(tracks: Tracks, recorded: Tracks | None, row: int, pack: _Packing) -> dict[str, Any]:
    """The recording of an agent that was not driven like it."""
    if recorded is None or not recorded.observed[row].any():
        return {}
    away = np.abs(tracks.xy[row] - recorded.xy[row]).max(axis=-1, initial=0.0)
    if np.array_equal(tracks.observed[row], recorded.observed[row]) and np.nanmax(away, initial=0.0) < DIFFERS_M:
        return {}
    return {"recorded": _pieces(recorded, row, pack)}


def _driven(agent: str, story: Story, start: int, every: int) -> dict[str, Any]:
    """Who moves an agent, and since when, where that is known."""
    found: dict[str, Any] = {"driver": story.drivers[agent]} if agent in story.drivers else {}
    if agent in story.handed_over:
        found["handedOver"] = (story.handed_over[agent] - start) // every
    return found


def _points(points: FloatArray, origin: FloatArray) -> dict[str, list[int]]:
    xy = grid.snapped(points, grid.STEPS_PER_M) - origin
    return {"x": _delta(xy[:, 0], POSITION_STEPS), "y": _delta(xy[:, 1], POSITION_STEPS)}


def _map(road: LaneMap, origin: FloatArray) -> dict[str, Any]:
    pointing = arrows(road)
    heading = grid.snapped(pointing[:, 2], grid.STEPS_PER_RAD)
    return {
        "name": road.name,
        "lanes": [_points(area_of(lane), origin) for lane in road.lanes.values()],
        "lines": [
            {"type": line.type, "subtype": line.subtype, **_points(line.points, origin)} for line in markings(road)
        ],
        "keepouts": [_points(area, origin) for area in road.keepouts],
        "arrows": {**_points(pointing[:, :2], origin), "h": _delta(heading, ANGLE_STEPS)},
        "teeth": [_points(ends, origin) for ends in teeth(road)],
    }


def _fan(fan: Fan, origin: FloatArray, start: int, every: int) -> dict[str, Any]:
    return {
        "frame": (fan.frame - start) // every,
        "agent": fan.agent_id,
        "kind": fan.kind,
        "p": [round(float(p), 4) for p in fan.probability],
        "paths": [_points(path[~np.isnan(path).any(axis=1)], origin) for path in fan.xy],
    }
