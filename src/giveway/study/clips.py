"""Clips: a window of a scene in the one style of the study, with nothing in it that tells where it came from."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from giveway.core import grid
from giveway.core.arrays import FloatArray, IntArray
from giveway.core.frames import wrap_angle
from giveway.core.lanes import Lane, LaneMap
from giveway.core.origins import RowOrigin
from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import Tracks
from giveway.reports.player.document import replay_document
from giveway.study.design import ClipStyle
from giveway.study.windows import Window

VIEW_MARGIN_M = 15.0
"""Map beyond the view that is kept: a pan of the ego between two instants never shows an edge."""

ClipDocument = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipScene:
    """A window, resampled: row 0 is the ego, row 1 the rated vehicle.

    Attributes:
        tracks: who is shown.
        road: map around them.
        origins: (A,) what moved each of them.
    """

    tracks: Tracks
    road: LaneMap | None
    origins: tuple[RowOrigin, ...] = ()


def cut(scene: Scene, window: Window, style: ClipStyle) -> ClipScene:
    """The window at the rate of the study, ego first, rated vehicle second, starting at 0 s.

    Every condition passes through the same resampling, so that a simulation step or a camera rate cannot be seen.
    Positions are relative to the ego at its first instant and lie on the grid of :mod:`giveway.core.grid`: all
    arithmetic is on integers, so the same motion anywhere on earth gives the same clip on every machine. Agents that
    are never within view are left out.

    Args:
        scene: recording or log.
        window: where, who.
        style: rate, length and view.
    """
    part = scene.tracks.between(window.start, window.stop)
    order = [window.ego, window.rated, *(i for i in range(part.num_agents) if i not in (window.ego, window.rated))]
    part = part.select(np.array(order, dtype=np.int64))
    origin = _origin(part)
    resampled = _resample(part, origin, round(style.duration_s * style.rate_hz) + 1, style.rate_hz)
    reach = style.span_m * 0.75 + VIEW_MARGIN_M
    distance = np.hypot(*np.moveaxis(resampled.xy - resampled.xy[0], -1, 0))
    near = (distance < reach) & resampled.observed
    keep = near.any(axis=1)
    keep[:2] = True
    shown = resampled.select(keep)
    road = None if scene.road is None else _crop(_relative(scene.road, origin), shown.xy[0], reach)
    origins = tuple(scene.origins[row] for row, kept in zip(order, keep.tolist(), strict=True) if kept)
    return ClipScene(tracks=shown, road=road, origins=origins)


def clip_document(clip: ClipScene, style: ClipStyle, labels: tuple[str, str] = ("Ego", "Rated car")) -> ClipDocument:
    """The canvas document: neutral ids, no title, no map name, no absolute time or place.

    With ``style.focus = "none"`` nothing tells the rated vehicle from the others, and nobody is labeled.
    """
    focus = style.focus == "rated"
    second = "rated" if focus else f"v{clip.tracks.num_agents - 2}"
    ids = np.array(["ego", second, *(f"v{i}" for i in range(clip.tracks.num_agents - 2))])
    road = None if clip.road is None else replace(clip.road, name="", warnings=())
    scene = Scene(
        tracks=replace(clip.tracks, ids=ids),
        road=road,
        provenance=Provenance(dataset="", recording=""),
    )
    document = replay_document(
        scene,
        ego="ego",
        roles={"ego": "ego", "rated": "prio"} if focus else {"ego": "ego"},
        labels={"ego": labels[0], "rated": labels[1]} if focus else {},
        speeds=False,
    )
    agents = [{**agent, "kind": "vehicle"} for agent in document["agents"]]  # a source's own classes would tell it
    return {
        **document,
        "agents": agents,
        "start": 0.0,
        "origin": [0.0, 0.0],
        "view": {"span": style.span_m, "up": style.up},
    }


def encode_document(document: ClipDocument) -> bytes:
    """Compact JSON; the same content gives the same bytes."""
    return json.dumps(document, separators=(",", ":"), sort_keys=True, allow_nan=False).encode()


def clip_id(content: bytes) -> str:
    """Content-hash id: says nothing about the source or the condition."""
    return hashlib.sha256(content).hexdigest()[:24]


def _origin(part: Tracks) -> FloatArray:
    """(2,) grid position of the ego where it is first seen; of anybody if it never is."""
    for row in range(part.num_agents):
        seen = np.flatnonzero(part.observed[row])
        if seen.size:
            return grid.snapped(part.xy[row, seen[0]], grid.STEPS_PER_M)
    return np.zeros(2)


def _resample(tracks: Tracks, origin: FloatArray, count: int, rate_hz: float) -> Tracks:
    """Linear interpolation between neighboring instants that are both observed; never across a gap.

    ::

        x = (x0 (t1 - t) + x1 (t - t0)) / (t1 - t0)        whole numbers, rounded once, ties to even
    """
    known = grid.steps(tracks.time_s, grid.STEPS_PER_S)
    at = known[0] + grid.steps(np.arange(count) / rate_hz, grid.STEPS_PER_S)
    right = np.clip(np.searchsorted(known, at), 1, tracks.num_instants - 1)
    left = right - 1
    span = known[right] - known[left]
    past = np.clip(at - known[left], 0, span)
    at_left, at_right = past == 0, past == span
    observed = np.where(
        at_left,
        tracks.observed[:, left],
        np.where(at_right, tracks.observed[:, right], tracks.observed[:, left] & tracks.observed[:, right]),
    )

    def blend(start: IntArray, change: IntArray) -> FloatArray:
        """Whole steps, as float64: the start plus its share of the change."""
        shape = (-1, 1) if start.ndim == 3 else (-1,)
        return grid.divided(start * span.reshape(shape) + change * past.reshape(shape), span.reshape(shape)) * 1.0

    place = grid.snapped(tracks.xy, grid.STEPS_PER_M) - origin
    place = np.where(tracks.observed[..., None], place, 0.0).astype(np.int64)
    xy = blend(place[:, left], place[:, right] - place[:, left]) / grid.STEPS_PER_M
    turn = wrap_angle(tracks.heading[:, right] - tracks.heading[:, left])
    turn = np.where(at_left, 0.0, turn)  # an unknown heading on the other side does not matter
    heading = blend(grid.steps(tracks.heading[:, left], grid.STEPS_PER_RAD), grid.steps(turn, grid.STEPS_PER_RAD))
    heading = np.where(np.isnan(tracks.heading[:, left] + turn), np.nan, heading / grid.STEPS_PER_RAD)
    share = (past / span)[:, None]
    before, after = tracks.velocity[:, left], tracks.velocity[:, right]
    # A weight of exactly zero must not let a NaN of the other side through.
    velocity = np.where(share == 0, before, np.where(share == 1, after, before + share * (after - before)))
    return replace(
        tracks,
        time_s=np.arange(count) / rate_hz,
        xy=np.where(observed[..., None], xy, np.nan),
        velocity=np.where(observed[..., None], velocity, np.nan),
        heading=np.where(observed, heading, np.nan),
        observed=observed,
    )


def _relative(road: LaneMap, origin: FloatArray) -> LaneMap:
    """The same road on the grid, relative to a grid position."""

    def moved(points: FloatArray) -> FloatArray:
        return (grid.snapped(points, grid.STEPS_PER_M) - origin) / grid.STEPS_PER_M

    return replace(
        road,
        lanes={
            key: replace(lane, left=moved(lane.left), right=moved(lane.right), center=moved(lane.center))
            for key, lane in road.lanes.items()
        },
        lines=tuple(replace(line, points=moved(line.points)) for line in road.lines),
        keepouts=tuple(moved(area) for area in road.keepouts),
    )


def _crop(road: LaneMap, path: FloatArray, reach: float) -> LaneMap:
    """Only what can come into view: smaller documents, and no hint at the site."""
    seen = path[np.isfinite(path).all(axis=1)]
    low, high = seen.min(axis=0) - reach, seen.max(axis=0) + reach

    def inside(points: FloatArray) -> bool:
        return bool((points.max(axis=0) >= low).all() and (points.min(axis=0) <= high).all())

    def lane_inside(lane: Lane) -> bool:
        return inside(np.concatenate([lane.left, lane.right]))

    return replace(
        road,
        lanes={key: lane for key, lane in road.lanes.items() if lane_inside(lane)},
        lines=tuple(line for line in road.lines if inside(line.points)),
        keepouts=tuple(area for area in road.keepouts if inside(area)),
    )
