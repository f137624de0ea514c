"""``giveway data``: list, verify, show and convert recordings."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from giveway.cli.data_show import show
from giveway.cli.data_synth import synth
from giveway.cli.output import print_json
from giveway.cli.progress import recording_progress

if TYPE_CHECKING:
    from giveway.data.protocol import Problem, Verification

app = typer.Typer(
    help="Recordings: what can be read, whether it is whole, pictures, conversion.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command("show")(show)
app.command("synth")(synth)

DATASET = typer.Option(..., "--dataset", "-d", help="Name of the dataset; see 'giveway data list'.")
ROOT = typer.Option(..., "--root", "-r", help="Folder that holds the recordings.")
ACCEPT_IMPLAUSIBLE = typer.Option(
    False,
    "--accept-implausible",
    help="Take recordings whose columns contradict one another (heading, velocity, position, size); say so in notes.",
)
AS_JSON = typer.Option(False, "--json", help="Print one JSON document.")


@app.command("list")
def list_datasets(as_json: bool = AS_JSON) -> None:
    """All datasets that can be read, with licence and how to obtain them."""
    from giveway.data import DATASETS

    infos = [DATASETS.get(name).info for name in DATASETS.names()]
    if as_json:
        print_json({"ok": True, "datasets": infos})
        return
    for info in infos:
        typer.echo(f"{info.name:<18}{info.title}")
        typer.echo(f"{'':<18}licence: {info.license}")
        typer.echo(f"{'':<18}obtain:  {info.obtain}")
        for index, line in enumerate(info.layout.splitlines()):
            typer.echo(f"{'':<18}{'files:   ' if index == 0 else '         '}{line}")


@app.command()
def verify(
    dataset: str = DATASET,
    root: Path = ROOT,
    accept_implausible: bool = ACCEPT_IMPLAUSIBLE,
    as_json: bool = AS_JSON,
) -> None:
    """Check every file below a folder: all problems at once with file, line and column, and counts."""
    from giveway.data import DATASETS

    adapter = DATASETS.get(dataset)
    with recording_progress("verify", quiet=as_json) as progress:
        verification = adapter.verify(root, progress=progress, accept_implausible=accept_implausible)
    totals, sites = _totals(verification), _sites(verification)
    if as_json:
        print_json(
            {
                "ok": verification.ok,
                "dataset": verification.dataset,
                "version": verification.version,
                "root": verification.root,
                **totals,
                "locations": sites,
                "recordings": verification.recordings,
                "problems": verification.problems,
                "extra": verification.extra,
            }
        )
    else:
        _print_verification(adapter.info.title, verification, totals, sites)
    if not verification.ok:
        raise typer.Exit(2)


@app.command()
def convert(
    dataset: str = DATASET,
    root: Path = ROOT,
    out: Path = typer.Option(..., "--out", "-o", help="Folder of the store; created if absent."),
    jobs: int = typer.Option(1, "--jobs", "-j", min=1, help="Recordings to convert at once."),
    accept_implausible: bool = ACCEPT_IMPLAUSIBLE,
    as_json: bool = AS_JSON,
) -> None:
    """Write the recordings to a Parquet store, many times faster to read; run again to go on where it stopped."""
    from giveway.data import DATASETS
    from giveway.data.convert import convert_recordings

    recordings = [
        replace(recording, accept_implausible=accept_implausible)
        for recording in DATASETS.get(dataset).recordings(root)
    ]
    counts = {"written": 0, "skipped": 0, "empty": 0, "failed": 0}
    failures: list[dict[str, Any]] = []
    workers = min(jobs, os.cpu_count() or 1)
    with recording_progress("convert", quiet=as_json) as progress:
        for done, result in enumerate(convert_recordings(recordings, out, jobs=workers), 1):
            counts[result.state] += 1
            if result.error is not None:
                failures.append({"recording": result.recording, **result.error})
            progress(done, len(recordings), result.recording)
    if as_json:
        print_json({"ok": not failures, "store": out, **counts, "failures": failures})
    else:
        for failure in failures:
            _print_parts("error", failure["what"], failure["where"], failure["found"], failure["try"])
        empty = f"{counts['empty']} without scenes, " if counts["empty"] else ""
        typer.echo(
            f"{counts['written']} written, {counts['skipped']} there already, {empty}{counts['failed']} failed; {out}"
        )
    if failures:
        raise typer.Exit(2)


def _totals(verification: Verification) -> dict[str, Any]:
    recordings = verification.recordings
    return {
        "num_recordings": len(recordings),
        "num_tracks": sum(r.num_tracks for r in recordings),
        "num_frames": sum(r.num_frames for r in recordings),
        "num_rows": sum(r.num_rows for r in recordings),
        "duration_s": sum(r.duration_s for r in recordings),
    }


def _sites(verification: Verification) -> dict[str, dict[str, Any]]:
    sites: dict[str, dict[str, Any]] = defaultdict(
        lambda: {"num_recordings": 0, "num_tracks": 0, "num_rows": 0, "duration_s": 0.0}
    )
    for recording in verification.recordings:
        site = sites[recording.location]
        site["num_recordings"] += 1
        site["num_tracks"] += recording.num_tracks
        site["num_rows"] += recording.num_rows
        site["duration_s"] += recording.duration_s
    return dict(sorted(sites.items()))


def _print_verification(
    title: str, verification: Verification, totals: dict[str, Any], sites: dict[str, dict[str, Any]]
) -> None:
    for problem in verification.problems:
        _print_parts(problem.severity, problem.message, _place(problem), problem.found, problem.hint)
    if sites:
        typer.echo(f"{'location':<28}{'recordings':>11}{'tracks':>9}{'rows':>11}{'minutes':>9}")
        for name, site in sites.items():
            typer.echo(
                f"{name or '-':<28}{site['num_recordings']:>11}{site['num_tracks']:>9}{site['num_rows']:>11}"
                f"{site['duration_s'] / 60:>9.1f}"
            )
    errors = sum(problem.severity == "error" for problem in verification.problems)
    warnings = len(verification.problems) - errors
    state = "ok" if verification.ok else "NOT ok"
    typer.echo(
        f"{title} (version {verification.version}): {totals['num_recordings']} recordings, "
        f"{totals['num_tracks']} tracks, {totals['num_rows']} rows, {totals['duration_s'] / 60:.1f} min; {state}"
        + (f", {errors} errors" if errors else "")
        + (f", {warnings} warnings" if warnings else "")
    )


def _place(problem: Problem) -> str:
    parts = [problem.file]
    if problem.line is not None:
        parts.append(f"line {problem.line}")
    if problem.column is not None:
        parts.append(f"column {problem.column!r}")
    return ", ".join(parts)


def _print_parts(severity: str, what: str, where: str | None, found: str | None, hint: str | None) -> None:
    typer.echo(f"{severity}: {what}", err=True)
    for label, text in (("where", where), ("found", found), ("try", hint)):
        if text:
            typer.echo(f"  {label:<6} {text}", err=True)
