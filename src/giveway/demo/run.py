"""Run the chapters one after the other and write the page that shows them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from giveway.core.files import write_text
from giveway.core.registry import Registry
from giveway.demo.chapter import Chapter, Section
from giveway.reports.content import Block, Heading, Links, Page
from giveway.reports.rendering import single_page

CHAPTERS: Registry[Chapter] = Registry(
    "chapter",
    {
        "recordings": "giveway.demo.recordings:chapter",
        "gaps": "giveway.demo.gaps:chapter",
        "drive": "giveway.demo.drive:chapter",
        "generate": "giveway.demo.generate:chapter",
        "study": "giveway.demo.study:chapter",
        "report": "giveway.demo.report:chapter",
    },
    group="giveway.demo",
)
"""Chapters by name."""

ORDER = ("recordings", "gaps", "drive", "generate", "study", "report")
"""The order in which they are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapterResult:
    """What a chapter left behind.

    Attributes:
        name: of the chapter.
        title: heading.
        seconds: wall time.
        files: everything it links to or shows, relative to the demo's folder.
    """

    name: str
    title: str
    seconds: float
    files: tuple[str, ...]


def run_demo(root: Path, *, seed: int = 0, say: Callable[[str], None] = print) -> tuple[ChapterResult, ...]:
    """Run all chapters into ``root`` and write ``root / "index.html"``.

    Args:
        root: folder to write to; files of an earlier demo are replaced.
        seed: of everything that is drawn.
        say: called with one line per chapter.
    """
    results: list[ChapterResult] = []
    told: list[tuple[str, str, tuple[Section, ...]]] = []
    for number, name in enumerate(ORDER, start=1):
        chapter = CHAPTERS.get(name)
        began = time.perf_counter()
        sections = chapter.run(root, seed)
        seconds = time.perf_counter() - began
        files = [p.as_posix() for s in sections for p in ([s.image] if s.image else []) + [link for _, link in s.links]]
        results.append(ChapterResult(name=name, title=chapter.title, seconds=seconds, files=tuple(files)))
        told.append((name, chapter.title, sections))
        say(f"[{number}/{len(ORDER)}] {chapter.title}: {seconds:.1f} s")
    write_text(root / "index.html", demo_page(told))
    return tuple(results)


def demo_page(chapters: Sequence[tuple[str, str, Sequence[Section]]]) -> str:
    """HTML of the demo's index.

    Args:
        chapters: (name, title, sections).
    """
    blocks: list[Block] = [Links(items=tuple((title, f"#{name}") for name, title, _ in chapters))]
    for name, title, sections in chapters:
        blocks += [Heading(text=title, id=name), *(block for section in sections for block in section.blocks())]
    lead = (
        "How well do machines understand drivers who must share a piece of road? Everything below was made just now, "
        "on this machine, from synthetic recordings."
    )
    return single_page(Page(title="Give Way: demo", lead=lead, blocks=tuple(blocks)))
