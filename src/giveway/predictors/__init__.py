"""Predictors of human behavior; they receive samples, never datasets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from giveway.core.registry import Registry
from giveway.predictors.commotions.config import NAMES as COMMOTIONS

if TYPE_CHECKING:
    from giveway.predictors.protocol import GapPredictor

MODELS: Registry[GapPredictor] = Registry(
    "model",
    {
        "LR_1D": "giveway.predictors.logistic_regression:LR_1D",
        "LR_2D": "giveway.predictors.logistic_regression:LR_2D",
        "CV": "giveway.predictors.constant_motion:CV",
        "CA": "giveway.predictors.constant_motion:CA",
        "CV_residual": "giveway.predictors.residual_paths:RESIDUAL_PATHS",
        "DDM": "giveway.predictors.drift_diffusion:DDM",
        "TPP": "giveway.predictors.trajectron.predictor:TPP",
        "TPP_paper": "giveway.predictors.trajectron.predictor:TPP_PAPER",
        "TPP_small": "giveway.predictors.trajectron.predictor:TPP_SMALL",
        **{name: f"giveway.predictors.commotions.predictor:{name}" for name in COMMOTIONS},
    },
    group="giveway.predictors",
)
"""Predictors of gap acceptance (recipes, not yet fitted) by name."""

NEEDS = {"LR_": ("models",), "TPP": ("learn",), "T++": ("learn",), "CM_": ("fit/torch", "fit/botorch")}
"""Beginning of a name to the optional libraries that fitting it needs; see :mod:`giveway.core.extras`."""


def needs_of(names: Iterable[str]) -> tuple[str, ...]:
    """What some models need together; nothing for those of others, who look after themselves."""
    return tuple(need for name in names for start, needs in NEEDS.items() if name.startswith(start) for need in needs)
