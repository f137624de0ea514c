"""From positions to what the network reads; uses samples at or before t_0 only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.errors import PredictionError
from giveway.core.samples import GapInputs
from giveway.predictors.trajectron.config import TrajectronConfig

STATE_SCALE = np.array([80.0, 80.0, 15.0, 15.0, 4.0, 4.0, np.pi, 1.0])
"""Fixed scales of (x, y, vx, vy, ax, ay, heading, heading rate), as in the published nuScenes configuration."""

VULNERABLE_STATES = 6
"""Pedestrians and cyclists have no heading and heading rate."""

MIN_DIRECTION_M = 0.1
"""A displacement over the input window shorter than this does not tell where T is heading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Inputs of N samples, in the frame the network works in.

    Attributes:
        node: (N, n_I, 8) states of T; the first ``n_I - length`` rows are zero.
        length: (N,) number of observed input steps of T, at least 1.
        vehicles: (N, n_I, 8) summed states of the vehicles around T.
        vulnerable: (N, n_I, 6) summed states of pedestrians and cyclists around T.
        num_vehicles: (N,) vehicles within the attention radius.
        num_vulnerable: (N,) pedestrians and cyclists within theirs.
        present: (N, 4) heading [rad] and speed [m/s] of T at t_0 in the network's frame, then x and y [m].
        place: (N, 3) signed distance to the acceptance boundary and the direction to it; zeros in raw coordinates.
        frame_xy: (N, 2) origin of the network's frame in the frame of the sample [m].
        frame_angle: (N,) its rotation [rad].
    """

    node: FloatArray
    length: IntArray
    vehicles: FloatArray
    vulnerable: FloatArray
    num_vehicles: IntArray
    num_vulnerable: IntArray
    present: FloatArray
    place: FloatArray
    frame_xy: FloatArray
    frame_angle: FloatArray

    def take(self, index: IntArray) -> Features:
        """Some of the samples."""
        return Features(**{name: getattr(self, name)[index] for name in self.__dataclass_fields__})


def motion_states(xy: FloatArray, dt_s: float) -> FloatArray:
    """Causal states from positions: backward differences only.

        v_j = (x_j - x_{j-1}) / dt,  a_j = (v_j - v_{j-1}) / dt,  heading = atan2(v_y, v_x)

    The first observed step of an agent copies the value of its second one; an agent that is observed once stands still.

    Args:
        xy: (..., n, 2) positions [m]; NaN where absent.
        dt_s: spacing [s].

    Returns:
        (..., n, 8) x, y, vx, vy, ax, ay, heading, heading rate; NaN where absent.
    """
    observed: BoolArray = np.asarray(~np.isnan(xy).any(axis=-1))
    velocity = backward_difference(xy, observed, dt_s)
    acceleration = backward_difference(velocity, observed, dt_s)
    heading = np.where(observed, np.arctan2(velocity[..., 1], velocity[..., 0]), np.nan)
    turn = backward_difference(unwrapped(heading)[..., None], observed, dt_s)
    return np.concatenate([xy, velocity, acceleration, heading[..., None], turn], axis=-1)


def backward_difference(values: FloatArray, observed: BoolArray, dt_s: float) -> FloatArray:
    """Backward difference within runs of observed steps; the first of a run copies the next one, a lone one is 0."""
    out = np.full(values.shape, np.nan)
    out[..., 1:, :] = np.diff(values, axis=-2) / dt_s
    previous = np.zeros_like(observed)
    previous[..., 1:] = observed[..., :-1]
    following = np.zeros_like(observed)
    following[..., :-1] = observed[..., 1:]
    shifted = np.full(values.shape, np.nan)
    shifted[..., :-1, :] = out[..., 1:, :]
    starts = observed & ~previous
    out = np.where((starts & following)[..., None], shifted, out)
    return np.where((starts & ~following)[..., None], 0.0, out)


def unwrapped(heading: FloatArray) -> FloatArray:
    """Heading without jumps of 2 pi along the last axis; NaN stays where it is and is not bridged."""
    steps = np.diff(heading, axis=-1)
    turns = np.nancumsum(np.round(steps / (2 * np.pi)), axis=-1)
    out = heading.copy()
    out[..., 1:] -= 2 * np.pi * turns
    return out


def build_features(inputs: GapInputs, config: TrajectronConfig) -> Features:
    """Inputs of the network for all samples.

    Raises:
        PredictionError: if T is not observed at t_0 in some sample.
    """
    xy = inputs.xy
    target = xy[:, 1]
    absent = np.isnan(target[:, -1]).any(axis=-1)
    if absent.any():
        first = inputs.sample_id[np.flatnonzero(absent)[0]]
        raise PredictionError(
            "Trajectron++ needs the position of the target at the prediction time",
            where=f"sample {first}",
            found=f"NaN in {int(absent.sum())} of {inputs.num_samples} samples",
            hint="drop such samples during extraction (switch nan_input)",
        )
    origin, angle = _frames(xy, inputs.dt_s, config)
    local = _rotate(xy - origin[:, None, None, :], -angle[:, None, None])
    states = motion_states(local, inputs.dt_s)
    scale = STATE_SCALE if config.standardize else np.ones(8)
    near = _neighbors(xy, inputs.role_is_vulnerable, config)
    vulnerable = inputs.role_is_vulnerable[None, :]
    sums = np.nan_to_num(states) / scale
    node = sums[:, 1]
    observed: BoolArray = np.asarray(~np.isnan(target).any(axis=-1))
    # Only the unbroken run that ends at t_0 counts as the history of T.
    length = np.where(observed.all(axis=1), observed.shape[1], observed[:, ::-1].argmin(axis=1))
    steps = np.arange(observed.shape[1])
    node = np.where((steps >= observed.shape[1] - length[:, None])[..., None], node, 0.0)
    velocity = states[:, 1, -1, 2:4]
    present = np.column_stack(
        [np.arctan2(velocity[:, 1], velocity[:, 0]), np.hypot(velocity[:, 0], velocity[:, 1]), local[:, 1, -1]]
    )
    return Features(
        node=node,
        length=length.astype(np.int64),
        vehicles=np.einsum("na,nats->nts", (near & ~vulnerable).astype(float), sums),
        vulnerable=np.einsum("na,nats->nts", (near & vulnerable).astype(float), sums[..., :VULNERABLE_STATES]),
        num_vehicles=(near & ~vulnerable).sum(axis=1),
        num_vulnerable=(near & vulnerable).sum(axis=1),
        present=present,
        place=_place(inputs, angle) if config.standardize else np.zeros((inputs.num_samples, 3)),
        frame_xy=origin,
        frame_angle=angle,
    )


def count_fallbacks(inputs: GapInputs) -> dict[str, int]:
    """Samples with incomplete inputs, by what is done about it; only those that occur.

    ``target_seen_once``: T is taken to stand; ``target_history_gap``: only the unbroken run up to t_0 is read;
    ``ego_missing``: the frame of a standing T has no direction to E and keeps that of the samples;
    ``neighbor_seen_once``: that neighbor is taken to stand; ``zero_horizon``: no position is predicted.
    """
    seen: BoolArray = np.asarray(~np.isnan(inputs.xy).any(axis=-1))
    target = seen[:, 1]
    counts = {
        "target_seen_once": target[:, -1] & (target.sum(axis=1) == 1),
        "target_history_gap": target[:, -1] & ~target.all(axis=1) & (target.sum(axis=1) > 1),
        "ego_missing": ~seen[:, 0, -1],
        "neighbor_seen_once": (seen.sum(axis=2) == 1)[:, [a for a in range(seen.shape[1]) if a != 1]].any(axis=1),
        "zero_horizon": inputs.num_predict == 0,
    }
    return {name: int(which.sum()) for name, which in counts.items() if which.any()}


def to_network(xy: FloatArray, features: Features) -> FloatArray:
    """(N, S, 2) positions from the frame of the samples to the network's."""
    return _rotate(xy - features.frame_xy[:, None, :], -features.frame_angle[:, None])


def from_network(xy: FloatArray, features: Features) -> FloatArray:
    """(N, P, S, 2) positions from the network's frame to that of the samples."""
    return _rotate(xy, features.frame_angle[:, None, None]) + features.frame_xy[:, None, None, :]


def _rotate(xy: FloatArray, angle: FloatArray) -> FloatArray:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([cos * xy[..., 0] - sin * xy[..., 1], sin * xy[..., 0] + cos * xy[..., 1]], axis=-1)


def _frames(xy: FloatArray, dt_s: float, config: TrajectronConfig) -> tuple[FloatArray, FloatArray]:
    """Origin and rotation of the network's frame; the frame of the sample itself in raw coordinates.

    The x axis points where T moves; for a standing T from T to E, so that the result turns with the scene.
    """
    num = xy.shape[0]
    if not config.standardize:
        return np.zeros((num, 2)), np.zeros(num)
    origin = xy[:, 1, -1]
    window = xy[:, 1]
    first = np.where(np.isnan(window), np.inf, window)
    index = np.isfinite(first).all(axis=-1).argmax(axis=1)
    moved = origin - window[np.arange(num), index]
    to_ego = xy[:, 0, -1] - origin
    stands = np.hypot(moved[:, 0], moved[:, 1]) < MIN_DIRECTION_M
    direction = np.where((stands & ~np.isnan(to_ego).any(axis=1))[:, None], to_ego, moved)
    return origin, np.arctan2(direction[:, 1], direction[:, 0])


def _place(inputs: GapInputs, angle: FloatArray) -> FloatArray:
    """Distance to the acceptance boundary and the unit direction in which it grows, in the network's frame."""
    target = inputs.xy[:, 1, -1]
    boundary = inputs.boundary
    distance = boundary.signed_distance(target)
    radial = target / np.maximum(np.linalg.norm(target, axis=1, keepdims=True), 1e-9)
    direction = np.where(np.isnan(boundary.radius_m)[:, None], boundary.normal, radial)
    return np.column_stack([distance / STATE_SCALE[0], _rotate(direction, -angle)])


def _neighbors(xy: FloatArray, is_vulnerable: BoolArray, config: TrajectronConfig) -> BoolArray:
    """(N, A) agents whose smallest distance to T over the input window is below the attention radius."""
    gap = np.linalg.norm(xy - xy[:, 1:2], axis=-1)
    nearest = np.where(np.isnan(gap), np.inf, gap).min(axis=-1)
    radius = np.where(is_vulnerable, config.radius_vulnerable_m, config.radius_vehicle_m)
    near = nearest < radius[None, :]
    near[:, 1] = False
    return near
