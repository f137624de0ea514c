"""How far simulated decisions are from observed ones."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.predictors.commotions.config import Configuration, Switches
from giveway.predictors.commotions.encounter import Encounters
from giveway.predictors.commotions.simulation import Simulation

WRONG_DECISION = 4.0  # s², weight of a wrong decision against squared time errors
SPREAD_CAP = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSet:
    """What is known of N encounters.

    Attributes:
        encounters: initial states.
        accepted: (N,) whether T accepted.
        t_accept_s: (N,) when it did, from t_0; not read where rejected.
    """

    encounters: Encounters
    accepted: BoolArray
    t_accept_s: FloatArray

    def fingerprint(self) -> str:
        """SHA-256 over every number, for provenance and for recognizing a fit that is resumed."""
        digest = hashlib.sha256()
        e = self.encounters
        times = np.where(self.accepted, self.t_accept_s, 0.0)
        closes = e.horizon_s if e.closes_s is None else e.closes_s
        for array in (e.chi, e.v, e.half_extent, e.num_steps, closes, e.key, self.accepted, times):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Mean over paths of the summed loss, and the standard error of that mean."""

    mean: float
    error: float


def path_losses(simulation: Simulation, training: TrainingSet, config: Configuration, switches: Switches) -> FloatArray:
    """(n_p,) loss of every path, summed over samples (6.1, 6.2).

        ℓ₁ = 4 |a - A| + (t_A - t̂)² if a = 1, max(0, T_out - t̂)² if a = 0
        ℓ₂ = ℓ₁ + (10 s - 1)²,   s = min(std_p(t̂)/T_out, 0.1)

    ``spread_term = "absolute"`` takes std_p(t̂) itself, as printed. The spread of a single path is 0.
    """
    accepted, t_hat = simulation.accepted, simulation.t_accept_s
    truth, horizon = training.accepted[:, None], training.encounters.horizon_s[:, None]
    late = (np.where(truth, training.t_accept_s[:, None], 0.0) - t_hat) ** 2
    early = np.maximum(0.0, horizon - t_hat) ** 2
    total = (WRONG_DECISION * (truth != accepted) + np.where(truth, late, early)).sum(axis=0)
    if config.loss == 2:
        spread = t_hat.std(axis=1, ddof=1) if t_hat.shape[1] > 1 else np.zeros(t_hat.shape[0])
        if switches.spread_term == "relative":
            horizon = horizon[:, 0]
            spread = np.minimum(np.where(horizon > 0, spread / np.where(horizon > 0, horizon, 1.0), 0.0), SPREAD_CAP)
        total = total + ((10 * spread - 1) ** 2).sum()
    return total


def loss_of(losses: FloatArray) -> Loss:
    """Mean and standard error over paths (sample standard deviation; 0 for a single path)."""
    error = losses.std(ddof=1) / np.sqrt(len(losses)) if len(losses) > 1 else 0.0
    return Loss(mean=float(losses.mean()), error=float(error))
