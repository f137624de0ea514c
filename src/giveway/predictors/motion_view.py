"""Conflicts of a drive as gap samples, and the answers as motion along the route."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.errors import PredictionError
from giveway.core.histories import (
    FUTURE_STEPS,
    HEADING,
    HISTORY_STEPS,
    STATE_SIZE,
    STEP_S,
    VX,
    VY,
    MotionInputs,
    states_from_positions,
)
from giveway.core.predictions import OutputKind, Prediction, Trajectories
from giveway.core.samples import AcceptanceBoundary, GapInputs
from giveway.predictors.protocol import FittedPredictor, PredictorInfo

BRAKING_MPS2 = 2.0
"""Comfortable deceleration of a car that rejects the gap."""

FREE_M = 500.0
"""Distance to other cars where there are none, as in the L-GAP samples."""

GAP_STRIDE = 2
"""Ticks of a drive per step of a gap sample."""

MAX_GAP_STEPS = 75
"""Longest gap a model is asked about: 15 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionView:
    """A model of gap acceptance in a drive, see :func:`giveway.predictors.views.as_motion`.

    Attributes:
        fitted: the model of gap acceptance.
        info: its fact sheet as a predictor of motion.
        fingerprint: tells fitted models of the same name apart.
    """

    fitted: FittedPredictor
    info: PredictorInfo
    fingerprint: str = ""

    def predict(self, inputs: MotionInputs, rng: np.random.Generator) -> Trajectories:
        """Accepting and rejecting modes where there is a conflict, else straight on along the route."""
        speed = np.hypot(inputs.history[:, -1, VX], inputs.history[:, -1, VY])
        ahead = STEP_S * np.arange(1, FUTURE_STEPS + 1)
        timed = self.fitted.info.gives == OutputKind.TIME
        modes = 10 if timed else 2
        way = np.repeat((speed[:, None] * ahead)[:, None], modes, axis=1)
        weight = np.zeros((inputs.num_requests, modes))
        weight[:, 0] = 1.0
        reason, rows = _relevant(inputs)
        if rows.size:
            gaps = gap_inputs_of(inputs, rows)
            found = self.fitted.predict(gaps, rng)
            p, arrival = _answer(found, gaps, speed[rows], self.info.name)
            front = np.maximum(gaps.distance[:, 1, -1] - 0.5 * inputs.size[rows, 0], 0.0)
            way[rows, :-1] = _arriving(speed[rows], front, arrival, ahead)
            way[rows, -1] = _stopping(speed[rows], front, ahead)
            weight[rows, :-1] = (p / arrival.shape[1])[:, None]
            weight[rows, -1] = 1.0 - p
        states = _along(inputs, way)
        return replace(Trajectories.of_states(states, weight), fallback=reason)


def _relevant(inputs: MotionInputs) -> tuple[tuple[str, ...], IntArray]:
    """Why a row falls back to its route, and the rows that do not."""
    conflict = inputs.conflict
    if conflict is None:
        return ("no conflict is known here",) * inputs.num_requests, np.zeros(0, dtype=np.int64)
    reasons: list[str] = []
    for row in range(inputs.num_requests):
        if conflict.other[row] < 0:
            reasons.append("no conflict ahead")
        else:
            reasons.append("" if conflict.yields[row] else "the car has the right of way")
    return tuple(reasons), np.array([row for row, reason in enumerate(reasons) if not reason], dtype=np.int64)


def gap_inputs_of(inputs: MotionInputs, rows: IntArray) -> GapInputs:
    """The conflicts of some requests as gap samples: E with priority, T the car to predict, 0.2 s apart."""
    conflict = inputs.conflict
    assert conflict is not None
    pick = np.arange(HISTORY_STEPS)[::-GAP_STRIDE][::-1]
    other = conflict.other[rows]
    own, rest = inputs.history[rows], inputs.others[rows, other]
    closing = conflict.other_m[rows][:, pick]
    nearing = conflict.own_m[rows][:, pick] + 0.5 * inputs.size[rows, 0][:, None]
    constant = np.ones_like(closing)
    distance = np.stack(
        [
            closing,
            nearing,
            *(FREE_M * constant,) * 3,
            conflict.other_length_m[rows][:, None] * constant,
            conflict.own_length_m[rows][:, None] * constant,
        ],
        axis=1,
    )
    pace = np.hypot(rest[:, -1, VX], rest[:, -1, VY])
    closes = np.clip(np.maximum(closing[:, -1], 0.0) / np.maximum(pace, 0.1), 0.2, MAX_GAP_STEPS * 0.2)
    direction = np.stack([np.cos(own[:, -1, HEADING]), np.sin(own[:, -1, HEADING])], axis=1)
    zone = own[:, -1, :2] + nearing[:, -1:] * direction
    names = inputs.row_names
    return GapInputs(
        sample_id=np.array([names[row] for row in rows.tolist()]),
        roles=("E", "T"),
        role_is_vulnerable=np.zeros(2, dtype=np.bool_),
        xy=np.stack([rest[:, pick, :2], own[:, pick, :2]], axis=1),
        distance=distance,
        num_predict=np.ceil(closes / 0.2 - 1e-9).astype(np.int64),
        dt_s=GAP_STRIDE * STEP_S,
        boundary=AcceptanceBoundary(
            normal=-direction, offset_m=-(direction * zone).sum(axis=1), radius_m=np.full(len(rows), np.nan)
        ),
        closes_s=closes,
    )


def _answer(found: Prediction, gaps: GapInputs, speed: FloatArray, name: str) -> tuple[FloatArray, FloatArray]:
    """(N,) probabilities and (N, Q) times at which T reaches the area if it accepts [s]."""
    p = getattr(found, "p", None)
    if p is None:
        raise PredictionError(f"{name} gives neither a probability nor a time", found=type(found).__name__)
    on_time = np.minimum(np.maximum(gaps.distance[:, 1, -1], 0.0) / np.maximum(speed, 0.1), gaps.horizon_s)[:, None]
    quantiles = getattr(found, "quantile_s", None)
    return p, on_time if quantiles is None else np.where(np.isnan(quantiles), on_time, quantiles)


def _arriving(speed: FloatArray, distance: FloatArray, arrival: FloatArray, t: FloatArray) -> FloatArray:
    """(N, Q, S) way driven with the constant acceleration that covers the distance in the time; never backwards."""
    until = np.maximum(arrival, STEP_S)
    accel = 2.0 * (distance[:, None] - speed[:, None] * until) / until**2
    inside = np.minimum(t, until[..., None])
    final = np.maximum(speed[:, None] + accel * until, 0.0)
    way = speed[:, None, None] * inside + accel[..., None] * inside**2 / 2
    way = way + np.maximum(t - until[..., None], 0.0) * final[..., None]
    return np.maximum.accumulate(np.maximum(way, 0.0), axis=-1)


def _stopping(speed: FloatArray, distance: FloatArray, t: FloatArray) -> FloatArray:
    """(N, S) way driven at constant speed, then braking to a stop at the distance."""
    room = np.maximum(distance, 0.01)
    braking = np.maximum(BRAKING_MPS2, speed**2 / (2.0 * room))
    cruise = np.maximum(room - speed**2 / (2.0 * braking), 0.0) / np.maximum(speed, 0.1)
    after = np.clip(t - cruise[:, None], 0.0, (speed / braking)[:, None])
    return speed[:, None] * np.minimum(t, cruise[:, None]) + speed[:, None] * after - braking[:, None] * after**2 / 2


def _along(inputs: MotionInputs, way: FloatArray) -> FloatArray:
    """(R, K, 30, 5) states that far along the routes; straight on where no route is known and beyond its end."""
    now = inputs.history[:, -1]
    direction = np.stack([np.cos(now[:, HEADING]), np.sin(now[:, HEADING])], axis=1)
    if inputs.route is None:
        xy = now[:, None, None, :2] + way[..., None] * direction[:, None, None]
    else:
        route = inputs.route
        before = np.clip(way.astype(np.int64), 0, route.shape[1] - 2)
        rows = np.arange(len(route))[:, None, None]
        first, second = route[rows, before], route[rows, before + 1]
        xy = first + (way - before)[..., None] * (second - first)
    return states_from_positions(np.broadcast_to(now[:, None], (*way.shape[:2], STATE_SIZE)), xy)
