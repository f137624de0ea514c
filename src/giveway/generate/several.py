"""Worlds with several planners: each drives an equal share of them, so that cars learn against all at once.

Which planner drives a world is told to the critic of MAPPO, never to the actors: attackers do not know their ego.
Worlds of one planner lie together (world w has planner ``w // (W / planners)``) instead of drawing one at each reset;
shares are the same and every batch holds all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.errors import UsageError
from giveway.generate.protocol import Scenes, Transition, egos_of
from giveway.generate.worlds import Worlds, WorldSettings

Float32Array = NDArray[np.float32]


def each_ego(settings: WorldSettings) -> list[WorldSettings]:
    """Settings with one planner each."""
    return [replace(settings, ego=ego) for ego in egos_of(settings.ego)]


class SeveralEgos:
    """W worlds, W / n for each of n planners; implements :class:`giveway.generate.protocol.VectorWorlds`.

    Args:
        settings: the planners as ``settings.ego``, joined by ``+``.
        n_worlds: W.

    Raises:
        UsageError: W is not a multiple of n.
    """

    def __init__(self, settings: WorldSettings, *, n_worlds: int) -> None:
        kinds = each_ego(settings)
        if n_worlds % len(kinds):
            raise UsageError(
                "the worlds cannot be shared out evenly",
                where="worlds",
                found=f"{n_worlds} worlds, {len(kinds)} planners",
                hint=f"use a multiple of {len(kinds)}",
            )
        self.settings = settings
        self.parts = [Worlds(kind, n_worlds=n_worlds // len(kinds)) for kind in kinds]
        self.n_worlds, self._each = n_worlds, n_worlds // len(kinds)
        self.contexts = np.repeat(np.eye(len(kinds), dtype=np.float32), self._each, axis=0)
        """(W, n) which planner drives, one-hot."""

    @property
    def n_cars(self) -> int:
        """Number of learning cars, k."""
        return self.parts[0].n_cars

    @property
    def observation_size(self) -> int:
        """Numbers that a car sees."""
        return self.parts[0].observation_size

    @property
    def action_size(self) -> int:
        """2 with continuous actions, 1 with discrete ones."""
        return self.parts[0].action_size

    @property
    def n_actions(self) -> int | None:
        """Number of discrete actions; None with continuous ones."""
        return self.parts[0].n_actions

    @property
    def term_weights(self) -> Mapping[str, float]:
        """Weight of each term of the reward."""
        return self.parts[0].term_weights

    def reset(self, scenes: Scenes | None = None, *, seed: int, worlds: BoolArray | None = None) -> Float32Array:
        """Start worlds again; see :meth:`giveway.generate.protocol.VectorWorlds.reset`."""
        chosen = np.ones(self.n_worlds, dtype=np.bool_) if worlds is None else worlds
        seen: list[Float32Array] = []
        for n, part in enumerate(self.parts):
            here = chosen[n * self._each : (n + 1) * self._each]
            first = int(chosen[: n * self._each].sum())
            given = None if scenes is None else scenes.select(slice(first, first + int(here.sum())))
            seen.append(part.reset(given, seed=seed + n, worlds=here))
        return np.concatenate(seen)

    def step(self, actions: FloatArray | IntArray) -> Transition:
        """Move every world by 0.1 s."""
        moved = [part.step(actions[self._rows(n)]) for n, part in enumerate(self.parts)]
        names = Transition.__dataclass_fields__
        return Transition(**{name: np.concatenate([getattr(one, name) for one in moved]) for name in names})

    def act(self, driver: Callable[[Worlds, Float32Array], FloatArray], seen: Float32Array) -> FloatArray:
        """Actions of a driver that looks at the worlds themselves."""
        return np.concatenate([driver(part, seen[self._rows(n)]) for n, part in enumerate(self.parts)])

    def close(self) -> None:
        """End helpers."""
        for part in self.parts:
            part.close()

    def _rows(self, n: int) -> slice:
        return slice(n * self._each, (n + 1) * self._each)


def worlds_of(settings: WorldSettings, n_worlds: int) -> Worlds | SeveralEgos:
    """Worlds with the planner, or the planners, of the settings."""
    several = len(egos_of(settings.ego)) > 1
    return SeveralEgos(settings, n_worlds=n_worlds) if several else Worlds(settings, n_worlds=n_worlds)


def mean_of(found: Sequence[Mapping[str, float]], egos: Sequence[str]) -> dict[str, float]:
    """Means of measures over planners, and each measure by planner where there are several."""
    means = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
    if len(egos) == 1:
        return means
    by_ego = {f"{name}_{ego}": one[name] for ego, one in zip(egos, found, strict=True) for name in one}
    return {**means, **{name: value for name, value in by_ego.items() if "avoidable_rate" in name}}
