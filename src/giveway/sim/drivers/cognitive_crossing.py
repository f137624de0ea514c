"""Two minds on straight routes that cross at a right angle: the smallest world, to judge and to compare minds in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from giveway.core.arrays import BoolArray, FloatArray
from giveway.predictors.commotions.agent import ThetaTable, pair_key
from giveway.predictors.commotions.encounter import UintArray
from giveway.predictors.commotions.kernel.agents import SLOTS
from giveway.sim.drivers.cognitive_attention import Conflicts, Snapshot
from giveway.sim.drivers.cognitive_control import DECISION_S, Rules, ride
from giveway.sim.drivers.cognitive_minds import Cognition, free_road, new_cognition

Noise = Callable[[int, int], FloatArray]
"""(decision, car) to (R, 3) draws."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approach:
    """R pairs of cars that approach a crossing; column 0 and 1 are the two cars.

    Attributes:
        front_m: (R, 2) distance of the front bumper to the shared area [m].
        speed: (R, 2) [m/s].
        area_m: (R, 2) length of the area along each route [m].
        length_m: (R, 2) of the cars [m].
        theta: (R, 2) row of the table of parameters.
        jerk: (R, 2) control of jerk.
        base_speed: (R, 2) speed of the site [m/s].
        priority: (R,) 1 car 0 has the right of way, -1 car 1, 0 nobody.
        key: (R, 2) names of the cars, for their noise.
    """

    front_m: FloatArray
    speed: FloatArray
    area_m: FloatArray
    length_m: FloatArray
    theta: ArrayLike
    jerk: ArrayLike
    base_speed: FloatArray
    priority: ArrayLike
    key: UintArray

    @property
    def half_extent(self) -> FloatArray:
        """(R, 2) c = (L + l)/2 [m]."""
        return 0.5 * (self.area_m + self.length_m)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossings:
    """What came of R approaches, at S + 1 instants 0.2 s apart.

    Attributes:
        chi: (R, S + 1, 2) distance of the centers to the middle of the area [m].
        speed: (R, S + 1, 2) [m/s].
        half_extent: (R, 2) [m].
    """

    chi: FloatArray
    speed: FloatArray
    half_extent: FloatArray

    @property
    def entry_s(self) -> FloatArray:
        """(R, 2) when each car enters the area, between instants linear; infinite if it does not [s]."""
        ahead = self.chi - self.half_extent[:, None]
        inside = (ahead < 0) & (np.arange(ahead.shape[1]) > 0)[:, None]
        enters = np.logical_or.reduce(inside, axis=1)
        index = np.where(enters, inside.argmax(axis=1), 1)
        now, before = (np.take_along_axis(ahead, (index - back)[:, None], axis=1)[:, 0] for back in (0, 1))
        part = before / np.where(before == now, 1.0, before - now)
        return np.where(enters, DECISION_S * (index - 1 + part), np.inf)

    @property
    def both_inside(self) -> BoolArray:
        """(R,) whether both are in the area at one instant."""
        inside = np.abs(self.chi) < self.half_extent[:, None]
        return np.logical_or.reduce(inside[:, :, 0] & inside[:, :, 1], axis=1)

    def first(self, car: int) -> BoolArray:
        """(R,) whether this car enters before the other; neither does at the same instant of entry."""
        entry = self.entry_s
        return np.asarray(entry[:, car] < entry[:, 1 - car])


def cross(
    approach: Approach,
    table: ThetaTable,
    *,
    rules: Rules,
    decisions: int,
    seed: int = 0,
    noise: Noise | None = None,
    threads: int = 1,
) -> Crossings:
    """Let R pairs of minds drive.

    Args:
        approach: where they come from.
        table: parameters.
        rules: how they drive.
        decisions: S, how long, in steps of 0.2 s.
        seed: of the noise.
        noise: draws instead of random ones.
        threads: that share the thinking.
    """
    num = len(approach.speed)
    cognition = minds_of(approach, table, rules, seed)
    half = approach.half_extent
    chi, speed, accel = approach.front_m + half, approach.speed, np.zeros((num, 2))
    chis, speeds = [chi], [speed]
    ahead = free_road(cognition, approach.base_speed.ravel())
    everybody = np.ones(2 * num, dtype=np.bool_)
    for decision in range(decisions):
        given = None
        if noise is not None:
            given = np.repeat(np.stack([noise(decision, car) for car in (0, 1)], axis=1).reshape(-1, 3), SLOTS, axis=0)
        accel = cognition.decide(
            _traffic(approach, chi, speed, accel),
            ahead,
            np.full(2 * num, decision),
            everybody,
            noise=given,
            threads=threads,
        ).reshape(num, 2)
        chi = chi - sum(ride(speed, accel, tick)[0] for tick in (0, 1))
        speed = ride(speed, accel, 1)[1]
        chis.append(chi)
        speeds.append(speed)
    return Crossings(chi=np.stack(chis, axis=1), speed=np.stack(speeds, axis=1), half_extent=half)


def minds_of(approach: Approach, table: ThetaTable, rules: Rules, seed: int) -> Cognition:
    """Minds of all cars, each with the conflict with the other car of its pair."""
    num = len(approach.speed)
    priority = np.broadcast_to(np.asarray(approach.priority, dtype=np.int8), num)
    areas = np.stack([0.0 * approach.area_m, approach.area_m], axis=2)  # entry and exit, the entry being place 0
    conflicts = Conflicts(
        first=np.arange(2 * num + 1),
        other=np.arange(2 * num) ^ 1,
        span=np.concatenate([areas, areas[:, ::-1]], axis=2).reshape(-1, 4),
        priority=np.stack([priority, -priority], axis=1).reshape(-1),
        merges=np.zeros(2 * num, dtype=np.bool_),
        key=pair_key(approach.key, approach.key[:, ::-1]).reshape(-1),
        waived=np.zeros(2 * num, dtype=np.bool_),
    )
    return new_cognition(
        table,
        conflicts,
        car=np.arange(2 * num),
        theta=np.broadcast_to(approach.theta, (num, 2)).ravel(),
        jerk=np.broadcast_to(approach.jerk, (num, 2)).ravel(),
        order=np.argsort(np.argsort(approach.key.ravel())),
        rules=rules,
        seed=seed,
    )


def _traffic(approach: Approach, chi: FloatArray, speed: FloatArray, accel: FloatArray) -> Snapshot:
    return Snapshot(
        s=(0.5 * approach.area_m - chi).ravel(),
        speed=speed.ravel(),
        accel=np.array(accel).ravel(),
        length=approach.length_m.ravel(),
        jerk=np.broadcast_to(np.asarray(approach.jerk, dtype=np.int64), speed.shape).ravel(),
        base_speed=approach.base_speed.ravel(),
        present=np.ones(speed.size, dtype=np.bool_),
    )
