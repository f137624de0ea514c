"""A chapter on the closed loop: seven predictors inform the same planner, among cars of the same kind."""

from __future__ import annotations

from pathlib import Path

from giveway.data import DATASETS
from giveway.demo.chapter import Chapter
from giveway.demo.recordings import RECORDINGS
from giveway.drive.run import run_drive
from giveway.drive.training import TrainingRules, train_on_scenes
from giveway.predictors.windows import TrainingOptions

CLOSED_FORM = ("echo", "constant_velocity", "constant_turn_rate", "constant_acceleration", "idm_along_path", "oracle")
EPOCHS = 8


def _run(root: Path, seed: int) -> None:
    adapter = DATASETS.get("interaction")
    scenes = [scene for recording in adapter.recordings(root / RECORDINGS) for scene in adapter.scenes(recording)]
    weights = root / "drive" / "gru.safetensors"
    weights.parent.mkdir(parents=True, exist_ok=True)
    train_on_scenes(scenes, weights, TrainingRules(options=TrainingOptions(epochs=EPOCHS, seed=seed)))
    run_drive(out=root / "drive" / "results", predictors=[*CLOSED_FORM, f"gru:{weights}"], seed=seed)


chapter = Chapter(name="drive", title="Closed loop", run=_run)
