"""Conflicts of cars with a mind: the areas that their routes share with those of everybody else in their world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from giveway.core.boxes import VULNERABLE
from giveway.core.lanes import LaneMap
from giveway.core.seeds import seed_for
from giveway.predictors.commotions.agent import pair_key
from giveway.roads.priority import RoadRules, rules_of
from giveway.roads.queries import prepare as prepare_map
from giveway.roads.route_lines import arc_lengths
from giveway.roads.routes import CarPath, path_through
from giveway.sim.area_tables import shared_areas
from giveway.sim.drivers.base import Batch
from giveway.sim.drivers.cognitive_attention import Conflicts
from giveway.sim.state import DriverCode
from giveway.sim.yielding import MERGING, OTHER_FIRST, OWN_FIRST, WALKER


class Line(NamedTuple):
    """A route as points: (P, 2) [m] and their spacing [m]."""

    xy: FloatArray
    step_m: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldConflicts:
    """Conflicts of the minds of one world; N rows sorted by mind, other car and own way.

    Attributes:
        mind: (N,) car with the mind.
        other: (N,) the other car.
        span: (N, 4) own entry and exit, entry and exit of the other [m].
        priority: (N,) 1 own, -1 the other's, 0 nobody's.
        merges: (N,).
        line: (A,) route of each car, recorded ones of cars on replay; None without one.
        rec_s: (A, L) place of recorded positions along it [m]; NaN for driven cars and where absent.
    """

    mind: IntArray
    other: IntArray
    span: FloatArray
    priority: IntArray
    merges: BoolArray
    line: tuple[Line | None, ...]
    rec_s: FloatArray


def conflicts_of_world(batch: Batch, w: int, mine: BoolArray) -> WorldConflicts:
    """Conflicts of the cars ``mine`` (A,) of one world.

    Where traffic gives way its areas are taken; elsewhere they are found here. A pedestrian has priority over cars at
    its areas. At an all-way stop nobody has.
    """
    num = int(batch.static.num_agents[w])
    walks = np.isin(batch.kinds[w, :num], VULNERABLE)
    known = batch.traffic is not None and bool(batch.traffic.reacts[w])
    car, rows, line, rec_s = _known_areas(batch, w, num) if known else _found_areas(batch, w, num, walks)
    priority = np.where(rows["rank"] == OWN_FIRST, 1, np.where(rows["rank"] == OTHER_FIRST, -1, 0))
    priority = np.where(rows["kind"] == WALKER, -1, priority)
    mind, other, span, rank, merges = _both_ways(car, rows, priority, walks)
    order = np.lexsort((span[:, 0], other, mind))
    order = order[mine[mind[order]]]
    return WorldConflicts(
        mind=mind[order],
        other=other[order],
        span=span[order],
        priority=rank[order],
        merges=merges[order],
        line=line,
        rec_s=rec_s,
    )


_Found = tuple[IntArray, AnyArray, tuple[Line | None, ...], FloatArray]
"""(N,) the car that sees an area, (N,) areas, (A,) lines and (A, L) recorded arc lengths of cars."""


def _known_areas(batch: Batch, w: int, num: int) -> _Found:
    traffic, road = batch.traffic, batch.static.road
    assert traffic is not None
    areas, first = traffic.areas, traffic.areas.first[w]
    here = slice(int(first[0]), int(first[num]))
    route = np.where(traffic.route[w, :num] >= 0, traffic.route[w, :num], batch.static.start_route[w, :num])
    lines = [
        None if r < 0 else Line(road.path[road.first[r] : road.first[r] + road.num_rows[r], :2], float(road.step[r]))
        for r in route.tolist()
    ]
    cars = np.repeat(np.arange(num), np.diff(first[: num + 1]))
    return cars, areas.row[here], tuple(lines), areas.rec_s[w, :num]


def _found_areas(batch: Batch, w: int, num: int, walks: BoolArray) -> _Found:
    paths = [batch.paths[w][i] or _recorded_path(batch, w, i) for i in range(num)]
    road = batch.roads[w] if batch.roads else None
    shared = shared_areas(paths, batch.static.size[w, :num], batch.ids[w, :num], walks, rules_of_map(road))
    lines = [None if path is None else Line(np.stack([path.x, path.y], axis=1), path.step_m) for path in paths]
    rec_s = np.full((num, batch.static.rec.shape[2]), np.nan)
    for i, path in enumerate(paths):
        if path is not None and batch.static.driver[w, i] == DriverCode.REPLAY:
            rec_s[i] = arc_lengths(path, batch.static.rec[w, i, :, :2])
    return shared.car, shared.row, tuple(lines), rec_s


def _both_ways(
    car: IntArray, rows: AnyArray, priority: IntArray, walks: BoolArray
) -> tuple[IntArray, IntArray, FloatArray, IntArray, BoolArray]:
    """Rows as cars see them, and those with pedestrians as these do."""
    other = rows["other"]
    turned = walks[other] if other.size else np.zeros(0, dtype=np.bool_)
    span = np.stack([rows[name] for name in ("own_in", "own_out", "other_in", "other_out")], axis=1)
    return (
        np.concatenate([car, other[turned]]),
        np.concatenate([other, car[turned]]),
        np.concatenate([span, span[turned][:, [2, 3, 0, 1]]]),
        np.concatenate([priority, -priority[turned]]),
        np.concatenate([rows["kind"] == MERGING, np.zeros(int(turned.sum()), dtype=np.bool_)]),
    )


def _recorded_path(batch: Batch, w: int, i: int) -> CarPath | None:
    """Path through the recorded positions of a car on replay."""
    rec = batch.static.rec[w, i]
    seen = np.flatnonzero(batch.static.rec_on[w, i]) if rec.size else np.zeros(0, dtype=np.int64)
    return _path(rec[seen, :2].tobytes(), float(rec[seen[0], 4])) if seen.size else None


@lru_cache(maxsize=4096)
def _path(xy: bytes, heading_rad: float) -> CarPath:
    """Path through positions (N, 2); roll-outs and cells of one case share it."""
    return path_through(np.frombuffer(xy).reshape(-1, 2), heading_rad)


def join_conflicts(
    batch: Batch, worlds: Sequence[WorldConflicts], world: IntArray, car: IntArray, agents: int
) -> Conflicts:
    """Conflicts of all minds (M,) of a batch, cars being numbered world * agents + car."""
    counts = np.zeros(len(world), dtype=np.int64)
    index = {(w, i): m for m, (w, i) in enumerate(zip(world.tolist(), car.tolist(), strict=True))}
    for w, found in enumerate(worlds):
        for i, num in zip(*np.unique(found.mind, return_counts=True), strict=True):
            counts[index[w, int(i)]] = num
    keys = [
        pair_key(
            np.array([mind_key(batch, w, str(batch.ids[w, i])) for i in found.mind], dtype=np.uint64),
            np.array([name_key(str(batch.ids[w, j])) for j in found.other], dtype=np.uint64),
        )
        for w, found in enumerate(worlds)
    ]
    return Conflicts(
        first=np.concatenate([[0], np.cumsum(counts)]),
        other=np.concatenate([found.other + w * agents for w, found in enumerate(worlds)]).astype(np.int64),
        span=np.ascontiguousarray(np.concatenate([found.span for found in worlds])),
        priority=np.concatenate([found.priority for found in worlds]).astype(np.int8),
        merges=np.concatenate([found.merges for found in worlds]).astype(np.bool_),
        key=np.concatenate(keys).astype(np.uint64),
        waived=np.zeros(int(counts.sum()), dtype=np.bool_),
    )


def mind_key(batch: Batch, w: int, car: str) -> int:
    """Name of the noise of a mind: seed, "mind", case, roll-out and car."""
    return _mind_key(batch.seed, batch.episodes[w], batch.roll_out, car)


@lru_cache(maxsize=65536)
def _mind_key(seed: int, episode: str, roll_out: int, car: str) -> int:
    return seed_for(seed, "mind", episode, roll_out, car) % 2**64


@lru_cache(maxsize=65536)
def name_key(car: str) -> int:
    """Number of a name."""
    return seed_for(0, "car", car) % 2**64


_rules: dict[int, tuple[LaneMap, RoadRules]] = {}


def rules_of_map(road: LaneMap | None) -> RoadRules | None:
    """Rules of a map, made once per map."""
    if road is None:
        return None
    if id(road) not in _rules:
        if len(_rules) > 64:
            _rules.clear()
        _rules[id(road)] = (road, rules_of(prepare_map(road)))
    return _rules[id(road)][1]
