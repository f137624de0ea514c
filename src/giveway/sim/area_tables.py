"""Areas of the cars of a batch as tables; made once per case."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from giveway.core.lanes import LaneMap
from giveway.roads.conflicts import Area, areas_between
from giveway.roads.priority import RoadRules
from giveway.roads.routes import CarPath
from giveway.sim.yielding import ALL_WAY, CROSSING, MERGING, NEITHER, OTHER_FIRST, OWN_FIRST, WALKER, Areas

FROM_RIGHT_RAD = 0.2
"""A car whose direction differs by less does not come from a side."""

RANKS = {"own": OWN_FIRST, "other": OTHER_FIRST, "none": NEITHER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Rows of :class:`~giveway.sim.yielding.Areas` of one case; N rows in the order of cars, then of their routes.

    Attributes:
        car: (N,) the car that sees the area.
        other: (N,) the other one.
        mirror: (N,) row seen from the other one, -1 for pedestrians.
        span: (N, 5), kind: (N,), rank: (N,), from_right: (N,) as there.
        order: (A,) place of each name in the natural order.
    """

    car: IntArray
    other: IntArray
    mirror: IntArray
    span: FloatArray
    kind: IntArray
    rank: IntArray
    from_right: BoolArray
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
    count = len(rows)
    span = np.array([(*a.own, *a.other, a.own_hold_m) for _, a, _ in rows]).reshape(count, 5)
    return Shared(
        car=np.array([i for i, _, _ in rows], dtype=np.int64),
        other=np.array([j for _, _, j in rows], dtype=np.int64),
        mirror=np.array([index.get((j, i, a.other, a.own), -1) for i, a, j in rows], dtype=np.int64),
        span=span,
        kind=np.array([WALKER if walks[j] else _kind(a) for _, a, j in rows], dtype=np.int64),
        rank=np.array([_rank(a) for _, a, _ in rows], dtype=np.int64),
        from_right=np.array(
            [FROM_RIGHT_RAD < a.angle_rad < np.pi - FROM_RIGHT_RAD for _, a, _ in rows], dtype=np.bool_
        ),
        order=np.argsort(sorted(range(len(names)), key=lambda n: natural_key(str(names[n])))).astype(np.int64),
    )


def no_shared(agents: int) -> Shared:
    """A case in which nobody yields."""
    return shared_areas([None] * agents, np.ones((agents, 2)), np.full(agents, ""), np.zeros(agents, dtype=np.bool_))


def _kind(area: Area) -> int:
    return MERGING if area.kind == "merging" else CROSSING


def _rank(area: Area) -> int:
    return ALL_WAY if area.source == "all_way_stop" else RANKS[area.priority]


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
    mirror = [np.where(case.mirror >= 0, case.mirror + begin, -1) for begin, case in zip(begins, cases, strict=False)]
    return Areas(
        first=first.astype(np.int64),
        other=np.concatenate([case.other for case in cases]),
        mirror=np.concatenate(mirror).astype(np.int64),
        span=np.concatenate([case.span for case in cases]),
        kind=np.concatenate([case.kind for case in cases]),
        rank=np.concatenate([case.rank for case in cases]),
        from_right=np.concatenate([case.from_right for case in cases]),
        order=order,
        rec_s=rec_s,
    )


def no_areas(worlds: int, agents: int) -> Areas:
    """Tables of a batch in which nobody yields."""
    return Areas(
        first=np.zeros((worlds, agents + 1), dtype=np.int64),
        other=np.zeros(0, dtype=np.int64),
        mirror=np.zeros(0, dtype=np.int64),
        span=np.zeros((0, 5)),
        kind=np.zeros(0, dtype=np.int64),
        rank=np.zeros(0, dtype=np.int64),
        from_right=np.zeros(0, dtype=np.bool_),
        order=np.zeros((worlds, agents), dtype=np.int64),
        rec_s=np.zeros((worlds, agents, 0)),
    )
