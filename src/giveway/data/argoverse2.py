"""Argoverse 2 motion forecasting: one scenario of 11 s per folder, a table of states and a map.

Format: Wilson et al., "Argoverse 2: Next Generation Datasets for Self-driving Perception and Forecasting", NeurIPS
Datasets and Benchmarks 2021. The test part ends after 5 s: it has no future.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from giveway.core.arrays import FloatArray
from giveway.core.lanes import LaneMap, Line
from giveway.core.tracks import AgentKind
from giveway.data.logged import Logged, LoggedDataset, dense_tracks, json_of, refuse, usual_sizes
from giveway.data.protocol import DatasetInfo, Recording
from giveway.roads.drawn import DrawnLane, lane_map

STEP_S = 0.1
MAX_STEPS = 10_000
COLUMNS: dict[str, type[pl.DataType]] = {
    "track_id": pl.String,
    "object_type": pl.String,
    "timestep": pl.Int64,
    "position_x": pl.Float64,
    "position_y": pl.Float64,
    "heading": pl.Float64,
    "velocity_x": pl.Float64,
    "velocity_y": pl.Float64,
    "focal_track_id": pl.String,
    "city": pl.String,
    "start_timestamp": pl.Float64,
}
KINDS = {
    "vehicle": AgentKind.CAR,
    "pedestrian": AgentKind.PEDESTRIAN,
    "motorcyclist": AgentKind.MOTORCYCLE,
    "cyclist": AgentKind.BICYCLE,
    "bus": AgentKind.BUS,
    "unknown": AgentKind.UNKNOWN,
}
THINGS = ("static", "background", "construction", "riderless_bicycle")
"""Object types that nobody drives; kept as unknown, so that counts are those of the file."""

RECORDER = "AV"


def _find(root: Path) -> Sequence[tuple[str, Mapping[str, Path], str]]:
    found: list[tuple[str, Mapping[str, Path], str]] = []
    for path in sorted(root.rglob("scenario_*.parquet")):
        name = path.stem.removeprefix("scenario_")
        road = path.with_name(f"log_map_archive_{name}.json")
        part = path.parent.relative_to(root).as_posix()
        files = {"tracks": path, "map": road} if road.is_file() else {"tracks": path}
        found.append((part if part.endswith(name) else f"{part}/{name}".removeprefix("./"), files, ""))
    return found


def _read(recording: Recording, content: Mapping[str, bytes]) -> Iterator[Logged]:
    path = recording.files["tracks"]
    try:
        table = pl.read_parquet(io.BytesIO(content["tracks"]))
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        refuse("the file is not Parquet", path, found=str(error)[:120])
    for name, kind in COLUMNS.items():
        if name not in table.columns:
            refuse("a column is missing", path, name, found=", ".join(table.columns))
        if table.schema[name] != kind or table.get_column(name).null_count():
            refuse(f"the column is not {kind.__name__} throughout", path, name, found=table.schema[name])
    table = table.select(list(COLUMNS))
    if not table.height:
        refuse("the table has no rows", path, "track_id")
    step = table.get_column("timestep").to_numpy()
    if step.min() < 0 or step.max() >= MAX_STEPS:
        refuse("a timestep is out of range", path, "timestep", found=f"{step.min()} to {step.max()}")
    ids = table.get_column("track_id").unique(maintain_order=True)
    row = table.get_column("track_id").replace_strict(ids, np.arange(len(ids)), return_dtype=pl.Int64).to_numpy()
    shape = (len(ids), int(step.max()) + 1)
    observed = np.zeros(shape, dtype=np.bool_)
    observed[row, step] = True
    if observed.sum() != table.height:
        refuse("a timestep appears twice in a track", path, "timestep")

    def dense(name: str) -> FloatArray:
        values = np.full(shape, np.nan)
        values[row, step] = table.get_column(name).to_numpy()
        return values

    types = table.group_by("track_id", maintain_order=True).agg(pl.col("object_type").first()).get_column("object_type")
    unknown = sorted(set(types.to_list()) - set(KINDS) - set(THINGS))
    if unknown:
        refuse("unknown type of object", path, "object_type", found=unknown[0])
    kind = [KINDS.get(name, AgentKind.UNKNOWN) for name in types]
    tracks = dense_tracks(
        path,
        ids=ids.to_list(),
        kind=kind,
        time_s=np.arange(shape[1]) * STEP_S,
        xy=np.stack([dense("position_x"), dense("position_y")], axis=2),
        heading=dense("heading"),
        velocity=np.stack([dense("velocity_x"), dense("velocity_y")], axis=2),
        observed=observed,
        size=usual_sizes(kind),
    )
    first = table.row(0, named=True)
    yield Logged(
        tracks=tracks,
        road=None if "map" not in content else _road(content["map"], recording.files["map"]),
        location=str(first["city"]),
        attributes={
            "first_frame": 0,
            "object_type": np.array(types.to_list(), dtype=np.str_),
            "focal_track_id": str(first["focal_track_id"]),
            "start_timestamp_ns": float(first["start_timestamp"]),
        },
        recorder=RECORDER,
        notes=("sizes by kind: the format has none",),
    )


def _road(data: bytes, path: Path) -> LaneMap | None:
    content = json_of(data, path)
    segments: Any = content.get("lane_segments")
    if not isinstance(segments, dict):
        refuse("the map has no lanes", path, "lane_segments", found=", ".join(content)[:80])
    lanes: list[DrawnLane] = []
    lines: list[Line] = []
    for segment in segments.values():
        try:
            left, right = _points(segment["left_lane_boundary"]), _points(segment["right_lane_boundary"])
            number = int(segment["id"])
            marks = [str(segment.get(f"{side}_lane_mark_type", "")) for side in ("left", "right")]
            center = _points(segment["centerline"]) if "centerline" in segment else None
            lanes.append(
                DrawnLane(
                    id=number,
                    left=left,
                    right=right,
                    center=center,
                    successors=[int(n) for n in segment["successors"]],
                    left_neighbor=segment.get("left_neighbor_id"),
                    right_neighbor=segment.get("right_neighbor_id"),
                    tags={
                        "lane_type": str(segment.get("lane_type", "")),
                        "is_intersection": str(segment.get("is_intersection", "")).lower(),
                    },
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            refuse("a lane cannot be read", path, "lane_segments", found=f"{type(error).__name__} {error}"[:120])
        lines += [
            Line(id=2 * len(lines) + n, points=side, type="line_thin" if mark != "NONE" else "virtual", subtype=mark)
            for n, (side, mark) in enumerate(zip((left, right), marks, strict=True))
        ]
    for crossing in content.get("pedestrian_crossings", {}).values():
        for edge in ("edge1", "edge2"):
            if edge in crossing:
                lines.append(Line(id=2 * len(lines), points=_points(crossing[edge]), type="pedestrian_marking"))
    return lane_map(path.stem, lanes, lines)


def _points(points: Sequence[Mapping[str, float]]) -> FloatArray:
    return np.array([[point["x"], point["y"]] for point in points], dtype=np.float64).reshape(-1, 2)


ARGOVERSE2 = LoggedDataset(
    info=DatasetInfo(
        name="argoverse2",
        title="Argoverse 2 motion forecasting",
        frame_rate_hz=10.0,
        license="CC BY-NC-SA 4.0",
        obtain="download the motion forecasting dataset at https://www.argoverse.org/av2.html and unpack it",
        layout="{train,val,test}/<scenario>/scenario_<scenario>.parquet\n"
        "{train,val,test}/<scenario>/log_map_archive_<scenario>.json",
        references=(
            "Wilson, B. et al. (2021). Argoverse 2: Next Generation Datasets for Self-driving Perception and "
            "Forecasting. NeurIPS Datasets and Benchmarks 2021.",
        ),
        has_map=True,
        is_occluded=True,
    ),
    version="motion forecasting 1.0",
    find=_find,
    read=_read,
)
"""Scenarios of 11 s recorded from a car (Argoverse 2 motion forecasting), with lanes; the test part has no future."""
