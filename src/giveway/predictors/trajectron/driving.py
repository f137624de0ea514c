"""Trajectron++ in a drive: ten past states in, K modes of thirty states with probabilities out.

The network of :mod:`giveway.predictors.trajectron` in the car's own coordinates (position and heading now), its own
velocities and headings as recorded up to now, and the cars around it summed as neighbors. Controls are held for 0.2 s,
so fifteen
decoder steps give thirty frames. Predicting needs no PyTorch.

Reference:
    T. Salzmann, B. Ivanovic, P. Chakravarty, M. Pavone, "Trajectron++: Dynamically-Feasible Trajectory Forecasting
    With Heterogeneous Data", ECCV 2020. Differs in: no map encoding; speeds do not fall below standstill.
"""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.histories import (
    FUTURE_STEPS,
    HEADING,
    HISTORY_STEPS,
    STATE_SIZE,
    STEP_S,
    VX,
    VY,
    MotionInputs,
)
from giveway.core.predictions import Trajectories
from giveway.predictors.base import HISTORY_S, HORIZON_S
from giveway.predictors.checkpoints import fingerprint_of
from giveway.predictors.protocol import PredictorInfo
from giveway.predictors.trajectron.checkpoint import Checkpoint
from giveway.predictors.trajectron.config import TrajectronConfig
from giveway.predictors.trajectron.features import STATE_SCALE, Features, backward_difference, unwrapped
from giveway.predictors.trajectron.forward import prior_and_controls

HELD_FRAMES = 2
"""Frames over which a control is constant."""

CONTROL_STEP_S = HELD_FRAMES * STEP_S
CONTROL_STEPS = FUTURE_STEPS // HELD_FRAMES


def motion_features(
    history: FloatArray, others: FloatArray, age_ticks: IntArray | None, config: TrajectronConfig
) -> Features:
    """What the network reads of R cars; nothing later than now.

    Args:
        history: (R, 10, 5) states up to now.
        others: (R, M, 10, 5) of the cars around, NaN where there is none; M may be 0.
        age_ticks: (R, 1 + M) ticks since the first known state; older frames are not used. None if all are known.
        config: attention radius.
    """
    num = len(history)
    everyone = np.concatenate([history[:, None], others], axis=1)
    if age_ticks is not None:
        unknown = np.arange(HISTORY_STEPS) < HISTORY_STEPS - 1 - age_ticks[:, : everyone.shape[1], None]
        everyone = np.where(unknown[..., None], np.nan, everyone)
    now = history[:, -1]
    states = _local_states(everyone, now)
    gap = np.linalg.norm(everyone[:, 1:, :, :2] - history[:, None, :, :2], axis=-1)
    nearest = np.where(np.isnan(gap), np.inf, gap).min(axis=-1)
    near = (nearest < config.radius_vehicle_m) & ~np.isnan(everyone[:, 1:, -1, 0])
    scaled = np.nan_to_num(states) / STATE_SCALE
    known = ~np.isnan(everyone[:, 0, :, 0])
    speed = np.cos(now[:, HEADING]) * now[:, VX] + np.sin(now[:, HEADING]) * now[:, VY]
    return Features(
        node=scaled[:, 0],
        length=known.sum(axis=1).astype(np.int64),
        vehicles=(near[..., None, None] * scaled[:, 1:]).sum(axis=1),
        vulnerable=np.zeros((num, HISTORY_STEPS, 6)),
        num_vehicles=near.sum(axis=1),
        num_vulnerable=np.zeros(num, dtype=np.int64),
        present=np.stack([np.zeros(num), speed, np.zeros(num), np.zeros(num)], axis=1),
        place=np.zeros((num, 3)),
        frame_xy=now[:, :2],
        frame_angle=now[:, HEADING],
    )


def _local_states(everyone: FloatArray, now: FloatArray) -> FloatArray:
    """(R, A, 10, 8) x, y, vx, vy, ax, ay, heading, heading rate in the frame of the car now; NaN where unknown."""
    angle = now[:, HEADING][:, None, None]
    cos, sin = np.cos(angle), np.sin(angle)
    dx, dy = (everyone[..., k] - now[:, k][:, None, None] for k in (0, 1))
    vx, vy = everyone[..., VX], everyone[..., VY]
    xy = np.stack([cos * dx + sin * dy, cos * dy - sin * dx], axis=-1)
    velocity = np.stack([cos * vx + sin * vy, cos * vy - sin * vx], axis=-1)
    observed = ~np.isnan(everyone[..., 0])
    heading = unwrapped(np.mod(everyone[..., HEADING] - angle + np.pi, 2 * np.pi) - np.pi)
    acceleration = backward_difference(velocity, observed, STEP_S)
    turn = backward_difference(heading[..., None], observed, STEP_S)
    return np.concatenate([xy, velocity, acceleration, heading[..., None], turn], axis=-1)


def unicycle_states(controls: FloatArray, heading: FloatArray, features: Features) -> FloatArray:
    """(R, K, 30, 5) states of controls (R, K, 15, 2) held for 0.2 s each, in the coordinates of the inputs.

    The exact motion for a constant heading rate w and acceleration a over a frame, see
    :mod:`giveway.predictors.trajectron.dynamics`; a car that comes to a stop stands.
    """
    shape = controls.shape[:2]
    phi = np.broadcast_to((features.frame_angle + heading)[:, None], shape)
    v = np.broadcast_to(features.present[:, 1][:, None], shape)
    x, y = (np.broadcast_to(features.frame_xy[:, k][:, None], shape) for k in (0, 1))
    lowest = np.minimum(v, 0.0)
    out = np.empty((*shape, FUTURE_STEPS, STATE_SIZE))
    for frame in range(FUTURE_STEPS):
        turn, accel = (controls[:, :, frame // HELD_FRAMES, k] for k in (0, 1))
        end = np.maximum(v + STEP_S * accel, lowest)
        alpha = STEP_S * turn
        along = 0.5 * (v + end) * STEP_S * np.sinc(alpha / (2 * np.pi))
        across = (end - v) * STEP_S * alpha / 12  # next order: alpha^3 / 480, below 1e-6 m
        middle = phi + alpha / 2
        x = x + along * np.cos(middle) - across * np.sin(middle)
        y = y + along * np.sin(middle) + across * np.cos(middle)
        phi, v = phi + alpha, end
        out[:, :, frame] = np.stack([x, y, v * np.cos(phi), v * np.sin(phi), phi], axis=-1)
    return out


REFERENCES = (
    "T. Salzmann, B. Ivanovic, P. Chakravarty, M. Pavone, Trajectron++: Dynamically-Feasible Trajectory Forecasting "
    "With Heterogeneous Data, ECCV 2020",
)


class DrivingTrajectron:
    """The network after training on recordings.

    Args:
        checkpoint: its tensors named in :func:`tensor_shapes` are used.

    Raises:
        FileFormatError: the tensors do not fit the configuration.
    """

    info = PredictorInfo(
        name="TPP",
        title="T++",
        reads=frozenset({"positions", "others"}),
        learns=True,
        history_s=HISTORY_S,
        horizon_s=HORIZON_S,
        references=REFERENCES,
    )

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.config = checkpoint.state.config
        wanted = tensor_shapes(self.config)
        checkpoint.check_shapes(wanted)
        tensors = checkpoint.tensors
        self.weights = {name: np.ascontiguousarray(tensors[name], dtype=np.float64) for name in sorted(wanted)}
        self.fingerprint = fingerprint_of(self.weights, self.config.to_json())
        """Tells checkpoints apart in result stores."""

    def predict(self, inputs: MotionInputs, rng: np.random.Generator) -> Trajectories:
        """All modes of all cars, in the order of the latent variable."""
        features = motion_features(inputs.history, inputs.others, inputs.age_ticks, self.config)
        p, controls, heading = prior_and_controls(self.weights, features, CONTROL_STEPS)
        return Trajectories.of_states(unicycle_states(controls, heading, features), p)


def tensor_shapes(config: TrajectronConfig) -> dict[str, tuple[int, ...]]:
    """Tensors that predicting needs, and their shapes."""
    size, modes, hidden, prior = config.history_size, config.num_modes, config.decoder_size, config.prior_size
    x = 2 * size + 3
    shapes: dict[str, tuple[int, ...]] = {}
    for name, states in (("history", 8), ("edge_vehicles", 16), ("edge_vulnerable", 14)):
        shapes |= {f"{name}.weight_ih_l0": (4 * size, states), f"{name}.weight_hh_l0": (4 * size, size)}
        shapes |= {f"{name}.bias_ih_l0": (4 * size,), f"{name}.bias_hh_l0": (4 * size,)}
    shapes |= {"influence_key.weight": (size, size), "influence_query.weight": (size, size)}
    shapes |= {"influence_score.weight": (1, size)}
    shapes |= {"decoder.weight_ih": (3 * hidden, modes + x + 2), "decoder.weight_hh": (3 * hidden, hidden)}
    shapes |= {"decoder.bias_ih": (3 * hidden,), "decoder.bias_hh": (3 * hidden,)}
    for name, inside, outside in (
        ("prior_hidden", x, prior),
        ("prior", prior, modes),
        ("decoder_start", modes + x, hidden),
        ("first_control", 8, 2),
        ("head", hidden, 5),
        ("heading", x + 1, 1),
    ):
        shapes |= {f"{name}.weight": (outside, inside), f"{name}.bias": (outside,)}
    return shapes
