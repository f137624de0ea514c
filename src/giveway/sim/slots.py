"""Worlds of a batch that begin another case while the others go on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from giveway.sim.state import Static
from giveway.sim.traffic import Traffic, traffic_of
from giveway.sim.yielding import Areas, nobody_waits

SHARED = ("bounds", "road")
"""Fields of ``Static`` that all worlds share."""


def copied_worlds(library: Static, numbers: Sequence[int]) -> Static:
    """A batch of worlds of a library, each a copy."""
    rows = np.array(numbers, dtype=np.int64)
    return Static(**{n: v if n in SHARED else v[rows].copy() for n, v in library._asdict().items()})


def load_world(static: Static, library: Static, w: int, number: int) -> None:
    """Make world ``w`` of a batch a copy of a world of the library."""
    for name, values in library._asdict().items():
        if name not in SHARED:
            getattr(static, name)[w] = values[number]


def copied_traffic_worlds(library: Traffic, numbers: Sequence[int]) -> Traffic:
    """The traffic of a batch of worlds of a library; each world has rows of areas of its own, for its memory."""
    areas, count = library.areas, len(numbers)
    room = int(np.diff(areas.first[:, [0, -1]], axis=1).max(initial=0))
    shape = (count, areas.order.shape[1])
    own = Areas(
        first=np.zeros((count, shape[1] + 1), dtype=np.int64),
        row=np.zeros(count * room, dtype=areas.row.dtype),
        order=np.zeros(shape, dtype=np.int64),
        rec_s=np.zeros((count, *areas.rec_s.shape[1:])),
    )
    made = traffic_of(
        np.zeros(count, dtype=np.bool_), own, np.full(shape, -1, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
    )
    for w, number in enumerate(numbers):
        load_traffic(made, library, w, number)
    return made


def load_traffic(traffic: Traffic, library: Traffic, w: int, number: int) -> None:
    """Give world ``w`` the traffic of a world of the library, which remembers nothing."""
    source, areas = library.areas, traffic.areas
    room = areas.row.size // len(areas.first)
    begin, end = (int(source.first[number, k]) for k in (0, -1))
    shift = w * room - begin
    rows = slice(begin + shift, end + shift)
    areas.row[rows] = source.row[begin:end]
    mirror = areas.row["mirror"][rows]
    mirror += np.where(mirror >= 0, shift, 0)
    areas.first[w] = source.first[number] + shift
    areas.order[w], areas.rec_s[w] = source.order[number], source.rec_s[number]
    for name in ("reacts", "route", "may_react", "handed", "cause"):
        getattr(traffic, name)[w] = getattr(library, name)[number]
    fresh = nobody_waits(areas)
    traffic.waiting.car[w], traffic.waiting.claim[rows] = fresh.car[w], fresh.claim[rows]
