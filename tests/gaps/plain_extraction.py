"""The extraction rules for one sample at a time, in plain Python: slow, short, and easy to compare with the text.

Used as a reference by the tests and as the baseline of ``benchmarks/extract_gaps.py``. Left turns of L-GAP, from
positions to samples, in both profiles.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import median

DT, A_BRAKE, WIDTH, LENGTH = 0.2, 4.0, 3.5, 5.0


def way_along_x(x, y, window, whole_track):
    n, dx = len(x), [0.0] * len(x)
    window = min(window, n - 1)
    for k in range(window, n):
        ux, uy = x[k] - x[k - window], y[k] - y[k - window]
        if abs(ux) < 0.01:
            ux = 0.01 if ux > 0 else -0.01
        norm = math.sqrt(ux * ux + uy * uy)
        ux, uy = ux / norm, uy / norm
        sign = (uy > 0) - (uy < 0)
        dx[k] = (y[k] + y[k - window]) / 2 / (uy + 1e-5 + 3e-5 * sign) * ux
    for k in range(window):
        dx[k] = dx[window]
    out = list(dx)
    largest = max(dx) if whole_track else -math.inf
    for k in range(n):
        largest = max(largest, dx[k])
        if y[k] > 0:
            out[k] = min(largest if dx[k] < 0 else dx[k], x[k] + WIDTH / 2)
    return out


def describe(time, ego, target, clean):
    x, y = [p[0] for p in target], [p[1] for p in target]
    window = max(int(0.05 / median(b - a for a, b in pairwise(time)) + 0.5), 1) if clean else 5
    dx = way_along_x(x, y, window, not clean)
    d_c = [-p[0] - (WIDTH + LENGTH / 2) for p in ego]
    d_a = [math.copysign(math.hypot(v, w), v) if v else 0.0 for v, w in zip(y, dx, strict=True)]
    return [v > -3 for v in x], d_c, d_a


def velocity_window(time, clean):
    steps = [b - a for a, b in pairwise(time)]
    m = int(0.2 / median(steps) + 0.5) if clean else int(0.2 / (sum(steps) / len(steps)))
    return min(max(m, 1), len(steps))


def rate(values, time, k, m):
    k = max(k, m)
    return (values[k] - values[k - m]) / (time[k] - time[k - m])


def root(before, after, t_before, t_after):
    f = after / (after - before)
    return f * t_before + (1 - f) * t_after


def times_of(time, valid, d_c, d_a, clean, d_1=500.0, l_e=2 * WIDTH):
    """t_S, t_A, t_C, t_crit, label, G, index of t_S; None without a decision."""
    n = len(time)
    m = velocity_window(time, clean)
    speed = [max(-rate(d_c, time, k, m), 1e-6) for k in range(n)]
    gap = [d_c[k] / speed[k] for k in range(n)]
    margin = [gap[k] - speed[k] / (2 * A_BRAKE) for k in range(n)]
    is_open = [valid[k] and d_1 > d_c[k] + l_e for k in range(n)]
    undecided = [is_open[k] and d_a[k] > 0 and d_c[k] > 0 for k in range(n)]
    decided = [is_open[k] and (d_a[k] <= 0 or d_c[k] <= 0) for k in range(n)]
    turns = [k for k in range(n - 1) if undecided[k] and decided[k + 1]]
    if not turns:
        return None
    closed = [k for k in range(turns[0]) if not is_open[k]]
    k_s = closed[-1] + 1 if closed else 0
    end = time[-1]

    def crossing(d):
        for k in range(1, n):
            if is_open[k - 1] and d[k - 1] > 0 and is_open[k] and d[k] <= 0:
                return root(d[k - 1], d[k], time[k - 1], time[k])
        return max(end + d[-1] / max(-rate(d, time, n - 1, m), 1e-6), end)

    t_s, t_a, t_c = time[k_s], crossing(d_a), crossing(d_c)
    if not min(t_a, t_c) < end:
        return None
    late = [k for k in range(n) if time[k] > t_s and time[k] < t_a and is_open[k] and d_c[k] > 0 and margin[k] < 0]
    if late and margin[late[0] - 1] < 0:
        t_crit = t_s
    elif late:
        t_crit = root(margin[late[0] - 1], margin[late[0]], time[late[0] - 1], time[late[0]])
    else:
        t_crit = t_s if d_c[k_s + 1] < 0 else t_a + 0.01
    return t_s, t_a, t_c, min(t_crit, t_c), t_a < t_c, gap, k_s


def interpolate(time, values, t):
    if t <= time[0]:
        return values[0]
    if t >= time[-1]:
        return values[-1]
    k = next(k for k in range(1, len(time)) if time[k] >= t)
    share = (t - time[k - 1]) / (time[k] - time[k - 1])
    return tuple(a + share * (b - a) for a, b in zip(values[k - 1], values[k], strict=True))


def visible(time, values, t_0, t):
    """Linear through the rows at or before t_0, continued behind the last."""
    last = max(k for k in range(len(time)) if time[k] <= t_0 + 1e-9)
    if t <= time[0] or last == 0:
        return values[0]
    k = next((k for k in range(1, last) if time[k] >= t), last)
    share = (t - time[k - 1]) / (time[k] - time[k - 1])
    return tuple(a + share * (b - a) for a, b in zip(values[k - 1], values[k], strict=True))


def gap_at(time, gap, t):
    return interpolate(time, [(u + g,) for u, g in zip(time, gap, strict=True)], t)[0] - t


def constant_time(time, gap, k_s, t_a, delta_t):
    for k in range(k_s, len(time)):
        if gap[k] < delta_t:
            return time[k] + gap[k] - delta_t
    return t_a + DT


def optimal_delta_t(all_times, all_grids, clean, num_history):
    best, best_count = 0.0, -1
    for step in range(2001):
        size = step / 100
        counts = [0, 0]
        for found, time in zip(all_times, all_grids, strict=True):
            if found is None:
                continue
            t_s, t_a, _, t_crit, accepted, gap, k_s = found
            if clean:
                t_0 = constant_time(time, gap, k_s, t_a, size)
                fine = t_s <= t_0 < min(t_a, t_crit) and t_0 >= time[0] + (num_history - 1) * DT
            else:
                fine = size < gap[k_s] and (not accepted or gap_at(time, gap, t_a) < size)
            counts[accepted] += fine
        if min(counts) > best_count:
            best, best_count = size, min(counts)
    return best


def sample_at(time, ego, target, d_c, d_a, found, choice, delta_t, n_input, n_max, clean):
    """Inputs, outputs and label of one sample, or the reason why it is not used."""
    if found is None:
        return "no_decision"
    t_s, t_a, t_c, t_crit, accepted, gap, k_s = found
    t_0 = {
        "initial": t_s,
        "constant": constant_time(time, gap, k_s, t_a, delta_t) if choice == "constant" else None,
        "critical": t_crit - 0.01,
    }[choice]
    lower = time[0] + (max(n_input, n_max) - 1) * DT
    if t_crit <= t_s:
        return "always_critical"
    if t_0 < t_s:
        return "before_open"
    if t_0 >= min(t_a, t_crit):
        return "decided"
    if t_0 < lower:
        return "short_history"
    rows = [(*e, *t, c, a) for e, t, c, a in zip(ego, target, d_c, d_a, strict=True)]
    grid = [t_0 + j * DT for j in range(1 - n_input, 1)]
    if clean:
        inputs = [visible(time, rows, t_0, t) for t in grid]
    else:
        inputs = [interpolate(time, rows, t + 1e-5) for t in grid]
    close = t_c - t_0
    if clean:
        close = min(close, max(20.0, t_a - t_0 + DT if accepted else 0.0))
    num_predict = math.ceil((min(close, 20.0) if clean else close) / DT)
    num_observed = max(min(num_predict, math.floor((time[-1] - t_0) / DT)), 0)
    shift = 0.0 if clean else 1e-5
    future = [interpolate(time, target, t_0 + j * DT - shift) for j in range(1, num_observed + 1)]
    return inputs, future, accepted, num_predict, t_a - t_0, close
