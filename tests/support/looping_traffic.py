"""Cars that drive round and round on a road of the library, with the rules of right of way and nothing else.

A small stand-in for the simulator: it moves cars along their routes, and lets one that has left appear again at the
start of its route as soon as there is room.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core._box_kernels import pair_overlaps  # pyright: ignore[reportUnknownVariableType]
from giveway.core.arrays import BoolArray, FloatArray
from giveway.planning.builtin import LOOK_AHEAD_M, SIDE_MARGIN_M
from giveway.planning.idm import CLEAN, idm_acceleration
from giveway.planning.occupancy import lead_car
from giveway.roads.priority import RoadRules
from giveway.roads.route_tables import PATH_SPEED, coarse_points
from giveway.roads.routes import CarPath, path_through, table_of
from giveway.sim.area_tables import pack_areas, shared_areas
from giveway.sim.yielding import BEHIND_M, Areas, Waiting, nobody_waits, note_waiting, yield_accel

DT_S = 0.1
LENGTH_M, WIDTH_M = 4.5, 1.8
ENTRY_SPEED_MPS = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """What was seen.

    Attributes:
        passed: how many cars went through.
        contacts: pairs of cars in contact, counted once per pair and second.
        longest_lock_s: longest time for which a car was part of a cycle.
        freed: how many cycles were resolved.
        longest_still_s: longest time in which nobody on the road moved.
        longest_wait_s: longest time for which a car waited at an area.
        hard: share of car ticks with more than 4 m/s^2 of braking.
        trace: (T, A, 2) arc length and speed, NaN where absent.
    """

    passed: int
    contacts: set[tuple[int, int, int]]
    longest_lock_s: float
    freed: int
    longest_still_s: float
    longest_wait_s: float
    hard: float
    trace: FloatArray


def drive_in_loops(
    ways: list[FloatArray],
    *,
    ticks: int,
    desired_mps: float,
    names: list[str] | None = None,
    seed: int = 0,
    once_from: FloatArray | None = None,
    walks: BoolArray | None = None,
    rules: RoadRules | None = None,
) -> Loop:
    """Drive one car per given way for a number of ticks.

    Args:
        ways: (P, 2) center line of each car's route.
        ticks: how long.
        desired_mps: speed, with 20 % of spread.
        names: of the cars.
        seed: of appearances and desired speeds.
        once_from: (n, 2) arc length and speed at which all cars start at tick 0, without spread; none appears later.
        walks: (n,) pedestrians, which keep their speed.
        rules: of a map.
    """
    rng = np.random.default_rng(seed)
    known = {id(way): path_through(way, 0.0) for way in ways}
    paths = [known[id(way)] for way in ways]
    tables = [table_of(path) for path in paths]
    coarse = [coarse_points(table) for table in tables]
    n = len(ways)
    size = np.tile([LENGTH_M, WIDTH_M], (n, 1))
    feet = np.zeros(n, dtype=np.bool_) if walks is None else walks
    size[feet] = 0.6
    shared = shared_areas(paths, size, np.array(names or [str(k) for k in range(n)]), feet, rules)
    areas = pack_areas([shared], n, np.zeros((1, n, 0)))
    own = nobody_waits(areas)
    present, now, obeys = np.zeros(n, dtype=np.bool_), np.zeros((n, 5)), np.ones(n, dtype=np.bool_)
    s, v, desired = np.zeros(n), np.zeros(n), desired_mps * rng.uniform(0.8, 1.2, n)
    if once_from is not None:
        present[:], s, v, desired = True, once_from[:, 0].copy(), once_from[:, 1].copy(), np.full(n, desired_mps)
    trace = np.full((ticks, n, 2), np.nan)
    passed = freed = hard = steps = 0
    contacts: set[tuple[int, int, int]] = set()
    still = longest_still = longest_lock = longest_wait = 0.0
    for tick in range(ticks):
        if once_from is None:
            _appear(areas, own, present, s, v, tables, paths, rng)
        own.car["s"][0] = np.where(present, s, np.nan)
        for i in range(n):
            row = tables[i][min(int(s[i] / paths[i].step_m), len(tables[i]) - 1)]
            now[i] = (*_at(tables[i], s[i] / paths[i].step_m), v[i], row[2], row[3])
        trace[tick, present] = np.stack([s, v], axis=1)[present]
        note_waiting(areas, own, 0, present, now, size, tick)
        longest_lock = max(longest_lock, float(own.car["locked"].max()))
        longest_wait = max(longest_wait, float(own.car["waited"].max()))
        accel = np.zeros(n)
        for i in np.flatnonzero(present & ~feet).tolist():
            gap, lead, who = lead_car(
                tables[i], coarse[i], paths[i].step_m, i, s[i], now, present, size, LOOK_AHEAD_M, SIDE_MARGIN_M
            )
            own.car["leader"][0, i] = who if who >= 0 and gap < BEHIND_M and now[who, 2] < 0.3 and v[i] < 0.3 else -1
            wanted = min(desired[i], tables[i][min(int(s[i] / paths[i].step_m), len(tables[i]) - 1), PATH_SPEED])
            follow = idm_acceleration(v[i], wanted, gap, lead, CLEAN)
            accel[i] = min(follow, yield_accel(areas, own, 0, i, present, now, size, obeys, wanted, gap, lead, CLEAN))
        hard += int((accel[present] < -4.0).sum())
        steps += int(present.sum())
        new = np.maximum(v + accel * DT_S, 0.0)
        s = np.where(present, s + 0.5 * (v + new) * DT_S, s)
        v = np.where(present, new, v)
        gone = present & (s > np.array([path.length_m for path in paths]) - 1.0)
        passed += int(gone.sum())
        present[gone] = False
        still = still + DT_S if present.any() and v[present].max() < 0.3 else 0.0
        longest_still = max(longest_still, still)
        if tick % 2 == 0:
            contacts |= {(a, b, tick // 10) for a, b in _touching(present, now, size)}
    freed = int(own.car["num_freed"].sum())
    return Loop(
        passed=passed,
        contacts=contacts,
        longest_lock_s=longest_lock,
        freed=freed,
        longest_still_s=longest_still,
        longest_wait_s=longest_wait,
        hard=hard / max(steps, 1),
        trace=trace,
    )


def _at(table: FloatArray, at: float) -> tuple[float, float]:
    rows = np.arange(len(table))
    return float(np.interp(at, rows, table[:, 0])), float(np.interp(at, rows, table[:, 1]))


def _appear(
    areas: Areas,
    own: Waiting,
    present: BoolArray,
    s: FloatArray,
    v: FloatArray,
    tables: list[FloatArray],
    paths: list[CarPath],
    rng: np.random.Generator,
) -> None:
    """Let absent cars appear, in a random order, where the first 20 m of their route are free."""
    for i in rng.permutation(np.flatnonzero(~present)).tolist():
        start = tables[i][0, :2]
        places = [
            np.hypot(*(tables[j][min(int(s[j] / paths[j].step_m), len(tables[j]) - 1), :2] - start))
            for j in np.flatnonzero(present).tolist()
        ]
        if min(places, default=np.inf) > 20.0 and rng.random() < 0.1:
            present[i], s[i], v[i] = True, 0.5 * LENGTH_M, ENTRY_SPEED_MPS
            rows = slice(int(areas.first[0, i]), int(areas.first[0, i + 1]))
            own.claim[rows] = np.array((-1.0, False, False, False), dtype=own.claim.dtype)


def _touching(present: BoolArray, now: FloatArray, size: FloatArray) -> list[tuple[int, int]]:
    rows = np.column_stack(
        [now[:, 0], now[:, 1], now[:, 3], now[:, 4], 0.5 * size[:, 0] - 0.025, 0.5 * size[:, 1] - 0.025, 0 * now[:, 0]]
    )
    here = np.flatnonzero(present).tolist()
    return [
        (a, b)
        for k, a in enumerate(here)
        for b in here[k + 1 :]
        if abs(rows[a, 0] - rows[b, 0]) + abs(rows[a, 1] - rows[b, 1]) < 10.0 and pair_overlaps(rows[a], rows[b])
    ]
