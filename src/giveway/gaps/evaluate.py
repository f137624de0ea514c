"""One cell of the benchmark: samples, split, fit, predict, convert, measure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from giveway.core.arrays import FloatArray
from giveway.core.conversions import DrawerOf, to_paths, to_probability, to_time
from giveway.core.predictions import OutputKind, Prediction, Trajectories, check_prediction
from giveway.core.samples import GapSamples
from giveway.core.seeds import seed_for, stream
from giveway.experiments import Cell, CellResult, Context, Measurement
from giveway.gaps.cells import sample_switches
from giveway.gaps.extract import Extracted, SampleRules, find_gaps, require_samples, samples_at
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.files import read_samples, write_samples
from giveway.gaps.found_files import read_found, write_found
from giveway.gaps.profile import EXTRACTION_SWITCHES, Profile, as_profile
from giveway.gaps.recipes import is_pretrained, recipe_for, stream_name, switches_read
from giveway.gaps.sources import recordings_for, scenes_of
from giveway.gaps.splits import SPLITS
from giveway.gaps.splits.protocol import Division, require_classes
from giveway.metrics import METRICS, MetricValue
from giveway.predictors.protocol import (
    FittedPredictor,
    Forgiving,
    HasDensity,
    Learned,
    Predictor,
    Saved,
    TrainingPlace,
    placed,
)

SAMPLES = "samples.parquet"
CHECKPOINT_EVERY_S = 20.0
"""A training that takes longer survives a killed run."""

CLASSES = {"accepted": True, "rejected": False}


def evaluate_cell(cell: Cell, context: Context) -> CellResult:
    """Compute one cell; depends on nothing but the cell and the recordings it names.

    Raises:
        EmptySelectionError: if too few samples are left, or a part of the split has one class only.
        PredictionError: if the model returns something unusable.
    """
    params = cell.params
    profile = as_profile(cell.settings["switches"])
    samples = samples_for(cell, context, profile)
    where = f"{params['dataset']}, {params['t0']} gaps, split {params['split']} {params['repetition']}"
    division = SPLITS.get(params["split"]).divide(samples, params["repetition"], profile)
    require_classes(samples, division, where)
    test = samples.take(division.test)
    recipe = recipe_for(params["model"], profile, cell.settings.get("training"))
    name = stream_name(recipe.info)
    train = samples.take(division.train)
    fitted = _fit(recipe, train, _stream(cell, "fit", name), context, "model", cell.label())
    prediction = fitted.predict(test.inputs, _stream(cell, "predict", name))
    check_prediction(prediction, test.inputs, recipe.info.gives, model=name)
    values = _measure(cell, context, profile, samples, division, prediction)
    own_nll = _own_nll(fitted, test)
    return CellResult(
        measurements=tuple(Measurement.of(value) for value in values),
        samples=_per_sample(test, prediction, values, {} if own_nll is None else {"own_nll": own_nll}),
        info={
            "num_train": len(division.train),
            "num_test": len(division.test),
            "num_test_accepted": int(test.truth.accepted.sum()),
            "notes": list(division.notes),
            **({"pretrained": True} if is_pretrained(params["model"]) else {}),
            **({} if own_nll is None or np.isnan(own_nll).all() else {"own_nll": float(np.nanmean(own_nll))}),
            **({"fallbacks": fitted.fallbacks(test.inputs)} if isinstance(fitted, Forgiving) else {}),
            **({"learning_curve": fitted.learning_curve()} if isinstance(fitted, Learned) else {}),
        },
    )


def _own_nll(fitted: FittedPredictor, test: GapSamples) -> FloatArray | None:
    """(N,) negative log density under the model itself, mean over observed steps [nat]; None if it has no density."""
    if not isinstance(fitted, HasDensity):
        return None
    per_step = fitted.step_log_likelihood(test)
    known = ~np.isnan(per_step)
    total = np.where(known, per_step, 0.0).sum(axis=1)
    return np.where(known.any(axis=1), -total / np.maximum(known.sum(axis=1), 1), np.nan)


def _fit(
    recipe: Predictor, train: GapSamples, rng: np.random.Generator, context: Context, name: str, what: str
) -> FittedPredictor:
    """Fit on the device of the run, reporting how far training is; a killed run goes on with it where it was."""
    place = TrainingPlace(
        device=str(context.machine.get("device", "cpu")),
        folder=context.scratch_root / name,
        tell=lambda line: context.message(f"{what}: {line}"),
        checkpoint_every_s=CHECKPOINT_EVERY_S,
    )
    return placed(recipe, place).fit(train, rng)


def samples_for(cell: Cell, context: Context, profile: Profile) -> GapSamples:
    """Samples of a cell, extracted once per dataset, prediction time and input length."""
    params, sampling = cell.params, cell.settings["sampling"]
    description = {
        "what": "samples",
        "data": cell.data,
        "extraction": cell.versions["extraction"],
        "switches": _switches(cell, sample_switches(params["dataset"], params["t0"])),
        "sampling": sampling,
        **{key: params[key] for key in ("dataset", "t0", "n_input")},
    }

    def build(folder: Path) -> None:
        extracted = _extract(cell, context, profile)
        samples = require_samples(extracted, at_least=sampling["min_samples"], per_class=sampling["min_class"])
        write_samples(folder / SAMPLES, [samples])

    return _cached_samples(context.artifacts.get(description, build) / SAMPLES)


@lru_cache(maxsize=8)
def _cached_samples(path: Path) -> GapSamples:
    return read_samples(path)


def _extract(cell: Cell, context: Context, profile: Profile) -> Extracted:
    """Cut samples out of the gaps of a dataset, which are found once for all prediction times."""
    params = cell.params
    extraction = EXTRACTIONS.get(params["dataset"])
    description = {
        "what": "gaps",
        "data": cell.data,
        "extraction": cell.versions["extraction"],
        "switches": _switches(cell, EXTRACTION_SWITCHES | extraction.info.switches),
        "dataset": params["dataset"],
    }

    def build(folder: Path) -> None:
        settings = context.machine
        source = recordings_for(
            extraction.info.dataset, cell.data, settings["roots"], settings.get("synthetic", {}), context.artifacts
        )
        write_found(folder, find_gaps(extraction, scenes_of(source), profile))

    found = read_found(context.artifacts.get(description, build), extraction)
    rules = SampleRules(
        choice=params["t0"],
        num_input=params["n_input"],
        num_input_max=cell.settings["sampling"]["n_input_max"],
        relaxed=cell.settings["sampling"]["relaxed"],
    )
    return samples_at(found, rules, profile)


def _measure(
    cell: Cell,
    context: Context,
    profile: Profile,
    samples: GapSamples,
    division: Division,
    prediction: Prediction,
) -> list[MetricValue]:
    """All metrics of the cell; conversions and conditional models only if one of them needs it."""
    test = samples.take(division.test)
    boundary = test.inputs.boundary
    metrics = [METRICS.get(name) for name in cell.settings["metrics"]]
    needs = {metric.info.needs for metric in metrics}
    given = _kind(prediction)
    forms: dict[str, Prediction] = {OutputKind.PROBABILITY: to_probability(prediction, boundary)}
    paths: dict[str, Trajectories | None] = dict.fromkeys(CLASSES)
    wants_paths = OutputKind.TRAJECTORIES in needs and given != OutputKind.TRAJECTORIES
    if wants_paths or (OutputKind.TIME in needs and given == OutputKind.PROBABILITY):
        paths["accepted"] = _conditional_paths(cell, context, profile, samples, division, "accepted")
    if OutputKind.TIME in needs:
        forms[OutputKind.TIME] = to_time(prediction, paths["accepted"], boundary)
    if wants_paths:
        paths["rejected"] = _conditional_paths(cell, context, profile, samples, division, "rejected")
        drawer = _drawers(cell, profile, test)
        forms[OutputKind.TRAJECTORIES] = to_paths(prediction, paths["accepted"], paths["rejected"], boundary, drawer)
    elif OutputKind.TRAJECTORIES in needs:
        forms[OutputKind.TRAJECTORIES] = prediction
    return [metric(test.truth, forms[metric.info.needs]) for metric in metrics]


def _kind(prediction: Prediction) -> OutputKind:
    if isinstance(prediction, Trajectories):
        return OutputKind.TRAJECTORIES
    return OutputKind.TIME if hasattr(prediction, "quantile_s") else OutputKind.PROBABILITY


def _conditional_paths(
    cell: Cell,
    context: Context,
    profile: Profile,
    samples: GapSamples,
    division: Division,
    label: str,
) -> Trajectories:
    """Paths of the test samples, had they been accepted (rejected); the model is fitted once per split."""
    params, settings = cell.params, cell.settings
    name = settings["conversion"]["paths"]
    recipe = recipe_for(name, profile, settings.get("training"))
    by_split = profile.conditional_training == "training"
    switches = sample_switches(params["dataset"], params["t0"]) | switches_read(name) | {"conditional_training"}
    if by_split:
        switches |= SPLITS.get(params["split"]).info.switches
    description = {
        "what": "conditional path model",
        "class": label,
        "data": cell.data,
        "versions": {name: cell.versions[name] for name in ("extraction", "protocol", name)},
        "switches": _switches(cell, switches),
        **{key: params[key] for key in ("dataset", "t0", "n_input", "seed")},
        **{key: settings[key] for key in ("sampling", "conversion", "training") if key in settings},
        **({key: params[key] for key in ("split", "repetition")} if by_split else {}),
    }
    names = ("conditional", name, label, *(str(description.get(key, "all")) for key in ("split", "repetition")))

    def build(folder: Path) -> None:
        chosen = division.train if by_split else np.arange(samples.num_samples)
        chosen = chosen[samples.truth.accepted[chosen] == CLASSES[label]]
        root = stream(params["seed"], params["dataset"], params["t0"], params["n_input"], *names)
        what = f"{label} paths for {cell.label()}"
        fitted = _fit(recipe, samples.take(chosen), root, context, f"{label} paths", what)
        if isinstance(fitted, Saved):
            fitted.save(folder)

    place = TrainingPlace(device=str(context.machine.get("device", "cpu")))
    fitted: FittedPredictor = placed(recipe, place).load(context.artifacts.get(description, build))
    test = samples.take(division.test)
    predicted = fitted.predict(test.inputs, _stream(cell, "conditional paths", label))
    check_prediction(predicted, test.inputs, OutputKind.TRAJECTORIES, model=recipe.info.name)
    assert isinstance(predicted, Trajectories)
    return predicted


def _switches(cell: Cell, names: Collection[str]) -> dict[str, Any]:
    """Some of the switches that a cell names, for the content key of an artifact."""
    return {name: value for name, value in cell.settings["switches"].items() if name in names}


def _drawers(cell: Cell, profile: Profile, test: GapSamples) -> DrawerOf:
    """A generator per sample, or one legacy generator that runs through all of them."""
    names = _names(cell)
    if profile.conversion_seed == "global":
        running = np.random.RandomState(seed_for(cell.params["seed"], *names) % 2**32)
        return lambda i: running
    return lambda i: stream(cell.params["seed"], *names, "conversion", test.inputs.sample_id[i])


def _stream(cell: Cell, *names: str) -> np.random.Generator:
    return stream(cell.params["seed"], *_names(cell), *names)


def _names(cell: Cell) -> tuple[str, ...]:
    params: Mapping[str, Any] = cell.params
    return tuple(str(params[key]) for key in ("dataset", "t0", "n_input", "split", "repetition", "model"))


def _per_sample(
    test: GapSamples, prediction: Prediction, values: list[MetricValue], more: Mapping[str, FloatArray]
) -> pl.DataFrame:
    columns: dict[str, Any] = {
        "sample_id": pl.Series(test.inputs.sample_id.tolist(), dtype=pl.String),
        "group": pl.Series(test.group.tolist(), dtype=pl.String),
        "accepted": test.truth.accepted,
        "p": to_probability(prediction, test.inputs.boundary).p,
    }
    columns |= {value.metric: value.per_item for value in values if value.per_item is not None}
    columns |= more
    return pl.DataFrame(columns)
