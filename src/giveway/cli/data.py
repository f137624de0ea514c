"""``giveway data``: synthesize, verify, show and convert recordings."""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from giveway.cli.command import Call, command, group
from giveway.cli.envelope import Done
from giveway.cli.options import Opt
from giveway.cli.tables import listing
from giveway.core.errors import GivewayError, UsageError

if TYPE_CHECKING:
    from giveway.data.protocol import Problem, Verification

app = group("Synthesize, verify, show and convert recordings.")

Folder = Annotated[Path, "Folder that holds the recordings."]
Implausible = Annotated[bool, "Take recordings whose columns contradict one another, and say so in notes."]
ALL = "all"
MAX_NOTES = 8


@command(app)
def synth(
    call: Call,
    *,
    dataset: Annotated[str, "Whose files to imitate, or 'all'."],
    out: Annotated[Path, "Folder to create; with 'all' one folder per dataset below it."],
    seed: Annotated[int, "Same seed and size, same bytes."] = 0,
    size: int | None = None,
    minutes: Annotated[float | None, "Length of a recording, where it has one."] = None,
    variant: Annotated[str | None, "File variant, e.g. 'old' for the older lgap form."] = None,
    force: bool = False,
) -> Done:
    """Write synthetic recordings in the format of a real dataset."""
    from giveway.synth import SYNTHESIZERS
    from giveway.synth.protocol import synthesize

    if dataset == ALL and (size is not None or minutes is not None or variant is not None):
        raise UsageError("'all' writes every dataset in its default size", hint="name one --dataset to choose a size")
    folders = {name: out / name for name in SYNTHESIZERS.names()} if dataset == ALL else {dataset: out}
    for name in folders:
        SYNTHESIZERS.get(name)
    written: list[Any] = []
    lines: list[str] = []
    for name, folder in folders.items():
        call.say(f"{name}: writing to {folder} ...")
        made = synthesize(name, folder, seed=seed, count=size, minutes=minutes, variant=variant, force=force)
        written.append(made)
        counts = ", ".join(f"{value} {unit.replace('_', ' ')}" for unit, value in made.counts.items())
        lines += [
            f"{name}: {made.files} files, {made.num_bytes / 1e6:.1f} MB: {counts}",
            f"  truth in {folder / 'truth'}, seed and parameters in {folder / 'synthetic.json'}",
            f"  try  giveway data verify {folder} --dataset {name}",
            f"       giveway data show {folder} --dataset {name} --out pictures",
        ]
    return Done(result={"seed": seed, "written": written}, text=lines)


@command(app)
def verify(call: Call, folder: Folder, *, dataset: str, accept_implausible: Implausible = False) -> Done:
    """List all problems of recordings with file, line and column."""
    from giveway.data import DATASETS

    adapter = DATASETS.get(dataset)
    with call.counting("verify") as progress:
        found = adapter.verify(folder, progress=progress, accept_implausible=accept_implausible)
    result = {name: getattr(found, name) for name in ("dataset", "version", "root", "recordings", "problems", "extra")}
    totals, sites = _counts(found.recordings), _sites(found)
    if not call.as_json:
        for problem in found.problems:
            sys.stderr.write(f"{_text(problem)}\n")
    return Done(
        result={**result, **totals, "locations": sites},
        text=[
            *_summary(adapter.info.title, found, totals, sites),
            *([f"next: giveway data show {folder} -d {dataset}"] if found.ok else []),
        ],
        holds=found.ok,
    )


@command(app)
def show(
    call: Call,
    folder: Folder,
    *,
    dataset: str,
    recording: Annotated[str | None, "Recording to show; the first one without it."] = None,
    scene: Annotated[int, Opt("Scene (trial, case) of the recording, from 0.", min=0)] = 0,
    out: Annotated[Path, "Folder for picture and replay."] = Path("show"),
    start: Annotated[float | None, "Start of the replay [s]; the busiest minute without it."] = None,
    duration: Annotated[float, Opt("Length of the replay [s].", min=0.1)] = 60.0,
    follow: Annotated[str | None, "Id of the road user to follow."] = None,
    accept_implausible: Implausible = False,
) -> Done:
    """Write a picture of map and tracks, and a replay for the browser."""
    from giveway.reports.recordings import show_recording

    shown = show_recording(
        dataset,
        folder,
        out,
        recording=recording,
        scene=scene,
        start_s=start,
        duration_s=duration,
        follow=follow,
        accept_implausible=accept_implausible,
    )
    lines = [
        f"{shown.recording}: {shown.num_tracks} tracks, {shown.duration_s:.1f} s",
        f"picture  {shown.picture}",
        f"replay   {shown.replay}   (open in a browser)",
    ]
    return Done(result=asdict(shown), text=lines)


@command(app, adds=("workers",))
def convert(
    call: Call,
    folder: Folder,
    *,
    dataset: str,
    out: Annotated[Path, "Folder of the store; created if absent."],
    format: Annotated[Literal["store", "scenarionet"], "store (Parquet, checked) or scenarionet."] = "store",
    accept_implausible: Implausible = False,
) -> Done:
    """Write recordings to a Parquet store; run again to resume."""
    from giveway.data import DATASETS
    from giveway.data.convert import convert_recordings
    from giveway.data.reading import Scenes
    from giveway.data.scenarionet_writer import write_scenarionet

    found = DATASETS.get(dataset).recordings(folder)
    recordings = [replace(recording, accept_implausible=accept_implausible) for recording in found]
    if format == "scenarionet":
        with call.counting("convert") as progress:
            scenes = Scenes(DATASETS.get(dataset), recordings, progress)
            written = write_scenarionet(out, scenes)
        lost = [{"cell": name, "message": str(error), **error.as_dict()} for name, error in scenes.left_out.items()]
        counts = {"written": len(written), "skipped": 0, "empty": 0, "failed": len(lost)}
        text = f"{len(written)} scenes written, {len(lost)} recordings failed; {out}"
        return Done(result={"store": out, **counts}, text=text, failures=lost)
    counts = {"written": 0, "skipped": 0, "empty": 0, "failed": 0}
    failures: list[dict[str, Any]] = []
    workers = min(call.values["workers"] or 1, os.cpu_count() or 1)
    with call.counting("convert") as progress:
        for done, result in enumerate(convert_recordings(recordings, out, jobs=workers), 1):
            counts[result.state] += 1
            if result.error is not None:
                parts = dict(result.error)
                text = GivewayError(parts["what"] or "", where=parts["where"], found=parts["found"], hint=parts["try"])
                failures.append({"cell": result.recording, "message": str(text), **parts})
            progress(done, len(recordings), result.recording)
    empty = f"{counts['empty']} without scenes, " if counts["empty"] else ""
    text = f"{counts['written']} written, {counts['skipped']} there already, {empty}{counts['failed']} failed; {out}"
    return Done(result={"store": out, **counts}, text=text, failures=failures)


@command(app)
def lanes(
    call: Call,
    folder: Folder,
    *,
    dataset: str,
    out: Annotated[Path, "Map to write (.osm)."],
    site: Annotated[str | None, "Location whose lanes are wanted, if there are several."] = None,
    width: Annotated[float, Opt("Width of every lane [m].", min=2.0, max=6.0)] = 3.5,
    max_recordings: int | None = None,
    force: bool = False,
) -> Done:
    """Draw a lanelet2 map from tracks, for sites without one."""
    from giveway.core.files import write_text
    from giveway.data import DATASETS
    from giveway.data.reading import Scenes
    from giveway.roads.by_driving import lanes_by_driving
    from giveway.roads.writer import lanelet2_text

    if out.suffix != ".osm":
        raise UsageError("a lanelet2 map is an .osm file", where="--out", found=out)
    if out.exists() and not force:
        raise UsageError("the file exists", where="--out", found=out, hint="--force replaces it")
    adapter = DATASETS.get(dataset)
    found = [r for r in adapter.recordings(folder) if site is None or r.location == site][:max_recordings]
    locations = sorted({recording.location for recording in found})
    if len(locations) != 1:
        names = ", ".join(sorted({r.location for r in adapter.recordings(folder)}))
        raise UsageError("a map is of one location", where="--site", found=f"{site or 'all'}; there are: {names}")
    with call.counting("lanes") as progress:
        scenes = Scenes(adapter, found, progress)
        made = lanes_by_driving((scene.tracks for scene in scenes), width_m=width)
    write_text(out, lanelet2_text(made.sketch)[0])
    rows = [(name, count) for name, count in made.num_tracks.items()]
    notes = [*made.notes, *scenes.notes]
    more = [f"... and {len(notes) - MAX_NOTES} more (--json)"] if len(notes) > MAX_NOTES else []
    use = f"{out}: use it as [map] file of a dataset.toml, or with generate --road"
    result = {"file": out, "ways": made.num_tracks, "notes": notes}
    return Done(result=result, text=listing("Ways", ("way", "tracks"), rows, notes=[*notes[:MAX_NOTES], *more, use]))


def _counts(recordings: Sequence[Any]) -> dict[str, Any]:
    names = ("num_tracks", "num_frames", "num_rows", "duration_s")
    return {"num_recordings": len(recordings), **{name: sum(getattr(r, name) for r in recordings) for name in names}}


def _sites(verification: Verification) -> dict[str, dict[str, Any]]:
    sites: dict[str, list[Any]] = defaultdict(list)
    for recording in verification.recordings:
        sites[recording.location].append(recording)
    return {name: _counts(found) for name, found in sorted(sites.items())}


def _summary(
    title: str, verification: Verification, totals: Mapping[str, Any], sites: Mapping[str, Mapping[str, Any]]
) -> list[Any]:
    """Counts per location, and one line for all of them."""
    rows = [
        (name or "-", site["num_recordings"], site["num_tracks"], site["num_rows"], site["duration_s"] / 60)
        for name, site in sites.items()
    ]
    heads = ("location", "recordings", "tracks", "rows", "minutes")
    errors = sum(problem.severity == "error" for problem in verification.problems)
    warnings = len(verification.problems) - errors
    line = (
        f"{title} (version {verification.version}): {totals['num_recordings']} recordings, "
        f"{totals['num_tracks']} tracks, {totals['num_rows']} rows, {totals['duration_s'] / 60:.1f} min; "
        f"{'ok' if verification.ok else 'NOT ok'}"
        + (f", {errors} errors" if errors else "")
        + (f", {warnings} warnings" if warnings else "")
    )
    agreements = Counter(verification.extra.get("released", {}).values())
    release = ", ".join(f"{count} {word}" for word, count in sorted(agreements.items()))
    table = [listing("Locations", heads, rows, form=".1f")] if rows else []
    return [*table, line, *([f"compared with the official files of {title}: {release}"] if release else [])]


def _text(problem: Problem) -> str:
    """A problem in four parts, as errors are printed."""
    line = [] if problem.line is None else [f"line {problem.line}"]
    column = [] if problem.column is None else [f"column {problem.column!r}"]
    place = ", ".join([problem.file, *line, *column])
    return f"{problem.severity}: {GivewayError(problem.message, where=place, found=problem.found, hint=problem.hint)}"
