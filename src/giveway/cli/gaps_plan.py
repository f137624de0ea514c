"""``giveway gaps plan`` and ``giveway gaps run --dry-run``: how long will it take?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from giveway.cli.output import print_json
from giveway.core.errors import UnknownNameError

if TYPE_CHECKING:
    from giveway.gaps.spec import RunSpec
    from giveway.runs import Cell

EXPERIMENTS = ("experiment-1", "experiment-2", "experiment-3")
BYTES_PER_CELL = 25_000


def plan(
    preset_name: list[str] = typer.Option([], "--preset", help="Which grids; the three published ones by default."),
    profile: str = typer.Option("clean", "--profile", help="clean or paper: their fits cost differently."),
    workers: int | None = typer.Option(None, "--workers", "-w", min=1, max=100_000, help="One per core by default."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Hours that the published grids take on N workers, from a short calibration; needs no recordings."""
    from giveway.gaps.presets import PRESETS, preset

    for name in preset_name:
        if name not in PRESETS:
            raise UnknownNameError("preset", name, PRESETS, where="--preset")
    say_plan([preset(name, profile=profile) for name in preset_name or EXPERIMENTS], workers, as_json=as_json)


def say_plan(grids: list[RunSpec], workers: int | None, *, limit: int | None = None, as_json: bool) -> None:
    """Count cells and fits, time a few, and print what all of them would take."""
    from giveway.gaps.estimate import estimate
    from giveway.runs.progress import duration
    from giveway.runs.threads import num_cores

    num = workers or num_cores()
    cells = [cell for grid in grids for cell in _cells(grid)][:limit]
    found = estimate(cells, say=lambda text: typer.echo(text, err=True))
    names = ("dataset", "t0", "n_input", "split", "model")
    counts = {name: dict(Counter(str(cell.params[name]) for cell in cells)) for name in names}
    seconds, size = found.seconds(num), BYTES_PER_CELL * len(cells)
    if as_json:
        print_json(
            {
                "ok": True,
                "cells": len(cells),
                "by": counts,
                "fits": [
                    {"family": f.name, "fits": f.fits, "core_hours": f.seconds / 3600, "longest_s": f.longest_s}
                    for f in found.families
                ],
                "core_hours": found.core_seconds / 3600,
                "expected_s": round(seconds, 1),
                "expected_bytes": size,
                "workers": num,
                "calibration_s": round(found.calibration_s, 1),
            }
        )
        return
    typer.echo(f"{len(cells)} cells")
    for name, values in counts.items():
        shown = [f"{value} ({count})" for value, count in values.items()]
        more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
        typer.echo(f"  {name:<9}" + ", ".join(shown[:8]) + more)
    for part in found.families:
        hours = f"{part.seconds / 3600:.2f} core hours, {part.seconds / max(part.fits, 1):.1f} s each"
        typer.echo(f"  {part.fits:>5} fits of {part.name:<24}{hours}")
    longer = "" if num == 1 else f", {duration(found.core_seconds)} on one"
    typer.echo(f"about {duration(seconds)} on {num} worker{'s' if num != 1 else ''}{longer}, and {size / 1e6:.1f} MB")
    typer.echo(f"from {found.calibration_s:.0f} s of calibration on this machine; nothing was computed")


def _cells(grid: RunSpec) -> list[Cell]:
    """The cells without looking at any recording."""
    from giveway.gaps.cells import cells_of
    from giveway.gaps.sources import Source

    sources = {
        name: Source(dataset=name, root=Path(), data="", is_synthetic=name in grid.synthetic)
        for name in grid.adapters()
    }
    return cells_of(grid, sources)
