"""Predictors of human behavior; they receive samples, never datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveway.core.registry import Registry

if TYPE_CHECKING:
    from giveway.models.protocol import GapPredictor

MODELS: Registry[GapPredictor] = Registry(
    "model",
    {},
    group="giveway.models",
)
"""Predictors of gap acceptance (recipes, not yet fitted) by name."""
