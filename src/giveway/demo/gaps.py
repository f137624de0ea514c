"""A chapter on gap acceptance: the benchmark on synthetic recordings."""

from __future__ import annotations

from pathlib import Path

from giveway.demo.chapter import Chapter
from giveway.gaps.presets import preset
from giveway.gaps.run import benchmark


def _run(root: Path, seed: int) -> None:
    benchmark(preset("demo", seed=seed), root / "gaps" / "results")


chapter = Chapter(name="gaps", title="Gap acceptance", run=_run)
