"""Waymo Open Motion: records of scenarios without TensorFlow, and the JSON files that GPUDrive makes of them.

Formats: Ettinger et al., "Large Scale Interactive Motion Forecasting for Autonomous Driving", ICCV 2021
(``scenario.proto``, ``map.proto``); Kazemkhani et al., "GPUDrive", ICLR 2025.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.lanes import LaneMap, Line
from giveway.core.tracks import AgentKind
from giveway.data.logged import Logged, LoggedDataset, dense_tracks, json_of, refuse
from giveway.data.protobuf import fields, integers, real, records
from giveway.data.protocol import DatasetInfo, Recording
from giveway.roads.drawn import DrawnLane, lane_map
from giveway.roads.speeds import MPH

STEP_S = 0.1
KINDS = {
    1: AgentKind.CAR,
    2: AgentKind.PEDESTRIAN,
    3: AgentKind.BICYCLE,
    "vehicle": AgentKind.CAR,
    "pedestrian": AgentKind.PEDESTRIAN,
    "cyclist": AgentKind.BICYCLE,
}
STATE = {2: 0, 3: 1, 8: 2, 9: 3, 10: 4, 5: 5, 6: 6}
"""Number of a field of ObjectState to the column x, y, heading, vx, vy, length, width."""

VALID = 11
FEATURES = {4: "road_line", 5: "road_edge", 7: "stop_sign", 8: "crosswalk", 9: "speed_bump", 10: "driveway"}
POINTS = {4: 2, 5: 2, 7: 2, 8: 1, 9: 1, 10: 1}
"""Field of a feature that holds its points."""

DRAWN_AS = {"road_edge": "curbstone", "road_line": "line_thin", "stop_sign": "stop_line"}
INVALID = -10_000.0
"""GPUDrive writes this for states that are not valid."""


def _find(root: Path) -> Sequence[tuple[str, Mapping[str, Path], str]]:
    paths = [p for p in sorted(root.rglob("*")) if p.is_file() and (".tfrecord" in p.name or _is_gpudrive(p))]
    return [(path.relative_to(root).as_posix(), {"scenarios": path}, "") for path in paths]


def _is_gpudrive(path: Path) -> bool:
    if path.suffix != ".json":
        return False
    try:
        with path.open("rb") as stream:
            head = stream.read(512)
    except OSError:
        return False
    return b'"objects"' in head and (b'"scenario_id"' in head or b'"name"' in head)


def _read(recording: Recording, content: Mapping[str, bytes]) -> Iterator[Logged]:
    path, data = recording.files["scenarios"], content["scenarios"]
    if path.suffix == ".json":
        yield _from_json(json_of(data, path), path)
        return
    for message in records(data, path):
        yield _scenario(message, path)


def _scenario(message: bytes, path: Path) -> Logged:
    times: list[float] = []
    tracks: list[tuple[int, AgentKind, FloatArray]] = []
    features: list[tuple[int, int, bytes]] = []
    lights: list[list[tuple[int, int]]] = []
    name, recorder, current = "", -1, -1
    for number, _, value in fields(message, path, "Scenario"):
        if isinstance(value, int):
            recorder = value if number == 6 else recorder
            current = value if number == 10 else current
        elif number == 1:
            times.append(real(value))
        elif number == 2:
            tracks.append(_track(value, path))
        elif number == 5:
            name = value.decode("utf-8", errors="replace")
        elif number == 7:
            lights.append(_lights(value, path))
        elif number == 8:
            features += _features(value, path)
    if not times or not tracks:
        refuse("the scenario has no states", path, "Scenario.tracks" if times else "Scenario.timestamps_seconds")
    if any(len(states) != len(times) for _, _, states in tracks):
        refuse("a track has another number of states than there are times", path, "Track.states")
    if not 0 <= recorder < len(tracks):
        refuse("the recording car is no track", path, "Scenario.sdc_track_index", found=recorder)
    states = np.stack([states for _, _, states in tracks])
    valid = states[..., -1] > 0
    flat = [(instant, *light) for instant, found in enumerate(lights) for light in found]
    return Logged(
        tracks=dense_tracks(
            path,
            ids=[str(n) for n, _, _ in tracks],
            kind=[kind for _, kind, _ in tracks],
            time_s=np.array(times),
            xy=states[..., :2],
            heading=states[..., 2],
            velocity=states[..., 3:5],
            observed=valid,
            size=_median_sizes(states[..., 5:7], valid),
        ),
        road=_road(name, features, path),
        location=name,
        attributes={
            "first_frame": 0,
            "scenario_id": name,
            "current_instant": current,
            "light_instant": np.array([row[0] for row in flat], dtype=np.int64),
            "light_lane": np.array([row[1] for row in flat], dtype=np.int64),
            "light_state": np.array([row[2] for row in flat], dtype=np.int64),
        },
        recorder=str(tracks[recorder][0]),
    )


def _track(data: bytes, path: Path) -> tuple[int, AgentKind, FloatArray]:
    """Id, kind and (T, 8) states; the last column is validity."""
    number, kind = 0, AgentKind.UNKNOWN
    rows: list[list[float]] = []
    for field, _, value in fields(data, path, "Track"):
        if isinstance(value, int):
            number = value if field == 1 else number
            kind = KINDS.get(value, AgentKind.UNKNOWN) if field == 2 else kind
        elif field == 3:
            row = [0.0] * 8
            for part, _, content in fields(value, path, "ObjectState"):
                if part in STATE:
                    row[STATE[part]] = real(content)
                elif part == VALID:
                    row[7] = float(content != 0)
            rows.append(row)
    return number, kind, np.array(rows, dtype=np.float64).reshape(-1, 8)


def _median_sizes(size: FloatArray, valid: Any) -> FloatArray:
    """(A, 2) median over valid states; NaN without any."""
    masked = np.where(valid[..., None], size, np.nan)
    result = np.full((len(size), 2), np.nan)
    some = valid.any(axis=1)
    result[some] = np.nanmedian(masked[some], axis=1)
    return result


def _lights(data: bytes, path: Path) -> list[tuple[int, int]]:
    """(lane, state) of the lights at one instant."""
    found: list[tuple[int, int]] = []
    for number, _, value in fields(data, path, "DynamicMapState"):
        if number == 1 and isinstance(value, bytes):
            parts = {n: v for n, _, v in fields(value, path, "TrafficSignalLaneState") if isinstance(v, int)}
            found.append((parts.get(1, -1), parts.get(2, 0)))
    return found


def _features(data: bytes, path: Path) -> list[tuple[int, int, bytes]]:
    """(id, kind, content) of one map feature."""
    parts = list(fields(data, path, "MapFeature"))
    number = next((value for field, _, value in parts if field == 1 and isinstance(value, int)), 0)
    return [(number, field, value) for field, _, value in parts if field != 1 and isinstance(value, bytes)]


def _road(name: str, features: Sequence[tuple[int, int, bytes]], path: Path) -> LaneMap | None:
    lanes: list[DrawnLane] = []
    lines: list[Line] = []
    for number, kind, data in features:
        if kind == 3:
            lanes.append(_lane(number, data, path))
        elif kind in FEATURES:
            points = [_point(v, path) for n, _, v in fields(data, path, FEATURES[kind]) if n == POINTS[kind]]
            lines += _line(number, FEATURES[kind], np.array(points, dtype=np.float64).reshape(-1, 2))
    return lane_map(name, lanes, lines)


def _lane(number: int, data: bytes, path: Path) -> DrawnLane:
    points: list[tuple[float, float]] = []
    follows: list[int] = []
    limit, kind = None, 0
    for field, _, value in fields(data, path, "LaneCenter"):
        if field == 1:
            limit = real(value) * MPH
        elif field == 2 and isinstance(value, int):
            kind = value
        elif field == 8:
            points.append(_point(value, path))
        elif field == 10:
            follows += integers(value, path, "LaneCenter.exit_lanes")
    center = np.array(points, dtype=np.float64).reshape(-1, 2)
    tags = {"lane_type": ("undefined", "freeway", "surface_street", "bike_lane")[kind] if kind < 4 else str(kind)}
    return DrawnLane(id=number, center=center, successors=follows, speed_limit_mps=limit or None, tags=tags)


def _point(value: int | bytes, path: Path) -> tuple[float, float]:
    if isinstance(value, int):
        refuse("a point is no message", path, "MapPoint")
    parts = {number: real(part) for number, _, part in fields(value, path, "MapPoint")}
    return parts.get(1, 0.0), parts.get(2, 0.0)


def _line(number: int, kind: str, points: FloatArray) -> list[Line]:
    if len(points) < 2:
        return []
    return [Line(id=number, points=points, type=DRAWN_AS.get(kind, kind))]


def _from_json(content: dict[str, Any], path: Path) -> Logged:
    objects = content.get("objects")
    if not isinstance(objects, list) or not objects:
        refuse("the file has no objects", path, "objects", found=", ".join(content)[:80])
    try:
        count = len(objects[0]["position"])
        xy = np.array([[(p["x"], p["y"]) for p in one["position"]] for one in objects], dtype=np.float64)
        velocity = np.array([[(p["x"], p["y"]) for p in one["velocity"]] for one in objects], dtype=np.float64)
        heading = np.array([one["heading"] for one in objects], dtype=np.float64).reshape(len(objects), count)
        valid = np.array([one["valid"] for one in objects], dtype=np.bool_).reshape(len(objects), count)
        size = np.array([(one["length"], one["width"]) for one in objects], dtype=np.float64)
        ids = [str(one["id"]) for one in objects]
        kind = [KINDS.get(one["type"], AgentKind.UNKNOWN) for one in objects]
        recorder = int(content.get("metadata", {}).get("sdc_track_index", -1))
        lanes, lines = _json_roads(content["roads"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        refuse("an object or road cannot be read", path, "objects", found=f"{type(error).__name__} {error}"[:120])
    valid &= (xy > INVALID + 1).all(axis=2)
    name = str(content.get("scenario_id") or content.get("name") or path.stem)
    return Logged(
        tracks=dense_tracks(
            path,
            ids=ids,
            kind=kind,
            time_s=np.arange(count) * STEP_S,
            xy=xy,
            heading=heading,
            velocity=velocity,
            observed=valid,
            size=size,
        ),
        road=lane_map(name, lanes, lines),
        location=name,
        attributes={"first_frame": 0, "scenario_id": name},
        recorder=ids[recorder] if 0 <= recorder < len(ids) else None,
        notes=("lanes without succession: this form of the format leaves it out",),
    )


def _json_roads(roads: Sequence[Mapping[str, Any]]) -> tuple[list[DrawnLane], list[Line]]:
    lanes: list[DrawnLane] = []
    lines: list[Line] = []
    for n, road in enumerate(roads):
        points = np.array([(p["x"], p["y"]) for p in road["geometry"]], dtype=np.float64).reshape(-1, 2)
        if road["type"] == "lane":
            lanes.append(DrawnLane(id=int(road.get("id", n)), center=points))
        else:
            lines += _line(int(road.get("id", n)), str(road["type"]), points)
    return lanes, lines


WOMD = LoggedDataset(
    info=DatasetInfo(
        name="womd",
        title="Waymo Open Motion",
        frame_rate_hz=10.0,
        license="Waymo Dataset License Agreement for Non-Commercial Use; no redistribution",
        obtain="register at https://waymo.com/open and download the motion dataset (scenario protos), or make JSON "
        "files of it with GPUDrive",
        layout="**/*.tfrecord*   (scenario protos)\n**/*.json   (GPUDrive)",
        references=(
            "Ettinger, S. et al. (2021). Large Scale Interactive Motion Forecasting for Autonomous Driving: The Waymo "
            "Open Motion Dataset. ICCV 2021.",
        ),
        has_map=True,
        is_occluded=True,
    ),
    version="scenario protos 1.x, GPUDrive JSON",
    find=_find,
    read=_read,
)
"""Scenarios of 9 s recorded from a car (Waymo Open Motion), as records or as JSON of GPUDrive, with lanes."""
