"""A road with two lanes and a ramp that joins from the right and gives way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.roads.sketch import LaneSketch, LineSketch, RoadSketch, RuleSketch, lane_along
from giveway.synth.drivers import AcceptanceRule
from giveway.synth.interaction.sites import CENTER_M, LANE_WIDTH_M, Site
from giveway.synth.network import build_network
from giveway.synth.paths import Path, arc, line, smooth_path

BEFORE_M = 150.0
AFTER_M = 130.0
SEEN_M = 95.0
RAMP_RADIUS_M = 120.0
RAMP_RAD = 0.3
RAMP_STRAIGHT_M = 110.0
MAIN_MPS = 12.5
RAMP_MPS = 10.0


def merging(name: str) -> Site:
    """Right lane, left lane, ramp; traffic drives towards +x."""
    paths = [
        smooth_path(line((-BEFORE_M, 0.0), (AFTER_M, 0.0))),
        smooth_path(line((-BEFORE_M, LANE_WIDTH_M), (AFTER_M, LANE_WIDTH_M))),
        _ramp(),
    ]
    network = build_network(
        paths,
        origin=[0, 1, 2],
        rank=[0, 0, 1],
        line_m=[float("inf"), float("inf"), float("inf")],
        limit_mps=[MAIN_MPS, MAIN_MPS + 1.5, RAMP_MPS],
    )
    waits_at = float(network.zone_in[2, 0]) - 0.8
    return Site(
        name=name,
        network=replace(network, line=np.array([np.inf, np.inf, waits_at])),
        road=_road(),
        headway_s=(4.2, 3.6, 7.5),
        rule=AcceptanceRule(intercept=-2.2, per_second=1.0, per_meter=0.0, individual=0.9),
        look_ahead_m=45.0,
        half_extent_m=(SEEN_M, 32.0),
    )


def _ramp() -> Path:
    curve = _ramp_curve()
    back = curve[0] - RAMP_STRAIGHT_M * np.array([np.cos(RAMP_RAD), np.sin(RAMP_RAD)])
    return smooth_path(line((back[0], back[1]), (curve[0, 0], curve[0, 1])), curve, line((0.0, 0.0), (AFTER_M, 0.0)))


def _ramp_curve() -> FloatArray:
    """An arc that ends at the origin along +x."""
    return arc((0.0, -RAMP_RADIUS_M), RAMP_RADIUS_M, np.pi / 2 + RAMP_RAD, np.pi / 2)


def _moved(points: FloatArray) -> FloatArray:
    return points + np.asarray(CENTER_M)


def _road() -> RoadSketch:
    edge, dashed, open_side = ("line_thin", "solid"), ("line_thin", "dashed"), ("virtual", "")
    lanes: list[LaneSketch] = []
    for word, start, end in (("before", -SEEN_M - 5.0, 0.0), ("after", 0.0, SEEN_M + 5.0)):
        grid = np.linspace(start, end, 11)
        flat = np.zeros_like(grid)
        for lane, y, left, right in (("right", 0.0, dashed, edge), ("left", LANE_WIDTH_M, edge, dashed)):
            center = _moved(np.stack([grid, flat + y], axis=1))
            lanes.append(
                lane_along(f"{lane}_{word}", center, width_m=LANE_WIDTH_M, speed_limit="50kmh", left=left, right=right)
            )
    angle = np.linspace(RAMP_RAD, 0.0, 19)
    bend = np.stack([-RAMP_RADIUS_M * np.sin(angle), RAMP_RADIUS_M * (np.cos(angle) - 1)], axis=1)
    away = np.array([np.cos(RAMP_RAD), np.sin(RAMP_RAD)])
    straight = bend[0] - away * np.linspace(62.0, 0.0, 7)[:, None]
    lanes.append(
        lane_along(
            "ramp",
            _moved(straight),
            width_m=LANE_WIDTH_M,
            heading=np.full(7, RAMP_RAD),
            speed_limit="40kmh",
            left=edge,
            right=edge,
        )
    )
    lanes.append(
        lane_along(
            "ramp_end",
            _moved(bend),
            width_m=LANE_WIDTH_M,
            heading=angle,
            speed_limit="40kmh",
            left=open_side,
            right=edge,
        )
    )
    wait = _moved(bend[bend.shape[0] // 4] + np.array([[0.0, -1.75], [0.0, 1.75]]))
    rule = RuleSketch(yielding=("ramp_end",), priority=("right_before",), stop_lines=(wait,))
    rail = LineSketch(points=_moved(np.array([[-SEEN_M, 6.5], [SEEN_M, 6.5]])), type="guard_rail")
    return RoadSketch(lanes=tuple(lanes), rules=(rule,), lines=(rail,))
