"""The three files per recording that rounD and inD share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from giveway.synth.pictures import gray_png
from giveway.synth.road_users import Track
from giveway.synth.tables import write_table

FRAME_RATE_HZ = 25
VULNERABLE = ("pedestrian", "bicycle")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the recording's own file says about the site.

    Attributes:
        location: locationId.
        lat_lon: where it is.
        utm: UTM origin.
        meter_per_px: orthoPxToMeter.
        picture_px: size of the background picture we write.
    """

    location: int
    lat_lon: tuple[float, float]
    utm: tuple[float, float]
    meter_per_px: float
    picture_px: tuple[int, int]


def write_recording(
    stem: Path, number: int, place: Place, tracks: list[Track], *, decimals: int, frame_rate: str
) -> int:
    """Write the files of one recording.

    Args:
        stem: path up to the number, e.g. ``data/00``.
        number: recordingId.
        place: site.
        tracks: in the order of their ids.
        decimals: digits after the point.
        frame_rate: as the dataset prints it.

    Returns:
        Number of rows of the tracks file.
    """
    table = pl.concat([_track_rows(number, k, track, decimals) for k, track in enumerate(tracks)])
    write_table(_beside(stem, "tracks.csv"), table, decimals=decimals)
    metas = pl.DataFrame([_meta(number, k, track) for k, track in enumerate(tracks)])
    write_table(_beside(stem, "tracksMeta.csv"), metas, decimals=decimals)
    frames = 1 + max(track.last_frame for track in tracks)
    vulnerable = sum(track.kind in VULNERABLE for track in tracks)
    cells: dict[str, Any] = {
        "recordingId": number,
        "locationId": place.location,
        "frameRate": frame_rate,
        "speedLimit": f"{50 / 3.6:.{decimals}f}",
        "weekday": WEEKDAYS[number % 5],
        "startTime": 7 + number % 11,
        "duration": f"{frames / FRAME_RATE_HZ:.{decimals}f}",
        "numTracks": len(tracks),
        "numVehicles": len(tracks) - vulnerable,
        "numVRUs": vulnerable,
        "latLocation": f"{place.lat_lon[0]:.{decimals}f}",
        "lonLocation": f"{place.lat_lon[1]:.{decimals}f}",
        "xUtmOrigin": f"{place.utm[0]:.{decimals}f}",
        "yUtmOrigin": f"{place.utm[1]:.{decimals}f}",
        "orthoPxToMeter": repr(place.meter_per_px),
    }
    lines = [",".join(cells), ",".join(str(value) for value in cells.values())]
    _beside(stem, "recordingMeta.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _beside(stem, "background.png").write_bytes(gray_png(*place.picture_px))
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
