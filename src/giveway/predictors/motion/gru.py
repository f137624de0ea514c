"""A small recurrent baseline: ten states in, three modes of thirty positions out.

Positions and velocities are given in the car's own frame; the network predicts what constant velocity gets wrong, so an
untrained one *is* constant velocity. Training needs PyTorch (:mod:`giveway.predictors.motion.gru_training`); predicting
does not: the weights are run by a compiled loop in which a car's result cannot depend on who else is in the batch.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import FileFormatError, UsageError
from giveway.core.kernels import njit
from giveway.predictors.motion.checkpoints import check_finite, read_tensors
from giveway.predictors.motion.protocol import (
    FUTURE_STEPS,
    HEADING,
    STEP_S,
    VX,
    VY,
    MotionInputs,
    MotionPrediction,
    TrajectoryPredictorInfo,
    states_from_positions,
)

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


class GruPredictor:
    """The trained network.

    Args:
        weights: tensors by name, see :data:`SHAPES`.
    """

    info = TrajectoryPredictorInfo(name="gru", title="GRU")

    def __init__(self, weights: dict[str, FloatArray]) -> None:
        self.weights = {name: np.ascontiguousarray(weights[name], dtype=np.float64) for name in SHAPES}
        digest = hashlib.sha256()
        for name in SHAPES:
            digest.update(self.weights[name].tobytes())
        self.fingerprint = digest.hexdigest()[:12]
        """Tells checkpoints apart in result stores."""

    def predict(self, inputs: MotionInputs) -> MotionPrediction:
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
        return MotionPrediction(
            states=states_from_positions(np.repeat(current[:, None], MODES, axis=1), straight[:, None] + turned),
            probability=weight / weight.sum(axis=1, keepdims=True),
        )


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


def load_gru(checkpoint: Path | None = None) -> GruPredictor:
    """Read a checkpoint.

    Raises:
        UsageError: no checkpoint given.
        DataError: no such file.
        FileFormatError: not a checkpoint of this network.
        MissingDependencyError: without safetensors.
    """
    if checkpoint is None:
        raise UsageError(
            "the GRU needs a checkpoint",
            found="no --checkpoint",
            hint="giveway drive train FOLDER --out gru.safetensors",
        )
    found, meta = read_tensors(checkpoint)
    shapes = {name: tensor.shape for name, tensor in found.items()}
    if meta.get("format") != FORMAT or shapes != SHAPES:
        raise FileFormatError("not a checkpoint of this network", where=checkpoint, found=json.dumps(meta)[:200])
    check_finite(found, checkpoint)
    return GruPredictor(found)
