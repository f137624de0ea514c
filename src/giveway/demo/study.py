"""A chapter on the study: clips of the demo's own traffic, rated by simulated raters."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from giveway.demo.chapter import Chapter
from giveway.demo.recordings import RECORDINGS
from giveway.study.creation import Plan, create_study
from giveway.study.design import parse_design
from giveway.study.export import export_study
from giveway.study.rehearsal import rehearse
from giveway.study.sources import Source, find_sources

NUM_CLIPS, NUM_RATERS, DRAWS = 12, 30, 500
FOLDER = Path("study")


def _run(root: Path, seed: int) -> None:
    shutil.rmtree(root / FOLDER, ignore_errors=True)
    design = parse_design({"id": "demo", "order": {"seed": seed}}, where="demo")
    with tempfile.TemporaryDirectory() as folder:
        form = Path(folder) / "form"
        create_study(_sources(root), form, design, Plan(num_clips=NUM_CLIPS))
        answered = rehearse(form, root / FOLDER / "answered", num_raters=NUM_RATERS, seed=seed)
    export_study(answered, root / FOLDER / "tables")
    answered.engine.dispose()


def _sources(root: Path) -> list[Source]:
    """Synthetic recordings, and the failures of the chapter before if there are any."""
    conditions = {"synthetic": root / RECORDINGS, "generated": root / "generate" / "cases" / "recordings"}
    return [
        replace(source, condition=name)
        for name, folder in conditions.items()
        if folder.is_dir()
        for source in find_sources(folder)[:1]
    ]


chapter = Chapter(name="study", title="Study and agreement", run=_run)
