"""Which recipe a model name of the benchmark stands for under a profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giveway.core.errors import UnknownNameError, UsageError
from giveway.gaps.profile import Profile
from giveway.predictors import MODELS
from giveway.predictors.protocol import Configurable, GapPredictor, Tunable, configured

TRAJECTRON = "T++"
"""Name of Trajectron++ in the published tables; two recipes stand behind it."""

TRAJECTRON_RECIPES = {("none", "per_step"): "TPP_paper", ("relative", "per_trajectory"): "TPP"}
"""Switches ``tpp_standardise`` and ``tpp_mode`` to the registered recipe."""


def model_names() -> list[str]:
    """Everything a specification may name."""
    return sorted({*MODELS.names(), TRAJECTRON})


def switches_read(name: str) -> frozenset[str]:
    """Switches of the protocol that a model reads.

    Raises:
        UnknownNameError: naming the nearest known ones.
    """
    if name == TRAJECTRON:
        return frozenset({"tpp_standardise", "tpp_mode"})
    if name not in MODELS:
        raise UnknownNameError("model", name, model_names())
    recipe = MODELS.get(name)
    return recipe.switches_read if isinstance(recipe, Configurable) else frozenset()


def recipe_for(name: str, profile: Profile, training: Mapping[str, Any] | None = None) -> GapPredictor:
    """The recipe behind a name.

    Args:
        name: of a model.
        profile: switches.
        training: settings of networks, e.g. ``{"epochs": 50}``; other models ignore them.

    Raises:
        UnknownNameError: naming the nearest known ones.
        UsageError: for a combination of switches that Trajectron++ does not offer.
        ConfigError: for a setting that a network does not have.
    """
    recipe = _recipe(name, profile)
    return recipe.tuned(training) if training and isinstance(recipe, Tunable) else recipe


def _recipe(name: str, profile: Profile) -> GapPredictor:
    if name == TRAJECTRON:
        switches = (profile.tpp_standardise, profile.tpp_mode)
        if switches not in TRAJECTRON_RECIPES:
            raise UsageError(
                "Trajectron++ comes as published or corrected, not half of each",
                where="switches",
                found=f"tpp_standardise = {switches[0]}, tpp_mode = {switches[1]}",
                hint="set both as in profile paper or both as in profile clean",
            )
        return MODELS.get(TRAJECTRON_RECIPES[switches])
    if name not in MODELS:
        raise UnknownNameError("model", name, model_names())
    return configured(MODELS.get(name), profile.model_dump())
