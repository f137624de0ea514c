"""Maneuvers with parameters: what a search over *what is done* chooses from, on any road.

In each world one car, the *primary* one, does a maneuver against the ego; which car, which maneuver and how is a matter
of genes, so that a search varies them with the start:

| maneuver | what the car does |
|---|---|
| cut-in | gets ahead beside the ego and drifts into its path (:mod:`giveway.generate.drivers.cutting_in`) |
| braking lead | stays a set time ahead of the ego on its path, then brakes |
| late merge, entry, crossing | times its arrival where both routes meet to the ego's, then goes, priority or not |
| blocking | arrives there before the ego and stops |

The other cars *support* it or do not: by their own genes they drive as usual, or keep beside the ego so that it cannot
give way. Everything is a function of where everybody is now and of the genes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.generate.drivers.cutting_in import CutInDriver, CutInShape
from giveway.generate.driving import places
from giveway.generate.protocol import Scenes
from giveway.generate.worlds import CAR_SIZE_M, Worlds
from giveway.roads.conflicts import SHARED_M, first_shared
from giveway.roads.tables import RoadTables
from giveway.sim.bicycle import SPEED
from giveway.sim.state import LANE_S

CUT_IN, BRAKE, LATE, BLOCK = range(4)
MANEUVERS = ("cut-in", "braking lead", "late", "blocking")
"""Of the primary car; a late one is a late merge, entry or crossing as the routes have it."""

PEDAL_PER_MPS = 0.4
SUPPORTS = 0.5
"""Cars whose first gene is above this support the primary one."""
STRIDE = 4
"""Rows of a path table between the points at which two routes are compared."""


class Meeting(NamedTuple):
    """Where two routes first come together.

    Attributes:
        ego_s: (L, L) place along the first route [m]; inf where they never meet.
        car_s: (L, L) place along the second.
    """

    ego_s: FloatArray
    car_s: FloatArray


def meetings(road: RoadTables) -> Meeting:
    """First place of every pair of routes at which their center lines are closer than 2.2 m.

    Routes that begin together (a lane and itself) meet at 0.
    """
    ways = [
        np.ascontiguousarray(road.path[a : a + n : STRIDE, :2]) for a, n in zip(road.first, road.num_rows, strict=True)
    ]
    ego_s, car_s = np.full((2, len(ways), len(ways)), np.inf)
    for i, own in enumerate(ways):
        for j, other in enumerate(ways):
            at, there, _, _ = first_shared(own, other, SHARED_M)
            if at >= 0:
                ego_s[i, j], car_s[i, j] = at * STRIDE * road.step[i], there * STRIDE * road.step[j]
    return Meeting(ego_s, car_s)


def between(share: FloatArray, low: float, high: float) -> FloatArray:
    """A gene as a number of a range."""
    return low + share * (high - low)


class ManeuverDriver:
    """Cars that do what their genes say; for worlds with lateral actions.

    Genes of a car: role (the largest is the primary one; above 0.5 others support), maneuver, and five parameters.
    """

    name = "maneuver"
    genes_per_car = 7

    def __init__(self) -> None:
        self._genes = np.zeros((0, 0, 7))
        self._primary: BoolArray = np.zeros((0, 0), dtype=np.bool_)
        self._kind: IntArray = np.zeros((0, 0), dtype=np.int64)
        self._begun: BoolArray = np.zeros((0, 0), dtype=np.bool_)
        self._meet = Meeting(np.zeros((0, 0)), np.zeros((0, 0)))
        self._tables: RoadTables | None = None

    def begin(self, worlds: Worlds, scenes: Scenes, seeds: Sequence[int], genes: FloatArray) -> None:
        """Read the genes; routes are compared once per road."""
        if self._tables is not worlds.tables:
            self._tables, self._meet = worlds.tables, meetings(worlds.tables)
        self._genes = genes
        self._primary = genes[..., 0] == genes[..., 0].max(axis=1, keepdims=True)
        self._kind = np.minimum((genes[..., 1] * len(MANEUVERS)).astype(np.int64), len(MANEUVERS) - 1)
        self._begun = np.zeros(self._kind.shape, dtype=np.bool_)

    def maneuver(self, world: int) -> str:
        """Name of the maneuver of a world."""
        return MANEUVERS[int(self._kind[world][self._primary[world]][0])]

    def act(self, worlds: Worlds, observations: NDArray[np.float32], step: int) -> FloatArray:
        """What the cars do now."""
        usual = np.asarray(worlds.natural_actions(), dtype=np.float64)
        genes, state = self._genes, worlds.state
        speed, ego = state.car[:, 1 : 1 + worlds.n_cars, SPEED], state.car[:, :1, SPEED]
        where = places(worlds)
        actions = np.stack(
            [
                self._cut_in(worlds, observations),
                self._brake(usual, genes[..., 2:], speed, ego, where),
                *self._meeting(worlds, usual, genes[..., 2:], speed, ego),
            ]
        )
        chosen = np.take_along_axis(actions, self._kind[None, ..., None], axis=0)[0]
        beside = usual.copy()
        beside[..., 0] = np.clip(PEDAL_PER_MPS * (ego + np.clip(-0.5 * where[..., 0], -3.0, 3.0) - speed), -1.0, 1.0)
        beside[..., 0] = np.where(usual[..., 0] < -0.3, np.minimum(beside[..., 0], usual[..., 0]), beside[..., 0])
        others = np.where((genes[..., :1] > SUPPORTS), beside, usual)
        return np.where(self._primary[..., None], chosen, others)

    def _cut_in(self, worlds: Worlds, observations: NDArray[np.float32]) -> FloatArray:
        p = self._genes[..., 2:]
        how = CutInShape(
            slower_mps=between(p[..., 0], 0.5, 8.0),
            gap_m=between(p[..., 1], -1.5, 6.0),
            side_mps=between(p[..., 2], 0.3, 2.0),
            last_mps=between(p[..., 3], 0.3, 2.0),
            along_gain=between(p[..., 4], 0.2, 1.0),
            across_gain=np.full(p.shape[:2], 1.5),
        )
        return CutInDriver(how)(worlds, observations)

    def _brake(
        self, usual: FloatArray, p: FloatArray, speed: FloatArray, ego: FloatArray, where: FloatArray
    ) -> FloatArray:
        """Keep a headway of 0.3 to 2.5 s ahead of the ego; brake with 2.4 to 6 m/s^2 for 0.5 s to for good."""
        gap, wanted = where[..., 0] - CAR_SIZE_M[0], between(p[..., 0], 0.3, 2.5) * ego
        ahead = (gap > 0.0) & (np.abs(where[..., 1]) < 1.5)
        ready = ahead & (np.abs(gap - wanted) < between(p[..., 1], 0.5, 5.0))
        self._begun |= ready & self._primary & (self._kind == BRAKE)
        out = usual.copy()
        closing = np.clip(0.4 * (wanted - gap), -4.0, 4.0)
        out[..., 0] = np.clip(PEDAL_PER_MPS * (ego + closing - speed), -1.0, 1.0)
        out[..., 0] = np.where(usual[..., 0] < -0.3, np.minimum(out[..., 0], usual[..., 0]), out[..., 0])
        lowest = between(p[..., 2], 0.0, 1.0) * ego * (p[..., 2] > 0.3)
        hard = np.where(speed > lowest, -between(p[..., 3], 0.4, 1.0), 0.0)
        out[..., 0] = np.where(self._begun, hard, out[..., 0])
        return out

    def _meeting(
        self, worlds: Worlds, usual: FloatArray, p: FloatArray, speed: FloatArray, ego: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Arrive where both routes meet a set time before or after the ego, then go (late) or stop there (blocking)."""
        state, n = worlds.state, worlds.n_cars
        route, own = state.route[:, 1 : 1 + n], state.route[:, :1]
        left = self._meet.car_s[own, route] - state.lane[:, 1 : 1 + n, LANE_S]
        ego_left = self._meet.ego_s[own, route] - state.lane[:, :1, LANE_S]
        meets = np.isfinite(left) & (left > 0.0) & (ego_left > 0.0)
        time = np.where(meets, ego_left, 100.0) / np.maximum(ego, 1.0)
        late, block = usual.copy(), usual.copy()
        # time of arrival after the ego's bumper: from 1.5 s before to 1 s after it
        arrive = np.maximum(time + between(p[..., 0], -1.5, 1.0), 0.3)
        reach = np.clip(np.where(meets, left, 0.0) / arrive, 0.0, 1.2 * worlds.tables.limit)
        waits = between(p[..., 1], 0.0, 1.0)
        held = np.where(left > between(p[..., 2], 2.0, 15.0), reach, reach * waits)
        go = time < between(p[..., 3], 0.5, 4.0)
        pedal = np.clip(PEDAL_PER_MPS * (held - speed), -1.0, 1.0)
        late[..., 0] = np.where(meets, np.where(go, between(p[..., 4], 0.0, 1.0), pedal), usual[..., 0])
        pedal = np.clip(PEDAL_PER_MPS * (reach + 1.0 - speed), -1.0, 1.0)
        inside = np.isfinite(left) & (left <= between(p[..., 1], -4.0, 3.0)) & (left > -8.0) & (ego_left > 0.0)
        block[..., 0] = np.where(inside, -between(p[..., 3], 0.3, 1.0), np.where(meets, pedal, usual[..., 0]))
        return late, block
