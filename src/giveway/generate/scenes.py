"""Initial scenes: drawn at random, or read from genes in [0, 1] by a search."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from giveway.core import _box_kernels
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.errors import UsageError
from giveway.core.seeds import stream
from giveway.generate.objective import safety
from giveway.generate.objective.safety import LAW, in_line
from giveway.generate.protocol import MAX_CARS, Scenes
from giveway.roads import route_tables
from giveway.roads.road import Road
from giveway.roads.tables import RoadTables
from giveway.sim import contacts, locate, rss
from giveway.sim.compiling import compiled
from giveway.sim.contacts import SHRINK_M, boxes_touch, fill_box
from giveway.sim.locate import pose_on
from giveway.sim.rss import d_lon

REACH_M = 45.0
"""Cars start within this distance of the ego."""

CLEARANCE_M = 1.0
"""Boxes grown by this on all sides must not touch at the start."""

SPEED_RANGE = (0.6, 1.05)
"""Of learning cars and bystanders, as a share of the limit (or of the reference speed in a curve)."""

EGO_SPEED_RANGE = (0.7, 1.0)
DESIRED_RANGE = (0.8, 1.0)
MAX_OFFSET_M = 0.3
MAX_ROUNDS = 100
DRAWS_PER_SCENE, MIN_DRAWS = 4, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSpace:
    """All scenes of k learning cars (and m bystanders) on a road.

    A gene vector holds, each in [0, 1]: the ego's way, start, speed and desired speed; for each learning car way, place
    on it, offset and speed; for each bystander way, place and speed. A place is the share of that part of the way that
    lies within 45 m of the ego, so that any gene vector is a scene near the ego.

    Attributes:
        road: where.
        tables: of that road.
        cars: k.
        traffic: m.
        size: (n, 2) length and width of ego, learning cars, bystanders [m].
    """

    road: Road
    tables: RoadTables
    cars: int
    traffic: int
    size: FloatArray

    def __post_init__(self) -> None:
        if not 1 <= self.cars <= MAX_CARS:
            raise UsageError(
                "the number of learning cars must be between 1 and 4", where="cars", found=self.cars, hint="--cars 3"
            )
        if not 0 <= self.traffic <= 12:
            raise UsageError("the number of bystanders must be between 0 and 12", where="traffic", found=self.traffic)

    @property
    def num_genes(self) -> int:
        """Length of a gene vector."""
        return 4 + 4 * self.cars + 3 * self.traffic

    def scenes(self, genes: FloatArray) -> Scenes:
        """Scenes (N,) from genes (N, G); they need not be safe, see :meth:`is_safe`."""
        genes = np.clip(np.atleast_2d(genes), 0.0, 1.0 - 1e-12)
        k, m, t = self.cars, self.traffic, self.tables
        ego_ways = np.array(self.road.ego_ways, dtype=np.int64)
        ego_lane = ego_ways[(genes[:, 0] * len(ego_ways)).astype(np.int64)]
        low, high = self.road.ego_start_m
        high_s = np.minimum(high, t.length[ego_lane] / 3.0)
        low_s = np.minimum(low, high_s)
        ego_s = low_s + genes[:, 1] * (high_s - low_s)
        desired = t.limit * _between(genes[:, 3], DESIRED_RANGE)
        rows = t.first[ego_lane] + np.minimum((ego_s / t.step[ego_lane]).astype(np.int64), t.num_rows[ego_lane] - 1)
        ego_speed = np.minimum(desired, t.path[rows, 5]) * _between(genes[:, 2], EGO_SPEED_RANGE)
        others = genes[:, 4 : 4 + 4 * k].reshape(len(genes), k, 4)
        by = genes[:, 4 + 4 * k :].reshape(len(genes), m, 3)
        lane = (others[..., 0] * len(t.first)).astype(np.int64)
        traffic_lane = (by[..., 0] * len(t.first)).astype(np.int64)
        s = _places(t, ego_lane, ego_s, lane, others[..., 1])
        traffic_s = _places(t, ego_lane, ego_s, traffic_lane, by[..., 1])
        return Scenes(
            road=self.road.name,
            ego_lane=ego_lane,
            ego_s=ego_s,
            ego_speed=ego_speed,
            ego_desired_speed=desired,
            lane=lane,
            s=s,
            d=(2.0 * others[..., 2] - 1.0) * MAX_OFFSET_M,
            speed=self._speed_at(lane, s) * _between(others[..., 3], SPEED_RANGE),
            traffic_lane=traffic_lane,
            traffic_s=traffic_s,
            traffic_speed=self._speed_at(traffic_lane, traffic_s) * _between(by[..., 2], SPEED_RANGE),
        )

    def sample(self, count: int, *, seed: int, names: tuple[object, ...] = ()) -> tuple[Scenes, FloatArray]:
        """``count`` safe scenes and their genes (count, G).

        Raises:
            UsageError: hardly any scene of so many cars is safe on this road.
        """
        rng = stream(seed, "scenes", *names)
        kept: list[FloatArray] = []
        parts: list[Scenes] = []
        missing = count
        for _ in range(MAX_ROUNDS):
            genes = rng.random((max(DRAWS_PER_SCENE * missing, MIN_DRAWS), self.num_genes))
            drawn = self.scenes(genes)
            safe = np.flatnonzero(_are_safe(self.tables, *gathered(drawn), self.size))[:missing]
            kept.append(genes[safe])
            parts.append(drawn.select(safe))
            missing -= len(safe)
            if missing == 0:
                return (parts[0] if len(parts) == 1 else Scenes.join(parts)), np.concatenate(kept)
        raise UsageError(
            "no safe starting scene was found",
            where=f"road {self.road.name!r}",
            found=f"{self.cars} learning cars and {self.traffic} bystanders near the ego, {MAX_ROUNDS} rounds of draws",
            hint="use fewer cars or a larger road",
        )

    def is_safe(self, scenes: Scenes) -> BoolArray:
        """(N,) whether nobody touches or is within an unsafe gap at the start.

        Every car, seen in line with another, keeps the safe distance of responsibility-sensitive safety; boxes grown by
        1 m do not touch.
        """
        self.check(scenes)
        ways, s, d, speed = gathered(scenes)
        return _are_safe(self.tables, ways, s, d, speed, self.size)

    def check(self, scenes: Scenes) -> None:
        """Refuse scenes that do not fit.

        Raises:
            UsageError: another road, another number of cars, places that do not exist.
        """
        found = (scenes.num_cars, scenes.traffic_lane.shape[1])
        if scenes.road != self.road.name or found != (self.cars, self.traffic):
            raise UsageError(
                "this scene is for another environment",
                found=f"road {scenes.road!r}, {found[0]} cars, {found[1]} bystanders",
                hint=f"this one has road {self.road.name!r}, {self.cars} cars, {self.traffic} bystanders",
            )
        ways, s, d, speed = gathered(scenes)
        numbers = np.stack([s, d, speed])
        if not np.isfinite(numbers).all() or (speed < 0).any() or not (scenes.ego_desired_speed > 0).all():
            raise UsageError("a scene holds numbers that are not finite or speeds below zero", where=scenes.road)
        if (ways < 0).any() or (ways >= len(self.tables.first)).any():
            raise UsageError(
                "a scene names a way that the road does not have", where=scenes.road, found=int(ways.max())
            )
        if (s < 0).any() or (s > self.tables.length[ways]).any():
            raise UsageError("a scene places a car beyond the ends of its way", where=scenes.road)

    def _speed_at(self, lane: IntArray, s: FloatArray) -> FloatArray:
        t = self.tables
        rows = t.first[lane] + np.minimum((s / t.step[lane]).astype(np.int64), t.num_rows[lane] - 1)
        return np.minimum(t.limit, t.path[rows, 5])


def gathered(scenes: Scenes) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """(N, n) way, s, d and speed of ego, learning cars and bystanders."""
    return (
        np.concatenate([scenes.ego_lane[:, None], scenes.lane, scenes.traffic_lane], axis=1),
        np.concatenate([scenes.ego_s[:, None], scenes.s, scenes.traffic_s], axis=1),
        np.concatenate([np.zeros_like(scenes.ego_s)[:, None], scenes.d, np.zeros_like(scenes.traffic_s)], axis=1),
        np.concatenate([scenes.ego_speed[:, None], scenes.speed, scenes.traffic_speed], axis=1),
    )


def _between(share: FloatArray, ends: tuple[float, float]) -> FloatArray:
    return ends[0] + share * (ends[1] - ends[0])


@compiled(locate, route_tables)
def _places(road: RoadTables, ego_lane: IntArray, ego_s: FloatArray, lane: IntArray, share: FloatArray) -> FloatArray:
    """Arc lengths at a share of the part of each way that is near the ego (of the whole way if none is)."""
    out = np.empty(lane.shape)
    for w in range(lane.shape[0]):
        x, y, _ = pose_on(road, ego_lane[w], ego_s[w], 0.0)
        for c in range(lane.shape[1]):
            way = lane[w, c]
            first, last, row = -1, -1, 0
            while row < road.num_rows[way]:
                dx, dy = road.path[road.first[way] + row, 0] - x, road.path[road.first[way] + row, 1] - y
                far = dx * dx + dy * dy
                # Rows are a step of arc length apart: so many follow on the same side of the circle around the ego.
                same = int(0.99 * abs(math.sqrt(far) - REACH_M) / road.step[way])
                if far <= REACH_M * REACH_M:
                    if first < 0:
                        first = row
                    last = min(row + same, road.num_rows[way] - 1)
                row += same + 1
            if first < 0:
                first, last = 0, road.num_rows[way] - 1
            margin = int(3.0 / road.step[way])
            first = max(first, margin)
            last = max(min(last, road.num_rows[way] - 1 - margin), first)
            out[w, c] = (first + share[w, c] * (last - first)) * road.step[way]
    return out


@compiled(_box_kernels, locate, contacts, rss, safety)
def _are_safe(
    road: RoadTables, ways: IntArray, s: FloatArray, d: FloatArray, speed: FloatArray, size: FloatArray
) -> BoolArray:
    worlds, n = ways.shape
    out = np.ones(worlds, dtype=np.bool_)
    state = np.zeros((n, 6))
    boxes = np.empty((n, 7))
    for w in range(worlds):
        for i in range(n):
            x, y, heading = pose_on(road, ways[w, i], s[w, i], d[w, i])
            state[i, 0], state[i, 1], state[i, 2], state[i, 3] = x, y, heading, speed[w, i]
            length, width = size[i, 0] + 2.0 * CLEARANCE_M, size[i, 1] + CLEARANCE_M
            fill_box(x, y, heading, length + SHRINK_M, width + SHRINK_M, boxes[i])
        for i in range(n):
            cos, sin = math.cos(state[i, 2]), math.sin(state[i, 2])
            for j in range(i + 1, n):
                if boxes_touch(boxes[i], boxes[j]):
                    out[w] = False
                lined, gap, _ = in_line(state[i], state[j], size[i], size[j], cos, sin)
                rear, front = (i, j) if gap > 0.0 else (j, i)
                if lined and abs(gap) < d_lon(speed[w, rear], speed[w, front], LAW):
                    out[w] = False
    return out
