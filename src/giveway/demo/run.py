"""Run the chapters one after the other, and make one report of what they left behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from giveway.core.registry import Registry
from giveway.demo.chapter import Chapter
from giveway.demo.recordings import RECORDINGS
from giveway.demo.study import DRAWS
from giveway.reports.content import PageLimits
from giveway.reports.find import Report, make_report

CHAPTERS: Registry[Chapter] = Registry(
    "chapter",
    {
        "recordings": "giveway.demo.recordings:chapter",
        "gaps": "giveway.demo.gaps:chapter",
        "drive": "giveway.demo.drive:chapter",
        "minds": "giveway.demo.minds:chapter",
        "generate": "giveway.demo.generate:chapter",
        "study": "giveway.demo.study:chapter",
    },
    group="giveway.demo",
)
"""Chapters by name."""

ORDER = ("recordings", "gaps", "drive", "minds", "generate", "study")
"""The order in which they are run."""
REPORT, TITLE = "report", "Who goes first? Four questions, four answers"
LIMITS = PageLimits(samples=40, replays=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a part of the demo found: a question, its answer, and what is not real about it."""

    question: str
    answer: str
    badges: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What the demo left behind.

    Attributes:
        page: to open.
        seconds: chapter to wall time.
        findings: one per application.
    """

    page: Path
    seconds: dict[str, float]
    findings: tuple[Finding, ...]


def run_demo(root: Path, *, seed: int = 0, say: Callable[[str], None] = print) -> Demo:
    """Run all chapters into a folder and make a report of them.

    Args:
        root: folder to write to; files of an earlier demo are replaced.
        seed: of everything that is drawn.
        say: called with one line per chapter.
    """
    seconds: dict[str, float] = {}
    count = len(ORDER) + 1
    for number, chapter in enumerate(map(CHAPTERS.get, ORDER), start=1):
        say(f"[{number}/{count}] {chapter.title} …")
        began = time.perf_counter()
        chapter.run(root, seed)
        seconds[chapter.name] = time.perf_counter() - began
        say(f"[{number}/{count}] {chapter.title}: {seconds[chapter.name]:.1f} s")
    say(f"[{count}/{count}] Report …")
    began = time.perf_counter()
    made = report_of(root)
    seconds[REPORT] = time.perf_counter() - began
    say(f"[{count}/{count}] Report: {seconds[REPORT]:.1f} s")
    answers = [part.pages[0].answer for part in made.parts]
    findings = tuple(Finding(question=a.question, answer=a.sentence, badges=a.badges) for a in answers if a)
    return Demo(page=made.page, seconds=seconds, findings=findings)


def report_of(root: Path) -> Report:
    """The report of everything in the demo's folder."""
    return make_report(root, root / REPORT, title=TITLE, limits=LIMITS, draws=DRAWS, recorded=root / RECORDINGS)
