"""Which predictor a name of the benchmark stands for under a profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.errors import UnknownNameError, UsageError
from giveway.core.samples import GapSamples
from giveway.gaps.profile import Profile
from giveway.predictors import PREDICTORS, PUBLISHED, fitted_predictor, named_file, predictor_named
from giveway.predictors.checkpoints import fingerprint_of_path
from giveway.predictors.protocol import Configurable, FittedPredictor, Predictor, PredictorInfo, Tunable, configured
from giveway.predictors.views import as_gap

TRAJECTRON = "T++"
"""Name of Trajectron++ in the published tables; two predictors stand behind it."""

TRAJECTRON_RECIPES = {("none", "per_step"): "TPP_paper", ("relative", "per_trajectory"): "TPP"}
"""Switches ``tpp_standardise`` and ``tpp_mode`` to the registered predictor."""


def model_names() -> list[str]:
    """Everything a specification may name, besides ``NAME:FILE``."""
    return sorted({*PREDICTORS.names(), *PUBLISHED.values(), TRAJECTRON})


def published_name(name: str, profile: Profile) -> str:
    """The one name that stands for a predictor in cells, random streams and tables, whatever it was called.

    ``constant_velocity`` is CV, ``constant_acceleration`` CA, ``residual`` CV_residual; the Trajectron++ of the profile
    is T++. Other names, and those with a file, stay as they are.
    """
    known = PREDICTORS.canonical(name)
    switches = (profile.tpp_standardise, profile.tpp_mode)
    return TRAJECTRON if TRAJECTRON_RECIPES.get(switches) == known else PUBLISHED.get(known, known)


def switches_read(name: str) -> frozenset[str]:
    """Switches of the protocol that a predictor reads.

    Raises:
        UnknownNameError: naming the nearest known ones.
    """
    known, file = named_file(name)
    if known == TRAJECTRON:
        return frozenset({"tpp_standardise", "tpp_mode"})
    recipe = None if file is not None else _known(known)
    return recipe.switches_read if isinstance(recipe, Configurable) else frozenset()


def stream_name(info: PredictorInfo) -> str:
    """What random streams of fits and predictions are called after."""
    return PUBLISHED.get(info.name, info.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretrained:
    """A predictor that was fitted before: one file for all splits, which may have seen the test samples.

    Attributes:
        fitted: as read from the file, on gaps.
        info: its fact sheet; the version names the content of the file.
    """

    fitted: FittedPredictor
    info: PredictorInfo

    def fit(self, samples: GapSamples, rng: np.random.Generator) -> FittedPredictor:
        """Nothing is learned from the samples."""
        return self.fitted

    def load(self, folder: Path) -> FittedPredictor:
        """As it was fitted before."""
        return self.fitted


def recipe_for(name: str, profile: Profile, training: Mapping[str, Any] | None = None) -> Predictor:
    """The predictor behind a name, for gaps.

    Args:
        name: registered or published name, or ``NAME:FILE`` for one that was fitted before.
        profile: switches.
        training: settings of networks, e.g. ``{"epochs": 50}``; others ignore them.

    Raises:
        UnknownNameError: naming the nearest known ones.
        UsageError: for a combination of switches that Trajectron++ does not offer, and for a predictor that learns from
            recordings instead of gaps and comes without its file.
        ConfigError: for a setting that a network does not have.
    """
    known, file = named_file(name)
    if file is not None:
        fitted = as_gap(fitted_predictor(name))
        version = f"{fitted.info.version} {fingerprint_of_path(file)}"
        return Pretrained(fitted=fitted, info=replace(fitted.info, version=version))
    recipe = _recipe(known, profile)
    return recipe.tuned(training) if training and isinstance(recipe, Tunable) else recipe


def is_pretrained(name: str) -> bool:
    """Whether a name comes with a file of what was learned before."""
    return named_file(name)[1] is not None


def _known(name: str) -> Any:
    if ":" not in name and name not in PREDICTORS:
        raise UnknownNameError("predictor", name, model_names())
    return predictor_named(name)


def _recipe(name: str, profile: Profile) -> Predictor:
    if name == TRAJECTRON:
        switches = (profile.tpp_standardise, profile.tpp_mode)
        if switches not in TRAJECTRON_RECIPES:
            raise UsageError(
                "Trajectron++ comes as published or corrected, not half of each",
                where="switches",
                found=f"tpp_standardise = {switches[0]}, tpp_mode = {switches[1]}",
                hint="set both as in profile paper or both as in profile clean",
            )
        return PREDICTORS.get(TRAJECTRON_RECIPES[switches])
    made = _known(name)
    if made.info.learns and "gaps" not in made.info.takes:
        raise UsageError(
            f"{name} learns from recordings, not from gaps",
            where="predictors",
            found="no file",
            hint=f"train it with giveway drive train, then name the file: {name}:FILE",
        )
    return configured(as_gap(made), profile.model_dump())  # pyright: ignore[reportArgumentType]
