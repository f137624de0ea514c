"""Compiled loops behind :mod:`giveway.core.polylines`; kernels take plain arrays and return plain arrays."""
# pyright: reportMissingParameterType=false, reportUnknownParameterType=false

from __future__ import annotations

from math import hypot, sqrt

import numpy as np

from giveway.core.kernels import njit

TIE_M = 1e-11
"""Distances that differ by less are the same."""


@njit(cache=True)
def project(points, arc, xy, near, window):
    """(N, 2) s and d of queries (N, 2) on a polyline (P, 2) with arc lengths (P,).

    With a finite ``window`` only segments that reach into ``near[n] +- window`` compete; if there is none, the segment
    nearest to ``near[n]`` does.
    """
    segments = points.shape[0] - 1
    out = np.full((xy.shape[0], 2), np.nan)
    for n in range(xy.shape[0]):
        x, y = xy[n, 0], xy[n, 1]
        if np.isnan(x + y):
            continue
        low, high = -np.inf, np.inf
        if not np.isnan(near[n]):
            low, high = near[n] - window, near[n] + window
            low, high = min(low, arc[segments]), max(high, 0.0)
        best, best_segment, best_fraction = np.inf, 0, 0.0
        limit = np.inf
        for i in range(segments):
            if arc[i + 1] < low or arc[i] > high:
                continue
            ux, uy = points[i + 1, 0] - points[i, 0], points[i + 1, 1] - points[i, 1]
            wx, wy = x - points[i, 0], y - points[i, 1]
            fraction = min(max((wx * ux + wy * uy) / (ux * ux + uy * uy), 0.0), 1.0)
            ex, ey = wx - fraction * ux, wy - fraction * uy
            squared = ex * ex + ey * ey
            if squared < limit:
                best, best_segment, best_fraction = squared, i, fraction
                limit = best - 2.0 * TIE_M * sqrt(best)  # nearer by more than rounding
        i = best_segment
        length = arc[i + 1] - arc[i]
        ux, uy = (points[i + 1, 0] - points[i, 0]) / length, (points[i + 1, 1] - points[i, 1]) / length
        wx, wy = x - points[i, 0], y - points[i, 1]
        at_start = best_fraction == 0.0
        at_end = best_fraction == 1.0
        if (at_start and i == 0) or (at_end and i == segments - 1):
            out[n, 0] = arc[i] + wx * ux + wy * uy  # beyond an end: along the straight continuation
            out[n, 1] = ux * wy - uy * wx
        elif at_start or at_end:
            # Outside of a bend: signed by the sum of both directions, which is never on the wrong side.
            corner = i if at_start else i + 1
            other = i - 1 if at_start else i + 1
            stretch = arc[other + 1] - arc[other]
            vx = ux + (points[other + 1, 0] - points[other, 0]) / stretch
            vy = uy + (points[other + 1, 1] - points[other, 1]) / stretch
            side = vx * (y - points[corner, 1]) - vy * (x - points[corner, 0])
            out[n, 0] = arc[corner]
            out[n, 1] = sqrt(best) if side >= 0.0 else -sqrt(best)
        else:
            out[n, 0] = arc[i] + best_fraction * length
            out[n, 1] = ux * wy - uy * wx
    return out


@njit(cache=True)
def end_to_end(px, py, ux, uy, qx, qy, vx, vy):
    """Fractions 0 or 1 at which two parallel segments touch with one end each and go apart; NaN if they do not."""
    for a in (0.0, 1.0):
        for b in (0.0, 1.0):
            gap = hypot(px + a * ux - qx - b * vx, py + a * uy - qy - b * vy)
            away = (1.0 - 2.0 * a) * (1.0 - 2.0 * b) * (ux * vx + uy * vy)
            if gap <= TIE_M and away < 0.0:
                return a, b
    return np.nan, np.nan


@njit(cache=True)
def crossings(first, first_arc, second, second_arc):
    """(C, 2) arc lengths on both polylines where segments cross or touch; may hold duplicates."""
    found = np.empty((16, 2))
    count = 0
    for i in range(first.shape[0] - 1):
        px, py = first[i, 0], first[i, 1]
        ux, uy = first[i + 1, 0] - px, first[i + 1, 1] - py
        for j in range(second.shape[0] - 1):
            qx, qy = second[j, 0], second[j, 1]
            vx, vy = second[j + 1, 0] - qx, second[j + 1, 1] - qy
            if max(px, px + ux) < min(qx, qx + vx) or max(qx, qx + vx) < min(px, px + ux):
                continue
            if max(py, py + uy) < min(qy, qy + vy) or max(qy, qy + vy) < min(py, py + uy):
                continue
            cross = ux * vy - uy * vx
            if abs(cross) <= 1e-12 * hypot(ux, uy) * hypot(vx, vy):
                a, b = end_to_end(px, py, ux, uy, qx, qy, vx, vy)
            else:
                a = ((qx - px) * vy - (qy - py) * vx) / cross
                b = ((qx - px) * uy - (qy - py) * ux) / cross
            if -1e-12 <= a <= 1.0 + 1e-12 and -1e-12 <= b <= 1.0 + 1e-12:
                if count == found.shape[0]:
                    grown = np.empty((2 * count, 2))
                    grown[:count] = found
                    found = grown
                found[count, 0] = first_arc[i] + a * (first_arc[i + 1] - first_arc[i])
                found[count, 1] = second_arc[j] + b * (second_arc[j + 1] - second_arc[j])
                count += 1
    return found[:count]
