"""``giveway drive``: let predictions drive, and score the drives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from giveway.cli.command import ON_ENGINE, Call, command, group
from giveway.cli.drive_openloop import openloop
from giveway.cli.drive_serve import serve
from giveway.cli.drive_sets import mined_set, verified
from giveway.cli.envelope import Done
from giveway.cli.options import Opt, TableFormat
from giveway.cli.settings import given, merged, settings_from
from giveway.cli.tables import listing
from giveway.core.errors import UsageError

app = group("Drive with predictions and score the drives.")

Folder = Annotated[Path, "Folder that holds the recordings."]
Sites = Annotated[Sequence[str], "Only sites whose name contains this; repeatable."]
Dataset = Annotated[str, "Registered adapter of the recordings."]
Traffic = Literal["clean", "paper"]
Variant = Annotated[str, "Challenge metric: challenge, challenge_coded, challenge_printed."]


@command(app)
def mine(
    call: Call,
    folder: Folder,
    *,
    out: Annotated[Path | None, "Case file to write (.json)."] = None,
    standard: Annotated[str | None, Opt("standard (about 1000 tagged cases), or challenge (48).", ("--set",))] = None,
    verify: Annotated[Path | None, "Compare the cases of this file with the recordings instead of mining."] = None,
    dataset: Dataset = "interaction",
    site: Sites = (),
    kind: Annotated[Sequence[str], "crossing, merging or entering; repeatable."] = (),
    min_interest: Annotated[float, "1 (dull) to 5 (closely had to give way)."] = 3.0,
    per_recording: Annotated[int, Opt("Largest number of cases of a recording.", min=1)] = 20,
    max_recordings: int | None = None,
    max_gap: Annotated[float, "Largest time between the two cars at the shared place [s]."] = 3.0,
    gallery: Annotated[Path | None, "Also write a page with a picture of every case."] = None,
) -> Done:
    """Find cases in recordings in which somebody had to give way."""
    from giveway.drive.mining import MiningRules
    from giveway.drive.recordings import mine_recordings

    if verify is not None:
        return verified(verify, folder)
    if out is None or out.suffix != ".json":
        raise UsageError("a case set is a .json file", where="--out", found=out)
    if standard is not None:
        return mined_set(call, standard, folder, out, dataset, site, max_recordings, gallery)
    rules = MiningRules(kinds=tuple(kind), min_interest=min_interest, max_cases=per_recording, max_gap_s=max_gap)
    with call.counting("mine") as progress:
        found = mine_recordings(
            folder,
            out,
            dataset=dataset,
            sites=site,
            max_recordings=max_recordings,
            rules=rules,
            gallery=gallery,
            progress=progress,
        )
    kinds = ", ".join(f"{n} {name}" for name, n in found["kinds"].items())
    sources = ", ".join(f"{name} {n}" for name, n in found["right_of_way_by"].items())
    return Done(
        result={"file": out, **found},
        text=[
            f"{found['cases']} cases in {out}: {kinds}",
            f"right of way by {sources}",
            *found["left_out"],
            f"next: giveway drive run -c {out} --data {folder} -p constant_velocity -o R",
        ],
    )


@command(app, needs=("learn",))
def train(
    call: Call,
    folder: Annotated[Path | None, "Folder that holds the recordings; a planner also learns on bundled cases."] = None,
    *,
    out: Annotated[Path, "Checkpoint to write (.safetensors), of a planner a folder; run again to resume."],
    predictor: Annotated[str, "gru (small, own history) or TPP (Trajectron++, with neighbors)."] = "gru",
    planner: Annotated[str | None, "Train a planner instead: ppo, or imitation of recorded drivers."] = None,
    cases: Annotated[Path | None, "Planner: case file of 'drive mine'; the bundled set without it."] = None,
    split: Annotated[str | None, "Planner: train (recordings of the training split) or all."] = None,
    demonstrator: Annotated[str | None, "Whom imitation follows: recorded or lattice."] = None,
    env_steps: int | None = None,
    rounds: Annotated[int | None, Opt("Planner: rounds, each evaluated and kept; 20 by default.", min=1)] = None,
    worlds: int | None = None,
    settings: Sequence[str] = (),
    dataset: Dataset = "interaction",
    site: Sites = (),
    epochs: Annotated[int | None, Opt("Passes over the windows; 12 by default.", min=1)] = None,
    exclude: Annotated[Sequence[Path], "Case file whose recordings are not trained on; repeatable."] = (),
    stride: Annotated[int, Opt("Frames between two windows of a track.", min=1)] = 10,
    max_recordings: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    patience: Annotated[int, Opt("Stop after N epochs without a better held-out error; 0 never.", min=0)] = 0,
    picture: Annotated[Path | None, "Also draw the learning curve, .png, .pdf or .svg."] = None,
) -> Done:
    """Train a predictor or a planner on recordings."""
    if planner is not None:
        values = given(planner=planner, cases=cases, data=folder, split=split, demonstrator=demonstrator)
        values |= given(env_steps=env_steps, rounds=rounds, worlds=worlds, seed=seed)
        return _train_planner(call, out, values, settings)
    if folder is None:
        raise UsageError("a predictor is trained on recordings", where="FOLDER", hint="giveway drive train FOLDER")
    from giveway.drive.recordings import read_scenes
    from giveway.drive.training import TrainingRules, train_on_scenes
    from giveway.predictors.windows import TrainingOptions
    from giveway.sim.case_files import read_cases

    if out.suffix != ".safetensors":
        raise UsageError("a checkpoint is a .safetensors file", where="--out", found=out)
    with call.counting("read") as progress:
        kept = {case.recording for file in exclude for case in read_cases(file)}
        found = read_scenes(
            folder,
            dataset=dataset,
            sites=site,
            wanted=lambda recording: recording not in kept,
            max_recordings=max_recordings,
            progress=progress,
        )
        scenes = list(found)
    options = TrainingOptions(epochs=epochs, seed=seed, device=device, patience=patience)
    with call.counting("train") as progress:
        rules = TrainingRules(kind=predictor, stride=stride, options=options)
        made = train_on_scenes(scenes, out, rules, on_step=progress)
    if picture is not None:
        from giveway.gaps.learning import learning_curves

        title = f"{predictor}, {made['windows']} windows"
        learning_curves([made["loss"]], [made["validation_ade_m"]], picture, title=title)
    errors = [
        (predictor, made["ade_m"], made["fde_m"], made["min_ade_m"]),
        ("constant velocity", made["cv_ade_m"], made["cv_fde_m"], None),
    ]
    notes = [f"{out}: {made['windows']} windows", f"next: giveway drive run -p {predictor}:{out} -o R"]
    heads = ("held-out error", "ADE [m]", "FDE [m]", "ADE of the best mode [m]")
    return Done(
        result={"file": out, "picture": picture, **made}, text=listing("Held-out error", heads, errors, notes=notes)
    )


def _train_planner(call: Call, out: Path, values: dict[str, Any], settings: Sequence[str]) -> Done:
    """Train a planner into a folder."""
    from giveway.drive.learning.section import best_round, rounds_of
    from giveway.drive.learning.settings import LearningSettings, PlannerTrainingSpec
    from giveway.drive.learning.train import PLANNER_FILE, train_planner

    more = settings_from(settings, PlannerTrainingSpec.model_fields, {"learning": LearningSettings.model_fields})
    results = train_planner(out, merged(None, values, more), progress=call.progress())
    best, name = best_round(results), values["planner"]
    return call.ran(
        results,
        f"best of {rounds_of(results).height} rounds: {best['round']}, reward {best['return']:.2f} per validation case",
        f"next: giveway drive run --planner {name}:{out / PLANNER_FILE} -p constant_velocity -o R",
        table=results.table(),
        best_round=best,
        file=out / PLANNER_FILE,
    )


@command(app, adds=(*ON_ENGINE, "rerun", "dry_run"))
def run(
    call: Call,
    spec: Annotated[Path | None, "TOML file; options override its fields."] = None,
    *,
    predictor: Sequence[str] = (),
    out: Annotated[str | None, "Folder for logs and results, or s3://…; run again to resume."] = None,
    cases: Path | None = None,
    data: Annotated[Path | None, "Folder with the recordings the cases were made from."] = None,
    planner: str | None = None,
    driver: Annotated[str | None, "Driver of the other cars, e.g. idm, cognitive; by default by their role."] = None,
    traffic: Annotated[Traffic | None, "clean: other cars give way and react; paper: as in the challenge."] = None,
    checkpoint: Annotated[Path | None, "For trained predictors that are named without a file."] = None,
    metric: Variant | None = None,
    max_cases: int | None = None,
    seed: int | None = None,
    predictions: Annotated[bool | None, "Keep predictions in the logs, for fans in replays."] = None,
    decide: Annotated[str | None, "Stop once it is decided which of two predictors scores higher: A,B."] = None,
    looks: Annotated[int, Opt("Looks of --decide, after equal parts of the recordings.", min=1, max=20)] = 4,
    settings: Sequence[str] = (),
) -> Done:
    """Drive every case with every predictor and print the scores."""
    from giveway.drive.run import DriveSpec, planned, run_drive
    from giveway.experiments.specs import validated

    limits = ("time_limit", "memory_limit", "max_hours")
    is_here = call.values["engine"] == "local" and all(call.values[name] is None for name in limits)
    values = merged(
        spec,
        given(
            predictors=list(predictor),
            cases=cases,
            data=data,
            planner=planner,
            driver=driver,
            traffic=traffic,
            checkpoint=checkpoint,
            metric=metric,
            max_cases=max_cases,
            seed=seed,
            keep_predictions=predictions,
            threads=call.values["workers"] if is_here else 1,
            max_hours=call.values["max_hours"],
        ),
        settings_from(settings, DriveSpec.model_fields),
    )
    if not values.get("predictors"):
        raise UsageError("a drive needs a predictor", where="--predictor", hint="-p constant_velocity")
    if call.is_dry:
        driven, names = planned(validated(DriveSpec, values, where="giveway drive run")).cases, values["predictors"]
        ticks = sum(case.num_ticks for case in driven)
        disk = round(len(driven) * len(names) * 0.2, 1)
        return Done(
            result={"cases": len(driven), "predictors": names, "simulated_s": ticks / 10, "disk_mb": disk},
            text=f"{len(driven)} cases x {len(names)} predictors, {ticks / 10:.0f} s of traffic each, {disk} MB",
        )
    if out is None:
        raise UsageError("a run needs a folder for its results", where="--out", hint="--out R")
    engine, rerun = call.engine(), call.values["rerun"] or "failed"
    if decide is not None:
        return _decided(call, decide, values, out, looks, None if is_here else engine)
    results = run_drive(None, out, engine=None if is_here else engine, rerun=rerun, progress=call.progress(), **values)
    return _driven(call, results, values.get("metric", "challenge"))


def _decided(call: Call, decide: str, values: Any, out: str, looks: int, engine: Any) -> Done:
    """Drive until two predictors are told apart, see :mod:`giveway.drive.power`."""
    from giveway.drive.power import drive_until_decided
    from giveway.drive.run import DriveSpec, planned
    from giveway.experiments.specs import validated
    from giveway.reports.results import Results

    pair = [name.strip() for name in decide.split(",")]
    if len(pair) != 2:
        raise UsageError("--decide takes two predictors", found=decide, hint="--decide oracle,constant_velocity")
    plan = planned(validated(DriveSpec, values, where="giveway drive run"))

    def say(look: Any) -> None:
        told = f"{look.samples} cases of {look.clusters} recordings: {look.estimate:+.2f}"
        call.say(f"{told}, |z| {abs(look.z):.2f}, decides from {look.bound:.2f}")

    found = drive_until_decided(
        plan, out, (pair[0], pair[1]), looks=looks, engine=engine, progress=call.progress(), on_look=say
    )
    done = _driven(call, Results.open(out, kind="drive"), values.get("metric", "challenge"))
    ending = f"{found['decided']} scores higher" if found["decided"] else f"{' and '.join(pair)}: not told apart"
    how = f"{found['difference']:+.2f} after {found['cases']} of {found['of']} cases, 5 % level over all looks"
    return replace(done, result={**done.result, "decision": found}, text=[done.text, f"{ending} ({how})"])


def _driven(call: Call, results: Any, metric: str) -> Done:
    """Leaderboard and failed cases of a run."""
    from giveway.drive.document import document_of
    from giveway.drive.tables import leaderboard

    document = document_of(results.store, metric)
    watch = f"watch one: giveway drive replay {results.place}"
    return call.ran(results, watch, table=leaderboard(document), **document)


@command(app, adds=(*ON_ENGINE, "rerun", "dry_run"))
def realism(
    call: Call,
    spec: Annotated[Path | None, "TOML file; options override its fields."] = None,
    *,
    driver: Annotated[Sequence[str], "Driver of all other cars; repeatable. replay, idm and others without it."] = (),
    planner: Annotated[Sequence[str], "Planner of the ego, judged in a row of its own; repeatable."] = (),
    out: Annotated[str | None, "Folder for results, or s3://…; run again to resume."] = None,
    cases: Path | None = None,
    data: Annotated[Path | None, "Folder with the recordings the cases were made from."] = None,
    roll_outs: Annotated[int | None, Opt("Roll-outs per case; 32 without it.", min=1, max=1000)] = None,
    max_cases: int | None = None,
    seed: int | None = None,
    settings: Sequence[str] = (),
) -> Done:
    """Print how likely recorded traffic is under simulated drivers."""
    from giveway.drive.realism import REALISM, RealismSpec, run_realism
    from giveway.experiments import run as run_cells
    from giveway.experiments.specs import validated

    values = merged(
        spec,
        given(
            drivers=list(driver),
            planners=list(planner),
            cases=cases,
            data=data,
            roll_outs=roll_outs,
            max_cases=max_cases,
            seed=seed,
            max_hours=call.values["max_hours"],
        ),
        settings_from(settings, RealismSpec.model_fields),
    )
    if call.is_dry:
        asked = validated(RealismSpec, values, where="giveway drive realism")
        found = run_cells(REALISM, asked, out or "none", dry_run=True)
        return Done(
            result={"cells": found.total, "done": found.skipped, "roll_outs": asked.roll_outs},
            text=f"{found.total} cells of {asked.roll_outs} roll-outs, {found.skipped} done",
        )
    if out is None:
        raise UsageError("a run needs a folder for its results", where="--out", hint="--out R")
    rerun, progress = call.values["rerun"] or "failed", call.progress()
    results = run_realism(None, out, engine=call.engine(here=True), rerun=rerun, progress=progress, **values)
    return call.ran(results, table=results.table(""))


@command(app)
def table(
    call: Call,
    store: Annotated[str, "Folder of giveway drive run, or s3://…"],
    name: Annotated[
        str, "leaderboard, cases for the terms of every case, measures, contacts, or realism."
    ] = "leaderboard",
    *,
    format: TableFormat = "text",
    out: Annotated[Path | None, "Write to this file instead of printing."] = None,
    partial: Annotated[bool, "Also score rows with more than a tenth of the cases failed, marked †."] = False,
) -> Done:
    """Print the scores of all predictors beside the recorded drivers."""
    from giveway.reports.results import Results

    opened = Results.open(store, kind="realism" if name == "realism" else "drive")
    choices = {"partial": True} if partial and name == "leaderboard" else {}
    return call.table(opened.table("leaderboard" if name == "realism" else name, **choices), format, out)


@command(app)
def power(
    call: Call,
    store: Annotated[str, "Folder of giveway drive run with two or more predictors, or s3://…"],
    *,
    effect: Annotated[float, "Difference of Score that matters."] = 0.5,
    power: Annotated[float, "Wanted probability to detect it."] = 0.8,
    pair: Annotated[Sequence[str], "Only this pair, A,B; repeatable."] = (),
    metric: Variant = "challenge",
) -> Done:
    """Print how many cases a difference of Score takes."""
    from giveway.drive.power import power_document, power_lines
    from giveway.experiments import Store

    pairs = [tuple(one.split(",")) for one in pair]
    if any(len(one) != 2 for one in pairs):
        raise UsageError("a pair is two predictors", where="--pair", found=", ".join(pair), hint="--pair oracle,echo")
    wanted = [(one[0].strip(), one[1].strip()) for one in pairs]
    document = power_document(Store(store), effect=effect, power=power, metric=metric, pairs=wanted)
    heads, rows = power_lines(document)
    notes = [
        f"n = ((z.975 + z{power:g}) sd/{effect:g})^2 (1 + (m - 1) rho): m cases per recording, rho their correlation",
        "half-width, power and number of cases take cases of one recording as alike; 'if independent' does not",
    ]
    return Done(result=document, text=listing("Power", heads, rows, notes=notes))


@command(app)
def compare(
    call: Call,
    store: Annotated[str, "Folder of giveway drive run, or s3://…"],
    a: Annotated[str, "Predictor A, or recorded for the recorded drivers."],
    b: Annotated[str, "Predictor B, or recorded."],
    *,
    metric: Annotated[str, "score, s_eff, s_jer, s_vel or s_cou; realism compares drivers."] = "score",
) -> Done:
    """Print the difference of two predictors with its interval."""
    from giveway.reports.results import Results

    choices = {} if metric == "realism" else {"metric": metric}
    found = Results.open(store, kind="drive" if choices else "realism").compare(a, b, **choices)
    return Done(result={"report": found}, text=found)


@command(app)
def score(
    call: Call,
    folder: Annotated[Path, "Folder of giveway drive run, or a published run of the challenge."],
    *,
    legacy: Annotated[bool, "The folder holds text logs of the 2020 challenge."] = False,
    metric: Variant = "challenge",
    seed: Annotated[int, "Of the resampling."] = 0,
    partial: Annotated[bool, "Also score rows with more than a tenth of the cases failed."] = False,
) -> Done:
    """Score logs again, without driving."""
    from giveway.core.origins import banner
    from giveway.drive.document import scored_again, scored_legacy
    from giveway.metrics.challenge import rules_called

    rows = (scored_legacy if legacy else scored_again)(folder, rules_called(metric), seed=seed, partial=partial)
    terms = ("S_eff", "S_jer", "S_vel", "S_cou", "Score")
    lines = [(r["name"], r["coverage"], r["n_col"], *(r[term.lower()] for term in terms)) for r in rows]
    notes = [f"{r['name']}: failed cases are {r['failed_are']}" for r in rows if r["failed"]]
    said = banner("the traffic of these cases", [o for r in rows for o in r.get("origin", ())])
    return Done(
        result={"predictors": rows},
        text=["" if legacy else said, listing("Scores", ("", "coverage", "n_col", *terms), lines, notes=notes)],
    )


@command(app)
def replay(
    call: Call,
    folders: Annotated[list[Path], "Logs, or folders with logs; several are shown side by side."],
    *,
    out: Annotated[Path | None, "File to write; .html, .mp4 or .gif."] = None,
    case: Annotated[str | None, "Which case, if a folder holds several."] = None,
    predictor: Annotated[Sequence[str], "Which predictor; repeatable: these drives side by side."] = (),
    whole: Annotated[bool, "Film the whole drive instead of the seconds around its event."] = False,
    theme: Annotated[Literal["light", "dark"], "Colors of a film."] = "light",
    data: Path | None = None,
) -> Done:
    """Write a page or a film of a drive, or of several side by side."""
    from giveway.drive.logs import find_log
    from giveway.drive.replay import replay_documents, write_replay_page
    from giveway.reports.player.film import FilmStyle, write_film

    names = list(predictor) or [None]
    logs = [find_log(folder, case=case, predictor=name) for folder in folders for name in names]
    if case is None and len(logs) > 1:  # the case of the first
        logs = [find_log(f, case=logs[0].case.id, predictor=name) for f in folders for name in names]
    who = "-".join(dict.fromkeys(str(log.meta.get("predictor") or "drive") for log in logs))
    target = out or Path(f"{logs[0].case.id}-{who}.html")
    if target.suffix not in (".mp4", ".gif", ".html"):
        raise UsageError("a replay is .html, .mp4 or .gif", where="--out", found=target)
    documents = replay_documents(logs, data)
    if target.suffix == ".html":
        write_replay_page(target, documents)
    else:
        side = (960, 540) if len(logs) == 1 else (720, 540)
        write_film(target, documents, FilmStyle(size=side, theme=theme, whole=whole))
    has_map = documents[0]["map"] is not None
    text = f"{target}" + ("" if has_map else " (without a map; give --data)")
    verdicts = [(d["verdict"] or {}).get("text", "") for d in documents]
    drives = [{"predictor": d["name"], "verdict": said} for d, said in zip(documents, verdicts, strict=True)]
    return Done(result={"file": target, "case": logs[0].case.id, "map": has_map, "drives": drives}, text=text)


command(app)(openloop)
command(app, needs=("rpc",))(serve)
