"""Areas of the cars of a batch as tables; made once per case."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray, IntArray, StrArray
from giveway.core.lanes import LaneMap
from giveway.roads.conflicts import Area, areas_between
from giveway.roads.priority import RoadRules
from giveway.roads.routes import CarPath
from giveway.sim.yielding import ALL_WAY, AREA, CROSSING, MERGING, NEITHER, OTHER_FIRST, OWN_FIRST, WALKER, Areas

FROM_RIGHT_RAD = 0.2
"""A car whose direction differs by less does not come from a side."""

RANKS = {"own": OWN_FIRST, "other": OTHER_FIRST, "none": NEITHER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Areas of one case; N rows in the order of cars, then of their routes.

    Attributes:
        car: (N,) the car that sees the area.
        row: (N,) of :data:`~giveway.sim.yielding.AREA`.
        order: (A,) place of each name in the natural order.
    """

    car: IntArray
    row: AnyArray
    order: IntArray


KEPT_CASES = 512
"""Cases whose areas are kept: roll-outs of the same cases need not find them again."""

_kept: OrderedDict[str, tuple[LaneMap | None, Shared]] = OrderedDict()
"""Digest of what areas depend on to the map, held so that its identity stays its own, and the areas."""


def shared_areas(
    paths: Sequence[CarPath | None],
    size: FloatArray,
    names: StrArray,
    walks: BoolArray,
    rules: RoadRules | None = None,
) -> Shared:
    """Areas of the cars of one case.

    Args:
        paths: (A,) routes; None for agents that nobody yields to.
        size: (A, 2) length and width [m].
        names: (A,) identifiers.
        walks: (A,) pedestrians and cyclists: they yield to nobody and cars yield to them always.
        rules: of the map, or None.
    """
    road = None if rules is None else rules.road.road
    digest = hashlib.sha256(f"{id(road)} {names.tolist()}".encode())
    for path in paths:
        digest.update(b"-" if path is None else path.x.tobytes() + path.y.tobytes() + path.heading.tobytes())
    digest.update(size.tobytes() + walks.tobytes())
    key = digest.hexdigest()
    known = _kept.get(key)
    if known is None:
        known = _kept[key] = road, _shared_areas(paths, size, names, walks, rules)
        while len(_kept) > KEPT_CASES:
            _kept.popitem(last=False)
    return known[1]


def _shared_areas(
    paths: Sequence[CarPath | None], size: FloatArray, names: StrArray, walks: BoolArray, rules: RoadRules | None
) -> Shared:
    with_route = [i for i, path in enumerate(paths) if path is not None]
    routes = [path for path in paths if path is not None]
    rows: list[tuple[int, Area, int]] = []
    for (a, b), areas in areas_between(routes, size[with_route, 1], rules=rules).items():
        i, j = with_route[a], with_route[b]
        for area in areas:
            if area.kind == "following" or (walks[i] and walks[j]):
                continue
            rows += [(i, area, j)] if not walks[i] else []
            rows += [(j, area.mirrored(), i)] if not walks[j] else []
    rows.sort(key=lambda row: (row[0], row[1].own, row[2]))
    index = {(i, j, area.own, area.other): n for n, (i, area, j) in enumerate(rows)}
    found = np.zeros(len(rows), dtype=AREA)
    for n, (i, area, j) in enumerate(rows):
        mirror = index.get((j, i, area.other, area.own), -1)
        kind = WALKER if walks[j] else MERGING if area.kind == "merging" else CROSSING
        rank = ALL_WAY if area.source == "all_way_stop" else RANKS[area.priority]
        from_right = FROM_RIGHT_RAD < area.angle_rad < np.pi - FROM_RIGHT_RAD
        found[n] = j, mirror, kind, rank, *area.own, *area.other, area.own_hold_m, from_right
    return Shared(
        car=np.array([i for i, _, _ in rows], dtype=np.int64),
        row=found,
        order=np.argsort(sorted(range(len(names)), key=lambda n: natural_key(str(names[n])))).astype(np.int64),
    )


def no_shared(agents: int) -> Shared:
    """A case in which nobody yields."""
    return shared_areas([None] * agents, np.ones((agents, 2)), np.full(agents, ""), np.zeros(agents, dtype=np.bool_))


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts names as people do: 9 before 10, P2 before P10."""
    parts = re.findall(r"\d+|\D+", name)
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)


def pack_areas(cases: Sequence[Shared], agents: int, rec_s: FloatArray) -> Areas:
    """Rows of all cases one after the other.

    Args:
        cases: of each world.
        agents: number of agents to which worlds are padded.
        rec_s: (W, A, L) arc length of recorded positions on the own route [m].
    """
    begins = np.concatenate([[0], np.cumsum([case.car.size for case in cases])])
    first = np.stack(
        [begin + np.searchsorted(case.car, np.arange(agents + 1)) for begin, case in zip(begins, cases, strict=False)]
    )
    order = np.zeros((len(cases), agents), dtype=np.int64)
    for w, case in enumerate(cases):
        order[w, : case.order.size] = case.order
    row = np.concatenate([case.row for case in cases])
    shift = np.repeat(begins[:-1], np.diff(begins))
    row["mirror"] += np.where(row["mirror"] >= 0, shift, 0)
    return Areas(first=first.astype(np.int64), row=row, order=order, rec_s=rec_s)


def no_areas(worlds: int, agents: int) -> Areas:
    """Tables of a batch in which nobody yields."""
    return Areas(
        first=np.zeros((worlds, agents + 1), dtype=np.int64),
        row=np.zeros(0, dtype=AREA),
        order=np.zeros((worlds, agents), dtype=np.int64),
        rec_s=np.zeros((worlds, agents, 0)),
    )
