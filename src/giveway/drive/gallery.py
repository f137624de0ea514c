"""One page with a small picture of every case, to look through what was mined."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.case import Case, Role
from giveway.core.files import write_text
from giveway.core.scene import Scene

SIDE_PX, HALF_M = 260, 40.0
COLORS = {Role.EGO: "#d55e00", Role.REACTIVE: "#0072b2", Role.IDM: "#56b4e9", Role.REPLAY: "#777777"}


def write_gallery(path: Path, cases: Sequence[tuple[Case, Scene]]) -> None:
    """Write a self-contained HTML page."""
    cards = "\n".join(_card(case, scene) for case, scene in cases)
    write_text(
        path,
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Cases</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
body {{ font: 14px system-ui, sans-serif; margin: 1rem; color: #222; }}
main {{ display: flex; flex-wrap: wrap; gap: 1rem; }}
figure {{ margin: 0; width: {SIDE_PX}px; }}
figcaption {{ overflow-wrap: anywhere; }}
svg {{ background: #f4f4f0; border: 1px solid #ccc; }}
</style></head><body>
<h1>{len(cases)} cases</h1>
<p>Orange: ego, who has to give way. Blue: the car it meets. Dots mark where they are at the start.</p>
<main>
{cards}
</main></body></html>
""",
    )


def _card(case: Case, scene: Scene) -> str:
    conflict = case.conflicts[0] if case.conflicts else None
    tracks = scene.tracks
    roles = {car.id: car.role for car in case.cars}
    inside = (tracks.time_s >= case.start_s - 1e-6) & (tracks.time_s <= case.end_s + 1e-6)
    ego = tracks.xy[tracks.index_of(case.ego.id), inside]
    center = np.array([conflict.x_m, conflict.y_m]) if conflict else np.nanmean(ego, axis=0)
    shapes = (
        []
        if scene.road is None
        else [_lane(np.concatenate([n.left, n.right[::-1]]), center) for n in scene.road.lanes.values()]
    )
    for row in range(tracks.num_agents):
        xy = tracks.xy[row, inside]
        xy = xy[~np.isnan(xy[:, 0])]
        if len(xy) > 1:
            name = str(tracks.ids[row])
            shapes.append(_path(xy, center, COLORS[roles.get(name, Role.REPLAY)], 3.0 if name in roles else 1.0))
    text = ""
    if conflict:
        text = (
            f"{conflict.kind}, gap {conflict.time_gap_s:.1f} s, {conflict.first} first, right of way: {conflict.rule}"
        )
    return (
        f'<figure><svg width="{SIDE_PX}" height="{SIDE_PX}" role="img" aria-label="{html.escape(case.id)}">'
        f"{''.join(shapes)}</svg><figcaption><b>{html.escape(case.id)}</b><br>{html.escape(text)}<br>"
        f"interest {case.interest}, {case.end_s - case.start_s:.1f} s</figcaption></figure>"
    )


def _points(xy: FloatArray, center: FloatArray) -> str:
    px = (xy - center) * SIDE_PX / (2 * HALF_M) * np.array([1.0, -1.0]) + SIDE_PX / 2
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in px)


def _lane(area: FloatArray, center: FloatArray) -> str:
    return f'<polygon points="{_points(area, center)}" fill="#dcdcd8"/>'


def _path(xy: FloatArray, center: FloatArray, color: str, width: float) -> str:
    start = _points(xy[:1], center).split(",")
    line = f'<polyline points="{_points(xy[::2], center)}" fill="none" stroke="{color}" stroke-width="{width}"/>'
    return line + f'<circle cx="{start[0]}" cy="{start[1]}" r="{width + 1}" fill="{color}"/>'
