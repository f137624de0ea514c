"""Adaptive random testing of joint manoeuvres near the ego.

Cars within two lane widths of the ego get one manoeuvre each out of six, {right, keep, left} x {brake, go}. All 6^n
joint choices of the n near cars are compared with what is remembered; the one farthest from everything that was safe is
taken, ties go to the one nearest to what was risky. After the manoeuvre it is filed as risky if its car is still
within two lane widths, else as safe.

A remembered action carries where the car was relative to the ego, because braking is one thing ahead of the ego and
another beside it; distances compare like with like.

Reference:
    Chen, Leung and Mak 2004 (adaptive random testing); the perturbation layer of SANDWICH. Differs in: the relative
    position is part of what is compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray

PEDALS = (-2.0 / 3.0, 2.0 / 3.0)
"""Brake and go: -4 and 2 m/s^2 with the default bounds of -6 and 3 m/s^2."""

SIDES = (-1.0, 0.0, 1.0)
"""Right, keep, left."""

MANEUVERS: FloatArray = np.array([(pedal, side) for side in SIDES for pedal in PEDALS])
"""(6, 2) pedal and side of each manoeuvre."""

SCALE_M = np.array([10.0, 3.5])
"""Distances along and across that weigh as much as one action."""

DURATION = 10
"""Steps that a manoeuvre lasts."""

MAX_REMEMBERED = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """A joint manoeuvre and what became of it.

    Attributes:
        feature: per near car: position along and across relative to the ego (scaled), pedal, side.
        risky: at least one car was still near afterwards.
    """

    feature: tuple[float, ...]
    risky: bool


class Memory:
    """What was tried and what became of it, by number of near cars.

    Args:
        limit: remembered per number of cars and label; the oldest are forgotten.
    """

    def __init__(self, limit: int = MAX_REMEMBERED) -> None:
        self._limit = limit
        self._filed: dict[tuple[int, bool], list[tuple[float, ...]]] = {}

    def file(self, entry: Filed) -> None:
        """Remember one."""
        rows = self._filed.setdefault((len(entry.feature) // 4, entry.risky), [])
        rows.append(entry.feature)
        del rows[: max(0, len(rows) - self._limit)]

    def rows(self, cars: int, *, risky: bool) -> FloatArray:
        """(R, 4 n) features of that many near cars."""
        return np.array(self._filed.get((cars, risky), []), dtype=np.float64).reshape(-1, 4 * cars)

    def choose(self, places: FloatArray, rng: np.random.Generator) -> IntArray:
        """Joint manoeuvre for near cars at ``places`` (n, 2), relative to the ego along and across [m].

        Returns:
            (n,) rows of :data:`MANEUVERS`.
        """
        cars = len(places)
        joint = np.array(list(product(range(len(MANEUVERS)), repeat=cars)))
        features = joint_features(places, joint)
        far = _nearest(features, self.rows(cars, risky=False), empty=np.inf)
        best = np.flatnonzero(far >= far.max() - 1e-12)
        close = _nearest(features[best], self.rows(cars, risky=True), empty=0.0)
        best = best[np.flatnonzero(close <= close.min() + 1e-12)]
        return joint[int(best[int(rng.integers(len(best)))])]


def joint_features(places: FloatArray, joint: IntArray) -> FloatArray:
    """(J, 4 n) what is compared: scaled places and actions, car by car."""
    scaled = np.broadcast_to(places / SCALE_M, (len(joint), *places.shape))
    return np.concatenate([scaled, MANEUVERS[joint]], axis=2).reshape(len(joint), -1)


def _nearest(features: FloatArray, known: FloatArray, *, empty: float) -> FloatArray:
    if len(known) == 0:
        return np.full(len(features), empty)
    squares = (
        (features**2).sum(axis=1)[:, None] + (known**2).sum(axis=1)[None] - 2 * np.einsum("ik,jk->ij", features, known)
    )
    return np.sqrt(np.maximum(squares, 0.0)).min(axis=1)


@dataclass(slots=True)
class _Running:
    """A joint manoeuvre under way in one world."""

    cars: IntArray
    actions: FloatArray
    feature: tuple[float, ...]
    until: int


def _lists() -> list[list[Filed]]:
    return []


@dataclass(slots=True)
class Perturbation:
    """Perturbs the actions of W worlds; what happens in one never depends on the others.

    Attributes:
        memory: read during an episode, written by the caller between generations.
        near_m: distance to the ego below which a car is perturbed: two lane widths.
        rngs: one generator per world.
        triggers: (W,) joint manoeuvres begun.
        filed: per world what there is to remember, in order.
    """

    memory: Memory
    near_m: float
    rngs: list[np.random.Generator]
    triggers: IntArray = field(init=False)
    filed: list[list[Filed]] = field(default_factory=_lists)
    _running: list[_Running | None] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.rngs)
        self.triggers = np.zeros(count, dtype=np.int64)
        self.filed = [[] for _ in range(count)]
        self._running = [None] * count

    def apply(self, step: int, actions: FloatArray, places: FloatArray, driving: BoolArray) -> FloatArray:
        """Actions with the near cars' replaced.

        Args:
            step: of the episode.
            actions: (W, k, 2) pedal and side that the policy wants.
            places: (W, k, 2) of the cars relative to the ego along and across its heading [m].
            driving: (W, k) cars that take part; worlds without any are over and left to :meth:`finish`.
        """
        out = actions.copy()
        near = driving & (np.hypot(places[..., 0], places[..., 1]) < self.near_m)
        busy = np.array([running is not None for running in self._running])
        for w in np.flatnonzero(near.any(axis=1) | (busy & driving.any(axis=1))).tolist():
            running = self._running[w]
            if running is not None and step >= running.until:
                self._file(w, running, near[w])
                running = None
            if running is None and near[w].any():
                running = self._begin(w, step, np.flatnonzero(near[w]), places[w])
            self._running[w] = running
            if running is not None:
                out[w, running.cars] = running.actions
        return out

    def finish(self, places: FloatArray, present: BoolArray) -> None:
        """File what was under way when the episodes ended.

        Args:
            places: (W, k, 2) as in :meth:`apply`, at the end of each episode.
            present: (W, k) cars that were still on the road then.
        """
        near = present & (np.hypot(places[..., 0], places[..., 1]) < self.near_m)
        for w, running in enumerate(self._running):
            if running is not None:
                self._file(w, running, near[w])
                self._running[w] = None

    def _begin(self, w: int, step: int, cars: IntArray, places: FloatArray) -> _Running:
        chosen = self.memory.choose(places[cars], self.rngs[w])
        self.triggers[w] += 1
        feature = joint_features(places[cars], chosen[None])[0]
        return _Running(cars, MANEUVERS[chosen], tuple(float(v) for v in feature), step + DURATION)

    def _file(self, w: int, running: _Running, near: BoolArray) -> None:
        self.filed[w].append(Filed(feature=running.feature, risky=bool(near[running.cars].any())))
