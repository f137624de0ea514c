"""What real recordings say about the core; values from the design note on the closed loop, 3.5 and 4.4."""

import os
from pathlib import Path

import numpy as np
import pytest

from giveway.core.boxes import overlapping_pairs
from giveway.core.tracks import AgentKind, Tracks

SITES = [
    "DR_CHN_Roundabout_LN", "DR_USA_Intersection_EP0", "DR_USA_Intersection_GL",
    "DR_USA_Intersection_MA", "DR_USA_Roundabout_FT", "DR_USA_Roundabout_SR",
]  # fmt: skip


def read(site: str) -> Tracks:
    import polars as pl

    folder = Path(os.environ["GIVEWAY_REAL_INTERACTION"]) / "recorded_trackfiles" / site
    rows = pl.read_csv(folder / "vehicle_tracks_000.csv")
    ids, agent = np.unique(rows["track_id"].to_numpy(), return_inverse=True)
    frame = rows["frame_id"].to_numpy() - 1
    shape = (len(ids), int(frame.max()) + 1)

    def grid(*columns):
        out = np.full((*shape, len(columns)), np.nan)
        out[agent, frame] = rows.select(columns).to_numpy()
        return out

    size = np.empty((len(ids), 2))
    size[agent] = rows.select("length", "width").to_numpy()
    xy = grid("x", "y")
    return Tracks(
        time_s=np.arange(shape[1]) * 0.1,
        xy=xy,
        heading=grid("psi_rad")[..., 0],
        velocity=grid("vx", "vy"),
        observed=np.isfinite(xy[..., 0]),
        size=size,
        kind=np.full(len(ids), AgentKind.CAR),
        ids=ids.astype(str),
    )


@pytest.mark.data
def test_recorded_boxes_overlap_once_and_never_after_shrinking_a_little():
    recordings = [read(site) for site in SITES]
    assert sum(tracks.num_agents for tracks in recordings) == 741
    assert sum(overlapping_pairs(tracks).num_contacts for tracks in recordings) == 1
    assert sum(overlapping_pairs(tracks, shrink_m=0.05).num_contacts for tracks in recordings) == 0
