"""Training the learned baseline on recordings: windows in, checkpoint out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import EmptySelectionError
from giveway.core.scene import Scene
from giveway.core.seeds import seed_for
from giveway.core.tracks import AgentKind, Tracks
from giveway.metrics.driving_open_loop import displacement_errors
from giveway.models.motion.gru import load_gru
from giveway.models.motion.gru_training import save_gru, train_gru
from giveway.models.motion.protocol import (
    FUTURE_STEPS,
    HISTORY_STEPS,
    MotionInputs,
    MotionPrediction,
    constant_velocity_states,
)
from giveway.sim.cases import TICK_S
from giveway.sim.prepare import resample

HELD_OUT = 10
"""One track in so many is kept for the reported error."""

MIN_WINDOWS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRules:
    """Attributes:
    epochs: passes over the windows.
    stride: frames between two windows of a track.
    seed: root of all random streams.
    """

    epochs: int = 12
    stride: int = 10
    seed: int = 0


def windows_of(tracks: Tracks, *, stride: int) -> tuple[FloatArray, FloatArray, list[str]]:
    """(N, 10, 5) histories, (N, 30, 2) futures and the track of each, of all motor vehicles without gaps."""
    if abs(tracks.dt_s - TICK_S) > 1e-6:
        tracks = resample(tracks, TICK_S)
    length = HISTORY_STEPS + FUTURE_STEPS
    states = np.concatenate([tracks.xy, tracks.velocity, tracks.heading[..., None]], axis=-1)
    histories: list[FloatArray] = []
    futures: list[FloatArray] = []
    names: list[str] = []
    for row in range(tracks.num_agents):
        if AgentKind(int(tracks.kind[row])).is_vulnerable:
            continue
        first, last = int(tracks.first[row]), int(tracks.last[row])
        for start in range(first, last - length + 2, stride):
            part = slice(start, start + length)
            if tracks.observed[row, part].all() and np.isfinite(states[row, part]).all():
                histories.append(states[row, start : start + HISTORY_STEPS])
                futures.append(states[row, start + HISTORY_STEPS : start + length, :2])
                names.append(str(tracks.ids[row]))
    if not histories:
        return np.zeros((0, HISTORY_STEPS, 5)), np.zeros((0, FUTURE_STEPS, 2)), []
    return np.stack(histories), np.stack(futures), names


def inputs_of(histories: FloatArray) -> MotionInputs:
    """Histories as a predictor is given them, without neighbors and maps."""
    count = len(histories)
    return MotionInputs(
        history=histories,
        size=np.tile([4.5, 1.8], (count, 1)),
        others=np.zeros((count, 0, HISTORY_STEPS, 5)),
        others_size=np.zeros((count, 0, 2)),
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
    """
    parts = [(scene.provenance.recording, *windows_of(scene.tracks, stride=rules.stride)) for scene in scenes]
    histories, futures = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    names = [f"{recording}/{name}" for recording, _, _, found in parts for name in found]
    if len(names) < MIN_WINDOWS:
        raise EmptySelectionError(
            "too few windows to train on",
            found=f"{len(names)} windows of 4 s, at least {MIN_WINDOWS} needed",
            hint="more recordings, or a smaller --stride",
        )
    held = np.array([seed_for(rules.seed, "held out", name) % HELD_OUT == 0 for name in names])
    if held.all() or not held.any():
        held = np.arange(len(names)) % HELD_OUT == 0
    weights = train_gru(histories[~held], futures[~held], epochs=rules.epochs, seed=rules.seed, on_step=on_step)
    save_gru(out, weights, note=f"{int((~held).sum())} windows, {rules.epochs} epochs, seed {rules.seed}")
    ours = load_gru(out).predict(inputs_of(histories[held]))
    straight = constant_velocity_states(histories[held])[:, None]
    baseline = MotionPrediction(states=straight, probability=np.ones((len(straight), 1)))
    found, simple = (_errors(prediction, futures[held]) for prediction in (ours, baseline))
    return {
        "windows": len(names),
        "held_out": int(held.sum()),
        "ade_m": found["ade"],
        "fde_m": found["fde"],
        "min_ade_m": found["min_ade"],
        "cv_ade_m": simple["ade"],
        "cv_fde_m": simple["fde"],
    }


def _errors(prediction: MotionPrediction, truth: FloatArray) -> dict[str, float]:
    known = np.ones(truth.shape[:2], dtype=np.bool_)
    errors = displacement_errors(prediction.states[..., :2], prediction.probability, truth, known)
    return {name: float(values.mean()) for name, values in errors.items()}
