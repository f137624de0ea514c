"""Exploration noise and its schedule."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.generate.learning.config import LearningConfig

OU_RETURN = 0.15
"""Share by which Ornstein-Uhlenbeck noise returns to zero per step (Lillicrap et al. 2016)."""


def noise_scale(step: int, config: LearningConfig) -> float:
    """Scale of the noise after so many steps of the clock.

        scale(t) = max(floor, start decay^t)

    With the defaults 0.75 at 0, 0.454897 at 100 000, 0.061563 at 500 000, and the floor 0.01 from step 863 496 on.

    Args:
        step: environment steps, or steps of all worlds at once; see ``noise_clock``.
        config: start, decay and floor.
    """
    return max(config.noise_floor, config.noise_scale * config.noise_decay**step)


class Noise:
    """Draws noise for the actions of all worlds.

    Args:
        config: kind.
        shape: (W, k, a) of the actions.
        rng: generator.
    """

    def __init__(self, config: LearningConfig, shape: tuple[int, ...], rng: np.random.Generator) -> None:
        self._kind = config.noise
        self._shape = shape
        self._rng = rng
        self._rho = 1.0 - 1.0 / config.noise_hold
        self._state = rng.standard_normal(shape) if config.noise == "held" else np.zeros(shape)

    def draw(self, scale: float) -> FloatArray:
        """(W, k, a) noise.

        Uniform on [-scale, scale), normal with deviation ``scale``, an Ornstein-Uhlenbeck process driven by such
        normal noise, or ``scale`` times n_t = rho n_{t-1} + sqrt(1 - rho^2) xi_t, whose marginal is standard normal.
        """
        if self._kind == "held":
            fresh = self._rng.standard_normal(self._shape)
            self._state = self._rho * self._state + np.sqrt(1.0 - self._rho**2) * fresh
            return scale * self._state
        if self._kind == "uniform":
            return scale * self._rng.uniform(-1.0, 1.0, self._shape)
        normal = scale * self._rng.standard_normal(self._shape)
        if self._kind == "gaussian":
            return normal
        self._state = (1 - OU_RETURN) * self._state + normal
        return self._state.copy()

    def restart(self, worlds: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> None:
        """Forget the state of worlds whose episode ended."""
        held = self._kind == "held"
        self._state[worlds] = self._rng.standard_normal(self._state[worlds].shape) if held else 0.0
