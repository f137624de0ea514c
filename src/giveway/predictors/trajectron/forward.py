"""Trajectron++ without PyTorch: the trained network as plain array operations.

Every product is one of matrices whose shape does not depend on the number of cars, so the result for a car is the same
to the last bit whoever else is in the batch.

The same computation as :class:`giveway.predictors.trajectron.network.TrajectronNetwork` in evaluation mode.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.predictors.trajectron.features import Features

Weights = Mapping[str, FloatArray]


def prior_and_controls(
    weights: Weights, features: Features, num_steps: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Probabilities and mean controls of all modes.

    Args:
        weights: tensors by name as PyTorch stores them, in double precision.
        features: of R cars.
        num_steps: T.

    Returns:
        (R, K) probabilities, (R, K, T, 2) heading rates [rad/s] and accelerations [m/s^2], (R,) corrected headings.
    """
    x = _encode(weights, features)
    hidden = np.maximum(_linear(weights, "prior_hidden", x), 0.0)
    logits = _linear(weights, "prior", hidden)
    p = np.exp(logits - logits.max(axis=1, keepdims=True)) if len(logits) else logits
    heading = features.present[:, 0]
    correction = _linear(weights, "heading", np.concatenate([x, heading[:, None]], axis=1))[:, 0]
    return p / p.sum(axis=1, keepdims=True), _decode(weights, features, x, num_steps), heading + np.tanh(correction)


def _encode(weights: Weights, features: Features) -> FloatArray:
    past = _lstm(weights, "history", features.node, features.length)
    whole = np.full(len(past), features.node.shape[1])
    edges: list[FloatArray] = []
    for name, states, count in (
        ("edge_vehicles", features.vehicles, features.num_vehicles),
        ("edge_vulnerable", features.vulnerable, features.num_vulnerable),
    ):
        output = _lstm(weights, name, np.concatenate([states, features.node], axis=2), whole)
        edges.append(output * np.minimum(count, 1.0)[:, None])
    query = _linear(weights, "influence_query", past)
    scores = [_linear(weights, "influence_score", np.tanh(_linear(weights, "influence_key", e) + query)) for e in edges]
    top = np.maximum(*scores)
    first, second = (np.exp(score - top) for score in scores)
    influence = (first * edges[0] + second * edges[1]) / (first + second)
    return np.concatenate([influence, past, features.place], axis=1)


def _decode(weights: Weights, features: Features, x: FloatArray, num_steps: int) -> FloatArray:
    modes = weights["prior.bias"].size
    w_in, w_start = weights["decoder.weight_ih"], weights["decoder_start.weight"]
    constant = _times(x, w_in[:, modes:-2]) + weights["decoder.bias_ih"]
    constant = constant[:, None, :] + w_in[:, :modes].T[None]
    h = (_times(x, w_start[:, modes:]) + weights["decoder_start.bias"])[:, None, :] + w_start[:, :modes].T[None]
    control = _linear(weights, "first_control", features.node[:, -1])
    control = np.repeat(control[:, None, :], modes, axis=1)
    w_control = np.ascontiguousarray(w_in[:, -2:].T)
    w_hidden = np.ascontiguousarray(weights["decoder.weight_hh"].T)
    w_head, b_head = np.ascontiguousarray(weights["head.weight"][:2].T), weights["head.bias"][:2]
    size = h.shape[-1]
    out = np.empty((len(x), modes, num_steps, 2))
    for step in range(num_steps):
        gates = constant + control @ w_control
        recurrent = h @ w_hidden + weights["decoder.bias_hh"]
        reset = _sigmoid(gates[..., :size] + recurrent[..., :size])
        update = _sigmoid(gates[..., size : 2 * size] + recurrent[..., size : 2 * size])
        new = np.tanh(gates[..., 2 * size :] + reset * recurrent[..., 2 * size :])
        h = new + update * (h - new)
        control = h @ w_head + b_head
        out[:, :, step] = control
    return out


def _lstm(weights: Weights, name: str, states: FloatArray, length: IntArray) -> FloatArray:
    """(R, H) output at the last step, started ``length`` steps before the end."""
    rows, steps, _ = states.shape
    size = weights[f"{name}.weight_hh_l0"].shape[1]
    h, c = np.zeros((rows, size)), np.zeros((rows, size))
    bias = weights[f"{name}.bias_ih_l0"] + weights[f"{name}.bias_hh_l0"]
    for step in range(steps):
        gates = _times(states[:, step], weights[f"{name}.weight_ih_l0"])
        gates = gates + _times(h, weights[f"{name}.weight_hh_l0"]) + bias
        enter, forget, leave = (_sigmoid(gates[:, k * size : (k + 1) * size]) for k in (0, 1, 3))
        c_new = forget * c + enter * np.tanh(gates[:, 2 * size : 3 * size])
        active = (step >= steps - length)[:, None]
        h, c = np.where(active, leave * np.tanh(c_new), h), np.where(active, c_new, c)
    return h


def _linear(weights: Weights, name: str, x: FloatArray) -> FloatArray:
    return _times(x, weights[f"{name}.weight"]) + weights.get(f"{name}.bias", 0.0)


def _times(x: FloatArray, weight: FloatArray) -> FloatArray:
    """(R, out) products of single rows with a matrix (out, in)."""
    return np.matmul(weight[None], x[:, :, None])[:, :, 0]


def _sigmoid(x: FloatArray) -> FloatArray:
    return 1.0 / (1.0 + np.exp(-x))
