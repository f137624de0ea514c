"""What drivers decided at a site, and when both parties reached the zone they shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from giveway.synth.interaction.recording import FRAME_S, Recorded
from giveway.synth.network import Network
from giveway.synth.road_users import Track

BRAKE_MPS2 = 4.0
SCHEMA = {
    "t_id": pl.Int64,
    "e_id": pl.Int64,
    "t_S": pl.Float64,
    "t_A": pl.Float64,
    "t_C": pl.Float64,
    "t_crit": pl.Float64,
    "gap_s": pl.Float64,
    "distance_m": pl.Float64,
    "p_accept": pl.Float64,
    "accepted": pl.Boolean,
}


def decision_rows(
    network: Network, recorded: Recorded, *, first_id: int = 1, first_frame: int = 1, frame_s: float = FRAME_S
) -> pl.DataFrame:
    """One row per decision between two recorded vehicles; ids as in the track file, times in its seconds.

    t_S is the time of the decision, t_A and t_C the times at which the front of T and E reaches the zone in which
    their paths meet (NaN outside the record), t_crit the time from which E cannot stop before it with 4 m/s².
    """
    decisions, fleet = recorded.decisions, recorded.fleet
    start_s = first_frame * frame_s
    by_vehicle = {track.vehicle: (k, track) for k, track in enumerate(recorded.vehicles, start=first_id)}
    rows: list[dict[str, Any]] = []
    for n in range(decisions.target.size):
        t, e = int(decisions.target[n]), int(decisions.ego[n])
        if t not in by_vehicle or e not in by_vehicle or decisions.time_s[n] < 0:
            continue
        (t_id, target), (e_id, ego) = by_vehicle[t], by_vehicle[e]
        p, q = fleet.path[t], fleet.path[e]
        left = network.other_in[p, q] - ego.s_m - ego.length_m / 2
        rows.append(
            {
                "t_id": t_id,
                "e_id": e_id,
                "t_S": float(decisions.time_s[n]) + start_s,
                "t_A": start_s + frame_s * _falls(network.zone_in[p, q] - target.s_m - target.length_m / 2, target),
                "t_C": start_s + frame_s * _falls(left, ego),
                "t_crit": start_s + frame_s * _falls(left - ego.speed**2 / (2 * BRAKE_MPS2), ego),
                "gap_s": float(decisions.gap_s[n]),
                "distance_m": float(decisions.distance_m[n]),
                "p_accept": float(decisions.probability[n]),
                "accepted": bool(decisions.accepted[n]),
            }
        )
    return pl.DataFrame(rows, schema=SCHEMA).with_columns(pl.selectors.float().round(4))


def _falls(values: Any, track: Track) -> float:
    """When a falling quantity passes zero, in frames of the recording; NaN if it does not."""
    hits = np.flatnonzero((values[:-1] > 0) & (values[1:] <= 0))
    if hits.size == 0:
        return float("nan")
    k = int(hits[0])
    share = values[k] / (values[k] - values[k + 1])
    return float(track.first_frame + k + share)
