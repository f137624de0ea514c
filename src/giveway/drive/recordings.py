"""Scenes of a folder of recordings, and the cases in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from giveway.core.case import Case
from giveway.core.errors import EmptySelectionError
from giveway.core.scene import Scene
from giveway.data import DATASETS
from giveway.data.reading import Scenes
from giveway.drive.gallery import write_gallery
from giveway.drive.mining import KINDS, MiningRules, mine_scene
from giveway.sim.case_files import write_cases

Count = Callable[[int, int, str], None]
"""Called with the number of finished recordings, of all of them, and the name of the next."""


def read_scenes(
    folder: Path,
    *,
    dataset: str = "interaction",
    sites: Sequence[str] = (),
    wanted: Callable[[str], bool] = lambda recording: True,
    max_recordings: int | None = None,
    progress: Count = lambda done, total, current: None,
) -> Scenes:
    """Every scene of the recordings of some sites; recordings that cannot be read are left out.

    Args:
        folder: with the recordings.
        dataset: registered adapter.
        sites: parts of the names of sites; all if empty.
        wanted: whether a recording of this identifier is read.
        max_recordings: read at most this many.
        progress: see :data:`Count`.

    Raises:
        EmptySelectionError: no recording of these sites.
    """
    adapter = DATASETS.get(dataset)
    found = [
        r
        for r in adapter.recordings(folder)
        if (not sites or any(site in r.location for site in sites)) and wanted(r.id)
    ]
    chosen = found[:max_recordings]
    if not chosen:
        raise EmptySelectionError("no recording of these sites", where=folder, found=", ".join(sites))
    return Scenes(adapter, chosen, progress)


def mine_recordings(
    folder: Path,
    out: Path,
    *,
    dataset: str = "interaction",
    rules: MiningRules | None = None,
    gallery: Path | None = None,
    sites: Sequence[str] = (),
    max_recordings: int | None = None,
    progress: Count = lambda done, total, current: None,
) -> dict[str, Any]:
    """Find cases in which somebody had to give way, and write them to a case file.

    Args:
        folder: with the recordings.
        out: case file.
        dataset: registered adapter.
        rules: which conflicts are cases.
        gallery: also write a page with a picture of every case.
        sites: see :func:`read_scenes`.
        max_recordings: likewise.
        progress: likewise.

    Returns:
        Number of cases, by kind and by how the right of way is known, of pairs of paths that meet and of conflicts;
        which recordings could not be read, and why.

    Raises:
        EmptySelectionError: no case.
    """
    rules = rules or MiningRules()
    cases: list[Case] = []
    pictures: list[tuple[Case, Scene]] = []
    pairs = conflicts = 0
    scenes = read_scenes(folder, dataset=dataset, sites=sites, max_recordings=max_recordings, progress=progress)
    for recording, scene in scenes.pairs():
        found = mine_scene(scene, dataset=dataset, recording=recording.id, rules=rules)
        cases += found.cases
        pairs += found.pairs
        conflicts += found.conflicts
        if gallery is not None:
            pictures += [(case, scene) for case in found.cases]
    if not cases:
        raise EmptySelectionError(
            "no case was interesting enough",
            where=folder,
            found=f"{pairs} pairs of paths meet, {conflicts} within {rules.max_gap_s} s",
            hint="lower --min-interest or raise --max-gap",
        )
    write_cases(out, cases)
    if gallery is not None:
        write_gallery(gallery, pictures)
    return {
        "cases": len(cases),
        "kinds": {kind: sum(case.conflicts[0].kind == kind for case in cases) for kind in KINDS},
        "right_of_way_by": {
            rule: sum(case.conflicts[0].rule == rule for case in cases) for rule in ("map", "geometry", "inferred")
        },
        "pairs": pairs,
        "conflicts": conflicts,
        "left_out": list(scenes.notes),
    }
