"""Charts that ``static/charts.js`` draws at the width of the page: forest plot, scatter, ratings, running counts.

One unit is one CSS pixel and a chart is drawn again when its width changes, so that text never scales. Here are only
plain values; every chart also gives its numbers as a table for those who cannot see it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from giveway.reports.charts import ticks

FAR = 2.5
"""A point this many times as far out as the next one stands behind a marked break of the axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An estimate with its 95 % interval.

    Attributes:
        value: estimate.
        low: end of the interval; NaN if it is not known or has no width.
        high: the other end.
        critical: of the critical split: a diamond instead of a circle.
        tied: filled: tied with the best one; hollow: worse.
        text: the value in words.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    critical: bool = False
    tied: bool = True
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of a forest plot; ``strong`` for those that the headline names."""

    label: str
    marks: tuple[Mark, ...]
    note: str = ""
    strong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Estimates with intervals below each other.

    Attributes:
        rows: best first.
        label: of the axis.
        alt: one sentence for those who cannot see it.
        start: the axis includes it, NaN for none.
        end: the same at the other end.
        chance: dotted line; NaN for none.
        percent: ticks in percent.
    """

    rows: Sequence[Row]
    label: str
    alt: str
    start: float = math.nan
    end: float = math.nan
    chance: float = math.nan
    percent: bool = False

    def document(self) -> dict[str, Any]:
        """For ``charts.js``."""
        shown = [v for row in self.rows for m in row.marks for v in (m.value, m.low, m.high)]
        at = ticks([*shown, self.start, self.end], 4)
        rows = [{**_plain(row), "marks": [_plain(m) for m in row.marks]} for row in self.rows]
        return {"form": "forest", "rows": rows, "ticks": at, "label": self.label, "alt": self.alt,
                "chance": known(self.chance), "percent": self.percent}  # fmt: skip

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Columns and rows."""
        rows = [(row.label, "critical split" if m.critical else "", _number(m.value), _ends(m.low, m.high))
                for row in self.rows for m in row.marks]  # fmt: skip
        return ("", "split", self.label.partition(";")[0], "95 % interval"), rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A named point with a vertical interval; ``strong`` if the headline names it, ``fault`` for a cross."""

    name: str
    x: float
    y: float
    low: float = math.nan
    high: float = math.nan
    strong: bool = False
    fault: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """Two measures of the same things.

    Attributes:
        points: with intervals of y.
        x_label: below the axis.
        y_label: above the drawing.
        alt: one sentence.
        band: name, value and interval of a reference along y, e.g. recorded humans.
        pair: two names and what differs between them.
    """

    points: Sequence[Spot]
    x_label: str
    y_label: str
    alt: str
    band: tuple[str, float, float, float] | None = None
    pair: tuple[str, str, str] | None = None

    def document(self) -> dict[str, Any]:
        """For ``charts.js``; a single point far out is put behind a break."""
        far = self._far()
        near = [p.x for p in self.points if p is not far]
        ys = [v for p in self.points for v in (p.y, p.low, p.high)] + [*(self.band or ())[1:]]
        points = [{**_plain(p), "far": p is far} for p in self.points]
        band = None if self.band is None else dict(zip(("name", "value", "low", "high"), self.band, strict=True))
        return {"form": "scatter", "points": points, "xTicks": ticks([0.0, *near], 4), "yTicks": ticks(ys, 4),
                "xLabel": self.x_label, "yLabel": self.y_label, "band": band, "pair": self.pair,
                "alt": self.alt}  # fmt: skip

    def _far(self) -> Spot | None:
        ordered = sorted(self.points, key=lambda p: p.x)
        return ordered[-1] if len(ordered) > 2 and ordered[-1].x > FAR * ordered[-2].x > 0 else None

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Columns and rows."""
        columns = ("", self.x_label, self.y_label, "95 % interval")
        return columns, [(p.name, _number(p.x), _number(p.y), _ends(p.low, p.high)) for p in self.points]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """Ratings of one condition: how often each answer was given, mean and interval."""

    name: str
    counts: tuple[int, ...]
    mean: float
    low: float
    high: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """Diverging bars around the middle answer, the mean at the right."""

    rows: Sequence[Rated]
    options: Sequence[str]
    alt: str

    def document(self) -> dict[str, Any]:
        """For ``charts.js``."""
        rows = [{**_plain(row), "counts": list(row.counts)} for row in self.rows]
        return {"form": "ratings", "rows": rows, "options": list(self.options), "alt": self.alt}

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Columns and rows."""
        rows = [(r.name, *map(str, r.counts), f"{r.mean:.2f}", _ends(r.low, r.high)) for r in self.rows]
        return ("", *self.options, "mean", "95 % interval"), rows


LiveChart = Forest | Scatter | Ratings


def _plain(value: Any) -> dict[str, Any]:
    """Fields of a dataclass without those that hold others; NaN becomes None."""
    found: Mapping[str, Any] = {name: getattr(value, name) for name in value.__slots__}
    return {name: known(v) if isinstance(v, float) else v for name, v in found.items() if not isinstance(v, tuple)}


def known(value: float) -> float | None:
    """A finite number, or None."""
    return value if math.isfinite(value) else None


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "–"


def _ends(low: float, high: float) -> str:
    return f"{low:.3f} to {high:.3f}" if math.isfinite(low) and math.isfinite(high) else "–"
