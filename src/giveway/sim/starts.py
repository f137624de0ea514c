"""Where cars start: on lane coordinates of a road, or elsewhere than in the recording."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.case import TICK_S
from giveway.roads.routes import CarPath, path_through, project
from giveway.sim import bicycle, locate
from giveway.sim.bicycle import steer_for
from giveway.sim.compiling import compiled
from giveway.sim.locate import pose_on
from giveway.sim.state import PAST, Static

START_FADE_M = 10.0
"""A start beside the recorded path returns to it over this distance."""


def shifted(path: CarPath, start: FloatArray) -> CarPath:
    """The path moved sideways so that it passes through ``start`` (2,), fading back within 10 m."""
    s, offset = project(path, start)
    at = int(np.clip(round(s / path.step_m), 0, path.x.size - 1))
    normal = np.array([-np.sin(path.heading[at]), np.cos(path.heading[at])])
    fade = np.clip(1.0 - np.abs(np.arange(path.x.size) * path.step_m - s) / START_FADE_M, 0.0, 1.0)
    smooth = fade**2 * (3.0 - 2.0 * fade)
    moved = np.stack([path.x, path.y], axis=1) + smooth[:, None] * offset * normal
    return path_through(moved, float(path.heading[at]))


def past_along(path: CarPath, start_s: float, speed_mps: float) -> FloatArray:
    """(9, 5) states before an altered start: the car came along its path at its start speed.

    Before the beginning of the path it came straight on. The recording is not its past.
    """
    table = np.arange(path.x.size)
    past = np.empty((PAST, 5))
    for back in range(1, PAST + 1):
        s = start_s - speed_mps * TICK_S * back
        at = min(max(s / path.step_m, 0.0), path.x.size - 1.0)
        x, y, heading = (float(np.interp(at, table, values)) for values in (path.x, path.y, path.heading))
        before = min(s, 0.0)
        past[PAST - back] = (
            x + before * np.cos(heading),
            y + before * np.sin(heading),
            speed_mps * np.cos(heading),
            speed_mps * np.sin(heading),
            heading,
        )
    return past


@compiled(bicycle, locate)
def place_on_routes(static: Static, worlds: BoolArray) -> None:
    """Fill the starts of the marked worlds from route, lane coordinates and speed (``start[..., 3]``).

    Cars head along their route; front wheels are turned as the route bends.
    """
    road = static.road
    for w in range(worlds.size):
        if not worlds[w]:
            continue
        for i in range(static.num_agents[w]):
            route, s, d = static.start_route[w, i], static.start_lane[w, i, 0], static.start_lane[w, i, 1]
            x, y, heading = pose_on(road, route, s, d)
            static.start[w, i, 0], static.start[w, i, 1], static.start[w, i, 2] = x, y, heading
            static.start_lane[w, i, 2] = 0.0
            row = min(max(int(s / road.step[route] + 0.5), 0), road.num_rows[route] - 1)
            static.start_row[w, i] = row
            at = road.first[route] + min(row, road.num_rows[route] - 2)
            bend = (road.path[at + 1, 4] - road.path[at, 4]) / road.step[route]
            static.start_steer[w, i] = steer_for(bend, static.size[w, i, 0])
