"""Small drawings as SVG that take their colors from the page, so that they suit light, dark and paper."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 12, 46
SERIES = 8
"""Number of line colors in the style sheet, classes ``s0`` to ``s7``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A named curve; points that are not finite interrupt it."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


def curves(lines: Sequence[Line], *, x_title: str, y_title: str) -> str:
    """Curves with a legend below."""
    frame = _Frame([v for n in lines for v in n.x], [v for n in lines for v in n.y], x_title, y_title)
    parts: list[str] = []
    for k, line in enumerate(lines):
        for run in _runs(line):
            points = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in run)
            parts.append(
                f'<polyline class="s{k % SERIES}" points="{points}"><title>{html.escape(line.name)}</title></polyline>'
            )
    drawing = frame.render(parts, f"{y_title} against {x_title}, {len(lines)} curves")
    return drawing + legend([n.name for n in lines])


def histogram(values: Mapping[str, Sequence[float]], *, x_title: str, y_title: str, num_bins: int = 24) -> str:
    """How often values occur, in bins of equal width; parts stand on top of each other. A small drawing.

    Args:
        values: part to its values; what is not finite does not count.
        x_title: quantity with unit.
        y_title: what is counted.
        num_bins: between the round numbers that enclose all values.
    """
    known = [[v for v in part if math.isfinite(v)] for part in values.values()]
    ends = ticks([v for part in known for v in part])
    low, width = ends[0], (ends[-1] - ends[0]) / num_bins
    counts = [[0] * num_bins for _ in known]
    for part, count in zip(known, counts, strict=True):
        for v in part:
            count[min(int((v - low) / width), num_bins - 1)] += 1
    tops = [sum(column) for column in zip(*counts, strict=True)]
    frame = _Frame(ends, [0.0, *tops], x_title, y_title, half=True)
    parts: list[str] = []
    for n in range(num_bins):
        left, right, base = frame.x(low + n * width), frame.x(low + (n + 1) * width), 0
        for k, name in enumerate(values):
            if counts[k][n]:
                top, bottom = frame.y(base + counts[k][n]), frame.y(base)
                title = html.escape(f"{low + n * width:.3g} to {low + (n + 1) * width:.3g}: {counts[k][n]} {name}")
                place = f'x="{left + 0.5:.1f}" y="{top:.1f}" width="{right - left - 1:.1f}" height="{bottom - top:.1f}"'
                parts.append(f'<rect class="s{k % SERIES}" {place}><title>{title}</title></rect>')
                base += counts[k][n]
    total = ", ".join(f"{len(part)} {name}" for name, part in zip(values, known, strict=True))
    return frame.render(parts, f"Distribution of {x_title}: {total}") + legend(list(values))


def stacked_bars(
    names: Sequence[str], parts: Sequence[str], counts: Sequence[Sequence[float]], *, what: str, ordered: bool = False
) -> str:
    """One bar per name, divided into parts; shares add up to the whole width.

    Args:
        names: of the bars.
        parts: of each bar.
        counts: per bar and part.
        what: for those who cannot see it.
        ordered: parts are steps of a scale; colors then run from orange over grey to purple.
    """
    colors = [f"d{round(4 * k / max(1, len(parts) - 1))}" if ordered else f"s{k % SERIES}" for k in range(len(parts))]
    left, width, row = 190, WIDTH - 190 - 60, 26
    drawn: list[str] = []
    for n, (name, values) in enumerate(zip(names, counts, strict=True)):
        x, y, total = float(left), n * row, sum(values)
        drawn.append(f'<text x="{left - 8}" y="{y + 17}" text-anchor="end">{html.escape(name[:28])}</text>')
        for k, value in enumerate(values):
            size = width * value / total if total else 0.0
            title = html.escape(f"{name}: {parts[k]} {value:g} of {total:g}")
            place = f'x="{x:.1f}" y="{y + 3}" width="{size:.1f}" height="{row - 7}"'
            drawn.append(f'<rect class="{colors[k]}" {place}><title>{title}</title></rect>')
            x += size
        drawn.append(f'<text x="{left + width + 6}" y="{y + 17}">{total:g}</text>')
    height = max(row, len(names) * row)
    label = html.escape(f"{what}: {', '.join(names)}")
    svg = f'<svg role="img" aria-label="{label}" viewBox="0 0 {WIDTH} {height}" class="bars">{"".join(drawn)}</svg>'
    return svg + legend(parts, colors)


def legend(names: Sequence[str], colors: Sequence[str] | None = None) -> str:
    """Colors and what they stand for."""
    chosen = colors or [f"s{k % SERIES}" for k in range(len(names))]
    items = "".join(
        f'<span><svg viewBox="0 0 12 12"><rect class="{chosen[k]}" width="12" height="12"/></svg>'
        f"{html.escape(n)}</span>"
        for k, n in enumerate(names)
    )
    return f'<p class="legend">{items}</p>'


class _Frame:
    """Axes with rounded ticks; half as large for drawings side by side."""

    def __init__(
        self, xs: Sequence[float], ys: Sequence[float], x_title: str, y_title: str, *, half: bool = False
    ) -> None:
        self.width, self.height = (WIDTH // 2, HEIGHT * 5 // 8) if half else (WIDTH, HEIGHT)
        self.x_ticks, self.y_ticks = ticks(xs), ticks(ys)
        self.x_title, self.y_title = x_title, y_title

    def x(self, value: float) -> float:
        low, high = self.x_ticks[0], self.x_ticks[-1]
        return LEFT + (self.width - LEFT - RIGHT) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.y_ticks[0], self.y_ticks[-1]
        return self.height - BOTTOM - (self.height - TOP - BOTTOM) * (value - low) / (high - low)

    def render(self, parts: Sequence[str], label: str) -> str:
        bottom, middle = self.height - BOTTOM, (self.height - BOTTOM + TOP) / 2
        axes: list[str] = []
        for t in self.x_ticks:
            axes.append(f'<line class="grid" x1="{self.x(t):.1f}" x2="{self.x(t):.1f}" y1="{TOP}" y2="{bottom}"/>')
            axes.append(f'<text x="{self.x(t):.1f}" y="{bottom + 17}" text-anchor="middle">{t:.6g}</text>')
        for t in self.y_ticks:
            axes.append(
                f'<line class="grid" x1="{LEFT}" x2="{self.width - RIGHT}" y1="{self.y(t):.1f}" y2="{self.y(t):.1f}"/>'
            )
            axes.append(f'<text x="{LEFT - 7}" y="{self.y(t) + 4:.1f}" text-anchor="end">{t:.6g}</text>')
        center = (LEFT + self.width - RIGHT) / 2
        axes.append(f'<text x="{center}" y="{self.height - 8}" text-anchor="middle">{html.escape(self.x_title)}</text>')
        upright = f'transform="translate(14 {middle}) rotate(-90)" text-anchor="middle"'
        axes.append(f"<text {upright}>{html.escape(self.y_title)}</text>")
        return (
            f'<svg role="img" aria-label="{html.escape(label)}" viewBox="0 0 {self.width} {self.height}">'
            f"{''.join(axes)}{''.join(parts)}</svg>"
        )


def ticks(values: Sequence[float], wanted: int = 5) -> list[float]:
    """Round numbers that enclose all finite values; at least two."""
    known = [v for v in values if math.isfinite(v)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if high - low <= 1e-12 * max(1.0, abs(high)):
        pad = abs(high) * 0.1 or 1.0
        low, high = low - pad, high + pad
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(n * step, 12) for n in range(first, last + 1)]


def _runs(line: Line) -> list[list[tuple[float, float]]]:
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in zip(line.x, line.y, strict=True):
        if math.isfinite(x) and math.isfinite(y):
            runs[-1].append((x, y))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]
