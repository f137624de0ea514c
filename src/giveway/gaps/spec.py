"""What a benchmark run consists of, as a validated value; a TOML file or a preset becomes one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from giveway.core.errors import GivewayError, UsageError
from giveway.core.extras import require
from giveway.core.predictions import OutputKind
from giveway.data import DATASETS
from giveway.experiments.specs import config_error
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.prediction_time import CHOICES, Choice, choice_named
from giveway.gaps.profile import Profile, profile_named
from giveway.gaps.recipes import is_pretrained, recipe_for
from giveway.gaps.splits import SPLITS
from giveway.metrics import find_metric
from giveway.predictors import needs_of
from giveway.synth import SYNTHESIZERS


class Relaxation(BaseModel):
    """Cells in which t_0 is moved up to where the history suffices.

    Attributes:
        dataset, t0, n_input: which cells.
        n_input_max: input length their samples must support instead of the common one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: str
    t0: Choice
    n_input: int = Field(ge=1, le=100)
    n_input_max: int = Field(ge=1, le=100)


class SyntheticData(BaseModel):
    """Recordings to be generated when no data root is given.

    Attributes:
        count: trials, recordings, participants; the default of the generator if None.
        minutes: length of a recording.
        seed: of the generator.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    count: int | None = Field(default=None, ge=1)
    minutes: float | None = Field(default=None, gt=0)
    seed: int = 0


class MissingCell(BaseModel):
    """A combination that the published grid leaves out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: str
    t0: Choice
    n_input: tuple[int, ...] = ()


class RunSpec(BaseModel):
    """A grid of cells: datasets, prediction times, input lengths, splits, models.

    Attributes:
        profile: ``clean`` or ``paper``.
        switches: single switches that differ from the profile.
        datasets: names of extractions.
        t0: prediction times.
        n_input: input lengths n_I.
        n_input_max: input length every sample must support.
        splits: name to number of repetitions.
        models: names of predictors.
        metrics: names; those that suit the prediction time if empty.
        conditional_paths: path model that fills in paths for models that give none.
        training: settings of networks that differ from their defaults, e.g. ``epochs``, ``patience``.
        relaxed: cells with relaxed admission; ``True`` for all of them.
        missing: cells left out.
        min_samples, min_class: smallest sample set that is evaluated, in total and per class.
        synthetic: generated data by dataset adapter, for those without a data root.
        seed: root of all random streams.
        allow_occlusion: read datasets that were recorded from a moving car.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    profile: str = "clean"
    switches: dict[str, Any] = Field(default_factory=dict)
    datasets: tuple[str, ...] = Field(min_length=1)
    t0: tuple[Choice, ...] = CHOICES
    n_input: tuple[int, ...] = Field(default=(2,), min_length=1)
    n_input_max: int = Field(default=8, ge=1, le=100)
    splits: dict[str, int] = Field(default_factory=lambda: {"random": 10, "critical": 1})
    models: tuple[str, ...] = Field(min_length=1)
    metrics: tuple[str, ...] = ()
    conditional_paths: str = "CV_residual"
    training: dict[str, Any] = Field(default_factory=dict)
    relaxed: tuple[Relaxation, ...] = ()
    missing: tuple[MissingCell, ...] = ()
    min_samples: int = Field(default=100, ge=2)
    min_class: int = Field(default=5, ge=1)
    synthetic: dict[str, SyntheticData] = Field(default_factory=dict)
    seed: int = 0
    allow_occlusion: bool = False

    @field_validator("relaxed", mode="before")
    @classmethod
    def _all_relaxed(cls, value: Any, info: ValidationInfo) -> Any:
        """``true``: every cell, with the common ``n_input_max``."""
        known = info.data
        if value is not True or not {"datasets", "t0", "n_input", "n_input_max"} <= set(known):
            return () if value is False else value
        cells = itertools.product(known["datasets"], known["t0"], known["n_input"])
        return tuple(
            Relaxation(dataset=dataset, t0=t0, n_input=n, n_input_max=known["n_input_max"]) for dataset, t0, n in cells
        )

    def rules(self) -> Profile:
        """The profile with its switches."""
        try:
            return profile_named(self.profile).with_switches(**self.switches)
        except ValidationError as error:
            raise config_error(error, Profile, "switches") from error

    def adapters(self) -> list[str]:
        """Dataset adapters the grid reads, sorted."""
        return sorted({EXTRACTIONS.get(name).info.dataset for name in self.datasets})


def spec_from(values: Mapping[str, Any], *, where: str) -> RunSpec:
    """Validate plain values, names included.

    Raises:
        ConfigError: naming the key, and the nearest known one.
        UnknownNameError: for a dataset, model, split or metric that is not registered.
        UsageError: for combinations that could never work.
    """
    try:
        spec = RunSpec(**values)
    except ValidationError as error:
        for name in values.get("t0", ()) if isinstance(values.get("t0"), list | tuple) else ():
            choice_named(str(name))
        raise config_error(error, RunSpec, where) from error
    try:
        _check_names(spec)
    except GivewayError as error:
        error.where = error.where or where
        raise
    return spec


def check_occlusion(name: str, *, allow: bool) -> None:
    """Refuse an extraction whose recordings come from a moving car, unless the user has allowed it.

    Raises:
        UsageError: saying why.
    """
    info = DATASETS.get(EXTRACTIONS.get(name).info.dataset).info
    if info.is_occluded and not allow:
        raise UsageError(
            f"{info.title} is recorded from a moving car: an empty road may be one that it did not see",
            where=f"dataset {name}",
            found="a gap needs everybody who has priority to be recorded",
            hint="to take what was seen for all there was: --allow-occlusion, or allow_occlusion = true in the file",
        )


def _check_names(spec: RunSpec) -> None:
    profile = spec.rules()
    for name in (*spec.datasets, *(entry.dataset for entry in (*spec.missing, *spec.relaxed))):
        EXTRACTIONS.get(name)
    for name in spec.datasets:
        check_occlusion(name, allow=spec.allow_occlusion)
    for name in spec.synthetic:
        SYNTHESIZERS.get(name)
    for name, repetitions in spec.splits.items():
        limit = SPLITS.get(name).info.repetitions
        if repetitions < 1 or (limit is not None and repetitions > limit):
            raise UsageError(
                f"the split {name!r} cannot be repeated {repetitions} times",
                where="splits",
                found=repetitions,
                hint=f"use 1 to {limit}" if limit else "use at least 1",
            )
    for name in spec.metrics:
        find_metric(name, "gaps")
    named = (*spec.models, spec.conditional_paths)
    require(needs_of(name for name in named if not is_pretrained(name)), purpose="a run of these models")
    shortest = min(spec.n_input)
    for name in named:
        info = recipe_for(name, profile, spec.training).info
        if info.min_input > shortest:
            raise UsageError(
                f"{name} needs at least {info.min_input} input steps",
                where="n_input",
                found=shortest,
                hint=f"use n_input >= {info.min_input}, or leave {name} out",
            )
    if recipe_for(spec.conditional_paths, profile).info.gives != OutputKind.TRAJECTORIES:
        raise UsageError(
            f"{spec.conditional_paths} does not predict paths",
            where="conditional_paths",
            hint="use a path model, e.g. CV_residual",
        )
