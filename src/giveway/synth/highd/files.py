"""highD's three files per recording, and what the drivers decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from giveway.core.arrays import FloatArray, IntArray
from giveway.synth.contact import run_undisturbed
from giveway.synth.highd._kernel import find_neighbors
from giveway.synth.highd.motorway import FRAME_S, SEEN_M, Carriageway, drive_direction, is_disturbed
from giveway.synth.highd.truth import decision_rows
from giveway.synth.pictures import gray_png
from giveway.synth.protocol import Size, SynthesizerInfo
from giveway.synth.tables import write_table

DECIMALS = 2
MARKINGS_M = {1: (8.51, 12.59, 16.43), 2: (21.00, 24.96, 28.80)}
"""Of the upper lanes, where people drive to the left, and of the lower ones; those of the example in the format."""
LANE_IDS = {1: (2, 3), 2: (6, 5)}
"""Number of the right and the left lane by direction."""
NEIGHBORS = (
    "precedingId",
    "followingId",
    "leftPrecedingId",
    "leftAlongsideId",
    "leftFollowingId",
    "rightPrecedingId",
    "rightAlongsideId",
    "rightFollowingId",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A carriageway whose vehicles have their ids in the file; ``id_of`` is 0 for those never seen."""

    direction: int
    road: Carriageway
    id_of: IntArray


class HighDSynthesizer:
    """highD: 25 Hz, recordings 01, 02, ..., two lanes per direction."""

    info = SynthesizerInfo(name="highd", unit="recordings", count=2, max_count=60, minutes=3.0)

    def write(self, folder: Path, *, seed: int, size: Size) -> Mapping[str, Any]:
        """``data/NN_*.csv``, ``data/NN_highway.png`` and ``truth/NN_decisions.csv``."""
        (folder / "data").mkdir()
        (folder / "truth").mkdir()
        totals = {"recordings": size.count, "tracks": 0, "rows": 0, "lane_changes": 0, "accepted": 0, "rejected": 0}
        for number in range(1, size.count + 1):
            roads = _numbered({d: _drive(seed, number, d, size.minutes or 3.0) for d in (1, 2)})
            table = pl.concat([_rows(road) for road in roads]).sort("id", "frame")
            meta = _tracks_meta(table, roads)
            stem = f"{number:02d}"
            rounded = table.drop("lateral").with_columns(pl.selectors.float().round(DECIMALS) + 0.0)
            write_table(folder / "data" / f"{stem}_tracks.csv", rounded, decimals=DECIMALS)
            write_table(folder / "data" / f"{stem}_tracksMeta.csv", meta, decimals=DECIMALS)
            _write_recording_meta(folder / "data" / f"{stem}_recordingMeta.csv", number, table, meta)
            (folder / "data" / f"{stem}_highway.png").write_bytes(gray_png(420, 38))
            truth = pl.concat([decision_rows(r.road, r.id_of, r.direction, _marking(r.direction)) for r in roads])
            write_table(folder / "truth" / f"{stem}_decisions.csv", truth)
            totals["tracks"] += meta.height
            totals["rows"] += table.height
            totals["lane_changes"] += int(meta["numLaneChanges"].sum())
            totals["accepted"] += int(truth["accepted"].sum())
            totals["rejected"] += int((~truth["accepted"]).sum())
        return totals


def _drive(seed: int, number: int, direction: int, minutes: float) -> Carriageway:
    def attempt(rng: np.random.Generator) -> tuple[Carriageway, None]:
        return drive_direction(rng, minutes), None

    return run_undisturbed(attempt, is_disturbed, seed, "highd", number, direction)[0]


def _numbered(roads: dict[int, Carriageway]) -> list[Numbered]:
    first: list[tuple[int, int, int]] = []
    for direction, road in roads.items():
        vehicles, index = np.unique(road.vehicle, return_index=True)
        first += [(int(road.frame[k]), direction, int(v)) for v, k in zip(vehicles, index, strict=True)]
    ids = {d: np.zeros(road.length_m.size, dtype=np.int64) for d, road in roads.items()}
    for number, (_, direction, vehicle) in enumerate(sorted(first), start=1):
        ids[direction][vehicle] = number
    return [Numbered(direction=d, road=road, id_of=ids[d]) for d, road in roads.items()]


def _rows(numbered: Numbered) -> pl.DataFrame:
    """All columns of the tracks file, plus ``lateral``; not rounded."""
    road, direction = numbered.road, numbered.direction
    forward = 1.0 if direction == 2 else -1.0
    length, width = road.length_m[road.vehicle].round(DECIMALS), road.width_m[road.vehicle].round(DECIMALS)
    right, left = _lane_middles(direction)
    y = right + road.lateral * (left - right)
    x = road.along_m if direction == 2 else SEEN_M - road.along_m
    is_left = _is_left(y, direction)
    ids = numbered.id_of[road.vehicle]
    near = _neighbors(road, is_left, ids)
    ahead = _state_of(near[:, 0], ids, road)
    gap = np.where(near[:, 0] > 0, ahead[:, 0] - road.along_m - (ahead[:, 2] + length) / 2, 0.0)
    closing = road.speed_mps - ahead[:, 1]
    touches = (near[:, 0] > 0) & (np.abs(closing) > 1e-3)
    ttc = np.divide(gap, closing, out=np.zeros_like(gap), where=touches)
    return pl.DataFrame(
        {
            "frame": road.frame + 1,
            "id": ids,
            "x": x - length / 2,
            "y": y - width / 2,
            "width": length,
            "height": width,
            "xVelocity": forward * road.speed_mps,
            "yVelocity": road.lateral_rate * (left - right),
            "xAcceleration": forward * road.accel_mps2,
            "yAcceleration": road.lateral_accel * (left - right),
            "frontSightDistance": SEEN_M - road.along_m,
            "backSightDistance": road.along_m,
            "dhw": gap,
            "thw": gap / road.speed_mps,
            "ttc": ttc,
            "precedingXVelocity": np.where(near[:, 0] > 0, forward * ahead[:, 1], 0.0),
            **{name: near[:, k] for k, name in enumerate(NEIGHBORS)},
            "laneId": np.where(is_left, LANE_IDS[direction][1], LANE_IDS[direction][0]),
            "lateral": road.lateral,
        }
    )


def _lane_middles(direction: int) -> tuple[float, float]:
    """Y of the middle of the right and the left lane."""
    low, middle, high = MARKINGS_M[direction]
    outer, inner = ((low + middle) / 2, (middle + high) / 2)
    return (outer, inner) if direction == 1 else (inner, outer)


def _marking(direction: int) -> float:
    """Where the marking lies between the middle of the right lane (0) and that of the left one (1)."""
    right, left = _lane_middles(direction)
    return (MARKINGS_M[direction][1] - right) / (left - right)


def _is_left(y: FloatArray, direction: int) -> Any:
    middle = MARKINGS_M[direction][1]
    return y > middle if direction == 1 else y < middle


def _neighbors(road: Carriageway, is_left: Any, ids: IntArray) -> IntArray:
    order = np.argsort(road.frame, kind="stable")
    frames = road.frame[order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(frames)) + 1, [frames.size]])
    found = find_neighbors(
        starts, road.along_m[order], road.length_m[road.vehicle][order], is_left[order].astype(np.int64), ids[order]
    )
    near = np.empty_like(found)
    near[order] = found
    return near


def _state_of(wanted: IntArray, ids: IntArray, road: Carriageway) -> FloatArray:
    """(M, 3) position, speed and length of the vehicle ``wanted`` in the frame of each row; 0 where there is none."""
    span = int(road.frame.max()) + 1
    key = ids * span + road.frame
    order = np.argsort(key)
    at = np.minimum(np.searchsorted(key[order], wanted * span + road.frame), key.size - 1)
    rows = order[at]
    state = np.stack([road.along_m[rows], road.speed_mps[rows], road.length_m[road.vehicle[rows]]], axis=1)
    return np.where((wanted > 0)[:, None], state, 0.0)


def _tracks_meta(table: pl.DataFrame, roads: list[Numbered]) -> pl.DataFrame:
    classes = {
        int(road.id_of[v]): ("Truck" if road.road.is_truck[v] else "Car", road.direction)
        for road in roads
        for v in np.flatnonzero(road.id_of)
    }
    speed = pl.col("xVelocity").abs()
    led = pl.col("precedingId") > 0
    closing = led & (pl.col("ttc") > 0)
    meta = table.group_by("id", maintain_order=True).agg(
        pl.col("width").first(),
        pl.col("height").first(),
        pl.col("frame").min().alias("initialFrame"),
        pl.col("frame").max().alias("finalFrame"),
        pl.len().alias("numFrames"),
        (pl.col("x").last() - pl.col("x").first()).abs().alias("traveledDistance"),
        speed.min().alias("minXVelocity"),
        speed.max().alias("maxXVelocity"),
        speed.mean().alias("meanXVelocity"),
        pl.col("dhw").filter(led).min().fill_null(-1.0).alias("minDHW"),
        pl.col("thw").filter(led).min().fill_null(-1.0).alias("minTHW"),
        pl.col("ttc").filter(closing).min().fill_null(-1.0).alias("minTTC"),
        (pl.col("laneId").diff().fill_null(0) != 0).sum().alias("numLaneChanges"),
    )
    names = pl.Series("class", [classes[n][0] for n in meta["id"]])
    directions = pl.Series("drivingDirection", [classes[n][1] for n in meta["id"]])
    columns = (
        "id,width,height,initialFrame,finalFrame,numFrames,class,drivingDirection,traveledDistance,minXVelocity,"
        "maxXVelocity,meanXVelocity,minDHW,minTHW,minTTC,numLaneChanges"
    )
    return meta.with_columns(names, directions).select(columns.split(","))


def _write_recording_meta(path: Path, number: int, table: pl.DataFrame, meta: pl.DataFrame) -> None:
    trucks = int((meta["class"] == "Truck").sum())
    cells: dict[str, object] = {
        "id": number,
        "frameRate": round(1 / FRAME_S),
        "locationId": 2,
        "speedLimit": "-1.00",
        "month": "09.2017",
        "weekDay": ("Mon", "Tue", "Wed", "Thu", "Fri")[number % 5],
        "startTime": f"{8 + number % 10:02d}:{(7 * number) % 60:02d}",
        "duration": f"{int(table['frame'].to_numpy().max()) * FRAME_S:.6e}",
        "totalDrivenDistance": f"{float(meta['traveledDistance'].sum()):.2f}",
        "totalDrivenTime": f"{float(meta['numFrames'].sum()) * FRAME_S:.2f}",
        "numVehicles": meta.height,
        "numCars": meta.height - trucks,
        "numTrucks": trucks,
        "upperLaneMarkings": ";".join(f"{y:.2f}" for y in MARKINGS_M[1]),
        "lowerLaneMarkings": ";".join(f"{y:.2f}" for y in MARKINGS_M[2]),
    }
    lines = [",".join(cells), ",".join(str(value) for value in cells.values())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


SYNTHESIZER = HighDSynthesizer()
