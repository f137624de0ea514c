"""``giveway drive openloop``: prediction errors on recorded motion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from giveway.cli.command import Call
from giveway.cli.envelope import Done
from giveway.cli.options import Opt
from giveway.cli.tables import listing
from giveway.core.errors import UsageError

HEADS = ("", "windows", "ADE [m]", "FDE [m]", "minADE6 [m]", "minFDE6 [m]", "miss rate", "NLL [nat]", "ADE, 95 %")


def openloop(
    call: Call,
    folder: Annotated[Path | None, "Recordings to cut windows from, instead of --cases."] = None,
    *,
    predictor: Sequence[str] = (),
    cases: Path | None = None,
    data: Annotated[Path | None, "Folder with the recordings the cases were made from."] = None,
    dataset: Annotated[str, "Registered adapter of the recordings."] = "interaction",
    site: Annotated[Sequence[str], "Only sites whose name contains this; repeatable."] = (),
    recording: Annotated[Sequence[str], "Only this recording, e.g. DR_USA_Roundabout_FT/003; repeatable."] = (),
    stride: Annotated[int, Opt("Frames between two windows of a track.", min=1)] = 10,
    checkpoint: Annotated[Path | None, "For trained predictors that are named without a file."] = None,
    max_cases: int | None = None,
    max_recordings: int | None = None,
    against: Annotated[str | None, "Drives of the same cases: also print the rank agreement with their Score."] = None,
    metric: Annotated[str, "Challenge metric of that Score."] = "challenge",
    seed: int = 0,
) -> Done:
    """Print prediction errors on recorded motion; nothing is driven."""
    from giveway.drive.case_sets import CaseScenes
    from giveway.drive.openloop import COLUMNS, on_cases, on_recordings, openloop_document
    from giveway.drive.spec import cases_and_folders, predictor_of
    from giveway.drive.tables import agreement_text
    from giveway.experiments import Store

    if not predictor:
        raise UsageError("open loop needs a predictor", where="--predictor", hint="-p constant_velocity")
    if folder is not None and (cases is not None or against is not None):
        raise UsageError("windows of recordings have no cases", where="--cases, --against", hint="leave FOLDER out")
    chosen = [predictor_of(name, checkpoint) for name in predictor]
    if folder is not None:
        scenes = _scenes(call, folder, dataset, site, recording, max_recordings)
        units = {name: name for name, _ in scenes}
        measure: Any = partial(on_recordings, scenes=scenes, stride=stride)
    else:
        driven, roots = cases_and_folders(cases, data, max_cases)
        units = {case.id: case.recording for case in driven}
        measure = partial(on_cases, cases=driven, source=CaseScenes(roots), seed=seed)
    store = None if against is None else Store(against)
    with call.counting("predict") as progress:
        document = openloop_document(chosen, measure, units, store=store, metric=metric, progress=progress)
    rows = document["predictors"]
    for row in rows:
        if row["trained_on_these"]:
            call.warn(f"{row['name']} was trained on {len(row['trained_on_these'])} of these recordings")
    notes = [f"{r['name']}: {r['fallbacks']} predictions replaced by constant velocity" for r in rows if r["fallbacks"]]
    notes += [f"{r['name']}: {unit} failed: {reason}" for r in rows for unit, reason in r["failed"].items()]
    notes += [f"rank agreement of {agreement_text(found)}" for found in document.get("agreement", ())]
    lines = [(r["name"], r["windows"], *(r[column] for column in COLUMNS), _ends(r["intervals"])) for r in rows]
    return Done(
        result=document,
        text=listing("Open loop", HEADS, lines, notes=notes),
        failures=[{"predictor": r["name"], "unit": u, "reason": why} for r in rows for u, why in r["failed"].items()],
    )


def _scenes(
    call: Call, folder: Path, dataset: str, sites: Sequence[str], recordings: Sequence[str], limit: int | None
) -> list[tuple[str, Any]]:
    from giveway.drive.recordings import read_scenes

    with call.counting("read") as progress:
        found = read_scenes(
            folder,
            dataset=dataset,
            sites=sites,
            wanted=lambda name: not recordings or name in recordings,
            max_recordings=limit,
            progress=progress,
        )
        return [(one.id, scene) for one, scene in found.pairs()]


def _ends(intervals: Any) -> str:
    return "" if not intervals else "[{:.3f}, {:.3f}]".format(*intervals["ade_m"])
