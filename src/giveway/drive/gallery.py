"""One page with a small picture of every case, to look through what was mined."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup

from giveway.core.arrays import FloatArray
from giveway.core.case import Case
from giveway.core.files import write_text
from giveway.core.scene import Scene
from giveway.reports.content import Chart, Gallery, Page
from giveway.reports.rendering import single_page

SIDE_PX, HALF_M = 260, 40.0
EGO, PRIORITY, OTHER = "s0", "s1", "s6"
"""Classes of the style sheet in the colors of the tokens: ego, the car with priority, gray."""


def write_gallery(path: Path, cases: Sequence[tuple[Case, Scene]]) -> None:
    """Write a self-contained HTML page."""
    lead = "Blue: ego, who has to give way. Orange: who has priority. Dots mark where they are at the start."
    gallery = Gallery(items=tuple(case_chart(case, scene) for case, scene in cases))
    write_text(path, single_page(Page(title=f"{len(cases)} cases", lead=lead, blocks=(gallery,))))


def case_chart(case: Case, scene: Scene) -> Chart:
    """Paths of all cars around the conflict of a case."""
    conflict = case.conflicts[0] if case.conflicts else None
    tracks = scene.tracks
    color_of = dict.fromkeys((car.id for car in case.cars), OTHER) | dict.fromkeys(case.right_of_way, PRIORITY)
    color_of[case.ego.id] = EGO
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
            shapes.append(_path(xy, center, color_of.get(name, OTHER), name in color_of))
    words = [f"interest {case.interest}, {case.end_s - case.start_s:.1f} s"]
    if conflict:
        gap = f"gap {conflict.time_gap_s:.1f} s, {conflict.first} first"
        words.insert(0, f"{conflict.kind}, {gap}, right of way: {conflict.rule}")
    svg = Markup('<svg viewBox="0 0 {0} {0}" role="img" aria-label="{1}">{2}</svg>').format(
        SIDE_PX, case.id, Markup("".join(shapes))
    )
    return Chart(title=case.id, svg=svg, caption="; ".join(words))


def _points(xy: FloatArray, center: FloatArray) -> str:
    px = (xy - center) * SIDE_PX / (2 * HALF_M) * np.array([1.0, -1.0]) + SIDE_PX / 2
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in px)


def _lane(area: FloatArray, center: FloatArray) -> str:
    return f'<polygon points="{_points(area, center)}" class="lane"/>'


def _path(xy: FloatArray, center: FloatArray, color: str, is_thick: bool) -> str:
    x, y = _points(xy[:1], center).split(",")
    line = f'<polyline points="{_points(xy[::2], center)}" class="{color} {"thick" if is_thick else "thin"}"/>'
    return line + f'<circle cx="{x}" cy="{y}" r="{4 if is_thick else 2}" class="{color}"/>'
