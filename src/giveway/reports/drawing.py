"""A still picture of a scene: map, paths colored by speed, road users at one instant."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from giveway.core.boxes import Boxes, corners
from giveway.core.errors import MissingDependencyError
from giveway.core.files import write_atomically
from giveway.core.lanes import LaneMap
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind
from giveway.reports.player.document import DEFAULT_SIZE_M
from giveway.reports.player.road import area_of
from giveway.reports.tokens import colors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE_STYLES = {
    "curbstone": ("edge", 1.0),
    "guard_rail": ("edge", 1.0),
    "road_border": ("edge", 1.0),
    "stop_line": ("ink-2", 1.6),
    "line_thick": ("mark", 1.0),
    "line_thin": ("mark", 0.6),
    "pedestrian_marking": ("mark", 0.6),
}
"""Color token and width [pt] of the line types that are drawn; others are left out."""

MAX_PATH_POINTS = 400_000
"""Longer recordings are thinned to about this many path points: more cannot be seen."""


def draw_scene(scene: Scene, path: Path, *, at_s: float | None = None, title: str = "", dpi: int = 150) -> None:
    """Write a picture of a scene (PNG, SVG or PDF by the suffix of ``path``).

    Args:
        scene: what to draw.
        path: file to write; replaced only when the picture is complete.
        at_s: instant at which road users are drawn as boxes; None takes the one with most of them.
        title: heading.
        dpi: resolution of PNG.

    Raises:
        MissingDependencyError: without matplotlib.
    """
    figure = scene_figure(scene, at_s=at_s, title=title)
    with write_atomically(path) as temporary:
        figure.savefig(temporary, dpi=dpi, format=path.suffix.lstrip(".") or "png", bbox_inches="tight")


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size [inch] that belongs to no window.

    Raises:
        MissingDependencyError: without matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError("matplotlib", extra="plot", purpose="drawing a figure") from error
    return Figure(figsize=(width, height), layout="constrained")


def svg_of(figure: Figure) -> bytes:
    """The figure as SVG, without a date, so that equal results give equal files."""
    import matplotlib as mpl

    buffer = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "giveway"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, bbox_inches="tight", pad_inches=0.1)
    return buffer.getvalue()


def scene_figure(scene: Scene, *, at_s: float | None = None, title: str = "") -> Figure:
    """The figure that :func:`draw_scene` writes."""
    figure = new_figure(9, 7)
    axes: Any = figure.add_subplot()
    if scene.road is not None:
        _draw_map(axes, scene.road)
    paths = _draw_paths(axes, scene)
    _draw_boxes(axes, scene, _instant(scene, at_s))
    axes.set_aspect("equal")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.set_title(title)
    axes.autoscale_view()
    if paths is not None:
        figure.colorbar(paths, ax=axes, label="speed [m/s]", shrink=0.8)
    return figure


def _instant(scene: Scene, at_s: float | None) -> int:
    tracks = scene.tracks
    if at_s is None:
        return int(tracks.observed.sum(axis=0).argmax())
    return int(np.abs(tracks.time_s - at_s).argmin())


def _draw_map(axes: Any, road: LaneMap) -> None:
    from matplotlib.collections import LineCollection, PolyCollection

    areas, shade = [area_of(lane) for lane in road.lanes.values()], colors()
    axes.add_collection(
        PolyCollection(areas, facecolors=shade["road"], edgecolors=shade["road"], linewidths=0.5, zorder=0)
    )
    if road.keepouts:
        axes.add_collection(
            PolyCollection(list(road.keepouts), facecolors=shade["verge"], edgecolors="none", zorder=0.5)
        )
    for kind, (color, width) in LINE_STYLES.items():
        for dashed in (False, True):
            lines = [line.points for line in road.lines if line.type == kind and (line.subtype == "dashed") == dashed]
            style = "dashed" if dashed else "solid"
            axes.add_collection(
                LineCollection(lines, colors=shade[color], linewidths=width, linestyles=style, zorder=1)
            )


def _draw_paths(axes: Any, scene: Scene) -> Any:
    from matplotlib.collections import LineCollection

    tracks = scene.tracks
    every = max(1, int(np.ceil(tracks.observed.sum() / MAX_PATH_POINTS)))
    xy, speed = tracks.xy[:, ::every], tracks.speed[:, ::every]
    ends = np.stack([xy[:, :-1], xy[:, 1:]], axis=2).reshape(-1, 2, 2)
    middle = ((speed[:, :-1] + speed[:, 1:]) / 2).ravel()
    whole = ~np.isnan(ends).any(axis=(1, 2))
    if not whole.any():
        return None
    lines = LineCollection(list(ends[whole]), array=middle[whole], cmap="viridis", linewidths=0.8, alpha=0.6, zorder=2)
    fast = np.nanpercentile(middle[whole], 99) if np.isfinite(middle[whole]).any() else 1.0
    lines.set_clim(0.0, max(float(fast), 1.0))
    return axes.add_collection(lines)


def _draw_boxes(axes: Any, scene: Scene, instant: int) -> None:
    from matplotlib.collections import PolyCollection

    now = scene.tracks.between(instant, instant + 1)
    now = now.select(now.observed[:, 0])
    vulnerable = np.array([AgentKind(int(kind)).is_vulnerable for kind in now.kind], dtype=bool)
    defaults = np.array([DEFAULT_SIZE_M[bool(v)] for v in vulnerable]).reshape(-1, 2)
    size = np.where(np.isnan(now.size), defaults, now.size)
    shapes = corners(Boxes.of(now.xy[:, 0], np.nan_to_num(now.heading[:, 0]), size))
    axes.add_collection(
        PolyCollection(
            list(shapes), facecolors=colors()["car"], edgecolors=colors()["outline"], linewidths=0.6, zorder=3
        )
    )
