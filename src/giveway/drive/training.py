"""Training predictors on recordings: windows in, checkpoint out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.case import TICK_S
from giveway.core.checked import Expect, read_json
from giveway.core.errors import EmptySelectionError
from giveway.core.files import write_text
from giveway.core.histories import (
    FUTURE_STEPS,
    HISTORY_STEPS,
    STATE_SIZE,
    MotionInputs,
)
from giveway.core.predictions import Prediction, Trajectories
from giveway.core.scene import Scene
from giveway.core.seeds import seed_for
from giveway.core.tracks import AgentKind, Tracks
from giveway.drive.spec import NamedPredictor
from giveway.metrics.prediction_errors import displacement_errors
from giveway.predictors import trainable
from giveway.predictors.constant_motion import CONSTANT_VELOCITY
from giveway.predictors.windows import MotionWindows, TrainingOptions
from giveway.sim.prepare import resample

HELD_OUT = 10
"""One track in so many is kept for the reported error."""

MIN_WINDOWS = 64

NUM_OTHERS = 12
"""Nearest cars a window keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRules:
    """Attributes:
    kind: which predictor, ``gru`` or ``TPP``.
    stride: frames between two windows of a track.
    options: epochs, seed, device, early stopping.
    """

    kind: str = "gru"
    stride: int = 10
    options: TrainingOptions = field(default_factory=TrainingOptions)


TRAINING_FACTS = ".training.json"
"""Ending of the file beside a checkpoint that says which recordings it was trained on."""


def trained_on(predictor: NamedPredictor) -> tuple[str, ...]:
    """Recordings that a predictor was trained on by ``giveway drive train``; empty if nothing says so."""
    _, _, file = predictor.text.partition(":")
    where = predictor.checkpoint or (Path(file) if file else None)
    facts = None if where is None else where.with_name(where.name + TRAINING_FACTS)
    if facts is None or not facts.is_file():
        return ()
    found: Any = read_json(facts, limit=1 << 24, expect=Expect(what="the facts of a training"))
    return tuple(found.get("recordings", ())) if isinstance(found, dict) else ()


def windows_of(tracks: Tracks, *, stride: int) -> tuple[MotionWindows, list[str]]:
    """Windows of all motor vehicles without gaps, and the track of each."""
    if abs(tracks.dt_s - TICK_S) > 1e-6:
        tracks = resample(tracks, TICK_S)
    length = HISTORY_STEPS + FUTURE_STEPS
    states = np.concatenate([tracks.xy, tracks.velocity, tracks.heading[..., None]], axis=-1)
    states = np.where((tracks.observed & np.isfinite(states).all(axis=-1))[..., None], states, np.nan)
    motor = np.array([not AgentKind(int(kind)).is_vulnerable for kind in tracks.kind], dtype=np.bool_)
    histories: list[FloatArray] = []
    others: list[FloatArray] = []
    futures: list[FloatArray] = []
    names: list[str] = []
    for row in np.flatnonzero(motor):
        first, last = int(tracks.first[row]), int(tracks.last[row])
        for start in range(first, last - length + 2, stride):
            own = states[row, start : start + length]
            if np.isfinite(own).all():
                histories.append(own[:HISTORY_STEPS])
                futures.append(own[HISTORY_STEPS:, :2])
                others.append(_others(states, motor, int(row), start))
                names.append(str(tracks.ids[row]))
    empty = np.zeros((0, HISTORY_STEPS, STATE_SIZE))
    return MotionWindows(
        history=np.stack(histories) if histories else empty,
        others=np.stack(others) if others else empty[:, None],
        future=np.stack(futures) if futures else np.zeros((0, FUTURE_STEPS, 2)),
    ), names


def _others(states: FloatArray, motor: BoolArray, row: int, start: int) -> FloatArray:
    """(12, 10, 5) histories of the nearest cars present now, NaN where there are fewer."""
    part = states[:, start : start + HISTORY_STEPS]
    gap = np.hypot(*(part[:, -1, k] - part[row, -1, k] for k in (0, 1)))
    gap = np.where(motor & ~np.isnan(gap), gap, np.inf)
    gap[row] = np.inf
    nearest = np.argsort(gap, kind="stable")[:NUM_OTHERS]
    nearest = nearest[np.isfinite(gap[nearest])]
    out = np.full((NUM_OTHERS, HISTORY_STEPS, STATE_SIZE), np.nan)
    out[: len(nearest)] = part[nearest]
    return out


def inputs_of(windows: MotionWindows) -> MotionInputs:
    """Windows as a predictor is given them, without maps."""
    count = len(windows.history)
    return MotionInputs(
        history=windows.history,
        size=np.tile([4.5, 1.8], (count, 1)),
        others=windows.others,
        others_size=np.tile([4.5, 1.8], (*windows.others.shape[:2], 1)),
        road=(None,) * count,
        origin_m=np.zeros(2),
        case_ids=("window",) * count,
        car_ids=tuple(str(i) for i in range(count)),
        tick=np.zeros(count, dtype=np.int64),
    )


def train_on_scenes(
    scenes: Sequence[Scene],
    out: Path,
    rules: TrainingRules,
    *,
    on_step: Callable[[int, int, str], None] | None = None,
) -> dict[str, Any]:
    """Train, write the checkpoint, and report errors on tracks that were held out.

    Raises:
        EmptySelectionError: too few windows.
        UnknownNameError: no such kind of predictor.
    """
    trainer = trainable(rules.kind)
    found = [(scene.provenance.recording, *windows_of(scene.tracks, stride=rules.stride)) for scene in scenes]
    names = [f"{recording}/{name}" for recording, _, own in found for name in own]
    if len(names) < MIN_WINDOWS:
        raise EmptySelectionError(
            "too few windows to train on",
            found=f"{len(names)} windows of 4 s, at least {MIN_WINDOWS} needed",
            hint="more recordings, or a smaller --stride",
        )
    parts = [part for _, part, own in found if own]
    windows = MotionWindows(
        history=np.concatenate([part.history for part in parts]),
        others=np.concatenate([part.others for part in parts]),
        future=np.concatenate([part.future for part in parts]),
    )
    held = np.array([seed_for(rules.options.seed, "held out", name) % HELD_OUT == 0 for name in names])
    if held.all() or not held.any():
        held = np.arange(len(names)) % HELD_OUT == 0
    judge = windows.take(held)
    trained = trainer.train(windows.take(~held), judge, out, rules.options, on_step)
    used = sorted({recording for recording, _, own in found if own})
    write_text(out.with_name(out.name + TRAINING_FACTS), json.dumps({"recordings": used}, indent=1) + "\n")
    inputs = inputs_of(judge)
    errors, simple = (
        _errors(model.predict(inputs, inputs.generator()), judge.future)
        for model in (trained.predictor, CONSTANT_VELOCITY)
    )
    return {
        "kind": rules.kind,
        "windows": len(names),
        "held_out": int(held.sum()),
        "ade_m": errors["ade"],
        "fde_m": errors["fde"],
        "min_ade_m": errors["min_ade"],
        "cv_ade_m": simple["ade"],
        "cv_fde_m": simple["fde"],
        "loss": trained.loss,
        "validation_ade_m": trained.validation_ade_m,
    }


def _errors(prediction: Prediction, truth: FloatArray) -> dict[str, float]:
    assert isinstance(prediction, Trajectories)
    known = np.ones(truth.shape[:2], dtype=np.bool_)
    errors = displacement_errors(prediction.xy, prediction.weights, truth, known)
    return {name: float(values.mean()) for name, values in errors.items()}
