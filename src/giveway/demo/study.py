"""A chapter on the study: clips of the demo's own traffic, simulated raters, and whether they agree."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from giveway.demo.chapter import Chapter, Section
from giveway.study.analysis import Estimate, analyze_study
from giveway.study.creation import Plan, create_study
from giveway.study.design import parse_design
from giveway.study.export import export_study
from giveway.study.rehearsal import rehearse
from giveway.study.sources import Source, find_sources

NUM_CLIPS, NUM_RATERS, DRAWS = 12, 30, 500
FOLDER = Path("study")


def _run(root: Path, seed: int) -> tuple[Section, ...]:
    shutil.rmtree(root / FOLDER, ignore_errors=True)
    declared = {"id": "demo", "order": {"seed": seed}}
    create_study(
        _sources(root),
        root / FOLDER / "form",
        parse_design(declared, where="demo"),
        Plan(num_clips=NUM_CLIPS),
    )
    answered = rehearse(root / FOLDER / "form", root / FOLDER / "answered", num_raters=NUM_RATERS, seed=seed)
    analysis = analyze_study(answered, draws=DRAWS)
    export_study(answered, root / FOLDER / "tables")
    results = analysis.kept or analysis.everybody
    ratings = [("condition", "clips", "ratings", "mean rating", "share realistic")]
    ratings += [
        (c.condition, str(c.num_clips), str(c.num_ratings), _interval(c.mean), _interval(c.share_realistic))
        for c in results.conditions
    ]
    sections = [
        Section(
            heading="Does it look real?",
            text=f"{NUM_RATERS} simulated raters, {NUM_CLIPS} clips of synthetic and generated traffic, two of them "
            "broken on purpose. Their opinions are made up; with people the same tables mean something.",
            command="giveway study create recordings --out form && giveway study serve form",
            links=(("the answers", FOLDER / "tables" / "answers.csv"),),
            table=tuple(ratings),
        )
    ]
    if (agreement := results.agreement) is not None:
        rows = (
            ("coefficient", "value"),
            ("weighted Fleiss kappa", f"{agreement.kappa_corrected:.3f} ({agreement.band})"),
            *(
                (f"{i.level:.0%} interval {i.label}, {i.how}", f"{i.low:.3f} to {i.high:.3f}")
                for i in agreement.intervals
            ),
            ("the same as printed (counts a rater as agreeing with himself)", f"{agreement.kappa_as_printed:.3f}"),
            ("Gwet's AC2", f"{agreement.ac2:.3f}"),
            ("Krippendorff's alpha", f"{agreement.alpha:.3f}"),
        )
        answers = FOLDER / "tables" / "answers.csv"
        sections.append(Section(heading="Do they agree?", command=f"giveway agree {answers}", table=rows))
    return tuple(sections)


def _sources(root: Path) -> list[Source]:
    """Synthetic recordings, and the failures of the chapter before if there are any."""
    conditions = {
        "synthetic": root / "recordings" / "interaction",
        "generated": root / "generate" / "cases" / "recordings",
    }
    return [
        replace(source, condition=name)
        for name, folder in conditions.items()
        if folder.is_dir()
        for source in find_sources(folder)[:1]
    ]


def _interval(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


chapter = Chapter(name="study", title="Study and agreement", run=_run)
