"""A small recurrent baseline: ten states in, three modes of thirty positions out.

Positions and velocities are given in the car's own frame; the network predicts what constant velocity gets wrong, so an
untrained one *is* constant velocity. Training needs PyTorch (:mod:`giveway.predictors.gru_training`); predicting
does not: the weights are run by a compiled loop in which a car's result cannot depend on who else is in the batch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import FileFormatError
from giveway.core.histories import (
    FUTURE_STEPS,
    HEADING,
    STEP_S,
    VX,
    VY,
    MotionInputs,
    states_from_positions,
)
from giveway.core.kernels import njit
from giveway.core.predictions import Trajectories
from giveway.predictors.base import Predictor
from giveway.predictors.checkpoints import fingerprint_of, read_tensors
from giveway.predictors.windows import MotionWindows, TrainedPredictor, TrainingOptions

HIDDEN = 64
MODES = 3
FEATURES = 4
"""Position relative to now and velocity, both in the frame of the current heading."""

FORMAT = "giveway-gru-1"
SHAPES = {
    "gru.weight_ih": (3 * HIDDEN, FEATURES),
    "gru.weight_hh": (3 * HIDDEN, HIDDEN),
    "gru.bias_ih": (3 * HIDDEN,),
    "gru.bias_hh": (3 * HIDDEN,),
    "middle.weight": (HIDDEN, HIDDEN),
    "middle.bias": (HIDDEN,),
    "out.weight": (MODES * (2 * FUTURE_STEPS + 1), HIDDEN),
    "out.bias": (MODES * (2 * FUTURE_STEPS + 1),),
}
"""Tensors of a checkpoint; gates in the order reset, update, new (as PyTorch stores them)."""


def local_features(history: FloatArray) -> FloatArray:
    """(R, 10, 4) what the network sees of histories (R, 10, 5)."""
    current = history[:, -1]
    cos, sin = np.cos(current[:, HEADING])[:, None], np.sin(current[:, HEADING])[:, None]
    dx, dy = (history[..., axis] - current[:, None, axis] for axis in (0, 1))
    vx, vy = history[..., VX], history[..., VY]
    turned = [cos * dx + sin * dy, cos * dy - sin * dx, cos * vx + sin * vy, cos * vy - sin * vx]
    return np.stack(turned, axis=-1) / 10.0


class GruPredictor(Predictor, name="gru", title="GRU", learns=True):
    """A small recurrent network for drives: three modes, trained in seconds on recordings.

    Args:
        weights: tensors by name, see :data:`SHAPES`; None before training.
    """

    def __init__(self, weights: Mapping[str, FloatArray] | None = None) -> None:
        given = weights or {}
        self.weights = {name: np.ascontiguousarray(given[name], dtype=np.float64) for name in SHAPES if name in given}
        self.fingerprint = fingerprint_of(self.weights)
        """Tells checkpoints apart in result stores."""

    def load(self, folder: Path) -> GruPredictor:
        """Read a checkpoint, a file that :meth:`train` wrote.

        Raises:
            DataError: no such file.
            FileFormatError: not a checkpoint of this network.
            MissingDependencyError: without safetensors.
        """
        found, meta = read_tensors(folder)
        shapes = {name: tensor.shape for name, tensor in found.items()}
        if meta.get("format") != FORMAT or shapes != SHAPES:
            raise FileFormatError("not a checkpoint of this network", where=folder, found=json.dumps(meta)[:200])
        return GruPredictor(found)

    def train(
        self,
        windows: MotionWindows,
        held_out: MotionWindows,
        out: Path,
        options: TrainingOptions,
        on_step: Callable[[int, int, str], None] | None,
    ) -> TrainedPredictor:
        """See :func:`giveway.predictors.gru_training.train_gru_file`."""
        from giveway.predictors.gru_training import train_gru_file

        return train_gru_file(windows, out, options, on_step)

    def predict(self, inputs: MotionInputs, rng: np.random.Generator) -> Trajectories:
        """Three modes, most likely ones not first."""
        current = inputs.history[:, -1]
        raw = _forward(local_features(inputs.history), *self.weights.values())
        offsets = raw[:, : MODES * 2 * FUTURE_STEPS].reshape(-1, MODES, FUTURE_STEPS, 2)
        logits = raw[:, MODES * 2 * FUTURE_STEPS :]
        ahead = STEP_S * np.arange(1, FUTURE_STEPS + 1)[:, None]
        cos, sin = (turn(current[:, HEADING])[:, None, None] for turn in (np.cos, np.sin))
        turned = np.stack(
            [cos * offsets[..., 0] - sin * offsets[..., 1], sin * offsets[..., 0] + cos * offsets[..., 1]], -1
        )
        straight = current[:, None, :2] + ahead * current[:, None, VX : VY + 1]
        weight = np.exp(logits - logits.max(axis=1, keepdims=True)) if len(logits) else logits
        states = states_from_positions(np.repeat(current[:, None], MODES, axis=1), straight[:, None] + turned)
        return Trajectories.of_states(states, weight / weight.sum(axis=1, keepdims=True))


@njit(cache=True, nogil=True)
def _dot(weight: FloatArray, bias: FloatArray, x: FloatArray, out: FloatArray) -> None:
    for i in range(weight.shape[0]):
        total = bias[i]
        for j in range(weight.shape[1]):
            total += weight[i, j] * x[j]
        out[i] = total


@njit(cache=True, nogil=True)
def _forward(
    features: FloatArray,
    weight_ih: FloatArray,
    weight_hh: FloatArray,
    bias_ih: FloatArray,
    bias_hh: FloatArray,
    middle_w: FloatArray,
    middle_b: FloatArray,
    out_w: FloatArray,
    out_b: FloatArray,
) -> FloatArray:
    """(R, modes x 61) raw outputs, one car after the other."""
    result = np.empty((features.shape[0], out_b.size))
    hidden, middle = np.empty(HIDDEN), np.empty(HIDDEN)
    from_input, from_hidden = np.empty(3 * HIDDEN), np.empty(3 * HIDDEN)
    for r in range(features.shape[0]):
        hidden[:] = 0.0
        for k in range(features.shape[1]):
            _dot(weight_ih, bias_ih, features[r, k], from_input)
            _dot(weight_hh, bias_hh, hidden, from_hidden)
            for i in range(HIDDEN):
                reset = 1.0 / (1.0 + math.exp(-(from_input[i] + from_hidden[i])))
                update = 1.0 / (1.0 + math.exp(-(from_input[HIDDEN + i] + from_hidden[HIDDEN + i])))
                new = math.tanh(from_input[2 * HIDDEN + i] + reset * from_hidden[2 * HIDDEN + i])
                middle[i] = (1.0 - update) * new + update * hidden[i]
            hidden[:] = middle
        _dot(middle_w, middle_b, hidden, middle)
        for i in range(HIDDEN):
            middle[i] = max(middle[i], 0.0)
        _dot(out_w, out_b, middle, result[r])
    return result
