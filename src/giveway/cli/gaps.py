"""``giveway gaps``: extract samples, run the benchmark, make its tables and figures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from giveway.cli.command import RUNS, Call, command, group
from giveway.cli.envelope import Done
from giveway.cli.options import Opt, TableFormat
from giveway.cli.settings import given, pairs_from, settings_from
from giveway.cli.tables import listing
from giveway.core.errors import MissingDependencyError, UnknownNameError, UsageError

app = group("Benchmark predictions whether, when and how gaps are taken.")

Store = Annotated[str, "Result store of a benchmark run, a folder or s3://…"]
Time = Annotated[str, "Prediction time: initial, constant or critical."]
TimeFilter = Annotated[str | None, "Only this prediction time: initial, constant or critical."]
Profile = Annotated[str | None, "Needed if the store holds several."]
Only = Annotated[Sequence[str], "Only these; repeatable."]
Rules = Annotated[Sequence[str], "ddof=0|1 or critical_bound=NUMBER instead of those of the run; repeatable."]


@command(app)
def extract(
    call: Call,
    folder: Annotated[Path, "Folder that holds the recordings."],
    *,
    dataset: Annotated[str, "lgap, round, round_2v, leeds, highd, interaction, ..."],
    out: Annotated[Path | None, "Parquet file for the samples; only counts without it."] = None,
    t0: Annotated[Sequence[str], "initial, constant, critical; all three by default. Repeatable."] = (),
    n_input: Annotated[int, Opt("Input steps of 0.2 s.", min=1, max=100)] = 2,
    n_input_max: Annotated[int, Opt("Steps every sample must support.", min=1, max=100)] = 8,
    relaxed: Annotated[bool, "Move t_0 up to where the history suffices."] = False,
    allow_occlusion: Annotated[bool, "Read recordings of a moving car, which misses what is hidden."] = False,
    profile: str = "clean",
    settings: Annotated[Sequence[str], "One switch of the protocol, NAME=VALUE; repeatable."] = (),
    pages: Annotated[Path | None, "Folder for pages with warnings, counts, pictures and replays."] = None,
) -> Done:
    """Find gaps in recordings, count them, write samples to Parquet."""
    from giveway.gaps.extract import require_samples
    from giveway.gaps.extraction_pages import write_extraction
    from giveway.gaps.extraction_report import report_line
    from giveway.gaps.extractions.declared import UNCONFIRMED
    from giveway.gaps.files import write_samples
    from giveway.gaps.run import extractions

    with call.counting("extract") as progress:
        sets = extractions(
            dataset,
            folder,
            times=t0,
            n_input=n_input,
            n_input_max=n_input_max,
            relaxed=relaxed,
            profile=profile,
            switches=settings_from(settings, _switches()),
            allow_occlusion=allow_occlusion,
            progress=progress,
        )
    parts = [one.extracted for one in sets]
    if not any(part.samples.num_samples for part in parts):
        require_samples(parts[0], at_least=1, per_class=0)
    size = None if out is None else write_samples(out, [p.samples for p in parts if p.samples.num_samples])
    reports = [part.report for part in parts]
    rows = [
        (
            r.choice,
            r.num_accepted,
            r.num_rejected,
            r.delta_t_s,
            ", ".join(f"{n} {why}" for why, n in r.dropped.items() if n) or "none",
        )
        for r in reports
    ]
    first = reports[0]
    notes = [f"{r.choice}: {r.num_capped} horizons were cut to the cap" for r in reports if r.num_capped]
    notes += [f"{r.choice}: {report_line(r)}" for r in reports]
    for r in reports:
        for warning in r.warnings:
            call.warn(f"{r.choice}: {warning}")
    for note in first.notes:
        if UNCONFIRMED in note:
            call.warn(note)
        else:
            notes.append(f"note: {note}")
    notes += [] if out is None else [f"samples written to {out}"]
    if pages is not None:
        write_extraction(pages, sets)
        notes.append(f"open {pages / 'index.html'}")
    return Done(
        result={
            "dataset": dataset,
            "out": out,
            "bytes": size,
            "pages": pages,
            "counts": [r.as_dict() for r in reports],
        },
        text=[
            f"{first.dataset}, n_I = {first.num_input}: {first.num_candidates} candidate gaps",
            listing(
                "Samples", ("t_0", "accepted", "rejected", "Delta_t [s]", "left out"), rows, notes=notes, form=".2f"
            ),
        ],
    )


@command(app, needs=("plot",))
def show(
    call: Call,
    sample: Annotated[str, "Id of a candidate, as in giveway gaps extract or in a report."],
    *,
    data: Annotated[Path, "Folder that holds the recordings."],
    dataset: Annotated[str | None, "Extraction; told by the id if left out."] = None,
    out: Annotated[Path, "Folder for the page and the picture."] = Path("shown"),
    profile: str = "clean",
    settings: Annotated[Sequence[str], "One switch of the protocol, NAME=VALUE; repeatable."] = (),
) -> Done:
    """Write a replay and a picture of one candidate gap."""
    from giveway.gaps.run import rules_named
    from giveway.gaps.show import show_sample

    rules = rules_named(profile, settings_from(settings, _switches()))
    shown = show_sample(sample, data, out, rules, dataset)
    said = [f"{name}: {value if isinstance(value, str) else f'{value:.2f}'}" for name, value in shown.facts.items()]
    return Done(
        result={"sample": sample, "profile": profile, "facts": shown.facts, **shown.files},
        text=[sample, *said, *(f"  {file}" for file in shown.files.values())],
    )


@command(app)
def conflicts(
    call: Call,
    folder: Annotated[Path, "Folder that holds the recordings."],
    *,
    dataset: Annotated[str, "Adapter that reads them: interaction, ind, generic, ..."],
    out: Annotated[Path | None, "TOML file with [[conflict]] tables to edit; only a listing without it."] = None,
    max_recordings: Annotated[int | None, Opt("Read at most N recordings.", min=1)] = None,
) -> Done:
    """Find where road users conflict, how often, and who yields more."""
    from giveway.gaps.found_conflicts import conflicts_at, conflicts_toml, write_conflicts

    found = conflicts_at(folder, dataset, max_recordings=max_recordings)
    if out is not None:
        write_conflicts(out, found)
    call.warn("who yields is a guess from who stands more often; confirm `rule` before you use a conflict")
    rows = [
        (c["location"], *c["place"], c["kind"], c["pairs"], c["target_stands"], c["priority_stands"], c["target_first"])
        for c in found
    ]
    heads = ("site", "x [m]", "y [m]", "kind", "pairs", "T stands", "E stands", "T first")
    notes = [conflicts_toml(found[:1])] if out is None and found else [f"written to {out}"] if out is not None else []
    return Done(
        result={"dataset": dataset, "out": out, "conflicts": found},
        text=listing("Conflicts", heads, rows, notes=notes, form=".2f"),
    )


@command(app, adds=RUNS)
def run(
    call: Call,
    spec: Annotated[Path | None, "TOML file; or use --preset."] = None,
    *,
    out: Annotated[str | None, "Result store, a folder or s3://…; run again to resume."] = None,
    preset: Annotated[Sequence[str], "quick, demo, experiment-1, -2 or -3; several only with --dry-run."] = (),
    data: Annotated[Sequence[str], "Recordings, DATASET=FOLDER or DATASET=s3://…; repeatable."] = (),
    predictor: Sequence[str] = (),
    profile: Annotated[str | None, "clean, paper or printed; overrides the specification."] = None,
    settings: Sequence[str] = (),
    seed: Annotated[int | None, "Root of all random streams; overrides the specification."] = None,
    paths: Annotated[str | None, "Predictor of trajectories given the decision, e.g. T++ or TPP_small."] = None,
    device: str = "cpu",
    again: Annotated[bool, "With --dry-run: time the predictors anew on this machine."] = False,
) -> Done:
    """Fit, predict and measure every cell of a grid; resumes."""
    from giveway.gaps.plan import PUBLISHED, plan_grids
    from giveway.gaps.run import run_gaps, specification
    from giveway.gaps.spec import RunSpec

    changes = {
        **given(predictors=predictor, profile=profile, seed=seed, conditional_paths=paths),
        **settings_from(settings, [*RunSpec.model_fields, "predictors"], {"switches": _switches()}),
    }
    sources: Sequence[Any] = [*preset, *([] if spec is None else [spec])]
    if call.is_dry:
        grids = {str(source): specification(source, changes) for source in sources or PUBLISHED}
        plan = plan_grids(grids, call.num_workers(), limit=call.values["limit"], fresh=again, say=call.say)
        return Done(result=plan.document(), text=plan)
    if len(sources) != 1:
        raise UsageError(
            "give either a specification or a preset",
            where="giveway gaps run",
            found="neither" if not sources else "both" if spec is not None else "several presets",
            hint="giveway gaps run --preset quick --out R",
        )
    if out is None:
        raise UsageError("a run needs a folder for its results", where="--out", hint="--out R")
    _check_device(device)
    grid = specification(sources[0], changes)
    if grid.synthetic:
        call.warn("synthetic recordings: nothing below says anything about real drivers")
    results = run_gaps(
        grid,
        out,
        roots=dict(pairs_from(data, "--data", "DATASET=FOLDER")),
        engine=call.engine(),
        rerun=call.values["rerun"] or "missing",
        limit=call.values["limit"],
        max_hours=call.values["max_hours"],
        progress=call.progress(),
        device=device,
    )
    t0 = "constant" if "constant" in grid.t0 else grid.t0[0]
    return call.ran(results, f"next: giveway gaps table {out} --metric auc --t0 {t0}", store=out)


@command(app)
def table(
    call: Call,
    store: Store,
    *,
    metric: Annotated[str, "auc, ade, tnr_pr, brier, ..."] = "auc",
    t0: Time = "constant",
    paper: Annotated[str | None, "A numbered table of the papers, III to X, instead."] = None,
    split: Annotated[str, "The repeated split of the upper lines."] = "random",
    profile: Profile = None,
    predictor: Only = (),
    dataset: Only = (),
    settings: Rules = (),
    format: TableFormat = "text",
    out: Annotated[Path | None, "Write to this file instead of printing."] = None,
) -> Done:
    """Print mean, deviation and significance in the layout of the papers."""
    from giveway.gaps.replays import doubts
    from giveway.gaps.tables import PAPER_TABLES

    if paper is not None and paper.upper() not in PAPER_TABLES:
        raise UnknownNameError("table", paper, PAPER_TABLES, where="--paper")
    results = _results(call, store)
    made = results.table(
        "benchmark" if paper is None else paper.upper(),
        metric=metric,
        t0=t0,
        split=split,
        profile=profile,
        models=list(predictor),
        datasets=list(dataset),
        changes=settings_from(settings, _switches()),
    )
    for doubt in doubts(results.store, t0 if paper is None else PAPER_TABLES[paper.upper()].t0, dataset):
        call.warn(doubt)
    facts = {name: getattr(made, name) for name in ("title", "caption", "banner", "origins")}
    return call.table(made, format, out, **facts)


@command(app, needs=("plot",))
def figure(
    call: Call,
    store: Store,
    name: Annotated[Literal["splits", "learning", "calibration"], "splits, learning or calibration."] = "splits",
    *,
    out: Annotated[Path | None, "Picture, .png, .pdf or .svg; needed but for learning."] = None,
    profile: Profile = None,
    predictor: Only = (),
    dataset: Only = (),
    t0: TimeFilter = None,
) -> Done:
    """Draw splits, learning curves or calibration of a benchmark run."""
    from giveway.gaps.figures import save_figure
    from giveway.gaps.trainings import cells_of_one_profile, learning_table, trained_cells, write_learning_curves

    results = _results(call, store)
    said = [] if out is None else [f"figure written to {out}"]
    filters = given(model=list(predictor), dataset=list(dataset), t0=t0, profile=profile)
    cells: list[dict[str, Any]] = []
    if name == "learning":
        rows = trained_cells(results, **filters)
        if out is not None:
            write_learning_curves(rows, out)
        cells = [{fact: value for fact, value in row.items() if fact != "curve"} for row in rows]
        return Done(result={"out": out, "figure": name, "cells": cells}, text=[learning_table(rows), *said])
    if out is None:
        raise UsageError("a figure needs a file", where="--out", hint=f"--out {name}.png")
    if name == "splits":
        made = results.figure(name, profile=profile, models=list(predictor), datasets=list(dataset))
    elif len(predictor) == 1:
        cells = cells_of_one_profile(results, **filters, split="random")
        made = results.figure(name, **{**filters, "model": predictor[0]})
    else:
        raise UsageError(
            "calibration is of one predictor", where="--predictor", found=f"{len(predictor)} given", hint="-p LR_1D"
        )
    save_figure(made, out)
    return Done(result={"out": out, "figure": name, "cells": cells}, text=said)


@command(app)
def compare(
    call: Call,
    store: Store,
    a: Annotated[str, "Predictor A."],
    b: Annotated[str, "Predictor B."],
    *,
    metric: Annotated[str, "auc, ade, tnr_pr, brier, ..."] = "auc",
    t0: Time = "constant",
    profile: Profile = None,
    draws: int = 1000,
    seed: int = 0,
    settings: Rules = (),
) -> Done:
    """Test whether predictor A is better than B, per dataset."""
    changes = settings_from(settings, _switches())
    report = _results(call, store).compare(
        a, b, metric=metric, t0=t0, profile=profile, draws=draws, seed=seed, changes=changes
    )
    return Done(result={"report": report}, text=report)


@command(app, needs=("plot",))
def explain(
    call: Call,
    *,
    sample: Annotated[str, "Id of the sample, as in the file of samples."],
    predictor: Annotated[str, "CM_IIJ11 ... CM_ANA22."],
    samples: Annotated[Path, "Written by: giveway gaps extract --out."] = Path("samples.parquet"),
    t0: Annotated[str | None, "initial, constant or critical; constant if the file has it."] = None,
    parameters: Annotated[Path | None, "Fitted parameters (JSON); else fitted to the other samples."] = None,
    path: Annotated[int, "Which simulated trajectory, 0 to 99."] = 0,
    seed: Annotated[int, "Of the noise, and of the fit."] = 0,
    out: Annotated[Path, "Folder for the picture, the page and the parameters."] = Path("explain"),
) -> Done:
    """Draw what the cognitive model saw and did in one encounter."""
    from giveway.gaps.explain import explain_sample
    from giveway.predictors.commotions.fitting.trace import TraceLines

    trace = None if call.is_quiet or call.as_json else TraceLines(predictor)
    found = explain_sample(
        sample, predictor, samples=samples, out=out, t0=t0, parameters=parameters, path=path, seed=seed, on_trace=trace
    )
    return Done(
        result={"sample": sample, "observed": found.observed, **found.files, **found.numbers},
        text=[found.summary, *(f"  {file}" for file in found.files.values())],
    )


def _results(call: Call, store: str) -> Any:
    """Results of a store; a warning says what its tables lack."""
    from giveway.reports.results import Results

    results = Results.open(store, kind="gaps")
    if shortfall := results.status.shortfall:
        call.warn(shortfall)
    return results


def _switches() -> Collection[str]:
    from giveway.gaps.profile import Profile

    return list(Profile.model_fields)


def _check_device(name: str) -> None:
    """Refuse a device that is not there before the first cell, without loading torch for the usual one."""
    if name != "cpu":
        try:
            from giveway.predictors.torch_setup import device_named
        except ImportError as error:
            raise MissingDependencyError("torch", extra="learn", purpose=f"computing on {name}") from error
        device_named(name)
