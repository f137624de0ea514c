"""From predicted paths to acceptance, one path at a time in plain Python; reference and benchmark baseline."""

from __future__ import annotations

import math


def acceptance_time(path, dt, side):
    """First crossing of one path [(x, y), ...]; NaN if there is none. ``side(x, y)`` is negative once accepted."""
    before = None
    for step, (x, y) in enumerate(path):
        if math.isnan(x) or math.isnan(y):
            continue
        distance, t = side(x, y), (step + 1) * dt
        if distance < 0:
            if before is None:
                return t - dt / 2
            d_before, t_before = before
            return t_before + (t - t_before) * d_before / (d_before - distance)
        before = (distance, t)
    return math.nan


def quantile(ordered, level):
    position = level * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


def probability_and_deciles(paths, dt, side):
    times = [acceptance_time(path, dt, side) for path in paths]
    accepted = sorted(t for t in times if not math.isnan(t))
    share = len(accepted) / len(times)
    if not accepted:
        return share, [math.nan] * 9
    return share, [quantile(accepted, k / 10) for k in range(1, 10)]
