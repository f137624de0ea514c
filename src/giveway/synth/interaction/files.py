"""``recorded_trackfiles`` and ``maps`` of INTERACTION v1, and what the drivers decided."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from giveway.core import elementary
from giveway.roads.writer import write_lanelet2
from giveway.synth.interaction.recording import FRAME_RATE_HZ, simulate_site
from giveway.synth.interaction.sites import SITES, build_site
from giveway.synth.interaction.truth import decision_rows
from giveway.synth.protocol import Size, SynthesizerInfo
from giveway.synth.road_users import Track
from giveway.synth.tables import write_table

DECIMALS = 3


class InteractionSynthesizer:
    """INTERACTION v1 at 10 Hz: three sites, each with a map and ``--size`` recordings."""

    info = SynthesizerInfo(name="interaction", unit="recordings per site", count=1, max_count=99, minutes=5.0)

    def write(self, folder: Path, *, seed: int, size: Size) -> Mapping[str, Any]:
        """Track files, maps and ``truth/<site>_NNN_decisions.csv``."""
        (folder / "maps").mkdir()
        (folder / "truth").mkdir()
        totals = {"sites": len(SITES), "recordings": 0, "tracks": 0, "rows": 0, "accepted": 0, "rejected": 0}
        for name in sorted(SITES):
            site = build_site(name)
            write_lanelet2(folder / "maps" / f"{name}.osm", site.road.drawing())
            tracks_folder = folder / "recorded_trackfiles" / name
            tracks_folder.mkdir(parents=True)
            for number in range(size.count):
                recorded = simulate_site(seed, site, number, size.minutes or 5.0)
                vehicles, walkers = recorded.vehicles, recorded.walkers
                table = pl.concat([vehicle_rows(k, track) for k, track in enumerate(vehicles, start=1)])
                write_table(tracks_folder / f"vehicle_tracks_{number:03d}.csv", table)
                if walkers:
                    people = pl.concat([walker_rows(f"P{k}", track) for k, track in enumerate(walkers, start=1)])
                    write_table(tracks_folder / f"pedestrian_tracks_{number:03d}.csv", people)
                rows = decision_rows(site.place.areas, recorded)
                write_table(folder / "truth" / f"{name}_{number:03d}_decisions.csv", rows)
                totals["recordings"] += 1
                totals["tracks"] += len(vehicles) + len(walkers)
                totals["rows"] += table.height
                totals["accepted"] += int(rows["accepted"].sum())
                totals["rejected"] += int((~rows["accepted"]).sum())
        return totals


def vehicle_rows(track_id: int, track: Track) -> pl.DataFrame:
    """Rows of one vehicle: up to three decimals, trailing zeros stripped."""
    return pl.DataFrame(
        {
            **_who_and_when(track_id, track, "car"),
            **_where(track),
            "psi_rad": _rounded(elementary.arctan2(np.sin(track.heading), np.cos(track.heading))),
            "length": np.full(track.xy.shape[0], round(track.length_m, 2)),
            "width": np.full(track.xy.shape[0], round(track.width_m, 2)),
        }
    )


def walker_rows(track_id: str, track: Track) -> pl.DataFrame:
    """Rows of somebody on foot or bicycle: no heading, no size."""
    return pl.DataFrame({**_who_and_when(track_id, track, "pedestrian/bicycle"), **_where(track)})


def _who_and_when(track_id: int | str, track: Track, kind: str) -> dict[str, Any]:
    frames = np.arange(track.first_frame, track.last_frame + 1) + 1
    return {
        "track_id": [track_id] * frames.size,
        "frame_id": frames,
        "timestamp_ms": frames * (1000 // FRAME_RATE_HZ),
        "agent_type": [kind] * frames.size,
    }


def _where(track: Track) -> dict[str, Any]:
    return {
        "x": _rounded(track.xy[:, 0]),
        "y": _rounded(track.xy[:, 1]),
        "vx": _rounded(track.speed * np.cos(track.heading)),
        "vy": _rounded(track.speed * np.sin(track.heading)),
    }


def _rounded(values: Any) -> Any:
    return np.round(values, DECIMALS) + 0.0


SYNTHESIZER = InteractionSynthesizer()
