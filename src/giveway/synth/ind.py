"""Synthetic inD: the four-way junction seen by a drone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from giveway.synth.interaction.recording import simulate_site
from giveway.synth.interaction.sites import CENTER_M, build_site
from giveway.synth.interaction.truth import decision_rows
from giveway.synth.levelx import FRAME_RATE_HZ, Place, write_recording
from giveway.synth.protocol import Size, SynthesizerInfo
from giveway.synth.road_users import Track
from giveway.synth.tables import write_table

SITE = "DR_SYN_Intersection_A"
DECIMALS = 5
CORNER_M = (70.0, -55.0)
"""Where the middle of the junction lies, seen from the upper left corner of the picture."""
LONG_M = 6.0
CYCLING_MPS = 2.5
PLACE = Place(
    location=4,
    lat_lon=(50.78505, 6.13070),
    utm=(297631.31870, 5629917.34465),
    meter_per_px=0.0126999352667008,
    picture_px=(140, 110),
)
"""Location 4 and its numbers, as in the example of the format."""


class InDSynthesizer:
    """inD: 25 Hz, five decimals, people on foot and bicycle without size."""

    info = SynthesizerInfo(name="ind", unit="recordings", count=1, max_count=33, minutes=3.0)

    def write(self, folder: Path, *, seed: int, size: Size) -> Mapping[str, Any]:
        """``data/NN_*.csv``, ``data/NN_background.png`` and ``truth/NN_decisions.csv``."""
        (folder / "data").mkdir()
        (folder / "truth").mkdir()
        site = build_site(SITE)
        totals = {"recordings": size.count, "tracks": 0, "rows": 0}
        for number in range(size.count):
            recorded = simulate_site(seed, site, number, size.minutes or 3.0, frame_rate_hz=FRAME_RATE_HZ)
            tracks = [_as_ind(track) for track in (*recorded.vehicles, *recorded.walkers)]
            stem = folder / "data" / f"{number:02d}"
            totals["rows"] += write_recording(
                stem, number, PLACE, tracks, decimals=DECIMALS, frame_rate=f"{FRAME_RATE_HZ:.{DECIMALS}f}"
            )
            truth = decision_rows(site.place.areas, recorded, first_id=0, first_frame=0, frame_s=1 / FRAME_RATE_HZ)
            write_table(folder / "truth" / f"{number:02d}_decisions.csv", truth)
            totals["tracks"] += len(tracks)
        return totals


def _as_ind(track: Track) -> Track:
    moved = track.xy + (np.asarray(CORNER_M) - np.asarray(CENTER_M))
    if track.vehicle >= 0:
        return replace(track, xy=moved, kind="truck_bus" if track.length_m > LONG_M else "car")
    kind = "bicycle" if float(track.speed[0]) > CYCLING_MPS else "pedestrian"
    return replace(track, xy=moved, kind=kind, length_m=0.0, width_m=0.0)


SYNTHESIZER = InDSynthesizer()
