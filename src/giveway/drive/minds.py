"""What minds thought, for the replay of a drive."""

from __future__ import annotations

from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.log import DriveLog, LoggedMinds

STEADY_MPS2 = 0.15
"""Accelerations below are no change worth a word."""


def minds_shown(log: DriveLog, minds: LoggedMinds, origin: list[float]) -> list[dict[str, Any]]:
    """Decisions with a partner, as the player shows them: area, perceived partner, bars, curve and a sentence.

    Args:
        log: the drive.
        minds: its thoughts.
        origin: of the document, from which places are counted [m].
    """
    ids = [str(i) for i in log.tracks.ids.tolist()]

    def places(values: FloatArray) -> list[float]:
        return [round(float(v), 2) for v in (values.reshape(-1, 2) - np.array(origin)).ravel()]

    return [
        {
            "frame": int(minds.tick[row]),
            "agent": ids[int(minds.agent[row])],
            "partner": ids[int(minds.partner[row])],
            "area": places(minds.area[row]),
            "ghost": places(minds.ghost[row]),
            "actions": minds.actions[row].tolist(),
            "p": [None if np.isnan(p) else round(float(p), 4) for p in minds.p_first[row]],
            "advantage": [round(float(a), 6) for a in minds.advantage[row]],
            "threshold": round(float(minds.threshold[row]), 6),
            "action": float(minds.action[row]) if minds.acted[row] else 0.0,
            "sentence": sentence(log, minds, row),
        }
        for row in np.flatnonzero(minds.partner >= 0).tolist()
    ]


def sentence(log: DriveLog, minds: LoggedMinds, row: int) -> str:
    """Whom a mind expects to go first, and what it does about it."""
    own, other = (str(log.tracks.ids[int(rows[row])]) for rows in (minds.agent, minds.partner))
    chance = float(minds.p_first[row, int(np.argmin(np.abs(minds.actions[row])))])
    accel = float(minds.accel[row])
    if np.isnan(chance):
        expects = f"sees {other} unable to do anything about it"
    else:
        order, sure = ("first", chance) if chance >= 0.5 else ("second", 1.0 - chance)
        expects = f"expects {other} to go {order} ({sure:.2f})"
    what = "keeps its speed" if abs(accel) < STEADY_MPS2 else "slows" if accel < 0 else "speeds up"
    if minds.guard[row] <= accel + 1e-9:
        what = "is stopped by the guard"
    elif minds.follow[row] <= accel + 1e-9:
        what = "is held back by the car ahead"
    return f"{own} {expects}; {what}, {accel:+.1f} m/s²".replace("-", "\N{MINUS SIGN}")
