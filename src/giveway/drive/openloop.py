"""Open loop: how far predictions are from what was recorded, on the cases of a set or on windows of recordings.

Nothing is driven, so the error of a predictor does not depend on a planner. On cases every car is on replay and the
predicted cars are predicted each half second; on recordings windows of one second of history and three seconds of
future are cut from every motor vehicle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.case import Case
from giveway.core.errors import EmptySelectionError, GivewayError, UsageError
from giveway.core.histories import FUTURE_STEPS, STEP_S, VX, VY
from giveway.core.scene import Scene
from giveway.drive.document import agreements, score
from giveway.drive.experiment import RECORDED
from giveway.drive.rows import rows_of
from giveway.drive.scenes import SceneSource
from giveway.drive.spec import NamedPredictor
from giveway.drive.summary import draws_of
from giveway.drive.training import inputs_of, trained_on, windows_of
from giveway.experiments import Store
from giveway.metrics.challenge import rules_called
from giveway.metrics.likelihood import LOG_DENSITY_FLOOR, kernel_log_density
from giveway.metrics.prediction_errors import displacement_errors
from giveway.predictors.acceptance import accept
from giveway.sim.prepare import PreparedCase, prepare, with_drivers
from giveway.sim.simulation import Simulation
from giveway.sim.state import PAST, DriverCode
from giveway.stats.clusters import ClusterDraws

EVERY_TICKS = 5
"""Predictions on cases are made each half second."""
MODES = 6
"""Modes that minADE and minFDE may choose from: the most likely ones."""
BATCH = 64
COLUMNS = ("ade_m", "fde_m", "min_ade6_m", "min_fde6_m", "missed", "nll")
"""Values of a window: errors [m], whether the best of six modes misses the final position, KDE-NLL [nat]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowErrors:
    """Errors of N windows of one predictor.

    Attributes:
        unit: (N,) case or window's recording, over which windows are averaged first for intervals.
        values: (N, 6) in the order of :data:`COLUMNS`; NaN where nothing of the future is known.
        fallbacks: windows in which the prediction had to be replaced by constant velocity.
    """

    unit: tuple[str, ...]
    values: FloatArray
    fallbacks: int

    def by_unit(self) -> dict[str, FloatArray]:
        """Unit to (6,) means of its windows."""
        names = np.array(self.unit)
        return {str(name): np.nanmean(self.values[names == name], axis=0) for name in dict.fromkeys(self.unit)}


def miss_threshold_m(speed_mps: FloatArray) -> FloatArray:
    """Longitudinal tolerance at the end of a prediction: 1 m below 1.4 m/s, 2 m above 11 m/s, linear between.

    Reference:
        INTERPRET challenge, miss rate of the prediction tracks; lateral tolerance 1 m.
    """
    return 1.0 + np.clip((speed_mps - 1.4) / (11.0 - 1.4), 0.0, 1.0)


def window_values(
    xy: FloatArray, weight: FloatArray, truth: FloatArray, known: BoolArray, heading: FloatArray, speed: FloatArray
) -> FloatArray:
    """(N, 6) values of predictions, see :data:`COLUMNS`.

    Args:
        xy: (N, K, S, 2) predicted positions.
        weight: (N, K) probabilities.
        truth: (N, S, 2) what happened; anything where unknown.
        known: (N, S) where that is known.
        heading: (N,) true heading at the end.
        speed: (N,) true speed at the end.
    """
    errors = displacement_errors(xy, weight, truth, known)
    rows = np.arange(len(xy))[:, None]
    best = np.argsort(-weight, axis=1, kind="stable")[:, :MODES]
    top = xy[rows, best], weight[rows, best]
    of_six = displacement_errors(*top, truth, known)
    ended = known[:, -1]
    offset = top[0][:, :, -1] - truth[:, None, -1]
    cos, sin = np.cos(heading)[:, None], np.sin(heading)[:, None]
    along, across = offset[..., 0] * cos + offset[..., 1] * sin, offset[..., 1] * cos - offset[..., 0] * sin
    hits = (np.abs(along) <= miss_threshold_m(speed)[:, None]) & (np.abs(across) <= 1.0) & (top[1] > 0)
    missed = np.where(ended, 1.0 - hits.any(axis=1), np.nan)
    density = np.maximum(kernel_log_density(xy, truth, weight), LOG_DENSITY_FLOOR)
    count = known.sum(axis=1)
    nll = np.where(count > 0, -np.where(known, density, 0.0).sum(axis=1) / np.maximum(count, 1), np.nan)
    return np.column_stack([errors["ade"], errors["fde"], of_six["min_ade"], of_six["min_fde"], missed, nll])


def on_cases(
    predictor: NamedPredictor, cases: Sequence[Case], source: SceneSource, *, seed: int = 0
) -> tuple[WindowErrors, dict[str, str]]:
    """Errors on cases with every car on replay, and the cases that failed with their reasons.

    A batch whose predictor raises is predicted again case by case, so that only the cases at fault fail.
    """
    parts: list[tuple[list[str], FloatArray, int]] = []
    failed: dict[str, str] = {}
    ready: list[PreparedCase] = []
    for case in cases:
        try:
            made = prepare(case, source.scene_of(case))
            ready.append(with_drivers(made, DriverCode.REPLAY, everyone_replays=True))
        except GivewayError as error:
            failed[case.id] = f"{type(error).__name__}: {error.what}"
        if len(ready) == BATCH or case is cases[-1]:
            parts += _predicted(predictor, ready, failed, seed)
            ready = []
    return WindowErrors(
        unit=tuple(name for names, _, _ in parts for name in names),
        values=np.concatenate([values for _, values, _ in parts]) if parts else np.zeros((0, len(COLUMNS))),
        fallbacks=sum(count for _, _, count in parts),
    ), failed


def _predicted(
    predictor: NamedPredictor, ready: Sequence[PreparedCase], failed: dict[str, str], seed: int
) -> list[tuple[list[str], FloatArray, int]]:
    if not ready:
        return []
    try:
        return [_replayed(predictor, ready, seed)]
    except Exception as error:
        if len(ready) == 1:
            failed[ready[0].case.id] = f"{type(error).__name__}: {error}"
            return []
    return [part for one in ready for part in _predicted(predictor, [one], failed, seed)]


def _replayed(predictor: NamedPredictor, ready: Sequence[PreparedCase], seed: int) -> tuple[list[str], FloatArray, int]:
    """Names of the cases, values and number of fallbacks of all predictions of a batch."""
    simulation = Simulation(ready, seed=seed)
    names: list[str] = []
    values: list[FloatArray] = []
    fallbacks = 0
    try:
        while not simulation.done:
            if simulation.tick % EVERY_TICKS == 0:
                inputs = simulation.requests(predictor.model.info.reads)
                if inputs.num_requests:
                    accepted = accept(predictor.model.predict(inputs, inputs.generator()), inputs)
                    case, agent = simulation.waiting()
                    now = PAST + simulation.tick
                    ahead = np.arange(now + 1, now + 1 + FUTURE_STEPS)
                    future = simulation.static.rec[case[:, None], agent[:, None], ahead].copy()
                    future[..., :2] -= inputs.origin_m
                    values.append(_values(accepted.states[..., :2], accepted.probability, future))
                    names += inputs.case_ids
                    fallbacks += int(accepted.fallback.sum())
            simulation.step()
    finally:
        simulation.close()
    return names, np.concatenate(values) if values else np.zeros((0, len(COLUMNS))), fallbacks


def _values(xy: FloatArray, weight: FloatArray, future: FloatArray) -> FloatArray:
    """Values against recorded states (N, S, 5), NaN where they are not known."""
    known = np.isfinite(future[..., 0])
    end = np.nan_to_num(future[:, -1])
    truth = np.where(known[..., None], future[..., :2], 0.0)
    return window_values(xy, weight, truth, known, end[:, 4], np.hypot(end[:, VX], end[:, VY]))


def on_recordings(
    predictor: NamedPredictor, scenes: Sequence[tuple[str, Scene]], *, stride: int = 10
) -> tuple[WindowErrors, dict[str, str]]:
    """Errors on all windows of motor vehicles in recordings, and the recordings that failed with their reasons.

    Args:
        predictor: without routes and conflicts, which windows do not have.
        scenes: (recording, scene).
        stride: instants between two windows of a car.
    """
    names: list[str] = []
    values: list[FloatArray] = []
    failed: dict[str, str] = {}
    fallbacks = 0
    for recording, scene in scenes:
        windows, own = windows_of(scene.tracks, stride=stride)
        if not own:
            continue
        inputs = inputs_of(windows)
        try:
            made = accept(predictor.model.predict(inputs, inputs.generator()), inputs)
        except Exception as error:
            failed[recording] = f"{type(error).__name__}: {error}"
            continue
        future = _states(windows.future)
        values.append(_values(made.states[..., :2], made.probability, future))
        names += [recording] * len(own)
        fallbacks += int(made.fallback.sum())
    found = np.concatenate(values) if values else np.zeros((0, len(COLUMNS)))
    return WindowErrors(unit=tuple(names), values=found, fallbacks=fallbacks), failed


def _states(xy: FloatArray) -> FloatArray:
    """(N, S, 5) states of positions; speed and heading of the last step from its difference."""
    states = np.zeros((*xy.shape[:2], 5))
    states[..., :2] = xy
    step = (xy[:, -1] - xy[:, -2]) / STEP_S
    states[:, -1, VX : VY + 1] = step
    states[:, -1, 4] = elementary.arctan2(step[:, 1], step[:, 0])
    return states


def openloop_document(
    predictors: Sequence[NamedPredictor],
    measure: Callable[[NamedPredictor], tuple[WindowErrors, dict[str, str]]],
    recordings: Mapping[str, str],
    *,
    store: Store | None = None,
    metric: str = "challenge",
    progress: Callable[[int, int, str], None] = lambda done, total, current: None,
) -> dict[str, Any]:
    """Errors of all predictors with intervals over recordings.

    Args:
        predictors: whom to ask.
        measure: :func:`on_cases` or :func:`on_recordings` of one of them.
        recordings: unit (case) to recording; what is resampled.
        store: drives of the same cases, for the rank agreement of open-loop error and closed-loop score.
        metric: variant of the challenge metric of that agreement.
        progress: told (done, total, name).

    Raises:
        EmptySelectionError: no predictor could be measured on any window.
    """
    found: list[dict[str, Any]] = []
    for done, predictor in enumerate(predictors):
        progress(done, len(predictors), predictor.label)
        errors, failed = measure(predictor)
        units = errors.by_unit()
        known = trained_on(predictor)
        overlap = sorted(set(recordings.values()) & set(known))
        found.append(
            {
                "name": predictor.model.info.name,
                "variant": predictor.variant,
                "windows": len(errors.unit),
                "units": len(units),
                "failed": failed,
                "fallbacks": errors.fallbacks,
                "trained_on_these": overlap,
                **{name: float(v) for name, v in zip(COLUMNS, _nanmeans(errors.values), strict=True)},
                "intervals": _intervals(errors, recordings),
                "per_unit": {name: float(values[0]) for name, values in units.items()},
            }
        )
    if not any(row["windows"] for row in found):
        reasons = [f"{row['name']}: {reason}" for row in found for reason in list(row["failed"].values())[:1]]
        raise EmptySelectionError(
            "no window could be predicted", where="openloop", found="; ".join(reasons[:3]) or "no windows"
        )
    document: dict[str, Any] = {"predictors": found, "recordings": len(set(recordings.values()))}
    return document if store is None else {**document, "agreement": _agreement(found, store, metric)}


def _nanmeans(values: FloatArray) -> FloatArray:
    return np.nanmean(values, axis=0) if len(values) else np.full(len(COLUMNS), np.nan)


def _intervals(errors: WindowErrors, recordings: Mapping[str, str]) -> dict[str, list[float]]:
    """Interval of the mean over windows of each column, resampling recordings."""
    names = [f"{unit} {k}" for k, unit in enumerate(errors.unit)]
    if len(names) < 2:
        return {}
    draws = ClusterDraws(
        {name: recordings.get(unit, unit) for name, unit in zip(names, errors.unit, strict=True)},
        rng=np.random.default_rng(0),
        num_resamples=1000,
    )
    if draws.unit == "samples":  # fewer than five recordings; windows of one car are no samples of their own
        return {}
    means = draws.means(names, errors.values)
    return {name: [(i := draws.interval(means[:, k])).low, i.high] for k, name in enumerate(COLUMNS)}


def _agreement(found: Sequence[Mapping[str, Any]], store: Store, metric: str) -> list[dict[str, Any]]:
    """Rank agreement of open-loop ADE with the Score of the drives in a store, per planner."""
    errors = {(row["name"], row["variant"]): row["per_unit"] for row in found}
    rows = [
        row
        for row in rows_of(store)
        if row.identity.predictor != RECORDED and (row.identity.predictor, row.identity.variant) in errors
    ]
    if not rows:
        raise UsageError("the store holds no drives of these predictors", where=store.root)
    cases = {case: str(plain["recording"]) for row in rows for case, plain in row.cases.items()}
    rules = rules_called(metric)
    scored = [score(row, rules, cases) for row in rows]
    mine = [
        {case: value for case, value in errors[row.identity.predictor, row.identity.variant].items() if case in cases}
        for row in rows
    ]
    return agreements(rows, scored, draws_of(cases, cases), mine)
