"""A chapter on the study: clips of the demo's own traffic, rated by simulated raters."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from giveway.demo.chapter import Chapter
from giveway.demo.minds import DRIVERS, PREDICTOR
from giveway.demo.minds import FOLDER as MINDS
from giveway.demo.recordings import RECORDINGS
from giveway.drive.roads import road_of
from giveway.study.creation import Plan, create_study
from giveway.study.design import parse_design
from giveway.study.export import export_study
from giveway.study.rehearsal import rehearse
from giveway.study.sources import Source, find_sources

NUM_CLIPS, NUM_RATERS, DRAWS, SECONDS = 14, 30, 500, 5.0
FOLDER = Path("study")


def _run(root: Path, seed: int) -> None:
    shutil.rmtree(root / FOLDER, ignore_errors=True)
    design = parse_design({"id": "demo", "order": {"seed": seed}, "clips": {"duration_s": SECONDS}}, where="demo")
    with tempfile.TemporaryDirectory() as folder:
        form = Path(folder) / "form"
        create_study(_sources(root), form, design, Plan(num_clips=NUM_CLIPS))
        answered = rehearse(form, root / FOLDER / "answered", num_raters=NUM_RATERS, seed=seed)
    export_study(answered, root / FOLDER / "tables")
    answered.engine.dispose()


def _sources(root: Path) -> list[Source]:
    """Traffic by formula, with minds and as it was, all on the same roads; recordings without these; failures."""
    conditions: dict[str, Source] = {}
    for name in DRIVERS:
        if (store := root / MINDS / name).is_dir():
            found = {s.condition: s for s in find_sources(store, road_of=lambda case: road_of(case, None))}
            driven = found.pop(PREDICTOR)
            conditions |= {**found, name: driven}  # the drivers of the cases themselves are the same for both
    others = {"synthetic": root / RECORDINGS, "generated": root / "generate" / "cases" / "recordings"}
    for name, folder in others.items():
        if name not in conditions and folder.is_dir() and any(folder.iterdir()):
            conditions[name] = find_sources(folder)[0]
    return [replace(source, condition=name) for name, source in conditions.items()]


chapter = Chapter(name="study", title="Study and agreement", run=_run)
