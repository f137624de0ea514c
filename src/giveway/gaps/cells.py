"""From a specification to cells, and what each of them needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giveway.core.errors import EmptySelectionError
from giveway.experiments import Cell
from giveway.gaps.extract import SampleRules
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.prediction_time import Choice
from giveway.gaps.profile import Profile
from giveway.gaps.recipes import published_name, recipe_for
from giveway.gaps.sources import Source
from giveway.gaps.spec import RunSpec
from giveway.metrics import METRICS, profile_metric
from giveway.predictors.protocol import Tunable

EXTRACTION_VERSION = 1
"""Counts up when the same recordings give other samples of all extractions; a single one has its revision."""

PROTOCOL_VERSION = 1
"""Counts up when the same samples give other splits, conversions or streams."""

FUNCTION = "giveway.gaps.evaluate:evaluate"

DEFAULT_METRICS: Mapping[str, tuple[str, ...]] = {
    "initial": ("auc", "accuracy", "brier", "log_loss", "ece", "tnr_pr"),
    "constant": ("auc", "accuracy", "miss_rate", "brier", "log_loss", "ece", "tnr_pr", "ade", "fde", "time_cdf"),
    "critical": ("auc", "accuracy", "brier", "log_loss", "tnr_pr", "tnr_pr_10", "tnr_at_90"),
}
"""Computed at each prediction time unless the specification names others."""


def cells_of(spec: RunSpec, sources: Mapping[str, Source]) -> list[Cell]:
    """Every combination of the grid that is not left out, in the order of the tables.

    Raises:
        EmptySelectionError: if everything is left out.
    """
    profile = spec.rules()
    cells: list[Cell] = []
    for dataset in spec.datasets:
        source = sources[EXTRACTIONS.get(dataset).info.dataset]
        for t0 in spec.t0:
            for n_input in spec.n_input:
                if _is_missing(spec, dataset, t0, n_input):
                    continue
                for split, repetitions in spec.splits.items():
                    for repetition in range(repetitions):
                        for model in dict.fromkeys(published_name(name, profile) for name in spec.models):
                            where = {"dataset": dataset, "t0": t0, "n_input": n_input, "split": split}
                            params = where | {"repetition": repetition, "model": model}
                            cells.append(_cell(spec, profile, params, source))
    if not cells:
        raise EmptySelectionError(
            "the grid has no cells", where="missing", found="everything is left out", hint="add datasets or times"
        )
    return cells


def _cell(spec: RunSpec, profile: Profile, params: dict[str, Any], source: Source) -> Cell:
    dataset, t0, n_input = params["dataset"], params["t0"], params["n_input"]
    rules = rules_of(spec, dataset, t0, n_input)
    form = "paper" if profile.auc == "thresholds" else "clean"
    metrics = list(dict.fromkeys(profile_metric(name, form) for name in metrics_at(spec, t0)))
    model, paths = params["model"], published_name(spec.conditional_paths, profile)
    return Cell(
        kind="gaps",
        params={
            "profile": spec.profile,
            **params,
            "seed": spec.seed,
            "synthetic": source.is_synthetic,
            "sampling": {
                "n_input_max": rules.num_input_max,
                "relaxed": rules.relaxed,
                "min_samples": spec.min_samples,
                "min_class": spec.min_class,
            },
            "conversion": {"paths": paths},
            "metrics": metrics,
            "switches": _switches_of(profile),
            **_training_of(spec, profile, model),
        },
        data=source.data,
        versions={
            "extraction": EXTRACTION_VERSION + EXTRACTIONS.get(dataset).info.revision,
            "protocol": PROTOCOL_VERSION,
            model: recipe_for(model, profile).info.version,
            paths: recipe_for(paths, profile).info.version,
            **{name: METRICS.get(name).info.version for name in metrics},
        },
    )


def _training_of(spec: RunSpec, profile: Profile, model: str) -> dict[str, Any]:
    """Settings of training, in cells where a network is trained: as the model or for the paths of others."""
    recipes = (recipe_for(name, profile) for name in (model, spec.conditional_paths))
    is_used = spec.training and any(isinstance(recipe, Tunable) for recipe in recipes)
    return {"training": dict(spec.training)} if is_used else {}


def _switches_of(profile: Profile) -> dict[str, Any]:
    """Values of all switches; an unlimited budget is not named, so that results stay valid that knew no other."""
    return profile.model_dump(exclude={"commotions_evaluations"} if profile.commotions_evaluations is None else None)


def metrics_at(spec: RunSpec, t0: str) -> tuple[str, ...]:
    """Metrics of a prediction time."""
    return spec.metrics or DEFAULT_METRICS[t0]


def rules_of(spec: RunSpec, dataset: str, t0: Choice, n_input: int) -> SampleRules:
    """How samples of a cell are cut out."""
    for entry in spec.relaxed:
        if (entry.dataset, entry.t0, entry.n_input) == (dataset, t0, n_input):
            return SampleRules(choice=t0, num_input=n_input, num_input_max=entry.n_input_max, relaxed=True)
    return SampleRules(choice=t0, num_input=n_input, num_input_max=spec.n_input_max)


def _is_missing(spec: RunSpec, dataset: str, t0: str, n_input: int) -> bool:
    return any(
        entry.dataset == dataset and entry.t0 == t0 and (not entry.n_input or n_input in entry.n_input)
        for entry in spec.missing
    )
