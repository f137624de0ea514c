"""Small pictures inside pages; SVG with attributes only, since the pages allow no inline styles."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

COLORS = ("#b35806", "#f1a340", "#c9ccd0", "#998ec3", "#542788")
"""Diverging from unrealistic (orange) to realistic (purple); told apart with every kind of color blindness."""
WIDTH, HEIGHT = 240, 16


def number(value: float) -> str:
    """Three decimals; a coefficient that is not defined says so."""
    return "undefined" if math.isnan(value) else f"{value:.3f}"


def distribution_bar(counts: Sequence[int], options: Sequence[str]) -> Markup:
    """A stacked bar of how often each option was chosen."""
    total = sum(counts)
    if total == 0:
        return Markup("")
    parts: list[str] = []
    x = 0.0
    for index, count in enumerate(counts):
        width = WIDTH * count / total
        color = COLORS[round(index * (len(COLORS) - 1) / max(1, len(counts) - 1))]
        parts.append(f'<rect x="{x:.1f}" y="0" width="{width:.1f}" height="{HEIGHT}" fill="{color}"/>')
        x += width
    words = ", ".join(f"{option}: {count}" for option, count in zip(options, counts, strict=True))
    return Markup('<svg role="img" aria-label="{}" width="{}" height="{}" viewBox="0 0 {} {}">{}</svg>').format(
        words, WIDTH, HEIGHT, WIDTH, HEIGHT, Markup("".join(parts))
    )
