"""What a benchmark run would take: cells, fits, hours and disk, before anything is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from giveway.core.remaining_time import duration
from giveway.experiments import Cell
from giveway.experiments.threads import num_cores
from giveway.gaps.cells import cells_of
from giveway.gaps.estimate import Estimate, estimates
from giveway.gaps.sources import Source
from giveway.gaps.spec import RunSpec

PUBLISHED = ("experiment-1", "experiment-2", "experiment-3")
"""Presets of the published grids."""
BYTES_PER_CELL = 25_000
"""Disk that a cell of the published grids takes, samples included."""
NAMES = ("dataset", "t0", "n_input", "split", "model")
MAX_VALUES = 8
"""Values of a parameter that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridPlan:
    """Attributes:
    parts: grid to its estimate.
    together: all of them in one store, where what they share is computed once.
    workers: number of workers the hours are for.
    counts: parameter to its values and their number of cells.
    """

    parts: Mapping[str, Estimate]
    together: Estimate
    workers: int
    counts: Mapping[str, Mapping[str, int]]

    def document(self) -> dict[str, Any]:
        """All numbers."""
        all_of_them = self._part(self.together)
        return {
            **all_of_them,
            "by": self.counts,
            "expected_bytes": BYTES_PER_CELL * self.together.cells,
            "workers": self.workers,
            "grids": [{"name": name, **self._part(part)} for name, part in self.parts.items()],
            "calibration_s": round(self.together.calibration_s, 1),
        }

    def text(self) -> str:
        """For a terminal."""
        lines = [f"{self.together.cells} cells"]
        for name, values in self.counts.items():
            shown = [f"{value} ({count})" for value, count in values.items()]
            more = f" and {len(shown) - MAX_VALUES} more" if len(shown) > MAX_VALUES else ""
            lines.append(f"  {name:<9}" + ", ".join(shown[:MAX_VALUES]) + more)
        for name, part in self.parts.items():
            lines += self._part_lines(f"{name}: {part.cells} cells" if len(self.parts) > 1 else "", part)
        if len(self.parts) > 1:
            title = f"all in one store, what they share computed once: {self.together.cells} cells"
            lines += self._part_lines(title, self.together)
        lines.append(f"and {BYTES_PER_CELL * self.together.cells / 1e6:.1f} MB; nothing was computed")
        lines.append(
            f"times of one core of this machine, from a calibration ({self.together.calibration_s:.0f} s now):"
        )
        lines += [f"  {f.name}: measured {text}" for f in self.together.families for text in f.measured]
        lines.append("the rest is extrapolated in proportion to evaluations, epochs, samples and predicted steps")
        return "\n".join(lines) + "\n"

    def _part(self, part: Estimate) -> dict[str, Any]:
        fits = [
            {
                "family": f.name,
                "fits": f.fits,
                "core_hours": f.seconds / 3600,
                "longest_s": f.longest_s,
                "measured": list(f.measured),
            }
            for f in part.families
        ]
        seconds = round(part.seconds(self.workers), 1)
        return {"cells": part.cells, "fits": fits, "core_hours": part.core_seconds / 3600, "expected_s": seconds}

    def _part_lines(self, title: str, part: Estimate) -> list[str]:
        lines = [title] if title else []
        for family in part.families:
            each = family.seconds / max(family.fits, 1)
            hours = f"{family.seconds / 3600:10.2f} core hours, {each:.1f} s each"
            lines.append(f"  {family.fits:>5} fits of {family.name:<24}{hours}")
        longer = "" if self.workers == 1 else f", {duration(part.core_seconds)} on one"
        workers = f"{self.workers} worker{'s' if self.workers != 1 else ''}"
        return [*lines, f"  about {duration(part.seconds(self.workers))} on {workers}{longer}"]


def plan_grids(
    grids: Mapping[str, RunSpec],
    workers: int | None = None,
    *,
    limit: int | None = None,
    fresh: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> GridPlan:
    """Count cells and fits of grids, time a few, and say what all of them would take; needs no recordings.

    Args:
        grids: name to specification.
        workers: one per core by default.
        limit: count at most this many cells of each grid.
        fresh: time the predictors anew, even if this machine has done so before.
        say: called with one line before each calibration.
    """
    cells = {name: _cells(grid)[:limit] for name, grid in grids.items()}
    alone, together = estimates(list(cells.values()), say, fresh=fresh)
    unique = {cell.key: cell for part in cells.values() for cell in part}.values()
    return GridPlan(
        parts=dict(zip(cells, alone, strict=True)),
        together=together,
        workers=workers or num_cores(),
        counts={name: dict(Counter(str(cell.params[name]) for cell in unique)) for name in NAMES},
    )


def _cells(grid: RunSpec) -> list[Cell]:
    """The cells without looking at any recording."""
    sources = {
        name: Source(dataset=name, root=Path(), data="", is_synthetic=name in grid.synthetic)
        for name in grid.adapters()
    }
    return cells_of(grid, sources)
