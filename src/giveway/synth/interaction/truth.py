"""What drivers decided at a site, and when both parties reached the zone they shared."""

from __future__ import annotations

from typing import Any

import polars as pl

from giveway.sim.drivers.route_areas import RouteAreas, yielding_row
from giveway.synth.interaction.recording import FRAME_RATE_HZ, Recorded
from giveway.synth.times import DECISION_SCHEMA, decided, falls

BRAKE_MPS2 = 4.0


def decision_rows(
    areas: RouteAreas,
    recorded: Recorded,
    *,
    first_id: int = 1,
    first_frame: int = 1,
    frame_s: float = 1 / FRAME_RATE_HZ,
) -> pl.DataFrame:
    """One row per decision between two recorded vehicles; ids as in the track file, times in its seconds.

    t_S is the time of the decision, t_A and t_C the times at which the front of T and E reaches the area that
    their routes share (NaN outside the record), t_crit the time from which E cannot stop before it with 4 m/s².
    """
    decisions, fleet = recorded.decisions, recorded.fleet
    start_s = first_frame * frame_s
    by_vehicle = {track.vehicle: (k, track) for k, track in enumerate(recorded.vehicles, start=first_id)}
    rows: list[dict[str, Any]] = []
    for n in range(decisions.target.size):
        t, e = int(decisions.target[n]), int(decisions.priority_car[n])
        if t not in by_vehicle or e not in by_vehicle or decisions.time_s[n] < 0:
            continue
        (t_id, target), (e_id, ego) = by_vehicle[t], by_vehicle[e]
        own_in, _, other_in, _ = areas.span[yielding_row(areas, fleet.route[t], fleet.route[e])]
        left = other_in - ego.s_m - ego.length_m / 2
        rows.append(
            {
                "t_id": t_id,
                "e_id": e_id,
                "t_S": float(decisions.time_s[n]) + start_s,
                "t_A": start_s + frame_s * (target.first_frame + falls(own_in - target.s_m - target.length_m / 2)),
                "t_C": start_s + frame_s * (ego.first_frame + falls(left)),
                "t_crit": start_s + frame_s * (ego.first_frame + falls(left - ego.speed**2 / (2 * BRAKE_MPS2))),
                **decided(decisions, n),
            }
        )
    return pl.DataFrame(rows, schema=DECISION_SCHEMA).with_columns(pl.selectors.float().round(4))
