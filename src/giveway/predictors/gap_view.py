"""Gap samples as the requests of a drive, and the answers as trajectories of T."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray, IntArray
from giveway.core.errors import PredictionError
from giveway.core.histories import HISTORY_STEPS, STEP_S, MotionInputs
from giveway.core.predictions import NUM_PATHS, Trajectories
from giveway.core.samples import GapInputs, GapSamples
from giveway.predictors.path_draws import cut_at_horizon
from giveway.predictors.protocol import FittedPredictor, PredictorInfo

CAR_M, PERSON_M = (4.5, 1.8), (0.6, 0.6)
"""Length and width given to motion predictors, since gap samples hold none [m]."""

MOVING_MPS = 0.5
"""Below this speed the heading of the instant before is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GapView:
    """A motion predictor on gaps, see :func:`giveway.predictors.views.as_gap`.

    Attributes:
        fitted: the motion predictor.
        info: its fact sheet as a predictor on gaps.
    """

    fitted: FittedPredictor
    info: PredictorInfo

    def fit(self, samples: GapSamples, rng: np.random.Generator) -> GapView:
        """Nothing is learned from gaps."""
        return self

    def predict(self, inputs: GapInputs, rng: np.random.Generator) -> Trajectories:
        """Trajectories of T on the grid of the samples."""
        motion = motion_inputs_of(inputs, seed=int(rng.integers(2**31)))
        found = self.fitted.predict(motion, motion.generator())
        if not isinstance(found, Trajectories):
            raise PredictionError(f"{self.info.name} gives no trajectories", found=type(found).__name__)
        steps = int(inputs.num_predict.max(initial=0))
        xy = found.on_grid(motion.history[:, -1, :2], inputs.dt_s, steps).xy
        if found.xy.shape[1] > 1:
            rows = np.arange(len(xy))[:, None]
            xy = xy[rows, _repeated(found.weights, NUM_PATHS)]
        return Trajectories(xy=cut_at_horizon(np.array(xy), inputs.num_predict), dt_s=inputs.dt_s)

    def fallbacks(self, inputs: GapInputs) -> dict[str, int]:
        """Samples whose horizon is longer than that of the predictor."""
        horizon = self.fitted.info.horizon_s
        if horizon is None:
            return {}
        beyond = int((inputs.num_predict * inputs.dt_s > horizon + 1e-9).sum())
        return {f"constant velocity beyond {horizon} s": beyond}

    def save(self, folder: Path) -> None:
        """Nothing: what the predictor has learned is in its own file."""

    def load(self, folder: Path) -> GapView:
        """Nothing to read."""
        return self


def motion_inputs_of(inputs: GapInputs, *, seed: int = 0) -> MotionInputs:
    """Gap samples as the requests of a drive: one row per sample, T first."""
    target = inputs.roles.index("T")
    order = [target, *(role for role in range(len(inputs.roles)) if role != target)]
    states, age_ticks = _states(inputs.xy[:, order], inputs.dt_s)
    vulnerable = inputs.role_is_vulnerable[order]
    size = np.where(vulnerable[:, None], PERSON_M, CAR_M)
    num = inputs.num_samples
    here = ~np.isnan(states[:, 1:, -1, 0])
    return MotionInputs(
        history=states[:, 0],
        size=np.tile(size[0], (num, 1)),
        others=states[:, 1:],
        others_size=np.where(here[..., None], size[1:], np.nan),
        road=(None,) * num,
        origin_m=np.zeros(2),
        case_ids=tuple(inputs.sample_id.tolist()),
        car_ids=("T",) * num,
        tick=np.zeros(num, dtype=np.int64),
        seed=seed,
        others_ids=(tuple(inputs.roles[role] for role in order[1:]),) * num,
        age_ticks=age_ticks,
    )


def _states(xy: FloatArray, dt_s: float) -> tuple[FloatArray, IntArray]:
    """States on the grid of a drive from positions (N, A, n_I, 2), and since when agents are known.

    Returns:
        (N, A, 10, 5) states, the oldest known one repeated; NaN where an agent is absent now; and (N, A) ticks since
        the oldest known state.
    """
    observed = min(round((xy.shape[2] - 1) * dt_s / STEP_S) + 1, HISTORY_STEPS)
    if xy.shape[2] == 1:
        xy = np.repeat(xy, 2, axis=2)
    at = np.arange(1 - HISTORY_STEPS, 1) * STEP_S / dt_s + (xy.shape[2] - 1)
    last = xy.shape[2] - 2
    before = np.clip(np.ceil(at - 1e-9).astype(np.int64) - 1, 0, last)
    share = np.clip(at - before, 0.0, 1.0)[:, None]
    first, second = xy[:, :, before], xy[:, :, before + 1]
    velocity = (second - first) / dt_s
    position = np.where(share == 1.0, second, first + share * (second - first))
    moving = np.hypot(velocity[..., 0], velocity[..., 1]) > MOVING_MPS
    heading = np.where(moving, elementary.arctan2(velocity[..., 1], velocity[..., 0]), np.nan)
    known = np.where(moving.any(axis=-1), np.argmax(moving, axis=-1), 0)[..., None]
    held = np.nan_to_num(np.take_along_axis(heading, known, axis=-1)[..., 0])
    for step in range(HISTORY_STEPS):
        held = np.where(np.isnan(heading[..., step]), held, heading[..., step])
        heading[..., step] = held
    states = np.concatenate([position, np.nan_to_num(velocity), heading[..., None]], axis=-1)
    missing = np.asarray(np.isnan(position).any(axis=-1))
    states[missing] = np.nan
    missing[..., : HISTORY_STEPS - observed] = True
    known_ticks = np.argmax(missing[..., ::-1], axis=-1)
    age = np.where(missing.any(axis=-1), known_ticks, HISTORY_STEPS) - 1
    for step in range(HISTORY_STEPS - 2, -1, -1):
        unknown = np.isnan(states[..., step, :1])
        states[..., step, :] = np.where(unknown, states[..., step + 1, :], states[..., step, :])
    return states, np.maximum(age, 0).astype(np.int64)


def _repeated(weight: FloatArray, count: int) -> IntArray:
    """(N, count) modes, each as often as its weight (N, K) says; the largest remainders are rounded up."""
    share = weight / weight.sum(axis=1, keepdims=True) * count
    times = np.floor(share).astype(np.int64)
    order = np.argsort(-(share - times), axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    times += rank < (count - times.sum(axis=1, keepdims=True))
    return (
        np.stack([np.repeat(np.arange(weight.shape[1]), row) for row in times])
        if len(times)
        else np.zeros((0, count), dtype=np.int64)
    )
