"""rounD's three files per recording, a background picture, and the truth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from giveway.data.synthetic.pictures import gray_png
from giveway.data.synthetic.protocol import Size, SynthesizerInfo
from giveway.data.synthetic.road_users import Track
from giveway.data.synthetic.round.recording import FRAME_RATE_HZ, simulate_recording
from giveway.data.synthetic.round.sites import SITES, Site
from giveway.data.synthetic.round.truth import gap_samples
from giveway.data.synthetic.tables import write_table

VULNERABLE = ("pedestrian", "bicycle")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday")
FIRST_LOCATIONS = {0: 1, 1: 2}
"""Recording number to location; all later ones are at location 0."""


class RoundSynthesizer:
    """rounD: 25 Hz, recordings 00, 01, ... at locations 1, 2, 0, 0, ..."""

    info = SynthesizerInfo(name="round", unit="recordings", count=4, max_count=24, minutes=5.0)

    def write(self, folder: Path, *, seed: int, size: Size) -> Mapping[str, Any]:
        """``data/NN_*.csv``, ``data/NN_background.png`` and ``truth/NN_samples.csv``."""
        (folder / "data").mkdir()
        (folder / "truth").mkdir()
        totals = {"recordings": size.count, "tracks": 0, "rows": 0, "accepted": 0, "rejected": 0}
        for number in range(size.count):
            site = SITES[FIRST_LOCATIONS.get(number, 0)]
            tracks, decisions = simulate_recording(seed, number, site, size.minutes or 5.0)
            stem = folder / "data" / f"{number:02d}"
            rows = write_recording(stem, number, site, tracks)
            samples = gap_samples(site, tracks, decisions)
            write_table(folder / "truth" / f"{number:02d}_samples.csv", _rounded(samples))
            decided = [s for s in samples if np.isfinite(s["t_S"])]
            totals["tracks"] += len(tracks)
            totals["rows"] += rows
            totals["accepted"] += sum(s["accepted"] for s in decided)
            totals["rejected"] += sum(not s["accepted"] for s in decided)
        return totals


def write_recording(stem: Path, number: int, site: Site, tracks: list[Track], *, decimals: int = 4) -> int:
    """Write the files of one recording; returns the number of rows of its tracks."""
    table = pl.concat([_track_rows(number, k, track, decimals) for k, track in enumerate(tracks)])
    write_table(_beside(stem, "tracks.csv"), table, decimals=decimals)
    write_table(
        _beside(stem, "tracksMeta.csv"),
        pl.DataFrame([_meta(number, k, t) for k, t in enumerate(tracks)]),
        decimals=decimals,
    )
    frames = 1 + max(track.last_frame for track in tracks)
    vulnerable = sum(track.kind in VULNERABLE for track in tracks)
    cells: dict[str, Any] = {
        "recordingId": number,
        "locationId": site.location,
        "frameRate": FRAME_RATE_HZ,
        "speedLimit": f"{50 / 3.6:.{decimals}f}",
        "weekday": WEEKDAYS[number % 5],
        "startTime": 7 + number % 11,
        "duration": f"{frames / FRAME_RATE_HZ:.{decimals}f}",
        "numTracks": len(tracks),
        "numVehicles": len(tracks) - vulnerable,
        "numVRUs": vulnerable,
        "latLocation": f"{site.lat_lon[0]:.{decimals}f}",
        "lonLocation": f"{site.lat_lon[1]:.{decimals}f}",
        "xUtmOrigin": f"{site.utm[0]:.{decimals}f}",
        "yUtmOrigin": f"{site.utm[1]:.{decimals}f}",
        "orthoPxToMeter": repr(site.meter_per_px),
    }
    lines = [",".join(cells), ",".join(str(value) for value in cells.values())]
    _beside(stem, "recordingMeta.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _beside(stem, "background.png").write_bytes(
        gray_png(round(2 * site.center_px[0] / 10), round(-2 * site.center_px[1] / 10))
    )
    return table.height


def _beside(stem: Path, ending: str) -> Path:
    return stem.with_name(f"{stem.name}_{ending}")


def _track_rows(number: int, track_id: int, track: Track, decimals: int) -> pl.DataFrame:
    frames = track.xy.shape[0]
    ahead = np.stack([np.cos(track.heading), np.sin(track.heading)], axis=1)
    left = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
    velocity = ahead * track.speed[:, None]
    accel = ahead * track.lon_accel[:, None] + left * track.lat_accel[:, None]
    numbers = {
        "xCenter": track.xy[:, 0],
        "yCenter": track.xy[:, 1],
        "heading": np.round(np.degrees(track.heading) % 360, decimals) % 360,
        "width": np.full(frames, track.width_m),
        "length": np.full(frames, track.length_m),
        "xVelocity": velocity[:, 0],
        "yVelocity": velocity[:, 1],
        "xAcceleration": accel[:, 0],
        "yAcceleration": accel[:, 1],
        "lonVelocity": track.speed,
        "latVelocity": np.zeros(frames),
        "lonAcceleration": track.lon_accel,
        "latAcceleration": track.lat_accel,
    }
    return pl.DataFrame(
        {
            "recordingId": np.full(frames, number),
            "trackId": np.full(frames, track_id),
            "frame": np.arange(track.first_frame, track.last_frame + 1),
            "trackLifetime": np.arange(frames),
            **{name: np.round(values, decimals) + 0.0 for name, values in numbers.items()},
        }
    )


def _meta(number: int, track_id: int, track: Track) -> dict[str, Any]:
    return {
        "recordingId": number,
        "trackId": track_id,
        "initialFrame": track.first_frame,
        "finalFrame": track.last_frame,
        "numFrames": track.xy.shape[0],
        "width": track.width_m,
        "length": track.length_m,
        "class": track.kind,
    }


def _rounded(samples: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(samples, infer_schema_length=None).with_columns(pl.selectors.float().round(6))


SYNTHESIZER = RoundSynthesizer()
