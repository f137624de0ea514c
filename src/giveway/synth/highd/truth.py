"""Which gaps in the left lane drivers decided about, and how it went on."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from giveway.core.arrays import IntArray
from giveway.synth.highd.motorway import FRAME_S, Carriageway
from giveway.synth.times import DECISION_SCHEMA, decided, falls

VEHICLE_LENGTH_M = 5.0
BRAKE_MPS2 = 4.0
SCHEMA = {**DECISION_SCHEMA, "direction": pl.Int64}
COLUMNS = ("t_id", "e_id", "direction", *list(DECISION_SCHEMA)[2:])


def decision_rows(road: Carriageway, id_of: IntArray, direction: int, marking: float) -> pl.DataFrame:
    """One row per decision about an approaching car, both seen; times are ``frame / 25`` of the file.

    t_S is the time of the decision, t_A that at which the middle of T crosses the marking (``marking``, in
    lanes from the middle of the right one), t_C that at which E is alongside (``x_T - x_E = 5 m``), t_crit that from
    which E could no longer avoid it by braking with 4 m/s². NaN where it does not happen while both are seen.
    """
    starts = np.searchsorted(road.vehicle, np.arange(road.length_m.size + 1))
    rows: list[dict[str, Any]] = []
    d = road.decisions
    for n in range(d.target.size):
        t, e = int(d.target[n]), int(d.priority_car[n])
        t_rows, e_rows = slice(starts[t], starts[t + 1]), slice(starts[e], starts[e + 1])
        frame, here, there = np.intersect1d(road.frame[t_rows], road.frame[e_rows], return_indices=True)
        late = frame * FRAME_S >= d.time_s[n] - 1e-9
        if frame.size < 2 or not late.any() or late.all():
            continue
        apart = road.along_m[t_rows][here] - road.along_m[e_rows][there] - VEHICLE_LENGTH_M
        closing = np.maximum(road.speed_mps[e_rows][there] - road.speed_mps[t_rows][here], 0.0)
        spare = apart - closing**2 / (2 * BRAKE_MPS2)
        rows.append(
            {
                "t_id": int(id_of[t]),
                "e_id": int(id_of[e]),
                "direction": direction,
                "t_S": float(d.time_s[n]) + FRAME_S,
                "t_A": (frame[0] + falls(marking - road.lateral[t_rows][here]) + 1) * FRAME_S,
                "t_C": (frame[0] + falls(np.where(late, apart, np.abs(apart))) + 1) * FRAME_S,
                "t_crit": (frame[0] + falls(np.where(late, spare, np.inf)) + 1) * FRAME_S,
                **decided(d, n),
            }
        )
    return pl.DataFrame(rows, schema=SCHEMA).select(COLUMNS).with_columns(pl.selectors.float().round(4))
