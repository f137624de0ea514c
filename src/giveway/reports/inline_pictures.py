"""Small pictures of values in a notebook: inline SVG, no script and no library."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.displays import facts_html
from giveway.core.tracks import AgentKind, Tracks
from giveway.reports.tokens import colors

if TYPE_CHECKING:
    from giveway.core.samples import GapSamples

SIDE_PX = 360.0
"""Longer side of the picture of tracks."""

MAX_POINTS = 60
"""Points per drawn path; longer ones are thinned, so that 100 agents take about 60 kB."""

NUM_BINS = 12
MAX_LEFT_S = 10.0
"""Times further from the closing of the gap than this are drawn here; projected ones may be arbitrarily large."""

BAR_PX, BARS_PX = 24.0, 90.0
VEHICLE, VULNERABLE, ACCEPTED, REJECTED = (colors()[name] for name in ("car", "prio", "ego", "line"))


def tracks_html(tracks: Tracks) -> str:
    """The way of every agent, north up, a dot where it was last observed; only the description if nobody was."""
    caption = html.escape(repr(tracks))
    known = tracks.observed & np.isfinite(tracks.xy).all(axis=2)
    if not known.any():
        return f"<p>{caption}</p>"
    low, high = tracks.xy[known].min(axis=0), tracks.xy[known].max(axis=0)
    scale = SIDE_PX / max(float((high - low).max()), 1.0)
    width, height = (float(side) * scale + 12.0 for side in high - low)
    paths = [
        _path((tracks.xy[i, known[i]] - low) * scale + 6.0, height, AgentKind(int(tracks.kind[i])))
        for i in range(tracks.num_agents)
        if known[i].any()
    ]
    extent = f"{high[0] - low[0]:.0f} m × {high[1] - low[1]:.0f} m"
    picture = f'<svg width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{caption}">{"".join(paths)}</svg>'
    return f"<figure>{picture}<figcaption>{caption}, {extent}</figcaption></figure>"


def samples_html(samples: GapSamples) -> str:
    """What a table of samples holds, and when targets entered their gaps."""
    share = f" ({samples.truth.accepted.mean():.0%})" if samples.num_samples else ""
    facts = {
        "samples": samples.num_samples,
        "accepted": f"{int(samples.truth.accepted.sum())}{share}",
        "participants or targets": len(np.unique(samples.group)),
        "locations": len(np.unique(samples.location)),
        "input steps": f"{samples.inputs.num_input} of {samples.inputs.dt_s} s",
        "roles": ", ".join(samples.inputs.roles),
    }
    return facts_html(f"{samples.dataset}, t0 {samples.prediction_time}", facts) + _bars(samples)


def _path(points: FloatArray, height: float, kind: AgentKind) -> str:
    color = VULNERABLE if kind.is_vulnerable else VEHICLE
    kept = points[np.unique(np.linspace(0, len(points) - 1, MAX_POINTS).astype(np.int64))]
    line = " ".join(f"{x:.0f},{height - y:.0f}" for x, y in kept.tolist())
    x, y = points[-1].tolist()
    return (
        f'<polyline points="{line}" fill="none" stroke="{color}" opacity="0.6"/>'
        f'<circle cx="{x:.0f}" cy="{height - y:.0f}" r="2.5" fill="{color}"/>'
    )


def _bars(samples: GapSamples) -> str:
    """A histogram of t_C - t_A, what was left of the gap when the target entered; empty without finite times."""
    left_s = np.clip(samples.truth.t_close_s - samples.truth.t_accept_s, -MAX_LEFT_S, MAX_LEFT_S)
    finite, accepted = np.isfinite(left_s), samples.truth.accepted
    if not finite.any():
        return ""
    edges = np.linspace(float(left_s[finite].min()), float(left_s[finite].max()) + 1e-3, NUM_BINS + 1)
    taken, left = (np.histogram(left_s[finite & chosen], edges)[0] for chosen in (accepted, ~accepted))
    unit = BARS_PX / max(int((taken + left).max()), 1)
    bars = [
        f'<rect x="{k * BAR_PX:.0f}" y="{BARS_PX - unit * low:.1f}" width="{BAR_PX - 2:.0f}" '
        f'height="{unit * num:.1f}" fill="{color}"/>'
        for k, (yes, no) in enumerate(zip(taken.tolist(), left.tolist(), strict=True))
        for low, num, color in ((yes, yes, ACCEPTED), (yes + no, no, REJECTED))
    ]
    label = f"time left when entering, {edges[0]:.1f} s to {edges[-1]:.1f} s; blue: accepted, gray: rejected"
    picture = f'<svg width="{NUM_BINS * BAR_PX:.0f}" height="{BARS_PX:.0f}" role="img" aria-label="{label}">'
    return f"<figure>{picture}{''.join(bars)}</svg><figcaption>{label}</figcaption></figure>"
