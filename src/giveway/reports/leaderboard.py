"""Leaderboards as tables with a forest plot in every row; a row leads to its cases, a case to its replay.

``static/board.js`` draws plots and strips and loads the per-sample files of cells, which
:mod:`giveway.reports.sample_files` writes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from giveway.reports.charts import ticks
from giveway.reports.live_charts import Mark, known

SAMPLES = "samples"
"""Folder of per-sample files beside a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A line of a leaderboard.

    Attributes:
        rank: as printed, ties as ties.
        name: of the model.
        marks: its estimates, that of the critical split last.
        repeats: single repetitions, drawn as thin ticks.
        cells: split to the beginning of the key of the cell whose samples are shown.
        strong: shown to be better than others.
        link: where the row leads if it has no cells.
    """

    rank: str
    name: str
    marks: tuple[Mark, ...]
    repeats: tuple[float, ...] = ()
    cells: Mapping[str, str] = field(default_factory=dict[str, str])
    strong: bool = False
    link: str = ""

    def mark(self, critical: bool) -> Mark | None:
        """The estimate on random splits or on the critical one."""
        return next((m for m in self.marks if m.critical == critical), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One leaderboard.

    Attributes:
        title: what it is about, e.g. a dataset; several boards of a page are shown one at a time.
        measure: what is measured.
        rows: best first.
        start: the axis includes it, NaN for none.
        end: the same at the other end.
        chance: dotted line; NaN for none.
        decided: whether there are enough repetitions to call a model worse.
        outcomes: names of the outcomes true and false of a sample.
        estimate: what a round mark is.
        what: what is ranked.
    """

    title: str
    measure: str
    rows: tuple[Standing, ...]
    start: float = math.nan
    end: float = math.nan
    chance: float = math.nan
    decided: bool = True
    outcomes: tuple[str, str] = ("yes", "no")
    estimate: str = "random splits"
    what: str = "model"

    @property
    def has_critical(self) -> bool:
        """Whether any model was tested on the critical split."""
        return any(row.mark(True) for row in self.rows)

    @property
    def has_repeats(self) -> bool:
        """Whether single repetitions are drawn."""
        return any(row.repeats for row in self.rows)

    @property
    def has_cells(self) -> bool:
        """Whether rows lead to cases."""
        return any(row.cells for row in self.rows)

    def with_samples_of(self, keys: Collection[str]) -> Board:
        """The same board; only rows with a cell among these lead to cases."""
        rows = (replace(r, cells={s: key for s, key in r.cells.items() if key in keys}) for r in self.rows)
        return replace(self, rows=tuple(rows))

    def document(self) -> dict[str, Any]:
        """For ``board.js``; NaN becomes None."""
        shown = [v for row in self.rows for m in row.marks for v in (m.value, m.low, m.high)]
        shown += [v for row in self.rows for v in row.repeats]
        rows = [
            {
                "name": row.name,
                "marks": [
                    {k: known(v) if isinstance(v, float) else v for k, v in asdict(m).items()} for m in row.marks
                ],
                "repeats": list(row.repeats),
                "cells": {split: f"{SAMPLES}/{key}.js" for split, key in row.cells.items()},
            }
            for row in self.rows
        ]
        at = ticks([*shown, self.start, self.end], 4)
        return {"rows": rows, "ticks": at, "chance": known(self.chance), "outcomes": list(self.outcomes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """Links of which one is where we are.

    Attributes:
        label: what they choose.
        items: names and relative addresses.
        current: address of this page.
    """

    label: str
    items: tuple[tuple[str, str], ...]
    current: str
