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
from giveway.predictors.protocol import GAP_STEP_S, FittedPredictor, PredictorInfo

BRAKING_MPS2 = 2.0
"""Comfortable deceleration of a car that lets the other one go first."""

FREE_M = 500.0
"""Distance to other cars where there are none, as in the L-GAP samples."""

GAP_STRIDE = round(GAP_STEP_S / STEP_S)
"""Ticks of a drive per step of a gap sample."""

SLOW_MPS = 0.1
"""Speed that a standing car is taken to have, so that times stay finite."""

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
        """Modes of going first and of staying behind where there is a conflict, else straight on along the route."""
        speed = np.hypot(inputs.history[:, -1, VX], inputs.history[:, -1, VY])
        ahead = STEP_S * np.arange(1, FUTURE_STEPS + 1)
        modes = 10 if self.fitted.info.gives == OutputKind.TIME else 2
        way = np.repeat((speed[:, None] * ahead)[:, None], modes, axis=1)
        weight = np.zeros((inputs.num_requests, modes))
        weight[:, 0] = 1.0
        reason, rows = _with_conflict(inputs)
        if rows.size:
            conflict = inputs.conflict
            assert conflict is not None
            gaps = gap_inputs_of(inputs, rows)
            p, arrival = _answer(self.fitted.predict(gaps, rng), gaps, self.info.name)
            is_target, front = conflict.yields[rows], np.maximum(conflict.own_m[rows, -1], 0.0)
            taking = _arriving(speed[rows], front, arrival, ahead)
            way[rows, :-1] = np.where(is_target[:, None, None], taking, way[rows, :-1])
            way[rows, -1] = _stopping(speed[rows], front, ahead)
            first = np.where(is_target, p, 1.0 - p)
            weight[rows, :-1] = (first / arrival.shape[1])[:, None]
            weight[rows, -1] = 1.0 - first
        return replace(Trajectories.of_states(_along(inputs, way), weight), fallback=reason)


def _with_conflict(inputs: MotionInputs) -> tuple[tuple[str, ...], IntArray]:
    """Why a row falls back to its route, and the rows that do not."""
    if inputs.conflict is None:
        return ("no conflict is known here",) * inputs.num_requests, np.zeros(0, dtype=np.int64)
    known = inputs.conflict.other >= 0
    return tuple("" if found else "no conflict ahead" for found in known.tolist()), np.flatnonzero(known)


def gap_inputs_of(inputs: MotionInputs, rows: IntArray) -> GapInputs:
    """The conflicts of some requests as gap samples, 0.2 s apart: T is the car that has to give way, E the other."""
    conflict = inputs.conflict
    assert conflict is not None
    pick = np.arange(HISTORY_STEPS)[::-GAP_STRIDE][::-1]
    other, is_target = conflict.other[rows], conflict.yields[rows]

    def of_e_and_t(own: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        mine = is_target.reshape(-1, *(1,) * (own.ndim - 1))
        return np.where(mine, rest, own), np.where(mine, own, rest)

    states_e, states_t = of_e_and_t(inputs.history[rows], inputs.others[rows, other])
    front_e, front_t = of_e_and_t(conflict.own_m[rows], conflict.other_m[rows])
    length_e, length_t = of_e_and_t(conflict.own_length_m[rows], conflict.other_length_m[rows])
    _, size_t = of_e_and_t(inputs.size[rows], inputs.others_size[rows, other])
    closing, nearing = front_e[:, pick], front_t[:, pick] + 0.5 * size_t[:, :1]
    constant = np.ones_like(closing)
    lengths = [length[:, None] * constant for length in (length_e, length_t)]
    pace = np.hypot(states_e[:, -1, VX], states_e[:, -1, VY])
    closes = np.clip(
        np.maximum(closing[:, -1], 0.0) / np.maximum(pace, SLOW_MPS), GAP_STEP_S, MAX_GAP_STEPS * GAP_STEP_S
    )
    heading = states_t[:, -1, HEADING]
    direction = np.stack([np.cos(heading), np.sin(heading)], axis=1)
    zone = states_t[:, -1, :2] + nearing[:, -1:] * direction
    names = inputs.row_names
    return GapInputs(
        sample_id=np.array([names[row] for row in rows.tolist()]),
        roles=("E", "T"),
        role_is_vulnerable=np.zeros(2, dtype=np.bool_),
        xy=np.stack([states_e[:, pick, :2], states_t[:, pick, :2]], axis=1),
        distance=np.stack([closing, nearing, *(FREE_M * constant,) * 3, *lengths], axis=1),
        num_predict=np.ceil(closes / GAP_STEP_S - 1e-9).astype(np.int64),
        dt_s=GAP_STEP_S,
        boundary=AcceptanceBoundary(
            normal=-direction, offset_m=-(direction * zone).sum(axis=1), radius_m=np.full(len(rows), np.nan)
        ),
        closes_s=closes,
    )


def _answer(found: Prediction, gaps: GapInputs, name: str) -> tuple[FloatArray, FloatArray]:
    """(N,) probabilities and (N, Q) times at which T reaches the area if it accepts [s]."""
    p = getattr(found, "p", None)
    if p is None:
        raise PredictionError(f"{name} gives neither a probability nor a time", found=type(found).__name__)
    step = np.maximum(gaps.distance[:, 1, -2] - gaps.distance[:, 1, -1], SLOW_MPS * GAP_STEP_S)
    on_time = np.minimum(np.maximum(gaps.distance[:, 1, -1], 0.0) / step * GAP_STEP_S, gaps.horizon_s)[:, None]
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
