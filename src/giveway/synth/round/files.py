"""rounD: recordings of three roundabouts, and the truth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from giveway.synth.levelx import FRAME_RATE_HZ, Place, write_recording
from giveway.synth.protocol import Size, SynthesizerInfo
from giveway.synth.round.recording import simulate_recording
from giveway.synth.round.sites import SITES, Site
from giveway.synth.round.truth import gap_samples
from giveway.synth.tables import write_table

FIRST_LOCATIONS = {0: 1, 1: 2}
"""Recording number to location; all later ones are at location 0."""


class RoundSynthesizer:
    """rounD: 25 Hz, recordings 00, 01, ... at locations 1, 2, 0, 0, ..."""

    info = SynthesizerInfo(name="round", unit="recordings", count=4, max_count=24, minutes=10.0)

    def write(self, folder: Path, *, seed: int, size: Size) -> Mapping[str, Any]:
        """``data/NN_*.csv``, ``data/NN_background.png`` and ``truth/NN_samples.csv``."""
        (folder / "data").mkdir()
        (folder / "truth").mkdir()
        totals = {"recordings": size.count, "tracks": 0, "rows": 0, "accepted": 0, "rejected": 0}
        for number in range(size.count):
            site = SITES[FIRST_LOCATIONS.get(number, 0)]
            tracks, decisions = simulate_recording(seed, number, site, size.minutes or 10.0)
            stem = folder / "data" / f"{number:02d}"
            rows = write_recording(stem, number, _place(site), tracks, decimals=4, frame_rate=str(FRAME_RATE_HZ))
            samples = gap_samples(site, tracks, decisions)
            write_table(folder / "truth" / f"{number:02d}_samples.csv", _rounded(samples))
            decided = [s for s in samples if np.isfinite(s["t_S"])]
            totals["tracks"] += len(tracks)
            totals["rows"] += rows
            totals["accepted"] += sum(s["accepted"] for s in decided)
            totals["rejected"] += sum(not s["accepted"] for s in decided)
        return totals


def _place(site: Site) -> Place:
    return Place(
        location=site.location,
        lat_lon=site.lat_lon,
        utm=site.utm,
        meter_per_px=site.meter_per_px,
        picture_px=(round(2 * site.center_px[0] / 10), round(-2 * site.center_px[1] / 10)),
    )


def _rounded(samples: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(samples, infer_schema_length=None).with_columns(pl.selectors.float().round(6))


SYNTHESIZER = RoundSynthesizer()
