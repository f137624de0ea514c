"""A careful driver in the ego's place: the last seconds of a clip, for :mod:`giveway.sim.careful`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.tracks import Tracks
from giveway.sim.careful import LOOK_BACK_S, could_avoid
from giveway.sim.contacts import SHRINK_M
from giveway.sim.lines import RoadLines, best_line, center_lines, line_through, sizes_of, states_of

AHEAD_M = 60.0
"""The ego's path is continued along its lane for this far."""


def avoids(tracks: Tracks, ego: int, last: int, road: RoadLines, dt: float) -> tuple[bool, bool]:
    """Whether a careful driver in the ego's place touches nobody: the reference driver of R157, and ``careful+``.

    Args:
        tracks: everybody.
        ego: row of the ego.
        last: instant of the contact.
        road: lanes; without, the ego goes on straight after the contact.
        dt: length of a tick [s].
    """
    gone = np.flatnonzero(~tracks.observed[ego, : last + 1])
    first = max(last - round(LOOK_BACK_S / dt), int(gone[-1]) + 1 if gone.size else 0)
    near = np.flatnonzero(tracks.observed[:, first : last + 1].any(axis=1))
    order = [ego, *(int(i) for i in near if i != ego)]
    states = np.nan_to_num(states_of(tracks, order, first, last))
    path = _way_of(states[0], center_lines(road, tracks, ego, last, last))
    on = tracks.observed[order, first : last + 1]
    size = np.maximum(sizes_of(tracks)[order] - SHRINK_M, 0.0)
    return could_avoid(path, 0.0, states, on, size, dt, False), could_avoid(path, 0.0, states, on, size, dt, True)


def _way_of(state: FloatArray, lanes: Sequence[FloatArray]) -> FloatArray:
    """The path of the ego, from its states (n, 5), continued beside the center of its lane where the road is known."""
    xy = state[:, :2]
    if lanes:
        line = best_line(state[-1:], lanes)
        at = int(((line[:, :2] - xy[-1]) ** 2).sum(axis=1).argmin())
        ahead = line[at + 2 : at + 1 + math.ceil(AHEAD_M / (line[1, 4] - line[0, 4]))]
        across = line[at, 2] * (xy[-1, 1] - line[at, 1]) - line[at, 3] * (xy[-1, 0] - line[at, 0])
        xy = np.concatenate([xy, ahead[:, :2] + across * np.stack([-ahead[:, 3], ahead[:, 2]], axis=1)])
    return line_through(xy, float(state[-1, 2]))
