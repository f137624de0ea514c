"""Last chapter of the demo: one site of everything the other chapters left behind."""

from __future__ import annotations

from pathlib import Path

from giveway.demo.chapter import Chapter, Section
from giveway.demo.generate import RECORDINGS
from giveway.demo.study import DRAWS
from giveway.reports.content import PageLimits
from giveway.reports.find import make_report

FOLDER = "report"
LIMITS = PageLimits(samples=40, replays=24)


def _run(root: Path, seed: int) -> tuple[Section, ...]:
    recorded = root / RECORDINGS
    made = make_report(root, root / FOLDER, title="Demo", limits=LIMITS, draws=DRAWS, recorded=recorded)
    kinds = ", ".join(f"{part.title}: {part.pages[0].lead}" for part in made.parts)
    return (
        Section(
            heading="Everything on one site",
            text=f"Leaderboards, every cell, case and clip with its replay, provenance and citations. {kinds}.",
            command=f"giveway report {root} --out {root / FOLDER} --recorded {recorded} --draws {DRAWS}",
            links=(("Open the site", Path(FOLDER) / "index.html"),),
        ),
    )


chapter = Chapter(name="report", title="One report", run=_run)
