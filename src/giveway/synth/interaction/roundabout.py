"""A roundabout with four arms; who enters gives way."""

from __future__ import annotations

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.roads.sketch import LaneSketch, LineSketch, RoadSketch, RuleSketch, lane_along
from giveway.synth.drivers import AcceptanceRule
from giveway.synth.interaction.sites import CENTER_M, LANE_WIDTH_M, Site
from giveway.synth.network import build_network
from giveway.synth.paths import arc, line, rotated
from giveway.synth.round.sites import line_position, roundabout_paths, with_ring_priority

HALF = LANE_WIDTH_M / 2
LANE_RADIUS_M = 15.0
ENTRY_RADIUS_M = 11.0
EXIT_RADIUS_M = 22.0
ARM_OFFSET_M = 2.4
ARMS_RAD = tuple(np.radians([5.0, 95.0, 184.0, 272.0]))
REACH_M = 75.0
SEEN_M = 55.0
LIMIT = "25mph"
LIMIT_MPS = 11.2
SHARES = (0.42, 0.08, 0.42, 0.08)
"""Where people leave."""
HEADWAY_S = 2.6
"""Mean time between arrivals, all arms together."""


def roundabout(name: str) -> Site:
    """Twelve ways through."""
    found = roundabout_paths(
        lane_radius_m=LANE_RADIUS_M,
        entry_radius_m=ENTRY_RADIUS_M,
        exit_radius_m=EXIT_RADIUS_M,
        arm_offset_m=ARM_OFFSET_M,
        arms_rad=ARMS_RAD,
        upstream_m=REACH_M,
    )
    paths = [path for _, _, path in found]
    network = build_network(
        paths,
        origin=[entry for entry, _, _ in found],
        rank=[0] * len(paths),
        line_m=[line_position(path, LANE_RADIUS_M + LANE_WIDTH_M / 2 + 1.2) for path in paths],
        limit_mps=[LIMIT_MPS] * len(paths),
    )
    share = np.array([SHARES[leave] for _, leave, _ in found])
    return Site(
        name=name,
        network=with_ring_priority(network),
        road=_road(),
        headway_s=tuple((HEADWAY_S * share.sum() / share).tolist()),
        rule=AcceptanceRule(intercept=-2.4, per_second=1.1, per_meter=0.0, individual=0.9),
        look_ahead_m=16.0,
        half_extent_m=(SEEN_M, SEEN_M),
        crossings=tuple(_moved(rotated(np.array([[26.0, -9.0], [26.0, 9.0]]), arm)) for arm in ARMS_RAD),
    )


def _moved(points: FloatArray) -> FloatArray:
    return points + np.asarray(CENTER_M)


def _meets_at(radius_m: float) -> float:
    return float(elementary.arcsin((ARM_OFFSET_M + radius_m) / (LANE_RADIUS_M + radius_m)))


def _road() -> RoadSketch:
    enters, leaves = _meets_at(ENTRY_RADIUS_M), _meets_at(EXIT_RADIUS_M)
    lanes: list[LaneSketch] = []
    rules: list[RuleSketch] = []
    curb, open_side = ("curbstone", "low"), ("virtual", "")
    for arm, phi in enumerate(ARMS_RAD):
        after = ARMS_RAD[(arm + 1) % len(ARMS_RAD)]
        to_next = phi + (after - phi) % (2 * np.pi) - leaves
        lanes += [
            _ring(f"ring_{arm}_front", phi - leaves, phi + enters, curb, open_side),
            _ring(f"ring_{arm}_between", phi + enters, to_next, curb, curb),
            *_arm(arm, phi, ENTRY_RADIUS_M, inbound=True),
            *_arm(arm, phi, EXIT_RADIUS_M, inbound=False),
        ]
        out = LANE_RADIUS_M + LANE_WIDTH_M / 2 + 1.2
        stop = _moved(rotated(np.array([[out, ARM_OFFSET_M - HALF], [out, ARM_OFFSET_M + HALF]]), phi))
        rules.append(RuleSketch(yielding=(f"arm_{arm}_entry",), priority=(f"ring_{arm}_front",), stop_lines=(stop,)))
    island = arc((0.0, 0.0), LANE_RADIUS_M - LANE_WIDTH_M, 0.0, 2 * np.pi)[:-1:25]
    return RoadSketch(lanes=tuple(lanes), rules=tuple(rules), keepouts=(_moved(island),), lines=_zebras())


def _ring(name: str, start: float, end: float, left: tuple[str, str], right: tuple[str, str]) -> LaneSketch:
    count = max(4, int((end - start) * LANE_RADIUS_M / 0.8))
    angle = np.linspace(start, end, count)
    center = LANE_RADIUS_M * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return lane_along(
        name, _moved(center), width_m=LANE_WIDTH_M, heading=angle + np.pi / 2, speed_limit=LIMIT, left=left, right=right
    )


def _arm(arm: int, phi: float, radius_m: float, *, inbound: bool) -> list[LaneSketch]:
    """The straight and the curved lane of an arm, in driving direction."""
    meets = _meets_at(radius_m)
    corner = (LANE_RADIUS_M + radius_m) * float(np.cos(meets))
    across = ARM_OFFSET_M + radius_m
    angle = np.linspace(-np.pi / 2, -np.pi + meets, 16)
    curve = np.stack([corner + radius_m * np.cos(angle), across + radius_m * np.sin(angle)], axis=1)
    course = angle - np.pi / 2
    straight = line((SEEN_M + 3.0, ARM_OFFSET_M), (corner, ARM_OFFSET_M))[::50]
    straight = np.concatenate([straight[:-1], curve[:1]])
    level = np.full(straight.shape[0], -np.pi)
    if not inbound:
        curve, straight = (curve * [1.0, -1.0])[::-1], (straight * [1.0, -1.0])[::-1]
        course, level = (np.pi - course)[::-1], np.zeros(straight.shape[0])
    curb, marking, open_side = ("curbstone", "low"), ("line_thin", "solid_solid"), ("virtual", "")
    words = ("in", "entry") if inbound else ("out", "exit")
    pieces = [(words[0], straight, level, marking), (words[1], curve, course, open_side)]
    return [
        lane_along(
            f"arm_{arm}_{word}",
            _moved(rotated(points, phi)),
            width_m=LANE_WIDTH_M,
            heading=heading + phi,
            speed_limit=LIMIT,
            left=left,
            right=curb,
        )
        for word, points, heading, left in pieces
    ]


def _zebras() -> tuple[LineSketch, ...]:
    return tuple(
        LineSketch(points=_moved(rotated(np.array([[x, -6.0], [x, 6.0]]), phi)), type="pedestrian_marking", subtype="")
        for phi in ARMS_RAD
        for x in (24.5, 27.5)
    )
