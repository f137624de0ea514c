"""Watching a drive again: a page with the player, or a film."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.boxes import Boxes, corners
from giveway.core.case import TICK_S, Role
from giveway.core.errors import MissingDependencyError
from giveway.core.files import write_atomically, write_text
from giveway.core.lanes import LaneMap
from giveway.core.log import DriveLog
from giveway.core.origins import Origin, banner, sorted_origins
from giveway.core.scene import Provenance, Scene
from giveway.drive.minds import minds_shown
from giveway.drive.roads import road_of_log
from giveway.reports.player.document import Event, Fan, replay_document
from giveway.reports.player.notebook import replay_frame
from giveway.reports.rendering import replay_page

ROLE_LABELS = {Role.EGO: "ego", Role.REACTIVE: "reactive", Role.IDM: "IDM", Role.REPLAY: ""}
COLORS = {Role.EGO: "#d55e00", Role.REACTIVE: "#0072b2", Role.IDM: "#56b4e9", Role.REPLAY: "#999999"}
FILM_SIZE_IN, FILM_DPI = (9.0, 7.0), 80
AROUND_M = 35.0
"""Half the width of what a film shows, around the ego."""


def drive_document(log: DriveLog, road: LaneMap | None, *, fans: bool = True) -> dict[str, Any]:
    """The player's document of one drive: map, boxes, predictions as fans, the ego's plan, events on the timeline."""
    tracks = log.tracks
    ids = tracks.ids.tolist()
    ego = str(ids[log.ego])
    title = f"{log.case.id}: {log.meta.get('predictor') or 'no predictor'}, planner {log.meta.get('planner', '')}"
    traffic = sorted_origins(row for row in log.origins if row.origin is not Origin.DRIVEN)
    title += f". {banner('the replayed traffic', traffic)}" if traffic not in ([], [Origin.RECORDED]) else ""
    roles = {str(i): ("ego" if str(i) == ego else "rated" if log.predicted[k] else "other") for k, i in enumerate(ids)}
    drivers = {car.id: car.driver for car in log.case.cars if car.driver}
    called = {str(i): drivers.get(str(i)) or ROLE_LABELS[log.roles[k]] for k, i in enumerate(ids)}
    labels = {name: f"{who} {name}" for name, who in called.items() if who}
    document = replay_document(
        Scene(
            tracks=tracks,
            road=road,
            location=log.case.site,
            provenance=Provenance(
                dataset="simulation", recording=log.case.id, origin=Origin.DRIVEN, declared_by="file"
            ),
            rows=log.origins,
        ),
        title=title,
        ego=ego,
        roles=roles,
        labels=labels,
        events=_events(log),
        fans=list(_fans(log)) if fans else [],
    )
    return document if log.minds is None else {**document, "minds": minds_shown(log, log.minds, document["origin"])}


def log_html(log: DriveLog) -> str:
    """The replay of a drive inside a notebook; with its map if that was kept or the case is a bundled one."""
    return replay_frame(drive_document(log, road_of_log(log)))


def write_replay_page(path: Path, log: DriveLog, road: LaneMap | None) -> None:
    """One self-contained HTML file."""
    write_text(path, replay_page(drive_document(log, road)))


def write_film(path: Path, log: DriveLog, road: LaneMap | None, *, speed: float = 1.0) -> None:
    """An MP4 that follows the ego, at ten frames per second of simulated time.

    Args:
        path: file to write.
        log: what to show.
        road: map, or None.
        speed: 2 shows everything twice as fast.

    Raises:
        MissingDependencyError: without matplotlib or imageio-ffmpeg.
    """
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise MissingDependencyError("imageio_ffmpeg", extra="video", purpose="writing a film") from error
    frames = _frames(log, road)
    first = next(frames)
    with write_atomically(path) as temporary:
        film = temporary.with_name(temporary.name + ".mp4")
        writer: Any = imageio_ffmpeg.write_frames(
            str(film),
            (first.shape[1], first.shape[0]),
            fps=round(10 * speed),
            macro_block_size=2,
            ffmpeg_log_level="error",
        )
        writer.send(None)
        writer.send(np.ascontiguousarray(first))
        for frame in frames:
            writer.send(np.ascontiguousarray(frame))
        writer.close()
        film.replace(temporary)


def _events(log: DriveLog) -> list[Event]:
    start = float(log.tracks.time_s[0])
    events = [
        Event(
            time_s=c.time_s,
            label=f"{c.first} and {c.second} collide, {c.relative_speed_mps:.1f} m/s; {c.sentence}",
            kind="collision",
        )
        for c in log.collisions
    ]
    fallbacks = [e for e in log.events if e.kind == "fallback"]
    shown = [e for e in log.events if e.kind != "fallback"] + fallbacks[:20]
    return events + [
        Event(time_s=start + TICK_S * e.tick, label=f"{e.car} {e.text}".strip(), kind="note") for e in shown
    ]


def _fans(log: DriveLog) -> Iterator[Fan]:
    ids = log.tracks.ids.tolist()
    ego = str(ids[log.ego])
    for tick in range(log.plans.shape[0]):
        plan = log.plans[tick]
        if not np.isnan(plan).any():
            xy = np.concatenate([log.tracks.xy[log.ego, tick][None], plan])[None]
            yield Fan(frame=tick, agent_id=ego, kind="plan", xy=xy, probability=np.ones(1))
    told = log.predictions
    if told is None:
        return
    for row in range(told.tick.size):
        used = told.probability[row] > 0
        tick, agent = int(told.tick[row]), int(told.agent[row])
        now = np.broadcast_to(log.tracks.xy[agent, tick], (int(used.sum()), 1, 2))
        xy = np.concatenate([now, told.states[row, used, 4::5, :2]], axis=1)
        yield Fan(
            frame=tick, agent_id=str(ids[agent]), kind="prediction", xy=xy, probability=told.probability[row, used]
        )


def _frames(log: DriveLog, road: LaneMap | None) -> Iterator[Any]:
    """RGB pictures, one per tick."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import LineCollection, PolyCollection
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError("matplotlib", extra="plot", purpose="writing a film") from error
    figure = Figure(figsize=FILM_SIZE_IN, dpi=FILM_DPI)
    canvas = FigureCanvasAgg(figure)
    axes: Any = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_aspect("equal")
    axes.set_axis_off()
    if road is not None:
        lanes = [np.concatenate([lane.left, lane.right[::-1]]) for lane in road.lanes.values()]
        axes.add_collection(PolyCollection(lanes, facecolors="#ececea", edgecolors="#d5d5d0", linewidths=0.5))
    cars = axes.add_collection(PolyCollection([], edgecolors="#222222", linewidths=0.6, zorder=3))
    fans = axes.add_collection(LineCollection([], linewidths=1.5, zorder=2))
    plan = axes.add_collection(LineCollection([], colors="#d55e00", linewidths=2.5, alpha=0.7, zorder=2))
    text = axes.text(0.01, 0.98, "", transform=axes.transAxes, va="top", family="monospace")
    tracks = log.tracks
    center = np.nan_to_num(tracks.xy[log.ego, 0])
    by_tick: dict[int, list[Fan]] = {}
    for fan in _fans(log):
        by_tick.setdefault(fan.frame, []).append(fan)
    hit = {k for c in log.collisions for k in range(c.start_tick, c.end_tick + 1)}
    for k in range(tracks.num_instants):
        here = np.flatnonzero(tracks.observed[:, k])
        heading = np.nan_to_num(tracks.heading[here, k])
        cars.set_verts(list(corners(Boxes.of(tracks.xy[here, k], heading, tracks.size[here]))))
        cars.set_facecolors([COLORS[log.roles[i]] for i in here])
        shown = by_tick.get(k, [])
        paths = [
            (xy, float(p)) for f in shown if f.kind == "prediction" for xy, p in zip(f.xy, f.probability, strict=True)
        ]
        fans.set_segments([xy for xy, _ in paths])
        fans.set_color([(0.0, 0.45, 0.7, 0.2 + 0.6 * p) for _, p in paths])
        plan.set_segments([f.xy[0] for f in shown if f.kind == "plan"])
        if tracks.observed[log.ego, k]:
            center = tracks.xy[log.ego, k]
        axes.set_xlim(center[0] - AROUND_M, center[0] + AROUND_M)
        axes.set_ylim(center[1] - AROUND_M * 7 / 9, center[1] + AROUND_M * 7 / 9)
        speed = tracks.speed[log.ego, k]
        text.set_text(f"{log.case.id}  {k * TICK_S:4.1f} s  ego {speed:4.1f} m/s{'  COLLISION' if k in hit else ''}")
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[..., :3]
