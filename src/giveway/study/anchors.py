"""Lower anchors: motion that is broken on purpose, so that the low end of the scale is known to be used.

Only the rated vehicle is changed; everything else stays as recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.origins import Origin, RowOrigin
from giveway.core.tracks import Tracks

JUMPS = 3
JUMP_M = (5.0, 9.0)
SLIDE_AMPLITUDE_M = 4.0
SLIDE_PERIOD_S = 4.0


def teleport(tracks: Tracks, row: int, rng: np.random.Generator) -> Tracks:
    """The vehicle jumps three times along or across its path, by 5 to 9 m each, and stays displaced between jumps.

    Args:
        tracks: clip.
        row: rated vehicle.
        rng: decides about times, lengths and directions.
    """
    instants = tracks.num_instants
    offset = np.zeros((instants, 2))
    for n in range(JUMPS):
        at = int(instants * (n + 0.35 + 0.4 * rng.random()) / JUMPS)
        angle = tracks.heading[row] + rng.choice([0.0, np.pi / 2, -np.pi / 2])
        length = rng.uniform(*JUMP_M) * (-1) ** n
        jump = length * np.array([np.cos(angle[min(at, instants - 1)]), np.sin(angle[min(at, instants - 1)])])
        offset[at:] += np.nan_to_num(jump)
    return _displaced(tracks, row, offset)


def sideways_slide(tracks: Tracks, row: int, rng: np.random.Generator) -> Tracks:
    """The vehicle keeps its heading but swings sideways by 4 m every 4 s, as no wheeled vehicle can.

    Args:
        tracks: clip.
        row: rated vehicle.
        rng: decides about the side it starts to.
    """
    time = tracks.time_s - tracks.time_s[0]
    swing = SLIDE_AMPLITUDE_M * np.sin(2 * np.pi * time / SLIDE_PERIOD_S) * rng.choice([-1.0, 1.0])
    heading = np.nan_to_num(tracks.heading[row])
    offset = swing[:, None] * np.stack([-np.sin(heading), np.cos(heading)], axis=1)
    return _displaced(tracks, row, offset)


BROKEN_MOTIONS: dict[str, Callable[[Tracks, int, np.random.Generator], Tracks]] = {
    "teleport": teleport,
    "slide": sideways_slide,
}
"""Name, part of the condition, to the function that breaks a clip."""


def broken_origins(origins: tuple[RowOrigin, ...], row: int, kind: str) -> tuple[RowOrigin, ...]:
    """Origins of a clip after one row was broken; it keeps what it was."""
    return tuple(o.becomes(Origin.BROKEN, kind) if i == row else o for i, o in enumerate(origins))


def _displaced(tracks: Tracks, row: int, offset: FloatArray) -> Tracks:
    xy = tracks.xy.copy()
    xy[row] += offset
    return replace(tracks, xy=xy)
