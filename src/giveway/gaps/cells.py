"""From a specification to cells, and what each of them needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from giveway.core.errors import EmptySelectionError
from giveway.core.predictions import OutputKind
from giveway.experiments import Cell
from giveway.gaps.extract import SampleRules
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.prediction_time import Choice
from giveway.gaps.profile import CONVERSION_SWITCHES, EXTRACTION_SWITCHES, Profile, chosen
from giveway.gaps.recipes import published_name, recipe_for, switches_read
from giveway.gaps.sources import Source
from giveway.gaps.spec import RunSpec
from giveway.gaps.splits import SPLITS
from giveway.metrics import METRICS, profile_metric
from giveway.predictors.protocol import Tunable

EXTRACTION_VERSION = 1
"""Counts up when the same recordings give other samples of all extractions; a single one has its revision."""

PROTOCOL_VERSION = 1
"""Counts up when the same samples give other splits, conversions or streams."""

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
    dataset, t0, n_input, model = params["dataset"], params["t0"], params["n_input"], params["model"]
    rules = rules_of(spec, dataset, t0, n_input)
    metrics = list(dict.fromkeys(metric_in(profile, name) for name in metrics_at(spec, t0)))
    converts = needs_paths(model, profile, metrics)
    paths = published_name(spec.conditional_paths, profile)
    models = (model, paths) if converts else (model,)
    switches = sample_switches(dataset, t0) | SPLITS.get(params["split"]).info.switches
    for name in models:
        switches |= switches_read(name)
    if converts:
        switches |= CONVERSION_SWITCHES
    return Cell(
        kind="gaps",
        params={"profile": spec.profile, **params, "seed": spec.seed, "synthetic": source.is_synthetic},
        settings={
            "sampling": {
                "n_input_max": rules.num_input_max,
                "relaxed": rules.relaxed,
                "min_samples": spec.min_samples,
                "min_class": spec.min_class,
            },
            "metrics": metrics,
            "switches": chosen(profile, switches),
            **({"conversion": {"paths": paths}} if converts else {}),
            **_training_of(spec, profile, models),
        },
        data=source.data,
        versions={
            "extraction": EXTRACTION_VERSION + EXTRACTIONS.get(dataset).info.revision,
            "protocol": PROTOCOL_VERSION,
            **{name: recipe_for(name, profile).info.version for name in models},
            **{name: METRICS.get(name).info.version for name in metrics},
        },
    )


def sample_switches(dataset: str, t0: str) -> frozenset[str]:
    """Switches that the samples of a dataset at a prediction time depend on."""
    at_time = frozenset({"delta_t_constraints"}) if t0 == "constant" else frozenset[str]()
    return EXTRACTION_SWITCHES | EXTRACTIONS.get(dataset).info.switches | at_time


def needs_paths(model: str, profile: Profile, metrics: Sequence[str]) -> bool:
    """Whether a metric needs times or paths that the model does not give, so that a conditional path model fills in."""
    needs = {METRICS.get(name).info.needs for name in metrics}
    given = recipe_for(model, profile).info.gives
    if given == OutputKind.TRAJECTORIES:
        return False
    return OutputKind.TRAJECTORIES in needs or (OutputKind.TIME in needs and given == OutputKind.PROBABILITY)


def _training_of(spec: RunSpec, profile: Profile, models: Sequence[str]) -> dict[str, Any]:
    """Settings of training, in cells where a network is trained: as the model or for the paths of others."""
    is_used = spec.training and any(isinstance(recipe_for(name, profile), Tunable) for name in models)
    return {"training": dict(spec.training)} if is_used else {}


def metric_in(profile: Profile, name: str) -> str:
    """The form of a metric that the switches ``auc`` and ``tnr_pr`` ask for."""
    form = {"auc": {"thresholds": "paper", "ordinal_ranks": "printed"}, "tnr_pr": {"all": "printed"}}.get(name, {})
    return profile_metric(name, form.get(getattr(profile, name), "clean")) if form else name


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
