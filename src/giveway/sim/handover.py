"""When a car on replay is handed over to a driver that can react: where it would run into a driven car.

For each replay car r and driven car q within 70 m, and for each instant h = 0.2, 0.4 ... 3.0 s: the recorded box of r
at +h, lengthened at both ends by 0.5 m + 0.25 s v and by 0.1 m at each side, against the box of q on its plan at +h. If
they overlap, and the lengthened box does not overlap the *recorded* box of q at that instant (people came that close
too), r cannot go on as recorded; unless q is behind the center of r then, which only q can help. It is driven from its
present state along its recorded path, to the end: rejoining a track with time stamps would need a jump in speed or
place.
"""

from __future__ import annotations

import math

import numpy as np

from giveway.core._box_kernels import fill_row, pair_overlaps  # pyright: ignore[reportUnknownVariableType]
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.kernels import njit

WITHIN_M = 70.0
"""Cars further apart do not concern each other."""

EVERY_TICKS, LAST_TICK = 2, 30
"""Instants that are compared: +0.2 s to +3.0 s."""

LENGTHEN_M, LENGTHEN_S = 0.5, 0.25
"""The recorded box is longer by this at both ends, and by this times its speed."""

WIDEN_M = 0.1
"""It is wider by this at each side."""

SLOWEST_DESIRED_MPS = 3.0
"""Least desired speed of a car that is handed over."""


@njit(cache=True, nogil=True)
def disturber(
    r: int,
    at: int,
    rec: FloatArray,
    rec_on: BoolArray,
    size: FloatArray,
    driven: BoolArray,
    now: FloatArray,
    ahead: FloatArray,
) -> int:
    """The first driven car, in the order of the case, that a replay car would run into, or -1.

    Args:
        r: the replay car; present.
        at: column of the present instant in ``rec``.
        rec: (n, L, 5) recorded x, y, vx, vy, heading.
        rec_on: (n, L) recorded presence.
        size: (n, 2) length and width [m].
        driven: (n,) cars that are present and driven or handed over.
        now: (n, 5) x, y, speed, cosine and sine of the heading.
        ahead: (n, 15, 4) x, y, cosine, sine of the driven cars at +0.2 s ... +3.0 s by their plans.
    """
    reach = 0.5 * math.hypot(size[r, 0], size[r, 1]) + LENGTHEN_M
    grown, planned = np.empty(7), np.empty(7)
    for q in range(driven.size):
        if q == r or not driven[q]:
            continue
        if (now[q, 0] - now[r, 0]) ** 2 + (now[q, 1] - now[r, 1]) ** 2 > WITHIN_M * WITHIN_M:
            continue
        radius = 0.5 * math.hypot(size[q, 0], size[q, 1])
        for k in range(LAST_TICK // EVERY_TICKS):
            column = at + (k + 1) * EVERY_TICKS
            if column >= rec_on.shape[1] or not rec_on[r, column]:
                break
            state = rec[r, column]
            speed = math.hypot(state[2], state[3])
            near = reach + radius + WIDEN_M + LENGTHEN_S * speed
            dx, dy = ahead[q, k, 0] - state[0], ahead[q, k, 1] - state[1]
            if dx * dx + dy * dy > near * near:
                continue
            fill_row(
                state[0], state[1], math.cos(state[4]), math.sin(state[4]), 0.5 * size[r, 0], 0.5 * size[r, 1], grown
            )
            grown[4] += LENGTHEN_M + LENGTHEN_S * speed
            grown[5] += WIDEN_M
            fill_row(
                ahead[q, k, 0],
                ahead[q, k, 1],
                ahead[q, k, 2],
                ahead[q, k, 3],
                0.5 * size[q, 0],
                0.5 * size[q, 1],
                planned,
            )
            if not pair_overlaps(grown, planned):
                continue
            if rec_on[q, column]:
                human = rec[q, column]
                fill_row(
                    human[0],
                    human[1],
                    math.cos(human[4]),
                    math.sin(human[4]),
                    0.5 * size[q, 0],
                    0.5 * size[q, 1],
                    planned,
                )
                if pair_overlaps(grown, planned):
                    continue
            if dx * grown[2] + dy * grown[3] < 0.0:
                break  # it would run into the rear of the replay car, which cannot help that
            return q
    return -1
