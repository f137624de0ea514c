"""Three small roads for the bundled cases: a merge, a roundabout and a junction, each a lane map with routes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely

from giveway.core.arrays import FloatArray
from giveway.core.lanes import Lane, LaneMap
from giveway.roads.library.shapes import arc, bezier, line
from giveway.roads.road import sides_of

CENTER_M = 1000.0
"""Sites lie around (1000, 1000), as in INTERACTION."""

LANE_WIDTH_M = 3.6
LIMIT_MPS = 50 / 3.6


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledRoad:
    """A road and who wants to go where on it.

    Attributes:
        road: lanes with priorities.
        ego_routes: possible ways of the ego, each (P, 2) [m].
        priority_routes: ways of cars it must give way to.
        other_routes: ways of everybody else.
    """

    road: LaneMap
    ego_routes: tuple[FloatArray, ...]
    priority_routes: tuple[FloatArray, ...]
    other_routes: tuple[FloatArray, ...]


def merge_road() -> BundledRoad:
    """A straight main road from west to east and a ramp that joins it from the south-west."""
    main_in, main_out = line((880.0, 1000.0), (1000.0, 1000.0)), line((1000.0, 1000.0), (1120.0, 1000.0))
    start = np.array([890.0, 972.0])
    ramp = bezier(start, (945.0, 972.0), (950.0, 1000.0), (1000.0, 1000.0))
    lanes = _lanes({1: main_in, 2: main_out, 3: ramp}, successors={1: (2,), 3: (2,)}, yields={3: (1,)})
    through = np.concatenate([main_in, main_out[1:]])
    return BundledRoad(
        road=LaneMap(name="GW_Merge", lanes=lanes),
        ego_routes=(np.concatenate([ramp, main_out[1:]]),),
        priority_routes=(through,),
        other_routes=(through,),
    )


def junction_road() -> BundledRoad:
    """A four-way junction; the road from west to east has priority over the one from south to north."""
    west = (
        line((890.0, 998.2), (991.0, 998.2)),
        line((991.0, 998.2), (1009.0, 998.2)),
        line((1009.0, 998.2), (1110.0, 998.2)),
    )
    east = (
        line((1110.0, 1001.8), (1009.0, 1001.8)),
        line((1009.0, 1001.8), (991.0, 1001.8)),
        line((991.0, 1001.8), (890.0, 1001.8)),
    )
    south = (
        line((1001.8, 890.0), (1001.8, 991.0)),
        line((1001.8, 991.0), (1001.8, 1009.0)),
        line((1001.8, 1009.0), (1001.8, 1110.0)),
    )
    left = bezier((1001.8, 991.0), (1001.8, 999.0), (999.0, 1001.8), (991.0, 1001.8))
    right = bezier((1001.8, 991.0), (1001.8, 995.5), (1004.5, 998.2), (1009.0, 998.2))
    lanes = _lanes(
        {
            1: west[0],
            2: west[1],
            3: west[2],
            4: east[0],
            5: east[1],
            6: east[2],
            7: south[0],
            8: south[1],
            9: south[2],
            10: left,
            11: right,
        },
        successors={1: (2,), 2: (3,), 4: (5,), 5: (6,), 7: (8, 10, 11), 8: (9,), 10: (6,), 11: (3,)},
        yields={8: (2, 5), 10: (2, 5), 11: (2,)},
    )

    def join(*parts: FloatArray) -> FloatArray:
        return np.concatenate([parts[0], *(part[1:] for part in parts[1:])])

    return BundledRoad(
        road=LaneMap(name="GW_Junction", lanes=lanes),
        ego_routes=(join(*south), join(south[0], left, east[2]), join(south[0], right, west[2])),
        priority_routes=(join(*west), join(*east)),
        other_routes=(join(*west), join(*east)),
    )


def roundabout_road() -> BundledRoad:
    """A single-lane ring of 16 m radius, driven counter-clockwise, with four arms; who is inside has priority."""
    radius, gate = 16.0, np.deg2rad(28.0)
    lanes: dict[int, FloatArray] = {}
    successors: dict[int, tuple[int, ...]] = {}
    yields: dict[int, tuple[int, ...]] = {}
    arms = [np.deg2rad(a) for a in (270.0, 0.0, 90.0, 180.0)]
    for k, arm in enumerate(arms):
        out, side = np.array([np.cos(arm), np.sin(arm)]), np.array([-np.sin(arm), np.cos(arm)])
        far = CENTER_M + 90.0 * out
        enter, leave = arm + gate, arm - gate
        inside, outside = (CENTER_M + radius * np.array([np.cos(a), np.sin(a)]) for a in (enter, leave))
        tangent_in, tangent_out = (np.array([-np.sin(a), np.cos(a)]) for a in (enter, leave))
        approach = CENTER_M + 30.0 * out + 2.2 * side
        lanes[10 * k + 1] = np.concatenate(
            [
                line(far + 2.2 * side, approach),
                bezier(approach, approach - 8.0 * out, inside - 6.0 * tangent_in, inside)[1:],
            ]
        )
        depart = CENTER_M + 30.0 * out - 2.2 * side
        lanes[10 * k + 2] = np.concatenate(
            [
                bezier(outside, outside + 6.0 * tangent_out, depart - 8.0 * out, depart),
                line(depart, far - 2.2 * side)[1:],
            ]
        )
        lanes[10 * k + 3] = CENTER_M + arc(radius, enter, arms[(k + 1) % 4] - gate)
        lanes[10 * k + 4] = CENTER_M + arc(radius, leave, enter)
    for k in range(4):
        after = (k + 1) % 4
        successors |= {
            10 * k + 1: (10 * k + 3,),
            10 * k + 3: (10 * after + 2, 10 * after + 4),
            10 * k + 4: (10 * k + 3,),
        }
        yields[10 * k + 1] = (10 * k + 4,)
    made = _lanes(lanes, successors=successors, yields=yields)

    def ride(enter: int, leave: int) -> FloatArray:
        parts, k = [lanes[10 * enter + 1], lanes[10 * enter + 3][1:]], (enter + 1) % 4
        while k != leave:
            parts += [lanes[10 * k + 4][1:], lanes[10 * k + 3][1:]]
            k = (k + 1) % 4
        return np.concatenate([*parts, lanes[10 * k + 2][1:]])

    return BundledRoad(
        road=LaneMap(name="GW_Roundabout", lanes=made),
        ego_routes=(ride(0, 1), ride(0, 2)),
        priority_routes=(ride(3, 1), ride(3, 2)),
        other_routes=(ride(1, 3), ride(2, 3), ride(3, 1)),
    )


ROADS = {"merge": merge_road, "roundabout": roundabout_road, "junction": junction_road}


def _lanes(
    centers: dict[int, FloatArray], *, successors: dict[int, tuple[int, ...]], yields: dict[int, tuple[int, ...]]
) -> dict[int, Lane]:
    """Lanes of constant width around center lines, with predecessors and conflicts."""
    sides = {n: sides_of(center, 0.5 * LANE_WIDTH_M) for n, center in centers.items()}
    areas = {n: shapely.Polygon(np.concatenate([left, right[::-1]])).buffer(0.0) for n, (left, right) in sides.items()}
    made: dict[int, Lane] = {}
    for n, center in sorted(centers.items()):
        before = tuple(sorted(m for m, after in successors.items() if n in after))
        related = {n, *successors.get(n, ()), *before}
        conflicts = tuple(m for m in sorted(areas) if m not in related and areas[n].intersection(areas[m]).area > 0.5)
        made[n] = Lane(
            id=n,
            left=sides[n][0],
            right=sides[n][1],
            center=center,
            successors=tuple(sorted(successors.get(n, ()))),
            predecessors=before,
            conflicts=conflicts,
            speed_limit_mps=LIMIT_MPS,
            yields_to=yields.get(n, ()),
        )
    return made
