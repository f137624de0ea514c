"""``giveway gaps plan`` and ``giveway gaps run --dry-run``: how long will it take?"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from giveway.cli.output import print_json
from giveway.core.errors import UnknownNameError

if TYPE_CHECKING:
    from giveway.experiments import Cell
    from giveway.gaps.estimate import Estimate
    from giveway.gaps.spec import RunSpec

EXPERIMENTS = ("experiment-1", "experiment-2", "experiment-3")
BYTES_PER_CELL = 25_000


def plan(
    preset_name: list[str] = typer.Option([], "--preset", help="Which grids; the three published ones by default."),
    profile: str = typer.Option("clean", "--profile", help="clean or paper: their fits cost differently."),
    workers: int | None = typer.Option(None, "--workers", "-w", min=1, max=100_000, help="One per core by default."),
    again: bool = typer.Option(False, "--again", help="Time the models anew, even if this machine has done so before."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Hours that the published grids take on N workers, from a short calibration; needs no recordings."""
    from giveway.gaps.presets import PRESETS, preset

    for name in preset_name:
        if name not in PRESETS:
            raise UnknownNameError("preset", name, PRESETS, where="--preset")
    grids = {name: preset(name, profile=profile) for name in preset_name or EXPERIMENTS}
    say_plan(grids, workers, again=again, as_json=as_json)


def say_plan(
    grids: Mapping[str, RunSpec],
    workers: int | None,
    *,
    limit: int | None = None,
    again: bool = False,
    as_json: bool,
) -> None:
    """Count cells and fits, time a few, and print what all of them would take."""
    from giveway.experiments.threads import num_cores
    from giveway.gaps.estimate import estimates

    num = workers or num_cores()
    cells = {name: _cells(grid)[:limit] for name, grid in grids.items()}
    with _telling() as say:
        alone, found = estimates(list(cells.values()), say, fresh=again)
    parts = dict(zip(cells, alone, strict=True))
    if as_json:
        _print_document(cells, parts, found, num)
        return
    names = ("dataset", "t0", "n_input", "split", "model")
    counts = _counts(cells, names)
    typer.echo(f"{found.cells} cells")
    for name, values in counts.items():
        shown = [f"{value} ({count})" for value, count in values.items()]
        more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
        typer.echo(f"  {name:<9}" + ", ".join(shown[:8]) + more)
    for name, part in parts.items():
        _print_part(name if len(parts) > 1 else "", part, num)
    if len(parts) > 1:
        _print_part("all in one store, what they share computed once", found, num)
    typer.echo(f"and {BYTES_PER_CELL * found.cells / 1e6:.1f} MB; nothing was computed")
    typer.echo(f"times of one core of this machine, from a calibration ({found.calibration_s:.0f} s now):")
    for family in found.families:
        for text in family.measured:
            typer.echo(f"  {family.name}: measured {text}")
    typer.echo("the rest is extrapolated in proportion to evaluations, epochs, samples and predicted steps")


def _print_part(title: str, part: Estimate, num: int) -> None:
    from giveway.experiments.progress import duration

    if title:
        typer.echo(f"{title}: {part.cells} cells")
    for family in part.families:
        each = family.seconds / max(family.fits, 1)
        typer.echo(
            f"  {family.fits:>5} fits of {family.name:<24}{family.seconds / 3600:10.2f} core hours, {each:.1f} s each"
        )
    longer = "" if num == 1 else f", {duration(part.core_seconds)} on one"
    typer.echo(f"  about {duration(part.seconds(num))} on {num} worker{'s' if num != 1 else ''}{longer}")


def _print_document(cells: Mapping[str, list[Cell]], parts: Mapping[str, Estimate], found: Estimate, num: int) -> None:
    print_json(
        {
            "ok": True,
            "cells": found.cells,
            "by": _counts(cells, ("dataset", "t0", "n_input", "split", "model")),
            "fits": _fits(found),
            "core_hours": found.core_seconds / 3600,
            "expected_s": round(found.seconds(num), 1),
            "expected_bytes": BYTES_PER_CELL * found.cells,
            "workers": num,
            "grids": [
                {
                    "name": name,
                    "cells": part.cells,
                    "fits": _fits(part),
                    "core_hours": part.core_seconds / 3600,
                    "expected_s": round(part.seconds(num), 1),
                }
                for name, part in parts.items()
            ],
            "calibration_s": round(found.calibration_s, 1),
        }
    )


def _fits(part: Estimate) -> list[dict[str, object]]:
    return [
        {
            "family": f.name,
            "fits": f.fits,
            "core_hours": f.seconds / 3600,
            "longest_s": f.longest_s,
            "measured": list(f.measured),
        }
        for f in part.families
    ]


def _counts(cells: Mapping[str, list[Cell]], names: tuple[str, ...]) -> dict[str, dict[str, int]]:
    flat = {cell.key: cell for part in cells.values() for cell in part}.values()
    return {name: dict(Counter(str(cell.params[name]) for cell in flat)) for name in names}


@contextmanager
def _telling() -> Generator[Callable[[str], None]]:
    """A function that shows what is being timed: one changing line on a terminal, a line each otherwise."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("calibrating") as status:
            yield lambda text: status.update(text)
    else:
        yield lambda text: typer.echo(text, err=True)


def _cells(grid: RunSpec) -> list[Cell]:
    """The cells without looking at any recording."""
    from giveway.gaps.cells import cells_of
    from giveway.gaps.sources import Source

    sources = {
        name: Source(dataset=name, root=Path(), data="", is_synthetic=name in grid.synthetic)
        for name in grid.adapters()
    }
    return cells_of(grid, sources)
