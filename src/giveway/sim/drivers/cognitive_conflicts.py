"""Conflicts of cars with a mind: the areas that their routes share with those of everybody else in their world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.boxes import VULNERABLE
from giveway.core.lanes import LaneMap
from giveway.core.seeds import seed_for
from giveway.predictors.commotions.agent import pair_key
from giveway.roads.priority import RoadRules, rules_of
from giveway.roads.queries import prepare as prepare_map
from giveway.roads.route_lines import route_line
from giveway.roads.routes import CarPath, path_through
from giveway.sim.area_tables import Shared, shared_areas
from giveway.sim.drivers.base import Batch
from giveway.sim.drivers.cognitive_attention import Conflicts
from giveway.sim.state import DriverCode
from giveway.sim.yielding import MERGING, OTHER_FIRST, OWN_FIRST, WALKER


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldConflicts:
    """Conflicts of the minds of one world; N rows sorted by mind, other car and own way.

    Attributes:
        mind: (N,) car with the mind.
        other: (N,) the other car.
        span: (N, 4) own entry and exit, entry and exit of the other [m].
        priority: (N,) 1 own, -1 the other's, 0 nobody's.
        merges: (N,).
        path: (A,) route of each car, recorded ones of cars on replay; None if it never moves or is not there.
        rec_s: (A, L) place of recorded positions along it [m]; NaN for driven cars and where absent.
    """

    mind: IntArray
    other: IntArray
    span: FloatArray
    priority: IntArray
    merges: BoolArray
    path: tuple[CarPath | None, ...]
    rec_s: FloatArray


def conflicts_of_world(batch: Batch, w: int, mine: BoolArray) -> WorldConflicts:
    """Conflicts of the cars ``mine`` (A,) of one world.

    A pedestrian has priority over cars at its areas. At an all-way stop nobody has.
    """
    num = int(batch.static.num_agents[w])
    walks = np.isin(batch.kinds[w, :num], VULNERABLE)
    paths = tuple(batch.paths[w][i] or recorded_path(batch, w, i) for i in range(num))
    road = batch.roads[w] if batch.roads else None
    shared = shared_areas(paths, batch.static.size[w, :num], batch.ids[w, :num], walks, rules_of_map(road))
    priority = np.where(shared.rank == OWN_FIRST, 1, np.where(shared.rank == OTHER_FIRST, -1, 0))
    priority = np.where(shared.kind == WALKER, -1, priority)
    mind, other, span, rank, merges = _both_ways(shared, priority, walks)
    order = np.lexsort((span[:, 0], other, mind))
    order = order[mine[mind[order]]]
    return WorldConflicts(
        mind=mind[order],
        other=other[order],
        span=span[order],
        priority=rank[order],
        merges=merges[order],
        path=paths,
        rec_s=recorded_places(batch, w, paths),
    )


def _both_ways(
    shared: Shared, priority: IntArray, walks: BoolArray
) -> tuple[IntArray, IntArray, FloatArray, IntArray, BoolArray]:
    """Rows as cars see them, and those with pedestrians as these do."""
    turned = walks[shared.other] if shared.other.size else np.zeros(0, dtype=np.bool_)
    swapped = shared.span[turned][:, [2, 3, 0, 1]]
    return (
        np.concatenate([shared.car, shared.other[turned]]),
        np.concatenate([shared.other, shared.car[turned]]),
        np.concatenate([shared.span[:, :4], swapped]),
        np.concatenate([priority, -priority[turned]]),
        np.concatenate([shared.kind == MERGING, np.zeros(int(turned.sum()), dtype=np.bool_)]),
    )


def recorded_path(batch: Batch, w: int, i: int) -> CarPath | None:
    """Path through the recorded positions of a car on replay."""
    rec = batch.static.rec[w, i]
    seen = np.flatnonzero(batch.static.rec_on[w, i]) if rec.size else np.zeros(0, dtype=np.int64)
    return path_through(rec[seen, :2], float(rec[seen[0], 4])) if seen.size else None


def recorded_places(batch: Batch, w: int, paths: Sequence[CarPath | None]) -> FloatArray:
    """(A, L) arc length of the recorded positions of cars on replay."""
    rec_s = np.full((len(paths), batch.static.rec.shape[2]), np.nan)
    for i, path in enumerate(paths):
        line = route_line(path) if path is not None and batch.static.driver[w, i] == DriverCode.REPLAY else None
        seen = np.flatnonzero(batch.static.rec_on[w, i]) if line is not None else np.zeros(0, dtype=np.int64)
        if line is not None and seen.size:
            rec_s[i, seen] = line.locate(batch.static.rec[w, i, seen, :2])[0]
    return rec_s


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
