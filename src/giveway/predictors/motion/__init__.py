"""Predictors of where another car will be in the next three seconds."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from giveway.core.errors import UsageError
from giveway.core.registry import Registry
from giveway.predictors.motion.protocol import (
    MotionInputs,
    MotionPrediction,
    TrajectoryPredictor,
    TrajectoryPredictorInfo,
)
from giveway.predictors.motion.windows import PredictorTrainer

TRAJECTORY_PREDICTORS: Registry[Callable[..., TrajectoryPredictor]] = Registry(
    "trajectory predictor",
    {
        "echo": "giveway.predictors.motion.simple:Echo",
        "constant_velocity": "giveway.predictors.motion.simple:ConstantVelocity",
        "constant_turn_rate": "giveway.predictors.motion.simple:ConstantTurnRate",
        "oracle": "giveway.predictors.motion.simple:Oracle",
        "idm_along_path": "giveway.predictors.motion.idm_along_path:IdmAlongPath",
        "gru": "giveway.predictors.motion.gru:load_gru",
        "trajectron": "giveway.predictors.motion.trajectron:load_trajectron",
    },
    group="giveway.trajectory_predictors",
)
"""Makers of predictors by name; those that were trained take ``checkpoint=PATH``."""

PREDICTOR_TRAINERS: Registry[PredictorTrainer] = Registry(
    "predictor that can be trained",
    {
        "gru": "giveway.predictors.motion.gru_training:train_gru_file",
        "trajectron": "giveway.predictors.motion.trajectron_training:train_trajectron",
    },
    group="giveway.predictor_trainers",
)
"""How the learned ones of :data:`TRAJECTORY_PREDICTORS` are trained."""


def make_predictor(name: str, checkpoint: Path | None = None) -> TrajectoryPredictor:
    """A predictor by registered name, as ``name:FILE`` with a checkpoint, or as ``package.module:attribute``.

    Args:
        name: registered name, with a checkpoint behind a colon if it was trained; or the import path of a predictor or
            of something that makes one when called.
        checkpoint: passed on to predictors that were trained.

    Raises:
        UnknownNameError: nothing of that name.
        UsageError: an import path that does not lead to a predictor.
    """
    known, colon, file = name.partition(":")
    if colon and known in TRAJECTORY_PREDICTORS:
        name, checkpoint = known, Path(file)
    maker = _import(name) if ":" in name and name not in TRAJECTORY_PREDICTORS else TRAJECTORY_PREDICTORS.get(name)
    if isinstance(maker, TrajectoryPredictor) and not isinstance(maker, type):
        return maker
    try:
        made = maker() if checkpoint is None else maker(checkpoint=checkpoint)
    except TypeError as error:
        hint = "this predictor needs --checkpoint FILE" if checkpoint is None else "this predictor takes no checkpoint"
        raise UsageError(f"cannot make the predictor {name!r}", found=str(error), hint=hint) from error
    if not isinstance(made, TrajectoryPredictor):
        raise UsageError(
            "this is not a trajectory predictor",
            where=name,
            found=type(made).__name__,
            hint="it needs an attribute 'info' and a method 'predict'; see docs/drive/predictors.md",
        )
    return made


def _import(path: str) -> Callable[..., TrajectoryPredictor]:
    module, _, attribute = path.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError("cannot import the predictor", where=path, found=str(error)) from error


__all__ = [
    "PREDICTOR_TRAINERS",
    "TRAJECTORY_PREDICTORS",
    "MotionInputs",
    "MotionPrediction",
    "TrajectoryPredictor",
    "TrajectoryPredictorInfo",
    "make_predictor",
]
