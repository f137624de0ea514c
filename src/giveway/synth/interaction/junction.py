"""A four-way junction: the road along x has priority, the one along y gives way."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.roads.sketch import LaneSketch, LineSketch, RoadSketch, RuleSketch, lane_along
from giveway.synth.drivers import AcceptanceRule
from giveway.synth.interaction.sites import CENTER_M, LANE_WIDTH_M, Site
from giveway.synth.network import build_network
from giveway.synth.paths import Path, arc, line, rotated, smooth_path

HALF = LANE_WIDTH_M / 2
EDGE_M = 8.0
"""Distance of the stop lines from the middle."""
REACH_M = 85.0
ARMS = ("east", "north", "west", "south")
TURNS = ("right", "straight", "left")
LIMIT_MPS = {0: 11.2, 1: 8.9}
HEADWAY_S = {
    (0, "right"): 45.0,
    (0, "straight"): 13.0,
    (0, "left"): 38.0,
    (1, "right"): 34.0,
    (1, "straight"): 40.0,
    (1, "left"): 42.0,
}
"""Mean time between arrivals by road (0 has priority) and turn."""
RANK = {(0, "right"): 0, (0, "straight"): 0, (0, "left"): 1, (1, "right"): 2, (1, "straight"): 2, (1, "left"): 3}


def junction(name: str) -> Site:
    """Twelve ways through, two ranks of road."""
    keys = [(arm, turn) for arm in range(4) for turn in TURNS]
    inside = {turn: _inside(turn) for turn in TURNS}
    paths: list[Path] = []
    for arm, turn in keys:
        goal = (arm + 1 + TURNS.index(turn)) % 4
        arrive = rotated(line((REACH_M, HALF), (EDGE_M, HALF)), arm * np.pi / 2)
        depart = rotated(line((EDGE_M, -HALF), (REACH_M, -HALF)), goal * np.pi / 2)
        paths.append(smooth_path(arrive, rotated(inside[turn], arm * np.pi / 2), depart, sigma_m=0.8))
    major = [arm % 2 for arm, _ in keys]
    network = build_network(
        paths,
        origin=[arm for arm, _ in keys],
        rank=[RANK[arm % 2, turn] for arm, turn in keys],
        line_m=[_waiting_line(arm % 2, turn) for arm, turn in keys],
        limit_mps=[LIMIT_MPS[kind] for kind in major],
    )
    return Site(
        name=name,
        network=network,
        road=_road(),
        headway_s=tuple(HEADWAY_S[arm % 2, turn] for arm, turn in keys),
        rule=AcceptanceRule(intercept=-4.3, per_second=1.0, per_meter=0.0, individual=0.9),
        look_ahead_m=16.0,
        half_extent_m=(62.0, 48.0),
        crossings=tuple(_moved(rotated(np.array([[13.0, -8.0], [13.0, 8.0]]), arm * np.pi / 2)) for arm in range(4)),
    )


def _inside(turn: str) -> FloatArray:
    """The way through the middle for somebody from the east."""
    if turn == "right":
        return arc((EDGE_M, EDGE_M), EDGE_M - HALF, -np.pi / 2, -np.pi)
    if turn == "left":
        return arc((EDGE_M, -EDGE_M), EDGE_M + HALF, np.pi / 2, np.pi)
    return line((EDGE_M, HALF), (-EDGE_M, HALF))


def _waiting_line(road: int, turn: str) -> float:
    if road == 0:
        return REACH_M - EDGE_M + 2.0 if turn == "left" else float("inf")
    return REACH_M - EDGE_M


def _moved(points: FloatArray) -> FloatArray:
    return points + np.asarray(CENTER_M)


def _road() -> RoadSketch:
    lanes: list[LaneSketch] = []
    priority: dict[str, tuple[str, ...]] = {}
    stops: list[tuple[str, FloatArray]] = []
    for arm, place in enumerate(ARMS):
        turned = arm * np.pi / 2
        limit = "25mph" if arm % 2 == 0 else "20mph"
        lanes.append(_straight(f"{place}_in", line((62.0, HALF), (EDGE_M, HALF)), turned, limit))
        lanes.append(_straight(f"{place}_out", line((EDGE_M, -HALF), (62.0, -HALF)), turned, limit))
        for number, turn in enumerate(TURNS):
            start, end = turned + np.pi, turned + np.pi + (-np.pi / 2, 0.0, np.pi / 2)[number]
            points = _thin(rotated(_inside(turn), turned))
            heading = np.linspace(start, end, points.shape[0])
            lanes.append(
                lane_along(f"{place}_{turn}", _moved(points), width_m=LANE_WIDTH_M, heading=heading, speed_limit=limit)
            )
        if arm % 2:
            stops.append((place, _moved(rotated(np.array([[EDGE_M, 0.0], [EDGE_M, LANE_WIDTH_M]]), turned))))
    main = tuple(f"{ARMS[arm]}_{turn}" for arm in (0, 2) for turn in TURNS)
    rules = [
        RuleSketch(yielding=tuple(f"{place}_{turn}" for turn in TURNS), priority=main, stop_lines=(stop,))
        for place, stop in stops
    ]
    for arm in range(4):
        other = ARMS[(arm + 2) % 4]
        priority[f"{ARMS[arm]}_left"] = (f"{other}_straight", f"{other}_right")
    rules += [RuleSketch(yielding=(lane,), priority=first) for lane, first in priority.items()]
    return RoadSketch(lanes=tuple(lanes), rules=tuple(rules), lines=_curbs())


def _straight(name: str, points: FloatArray, turned: float, limit: str) -> LaneSketch:
    center = _moved(rotated(_thin(points, 10), turned))
    return lane_along(
        name,
        center,
        width_m=LANE_WIDTH_M,
        speed_limit=limit,
        left=("line_thin", "solid_solid"),
        right=("line_thin", "solid"),
    )


def _thin(points: FloatArray, every: int = 8) -> FloatArray:
    """Fewer points, ends kept."""
    count = max(2, points.shape[0] // every)
    return points[np.round(np.linspace(0, points.shape[0] - 1, count)).astype(int)]


def _curbs() -> tuple[LineSketch, ...]:
    corner = np.concatenate(
        [
            line((62.0, LANE_WIDTH_M + 0.5), (EDGE_M, LANE_WIDTH_M + 0.5))[::100],
            arc((EDGE_M, EDGE_M), EDGE_M - LANE_WIDTH_M - 0.5, -np.pi / 2, -np.pi)[::8],
            line((LANE_WIDTH_M + 0.5, EDGE_M), (LANE_WIDTH_M + 0.5, 62.0))[::100],
        ]
    )
    return tuple(
        LineSketch(points=_moved(rotated(corner, arm * np.pi / 2)), type="curbstone", subtype="low") for arm in range(4)
    )
