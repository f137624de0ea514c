"""The commands of ``giveway drive`` that work on files: mine, score, replay, train-predictor."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from giveway.cli.output import print_json
from giveway.cli.progress import recording_progress
from giveway.core.errors import EmptySelectionError, UsageError
from giveway.core.origins import banner
from giveway.drive.roads import road_of

if TYPE_CHECKING:
    from giveway.core.case import Case

AS_JSON = typer.Option(False, "--json", help="Print one JSON document.")


def score(
    folder: Path = typer.Argument(..., help="Run folder of giveway drive run, or a published run of the challenge."),
    form: str = typer.Option("native", "--format", help="native, or legacy for the challenge's text logs."),
    metric: str = typer.Option("challenge", "--metric", help="challenge, challenge_coded or challenge_documented."),
    seed: int = typer.Option(0, "--seed", help="Of the resampling."),
    as_json: bool = AS_JSON,
) -> None:
    """Score logs again, without driving."""
    from giveway.drive.document import scored_again, scored_legacy
    from giveway.metrics.challenge import rules_called

    forms = {"native": scored_again, "legacy": scored_legacy}
    if form not in forms:
        raise UsageError("unknown log format", where="--format", found=form, hint="native or legacy")
    results = forms[form](folder, rules_called(metric), seed=seed)
    if as_json:
        print_json(results[0] if len(results) == 1 else {"predictors": results})
        return
    said = banner("the traffic of these cases", [o for row in results for o in row.get("origin", ())])
    if said and form == "native":
        typer.echo(said)
    for row in results:
        terms = ", ".join(
            f"{name} {_term(row[name.lower()])}" for name in ("S_eff", "S_jer", "S_vel", "S_cou", "Score")
        )
        failed = f" (failed cases are {row['failed_are']})" if row["failed"] else ""
        typer.echo(f"{row['name']}: {row['coverage']}, n_col {row['n_col']}, {terms}{failed}")


def _term(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def replay(
    folder: Path = typer.Argument(..., help="A log, or a folder with logs."),
    out: Path | None = typer.Option(None, "--out", "-o", help="File to write; .html or .mp4."),
    case: str | None = typer.Option(None, "--case", help="Which case, if the folder holds several."),
    predictor: str | None = typer.Option(None, "--predictor", "-p", help="Which predictor, if it holds several."),
    data: Path | None = typer.Option(None, "--data", help="Folder with the recordings, for the map."),
    as_json: bool = AS_JSON,
) -> None:
    """Make a page or a film of one drive."""
    from giveway.drive.logs import find_log
    from giveway.drive.replay import write_film, write_replay_page

    log = find_log(folder, case=case, predictor=predictor)
    target = out or Path(f"{log.case.id}-{log.meta.get('predictor') or 'drive'}.html")
    road = road_of(log.case, data)
    if target.suffix == ".mp4":
        write_film(target, log, road)
    elif target.suffix == ".html":
        write_replay_page(target, log, road)
    else:
        raise UsageError("a replay is .html or .mp4", where="--out", found=target)
    if as_json:
        print_json({"ok": True, "file": target, "case": log.case.id, "map": road is not None})
    else:
        typer.echo(f"{target}" + ("" if road is not None else " (without a map; give --data)"))


def mine(
    data: Path = typer.Option(..., "--data", help="Folder with recordings."),
    out: Path = typer.Option(..., "--out", "-o", help="Case file to write (.json)."),
    dataset: str = typer.Option("interaction", "--dataset", "-d", help="Registered adapter of the recordings."),
    site: list[str] = typer.Option([], "--site", help="Only sites whose name contains this; may be repeated."),
    kind: list[str] = typer.Option([], "--kind", help="crossing, merging or entering; may be repeated."),
    min_interest: float = typer.Option(3.0, "--min-interest", help="1 (dull) to 5 (closely had to give way)."),
    per_recording: int = typer.Option(20, "--per-recording", min=1, help="At most so many cases of a recording."),
    limit: int | None = typer.Option(None, "--limit", min=1, help="At most so many recordings."),
    max_gap: float = typer.Option(3.0, "--max-gap", help="Largest time between the two cars at the shared place [s]."),
    gallery: Path | None = typer.Option(None, "--gallery", help="Also write a page with a picture of every case."),
    as_json: bool = AS_JSON,
) -> None:
    """Find cases in recordings in which somebody had to give way."""
    from giveway.data import DATASETS
    from giveway.drive.gallery import write_gallery
    from giveway.drive.mining import MiningRules, mine_scene
    from giveway.sim.case_files import write_cases

    if out.suffix != ".json":
        raise UsageError("a case set is a .json file", where="--out", found=out)
    adapter = DATASETS.get(dataset)
    recordings = [r for r in adapter.recordings(data) if not site or any(s in r.location for s in site)][:limit]
    if not recordings:
        raise EmptySelectionError("no recording of these sites", where=data, found=", ".join(site))
    rules = MiningRules(kinds=tuple(kind), min_interest=min_interest, max_cases=per_recording, max_gap_s=max_gap)
    cases: list[Case] = []
    counts: dict[str, Any] = {"pairs": 0, "conflicts": 0}
    pictures: list[tuple[Case, Any]] = []
    with recording_progress("mine") as report:
        for done, recording in enumerate(recordings):
            report(done, len(recordings), recording.id)
            for scene in adapter.scenes(recording):
                found = mine_scene(scene, dataset=dataset, recording=recording.id, rules=rules)
                cases += found.cases
                counts["pairs"] += found.pairs
                counts["conflicts"] += found.conflicts
                if gallery is not None:
                    pictures += [(case, scene) for case in found.cases]
    if not cases:
        raise EmptySelectionError(
            "no case was interesting enough",
            where=data,
            found=f"{counts['pairs']} pairs of paths meet, {counts['conflicts']} within {max_gap} s",
            hint="lower --min-interest or raise --max-gap",
        )
    write_cases(out, cases)
    if gallery is not None:
        write_gallery(gallery, pictures)
    kinds = {k: sum(case.conflicts[0].kind == k for case in cases) for k in ("crossing", "merging", "entering")}
    rules_used = {r: sum(case.conflicts[0].rule == r for case in cases) for r in ("map", "geometry", "inferred")}
    if as_json:
        print_json(
            {"ok": True, "file": out, "cases": len(cases), "kinds": kinds, "right_of_way_by": rules_used, **counts}
        )
    else:
        typer.echo(f"{len(cases)} cases in {out}: {', '.join(f'{n} {k}' for k, n in kinds.items())}")
        typer.echo(f"right of way by {', '.join(f'{r} {n}' for r, n in rules_used.items())}")


def train_predictor(
    data: Path = typer.Option(..., "--data", help="Folder with INTERACTION-format recordings."),
    out: Path = typer.Option(..., "--out", "-o", help="Checkpoint to write (.safetensors)."),
    kind: str = typer.Option("gru", "--kind", "-k", help="gru (small, own history) or trajectron (with neighbors)."),
    dataset: str = typer.Option("interaction", "--dataset", "-d", help="Registered adapter of the recordings."),
    site: list[str] = typer.Option([], "--site", help="Only sites whose name contains this; may be repeated."),
    epochs: int | None = typer.Option(None, "--epochs", min=1, help="Passes over the windows; 12 by default."),
    stride: int = typer.Option(10, "--stride", min=1, help="Frames between two windows of a track."),
    limit: int | None = typer.Option(None, "--limit", min=1, help="At most so many recordings."),
    seed: int = typer.Option(0, "--seed"),
    device: str = typer.Option("cpu", "--device", help="cpu, or cuda where there is one (trajectron)."),
    patience: int = typer.Option(
        0, "--patience", min=0, help="Stop when the held-out error did not improve for so many epochs; 0 never."
    ),
    figure: Path | None = typer.Option(None, "--figure", help="Also draw the learning curve, .png, .pdf or .svg."),
    as_json: bool = AS_JSON,
) -> None:
    """Train a predictor on recordings and compare it with constant velocity; run again to resume."""
    from giveway.data import DATASETS
    from giveway.drive.training import TrainingRules, train_on_scenes
    from giveway.predictors.windows import TrainingOptions

    if out.suffix != ".safetensors":
        raise UsageError("a checkpoint is a .safetensors file", where="--out", found=out)
    adapter = DATASETS.get(dataset)
    recordings = [r for r in adapter.recordings(data) if not site or any(s in r.location for s in site)][:limit]
    if not recordings:
        raise EmptySelectionError("no recording of these sites", where=data, found=", ".join(site))
    with recording_progress("read") as report:
        scenes: list[Any] = []
        for done, recording in enumerate(recordings):
            report(done, len(recordings), recording.id)
            scenes += list(adapter.scenes(recording))
    options = TrainingOptions(epochs=epochs, seed=seed, device=device, patience=patience)
    with recording_progress("train") as report:
        result = train_on_scenes(scenes, out, TrainingRules(kind=kind, stride=stride, options=options), on_step=report)
    if figure is not None:
        from giveway.gaps.learning import learning_curve

        learning_curve(result["loss"], result["validation_ade_m"], figure, title=f"{kind}, {result['windows']} windows")
    if as_json:
        print_json({"ok": True, "file": out, "figure": figure, **result})
    else:
        typer.echo(
            f"{out}: {result['windows']} windows, held-out ADE {result['ade_m']:.3f} m, FDE {result['fde_m']:.3f} m "
            f"(constant velocity {result['cv_ade_m']:.3f} / {result['cv_fde_m']:.3f}), "
            f"best of its modes {result['min_ade_m']:.3f} m"
        )
        typer.echo(f"next: giveway drive run -p {kind}:{out} -o R")
