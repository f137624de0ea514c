"""Clips: a window of a scene in the one style of the study, with nothing in it that tells where it came from."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.maps.lanes import Lane, LaneMap
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
    Agents that are never within view are left out.

    Args:
        scene: recording or log.
        window: where, who.
        style: rate, length and view.
    """
    part = scene.tracks.between(window.start, window.stop)
    order = [window.ego, window.rated, *(i for i in range(part.num_agents) if i not in (window.ego, window.rated))]
    part = part.select(np.array(order, dtype=np.int64))
    count = round(style.duration_s * style.rate_hz) + 1
    resampled = _resample(part, part.time_s[0] + np.arange(count) / style.rate_hz)
    reach = style.span_m * 0.75 + VIEW_MARGIN_M
    distance = np.hypot(*np.moveaxis(resampled.xy - resampled.xy[0], -1, 0))
    near = (distance < reach) & resampled.observed
    keep = near.any(axis=1)
    keep[:2] = True
    shown = resampled.select(keep)
    road = None if scene.road is None else _crop(scene.road, shown.xy[0], reach)
    origins = tuple(scene.origins[row] for row, kept in zip(order, keep.tolist(), strict=True) if kept)
    return ClipScene(tracks=shown, road=road, origins=origins)


def clip_document(clip: ClipScene, style: ClipStyle, labels: tuple[str, str] = ("Ego", "Rated car")) -> ClipDocument:
    """The canvas document: neutral ids, no title, no map name, no absolute time or place."""
    ids = np.array(["ego", "rated", *(f"v{i}" for i in range(clip.tracks.num_agents - 2))])
    road = None if clip.road is None else replace(clip.road, name="", warnings=())
    scene = Scene(
        tracks=replace(clip.tracks, ids=ids),
        road=road,
        provenance=Provenance(dataset="", recording=""),
    )
    document = replay_document(
        scene,
        ego="ego",
        roles={"ego": "ego", "rated": "rated"},
        labels={"ego": labels[0], "rated": labels[1]},
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


def _resample(tracks: Tracks, time_s: FloatArray) -> Tracks:
    """Linear interpolation between neighboring instants that are both observed; never across a gap."""
    right = np.clip(np.searchsorted(tracks.time_s, time_s - 1e-9), 1, tracks.num_instants - 1)
    left = right - 1
    share = np.clip((time_s - tracks.time_s[left]) / (tracks.time_s[right] - tracks.time_s[left]), 0.0, 1.0)
    at_left, at_right = share < 1e-6, share > 1 - 1e-6
    observed = np.where(
        at_left,
        tracks.observed[:, left],
        np.where(at_right, tracks.observed[:, right], tracks.observed[:, left] & tracks.observed[:, right]),
    )
    w = share[None, :]

    def blend(values: FloatArray) -> FloatArray:
        weight = w[..., None] if values.ndim == 3 else w
        # A weight of exactly zero must not let a NaN of the other side through.
        a, b = values[:, left], values[:, right]
        mixed = np.where(weight <= 1e-6, a, np.where(weight >= 1 - 1e-6, b, a + weight * (b - a)))
        return np.where(observed[..., None] if values.ndim == 3 else observed, mixed, np.nan)

    turn = tracks.heading[:, right] - tracks.heading[:, left]
    turn = (turn + np.pi) % (2 * np.pi) - np.pi
    start = tracks.heading[:, left]
    heading = np.where(at_left, start, np.where(at_right, tracks.heading[:, right], start + w * turn))
    return replace(
        tracks,
        time_s=time_s - time_s[0],
        xy=blend(tracks.xy),
        velocity=blend(tracks.velocity),
        heading=np.where(observed, heading, np.nan),
        observed=observed,
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
