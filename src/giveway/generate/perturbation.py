"""Small pushes to the actions of cars near the ego, at the moment that mattered, with a memory of what they changed.

A test of the search that did not fail in a way that counts, its *twin*, is driven again; up to the push every byte is
the same. From 1.5 s before its moment (the last failure, or the smallest time to collision) the near cars do

    a_i(t) + delta_i sin^2(pi (t - t_0 + 1/2) / T),     |delta_i| <= 0.3,  T = 1.5 s

clipped to [-1, 1]. What is remembered is (where the cars were, delta) and the gain over the twin: the worth of its
grade, or else a tenth of its danger. Of some candidates the one is taken that is far from what gained nothing and near
what helped; where nothing is known that is adaptive random testing.

Reference:
    Chen, Leung and Mak 2004 (adaptive random testing). The perturbation layer of SANDWICH replaces the actions of near
    cars in the last second and calls risky what is still near; that destroyed failures others had built (0.535 of tests
    fell to 0.310) and is gone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.test_result import TestResult
from giveway.generate.evaluation.results import GRADE_WORTH

LARGEST = 0.3
"""Largest norm of a push, in units of the action."""
STEPS = 15
"""Steps that a push lasts, and by which it begins before the moment that mattered."""
NEAR_LANES, REACH_LANES = 2.0, 4.0
"""Distances to the ego [lane widths]: counted as a trigger, and pushed."""
PLACE_M = np.array([10.0, 3.5])
"""Distances along and across that weigh as much as the largest push."""
CANDIDATES, AROUND, SPREAD = 24, 8, 0.1
"""Pushes drawn at random, pushes around those that helped, and their spread in units of the largest push."""
HELPS = 0.01
"""Least gain that is called help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where a test could be pushed.

    Attributes:
        begin: step at which the push begins.
        cars: learning cars that were near the ego at the moment that mattered.
        places: (n, 2) of these cars relative to the ego when the push begins, along and across [m].
    """

    begin: int
    cars: tuple[int, ...]
    places: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """A push of a test.

    Attributes:
        twin: number of the test that it changes.
        moment: of that test.
        delta: (n, 2) what is added to pedal and side of its cars.
    """

    twin: int
    moment: Moment
    delta: tuple[tuple[float, float], ...]


def worth(result: TestResult) -> float:
    """What a test is worth to the memory: that of its grade, or a tenth of its danger without a failure."""
    return GRADE_WORTH.get(result.grade, 0.0) if result.failed else 0.1 * result.danger


class Memory:
    """What was tried and whether it helped, by number of cars."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, bool], list[FloatArray]] = {}

    def file(self, push: Push, gain: float) -> None:
        """Remember a push and what it gained over its twin."""
        delta = np.array(push.delta)
        row = _features(push.moment, delta[None])[0]
        self._rows.setdefault((len(delta), gain >= HELPS), []).append(row)

    def rows(self, cars: int, *, helped: bool) -> FloatArray:
        """(R, 4 n) features of that many cars: places in units of :data:`PLACE_M`, pushes in units of the largest."""
        return np.array(self._rows.get((cars, helped), [])).reshape(-1, 4 * cars)

    def choose(self, moment: Moment, rng: np.random.Generator) -> FloatArray:
        """(n, 2) push for a moment."""
        cars = len(moment.cars)
        helped = self.rows(cars, helped=True)
        drawn = rng.uniform(-1.0, 1.0, (CANDIDATES, cars, 2))
        if len(helped):
            here = _features(moment, np.zeros((1, cars, 2)))[0]
            place = np.arange(4 * cars) % 4 < 2
            nearest = helped[np.argsort(np.abs(helped - here)[:, place].sum(axis=1), kind="stable")[:AROUND]]
            pushes = nearest[:, ~place].reshape(-1, cars, 2)
            drawn = np.concatenate([drawn, pushes + SPREAD * rng.standard_normal(pushes.shape)])
        norm = np.linalg.norm(drawn, axis=2, keepdims=True)
        drawn = LARGEST * drawn / np.maximum(norm, 1.0)
        features = _features(moment, drawn)
        score = _nearest(features, self.rows(cars, helped=False)) - _nearest(features, helped)
        return drawn[int(score.argmax())]


def _features(moment: Moment, delta: FloatArray) -> FloatArray:
    """(J, 4 n) what is compared: places and pushes, car by car."""
    places = np.broadcast_to(np.array(moment.places).reshape(-1, 2) / PLACE_M, delta.shape)
    return np.concatenate([places, delta / LARGEST], axis=2).reshape(len(delta), -1)


def _nearest(features: FloatArray, known: FloatArray) -> FloatArray:
    """Distance to the nearest known row, at most 1; 0 where nothing is known."""
    if len(known) == 0:
        return np.zeros(len(features))
    return np.minimum(np.linalg.norm(features[:, None] - known[None], axis=2).min(axis=1), 1.0)


class Perturbation:
    """Pushes the cars of W worlds and notes their moments; what happens in one never depends on the others.

    Args:
        lane_width_m: of the road.
        pushes: one per world; None leaves the world alone.

    Attributes:
        triggers: (W,) seconds, begun ones counted, with a car within two lane widths.
    """

    def __init__(self, lane_width_m: float, pushes: Sequence[Push | None]) -> None:
        self._pushes, self._lane = list(pushes), lane_width_m
        self._places: list[FloatArray] = []
        self._near = np.zeros(len(self._pushes), dtype=np.int64)
        self._worst = np.full(len(self._pushes), np.inf)
        self._at = np.full(len(self._pushes), -1)

    def apply(
        self, step: int, actions: FloatArray, places: FloatArray, driving: BoolArray, ttc_s: FloatArray
    ) -> FloatArray:
        """Actions with what is added to them.

        Args:
            step: of the episode.
            actions: (W, k, 2) that the driver wants.
            places: (W, k, 2) of the cars relative to the ego [m].
            driving: (W, k) cars that take part; none in a world that is over.
            ttc_s: (W,) smallest time to collision so far.
        """
        away = np.where(driving, np.hypot(places[..., 0], places[..., 1]), np.inf)
        self._places.append(np.where(driving[..., None], places, np.inf))
        self._near += away.min(axis=1) < NEAR_LANES * self._lane
        self._at = np.where(driving.any(axis=1) & (ttc_s < self._worst), step, self._at)
        self._worst = np.minimum(self._worst, ttc_s)
        out = actions.copy()
        for w, push in enumerate(self._pushes):
            if push is not None and 0 <= (since := step - push.moment.begin) < STEPS:
                cars, bump = list(push.moment.cars), math.sin(math.pi * (since + 0.5) / STEPS) ** 2
                added = bump * np.array(push.delta)
                out[w, cars] = np.where(added != 0.0, np.clip(out[w, cars] + added, -1.0, 1.0), out[w, cars])
        return out

    @property
    def triggers(self) -> list[int]:
        """See above."""
        return (-(-self._near // 10)).tolist()

    def moments(self, failed: BoolArray, lengths: Sequence[int]) -> list[Moment | None]:
        """Of each world; None where nothing came near.

        Args:
            failed: (W,) whether the episode ended with a failure, which is then the moment.
            lengths: (W,) steps of the episodes.
        """
        found: list[Moment | None] = []
        for w, length in enumerate(lengths):
            at = int(length) - 1 if failed[w] else int(self._at[w])
            here = self._places[at][w] if at >= 0 else np.full((1, 2), np.inf)
            cars = np.flatnonzero(np.hypot(here[:, 0], here[:, 1]) < REACH_LANES * self._lane)
            begin = max(at - STEPS, 0)
            places = [(float(x), float(y)) for x, y in self._places[begin][w][cars]] if cars.size else []
            found.append(Moment(begin=begin, cars=tuple(cars.tolist()), places=tuple(places)) if places else None)
        return found
