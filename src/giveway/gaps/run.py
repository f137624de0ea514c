"""The benchmark and its samples in one call each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from giveway.core.errors import UsageError
from giveway.core.samples import GapSamples
from giveway.data.protocol import Progress as Counted
from giveway.experiments import Executor, Progress, Rerun, RunSummary, SerialExecutor, run
from giveway.experiments.specs import SpecLike, not_for_workers, values_of
from giveway.gaps.experiment import GAPS
from giveway.gaps.extract import SampleRules, find_gaps, require_samples, samples_at
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.prediction_time import CHOICES, Choice, choice_named
from giveway.gaps.presets import PRESETS
from giveway.gaps.profile import Profile, profile_with
from giveway.gaps.replays import SampleSet
from giveway.gaps.sources import scenes_of, source_at
from giveway.gaps.spec import RunSpec, check_occlusion, spec_from
from giveway.predictors import registered
from giveway.reports.results import Results

NAMES = {"predictors": "models"}
"""Settings under the names of the public API, and the fields of the specification they are."""


def run_gaps(
    spec: SpecLike | None = None,
    out: Path | str | None = None,
    *,
    roots: Mapping[str, Path | str] | None = None,
    engine: Executor | None = None,
    rerun: Rerun = "missing",
    limit: int | None = None,
    max_hours: float | None = None,
    progress: Progress | None = None,
    device: str = "cpu",
    **settings: Any,
) -> Results:
    """Fit, predict and measure every cell of a grid of datasets, prediction times, splits and predictors.

    Called again with the same store, only cells without a result are computed. Cells that fail are recorded, see
    ``Results.status``; the others go on.

    Args:
        spec: a :class:`giveway.gaps.spec.RunSpec`, a mapping, a TOML file or the name of a preset (``"quick"``).
        out: result store, a folder or an ``s3://`` address; created if new.
        roots: dataset to folder with its recordings; others are generated if the specification says so.
        engine: where cells are computed; by default one process per core of this machine, or this process if a
            predictor is an object. Worker processes need names, not objects.
        rerun: ``missing``, ``failed`` or ``all``.
        limit: compute at most this many cells now.
        max_hours: start no further cell after this time.
        progress: where to report; nowhere by default.
        device: where networks are trained, ``cpu`` or ``cuda``.
        settings: single fields of the specification, e.g. ``datasets=["lgap"], predictors=["LR_1D", "CV"], seed=1``;
            ``switches`` are added to those of the specification. Predictors are names, ``"NAME:FILE"``,
            ``"package.module:Class"`` or objects, which are called by their ``info.name``.

    Raises:
        ConfigError: a field that does not exist or a value that is not allowed.
        UnknownNameError: a preset, dataset, predictor, split or metric that is not registered.
        UsageError: no store, a dataset without recordings, or objects where an engine needs names.
    """
    if out is None:
        raise UsageError("a run needs a folder for its results", where="out", hint="run_gaps('quick', 'results')")
    options: dict[str, Any] = {"rerun": rerun, "limit": limit, "max_hours": max_hours, "progress": progress}
    values = _merged(spec, settings)
    given = values.get("models", ())
    objects = [] if isinstance(given, str) else [one for one in given if not isinstance(one, str)]
    if not objects:
        return benchmark(_validated(spec, values), out, roots=roots, engine=engine, device=device, **options)[1]
    chosen = engine or SerialExecutor()
    if chosen.name != "serial":
        raise not_for_workers("predictor", objects[0])
    with registered(given) as names:
        grid = _validated(spec, {**values, "models": names})
        return benchmark(grid, out, roots=roots, engine=chosen, device=device, **options)[1]


def benchmark(
    spec: RunSpec,
    out: Path | str,
    *,
    device: str = "cpu",
    **options: Any,
) -> tuple[RunSummary, Results]:
    """Compute the cells of a validated specification; also says what was done.

    Args:
        spec: the grid.
        out: result store.
        device: where networks are trained; results of another device agree up to rounding and are not told apart.
        options: see :func:`giveway.experiments.run`.
    """
    summary = run(GAPS, spec, out, machine={"device": device}, **options)
    return summary, Results.open(out, kind="gaps")


def specification(spec: SpecLike | None, settings: Mapping[str, Any]) -> RunSpec:
    """A specification with single fields replaced, validated.

    Args:
        spec: see :func:`run_gaps`.
        settings: fields; ``switches`` are merged, ``predictors`` is another name of ``models``.
    """
    return _validated(spec, _merged(spec, settings))


def _merged(spec: SpecLike | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    values = values_of(spec, lambda: PRESETS)
    switches = {**values.get("switches", {}), **settings.get("switches", {})}
    return {**_renamed(values), **_renamed(settings), **({"switches": switches} if switches else {})}


def _validated(spec: SpecLike | None, values: Mapping[str, Any]) -> RunSpec:
    return spec_from(values, where=spec if isinstance(spec, str) else "the specification")


def extract_gaps(
    dataset: str,
    root: Path | str,
    *,
    t0: str = "constant",
    n_input: int = 2,
    n_input_max: int = 8,
    relaxed: bool = False,
    profile: str = "clean",
    allow_occlusion: bool = False,
    **switches: Any,
) -> GapSamples:
    """Gap-acceptance samples of recordings.

    Args:
        dataset: name of an extraction: ``lgap``, ``round``, ``round_2v``, ``leeds``, ``highd``, ``interaction``, ...
        root: folder with the recordings.
        t0: prediction time: ``initial``, ``constant`` or ``critical``.
        n_input: input steps of 0.2 s.
        n_input_max: input steps that every sample must support.
        relaxed: move t_0 up to where the history suffices.
        profile: ``clean``, ``paper`` or ``printed``.
        allow_occlusion: read recordings of a moving car, in which those whom it did not see are missing.
        switches: single switches of the protocol that differ from the profile.

    Raises:
        EmptySelectionError: no gap is left, saying which rule removed how many.
        DatasetLayoutError: the folder holds another dataset.
    """
    (one,) = extractions(
        dataset,
        root,
        times=[t0],
        n_input=n_input,
        n_input_max=n_input_max,
        relaxed=relaxed,
        profile=profile,
        switches=switches,
        allow_occlusion=allow_occlusion,
    )
    require_samples(one.extracted, at_least=1, per_class=0)
    return one.extracted.samples


def extractions(
    dataset: str,
    root: Path | str,
    *,
    times: Sequence[str] = (),
    n_input: int = 2,
    n_input_max: int = 8,
    relaxed: bool = False,
    profile: str = "clean",
    switches: Mapping[str, Any] | None = None,
    allow_occlusion: bool = False,
    progress: Counted | None = None,
) -> list[SampleSet]:
    """Samples at several prediction times, all three by default, what was left out, and the candidates they are of."""
    rules = rules_named(profile, switches)
    choices: tuple[Choice, ...] = tuple(choice_named(name) for name in times) or CHOICES
    extraction = EXTRACTIONS.get(dataset)
    check_occlusion(dataset, allow=allow_occlusion)
    source = source_at(extraction.info.dataset, root)
    found = find_gaps(extraction, scenes_of(source, progress), rules)
    sampling = [SampleRules(choice=c, num_input=n_input, num_input_max=n_input_max, relaxed=relaxed) for c in choices]
    whose = profile_with(rules.model_dump()) or "own"
    return [
        SampleSet(extracted=samples_at(found, one, rules), found=found, profile=whose, is_synthetic=source.is_synthetic)
        for one in sampling
    ]


def rules_named(profile: str, switches: Mapping[str, Any] | None = None) -> Profile:
    """A profile with single switches set; validated."""
    return RunSpec(profile=profile, switches=dict(switches or {}), datasets=("lgap",), models=("LR_1D",)).rules()


def _renamed(values: Mapping[str, Any]) -> dict[str, Any]:
    return {NAMES.get(name, name): value for name, value in values.items()}
