"""A toy world with a known answer: k pursuers on a plane must touch a slower runaway.

Small enough to be solved in a minute, and shaped like the real worlds, so that learning can be tested without roads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.seeds import stream
from giveway.generate.protocol import Outcome, Scenes, Transition

TICK_S = 0.1
CAPTURE_M = 0.2
ARENA_M = 1.5
SPEED_MPS, RUNAWAY_MPS = 1.0, 0.6
STEPS = 60

Float32Array = NDArray[np.float32]


class PursuitWorlds:
    """W worlds with k pursuers each; implements :class:`giveway.generate.protocol.VectorWorlds`.

    A pursuer chooses its velocity, the runaway flees from the nearest one and is held by the walls of a square.
    Touching it ends the episode for everybody with +10; before, each pursuer gains what it comes nearer.

    Args:
        n_worlds: W.
        n_cars: k.
    """

    def __init__(self, n_worlds: int, n_cars: int = 2) -> None:
        self.n_worlds, self.n_cars = n_worlds, n_cars
        self.observation_size, self.action_size = 4 + 2 * (n_cars - 1), 2
        self.pursuers = np.zeros((n_worlds, n_cars, 2))
        self.runaway = np.zeros((n_worlds, 2))
        self.age: IntArray = np.zeros(n_worlds, dtype=np.int64)
        self.n_actions: int | None = None

    @property
    def term_weights(self):
        return {}

    def reset(self, scenes: Scenes | None = None, *, seed: int, worlds: BoolArray | None = None) -> Float32Array:
        """New places for the masked worlds, or for all of them."""
        which = np.ones(self.n_worlds, dtype=np.bool_) if worlds is None else worlds
        rng = stream(seed, "pursuit")
        places = rng.uniform(-ARENA_M, ARENA_M, (self.n_worlds, self.n_cars + 1, 2))
        self.pursuers[which] = places[which, 1:]
        self.runaway[which] = places[which, 0]
        self.age[which] = 0
        return self._observe()

    def step(self, actions: FloatArray | IntArray | Float32Array) -> Transition:
        """Everybody moves at once."""
        before = self._distances()
        speed = np.linalg.norm(actions, axis=2, keepdims=True)
        self.pursuers += TICK_S * SPEED_MPS * actions / np.maximum(speed, 1.0)
        np.clip(self.pursuers, -ARENA_M, ARENA_M, out=self.pursuers)
        nearest = self.pursuers[np.arange(self.n_worlds), before.argmin(axis=1)]
        away = self.runaway - nearest
        self.runaway += TICK_S * RUNAWAY_MPS * away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9)
        np.clip(self.runaway, -ARENA_M, ARENA_M, out=self.runaway)
        self.age += 1
        after = self._distances()
        caught = after.min(axis=1) < CAPTURE_M
        late = (self.age >= STEPS) & ~caught
        outcome = np.where(caught, Outcome.CAPTURED, np.where(late, Outcome.TIME_OUT, Outcome.RUNNING))
        shape = (self.n_worlds, self.n_cars)
        return Transition(
            observations=self._observe(),
            rewards=(before - after) + 10.0 * caught[:, None],
            terminated=np.repeat(caught[:, None], self.n_cars, axis=1),
            truncated=late,
            outcome=outcome.astype(np.int64),
            grade=np.zeros(self.n_worlds, dtype=np.int64),
            avoidable=np.zeros(self.n_worlds, dtype=np.bool_),
            terms=np.zeros((*shape, 6)),
            escape_ratio=np.ones(self.n_worlds),
            active=np.ones(shape, dtype=np.bool_),
        )

    def _distances(self) -> FloatArray:
        return np.linalg.norm(self.pursuers - self.runaway[:, None], axis=2)

    def _observe(self) -> Float32Array:
        to_runaway = self.runaway[:, None] - self.pursuers
        mates = [np.roll(self.pursuers, -j, axis=1) - self.pursuers for j in range(1, self.n_cars)]
        return np.concatenate([self.pursuers, to_runaway, *mates], axis=2).astype(np.float32)


def capture_share(
    act: Callable[[Float32Array], Float32Array], *, seed: int, n_worlds: int = 200, n_cars: int = 2
) -> float:
    """Share of episodes in which a policy touches the runaway before time is up.

    Args:
        act: from observations (W, k, o) to actions (W, k, 2).
        seed: of the starting places.
        n_worlds: episodes.
        n_cars: pursuers.
    """
    worlds = PursuitWorlds(n_worlds, n_cars)
    observations = worlds.reset(seed=seed)
    caught = np.zeros(n_worlds, dtype=np.bool_)
    for _ in range(STEPS):
        moved = worlds.step(act(observations))
        caught |= moved.terminated.any(axis=1)
        observations = moved.observations
    return float(caught.mean())
