"""Paths borrowed from similar training samples: constant velocity plus the deviation a donor really showed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.errors import PredictionError
from giveway.core.predictions import NUM_PATHS, OutputKind, Trajectories
from giveway.core.samples import GapInputs, GapSamples
from giveway.predictors.checkpoints import load_fields, save_fields
from giveway.predictors.constant_motion import continued
from giveway.predictors.path_draws import cut_at_horizon
from giveway.predictors.protocol import PredictorInfo

NUM_DONORS = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedResidualPaths:
    """Attributes:
    info: fact sheet.
    state: (M, 4) position and velocity of T at t_0 in M training samples [m, m/s].
    scale: (4,) standard deviation of ``state``.
    residual: (M, S, 2) how far T was from constant velocity at dt, 2 dt .. [m]; continued linearly behind the last
        observed step.
    num_paths: n_p.
    num_donors: how many of the most similar training samples a prediction draws from.
    """

    info: PredictorInfo
    state: FloatArray
    scale: FloatArray
    residual: FloatArray
    num_paths: int
    num_donors: int

    def predict(self, inputs: GapInputs, rng: np.random.Generator) -> Trajectories:
        """n_p paths, each with the deviation of one of the most similar donors."""
        steps = int(inputs.num_predict.max(initial=0))
        nominal = continued(inputs, steps, 1)
        residual = _extended(self.residual, steps)
        states = _state(inputs) / self.scale
        donors = self.state / self.scale
        count = min(self.num_donors, len(donors))
        xy = np.empty((inputs.num_samples, self.num_paths, steps, 2))
        for i, own in enumerate(inputs.streams(rng)):
            separation = ((donors - states[i]) ** 2).sum(axis=1)
            nearest = np.argsort(separation, kind="stable")[:count]
            drawn = nearest[own.integers(count, size=self.num_paths)]
            xy[i] = nominal[i][None] + residual[drawn]
        return Trajectories(xy=cut_at_horizon(xy, inputs.num_predict), dt_s=inputs.dt_s)

    def save(self, folder: Path) -> None:
        """States and residuals as plain arrays."""
        save_fields(folder, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualPaths:
    """Recipe: remember how every training sample deviated from constant velocity.

        x(t) = x_0 + v_0 t + r_j(t),   j drawn from the k training samples nearest in (x_0, v_0)

    A light conditional path model: fitted on accepted (rejected) samples only, it answers how T moves given that it
    accepts (rejects).

    Attributes:
        info: fact sheet.
        num_paths: n_p.
        num_donors: k.
    """

    info: PredictorInfo
    num_paths: int = NUM_PATHS
    num_donors: int = NUM_DONORS

    def fit(self, samples: GapSamples, rng: np.random.Generator) -> FittedResidualPaths:
        """Remember states and deviations of all samples with an observed step."""
        observed = samples.truth.num_observed
        state = _state(samples.inputs)
        steps = int(observed.max(initial=0))
        residual = samples.truth.future_xy[:, :steps] - continued(samples.inputs, steps, 1)
        known = np.isfinite(residual).all(axis=2) | (np.arange(steps) >= observed[:, None])
        usable = (observed > 0) & np.isfinite(state).all(axis=1) & known.all(axis=1)
        if not usable.any():
            raise PredictionError(
                f"{self.info.name} has nothing to learn from",
                where=f"{samples.dataset}, {samples.prediction_time} gaps, training part",
                found=f"{samples.num_samples} samples, none with a step after its prediction time",
                hint="use more recordings, or another prediction time",
            )
        residual = _continued_residual(residual[usable], observed[usable])
        scale = state[usable].std(axis=0)
        return FittedResidualPaths(
            info=self.info,
            state=state[usable],
            scale=np.where(scale > 1e-6, scale, 1.0),
            residual=residual,
            num_paths=self.num_paths,
            num_donors=self.num_donors,
        )

    def load(self, folder: Path) -> FittedResidualPaths:
        """Read what :meth:`FittedResidualPaths.save` wrote."""
        return load_fields(folder, FittedResidualPaths, self.info)


def _state(inputs: GapInputs) -> FloatArray:
    target = inputs.xy[:, inputs.roles.index("T")]
    return np.concatenate([target[:, -1], (target[:, -1] - target[:, -2]) / inputs.dt_s], axis=1)


def _continued_residual(residual: FloatArray, observed: IntArray) -> FloatArray:
    """Fill steps behind the last observed one with its value plus its last change per step."""
    steps = np.arange(residual.shape[1])
    rows = np.arange(len(residual))
    last = observed - 1
    value = residual[rows, last]
    before = np.where((last > 0)[:, None], residual[rows, np.maximum(last - 1, 0)], 0.0)
    beyond = value[:, None] + (value - before)[:, None] * (steps - last[:, None])[..., None]
    return np.where((steps > last[:, None])[..., None], beyond, residual)


def _extended(residual: FloatArray, steps: int) -> FloatArray:
    """(M, steps, 2): cut, or continued with the last change per step."""
    have = residual.shape[1]
    if steps <= have:
        return residual[:, :steps]
    change = residual[:, -1] - (residual[:, -2] if have > 1 else 0.0)
    more = np.arange(1, steps - have + 1)
    return np.concatenate([residual, residual[:, -1:] + change[:, None] * more[None, :, None]], axis=1)


RESIDUAL_PATHS = ResidualPaths(
    info=PredictorInfo(
        name="residual",
        title="CV_{R}",
        gives=OutputKind.TRAJECTORIES,
        reads=frozenset({"positions", "others"}),
        takes=frozenset({"gaps"}),
        learns=True,
        history_s=0.2,
        stochastic=True,
    )
)
"""Constant velocity with the deviations of similar training samples."""
