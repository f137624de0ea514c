"""ScenarioNet: scenarios of many datasets in one form, as pickles; read without executing anything, and written.

Format: Li et al., "ScenarioNet: Open-Source Platform for Large-Scale Traffic Scenario Simulation and Modeling", NeurIPS
Datasets and Benchmarks 2023. Only ``sd_*.pkl`` files are listed; ``dataset_summary.pkl`` and ``dataset_mapping.pkl``
are never opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.lanes import LaneMap, Line
from giveway.core.tracks import AgentKind
from giveway.data.logged import Logged, LoggedDataset, dense_tracks, refuse
from giveway.data.protocol import DatasetInfo, Recording
from giveway.data.restricted_pickle import restricted_load
from giveway.roads.drawn import DrawnLane, lane_map
from giveway.roads.speeds import KMH

KINDS = {"VEHICLE": AgentKind.CAR, "PEDESTRIAN": AgentKind.PEDESTRIAN, "CYCLIST": AgentKind.BICYCLE}
"""Types that move; cones and barriers are left out."""

FIRST_NUMBER = 1_000_000
"""Ids of map features without a number start here."""


def _find(root: Path) -> Sequence[tuple[str, Mapping[str, Path], str]]:
    return [
        (path.relative_to(root).with_suffix("").as_posix(), {"scenario": path}, "")
        for path in sorted(root.rglob("sd_*.pkl"))
    ]


def _read(recording: Recording, content: Mapping[str, bytes]) -> Iterator[Logged]:
    path = recording.files["scenario"]
    scenario = restricted_load(content["scenario"], path)
    try:
        yield _logged(scenario, path)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        refuse("a field is missing or of another form", path, str(error)[:60], found=type(error).__name__)


def _logged(scenario: Any, path: Path) -> Logged:
    if not isinstance(scenario, dict) or not isinstance(scenario.get("tracks"), dict):
        refuse("the file is no scenario", path, "tracks")
    metadata, found = scenario["metadata"], scenario["tracks"]
    time_s = np.asarray(metadata["ts"], dtype=np.float64)
    tracks = {str(name): track for name, track in found.items() if track["type"] in KINDS}
    count = len(time_s)
    states = {name: _states(track["state"], count, path, name) for name, track in tracks.items()}
    recorder = str(metadata.get("sdc_id", ""))
    kind = [KINDS[track["type"]] for track in tracks.values()]
    empty = np.zeros((0, count, 8))
    values = np.stack(list(states.values())) if states else empty
    lights = scenario.get("dynamic_map_states") or {}
    return Logged(
        tracks=dense_tracks(
            path,
            ids=list(tracks),
            kind=kind,
            time_s=time_s - (time_s[0] if count else 0.0),
            xy=values[..., :2],
            heading=values[..., 2],
            velocity=values[..., 3:5],
            observed=values[..., 7] > 0,
            size=_sizes(values),
        ),
        road=_road(str(scenario.get("id", path.stem)), scenario.get("map_features") or {}),
        location=str(metadata.get("map") or metadata.get("dataset") or ""),
        attributes={
            "first_frame": 0,
            "scenario_id": str(scenario.get("id", "")),
            "source_dataset": str(metadata.get("dataset", "")),
            "left_out_objects": len(found) - len(tracks),
            "num_map_features": len(scenario.get("map_features") or {}),
            "light_lane": np.array([str(light.get("lane", "")) for light in lights.values()], dtype=np.str_),
            "light_state": np.array(
                [[str(s) for s in light["state"]["object_state"]] for light in lights.values()], dtype=np.str_
            ),
        },
        recorder=recorder if recorder in tracks else None,
    )


def _states(state: Mapping[str, Any], count: int, path: Path, name: str) -> FloatArray:
    """(T, 8) x, y, heading, vx, vy, length, width, valid."""
    columns: list[FloatArray] = []
    for field, width in (("position", 2), ("heading", 1), ("velocity", 2), ("length", 1), ("width", 1), ("valid", 1)):
        if field not in state and field in ("length", "width"):
            columns.append(np.full((count, 1), np.nan))
            continue
        values = np.asarray(state[field], dtype=np.float64)
        if len(values) != count:
            refuse("a field has another length than the times", path, f"tracks.{name}.state.{field}", found=len(values))
        columns.append(values.reshape(count, -1)[:, :width])
    return np.concatenate(columns, axis=1)


def _sizes(values: FloatArray) -> FloatArray:
    """(A, 2) median length and width over valid states."""
    size = np.full((len(values), 2), np.nan)
    for n, track in enumerate(values):
        good = (track[:, 7] > 0) & np.isfinite(track[:, 5:7]).all(axis=1)
        if good.any():
            size[n] = np.median(track[good, 5:7], axis=0)
    return size


def _road(name: str, features: Mapping[Any, Any]) -> LaneMap | None:
    numbers = {str(key): int(key) if str(key).isdigit() else FIRST_NUMBER + n for n, key in enumerate(features)}
    lanes: list[DrawnLane] = []
    lines: list[Line] = []
    for key, feature in features.items():
        kind, number = str(feature["type"]), numbers[str(key)]
        points = _points(feature.get("polyline"))
        if kind.startswith("LANE_"):
            follows = [numbers[str(n)] for n in _list(feature.get("exit_lanes")) if str(n) in numbers]
            limit = feature.get("speed_limit_kmh")
            lanes.append(
                DrawnLane(
                    id=number,
                    center=points,
                    successors=follows,
                    speed_limit_mps=float(limit) * KMH if isinstance(limit, int | float) and limit > 0 else None,
                    tags={"lane_type": kind, "source_id": str(key)},
                )
            )
        elif len(points) > 1:
            drawn = "curbstone" if kind.startswith("ROAD_EDGE") else "line_thin"
            lines.append(Line(id=number, points=points, type=drawn, subtype=kind))
    return lane_map(name, lanes, lines)


def _list(value: Any) -> Sequence[Any]:
    return () if value is None else value


def _points(line: Any) -> FloatArray:
    if line is None or not len(line):
        return np.zeros((0, 2))
    return np.asarray(line, dtype=np.float64).reshape(len(line), -1)[:, :2]


SCENARIONET = LoggedDataset(
    info=DatasetInfo(
        name="scenarionet",
        title="ScenarioNet",
        frame_rate_hz=10.0,
        license="that of the dataset inside (nuScenes, Waymo, nuPlan, ...)",
        obtain="convert a dataset with https://github.com/metadriverse/scenarionet",
        layout="**/sd_<dataset>_<scenario>.pkl",
        references=(
            "Li, Q. et al. (2023). ScenarioNet: Open-Source Platform for Large-Scale Traffic Scenario Simulation and "
            "Modeling. NeurIPS Datasets and Benchmarks 2023.",
        ),
        has_map=True,
        is_occluded=True,
    ),
    version="scenario description",
    find=_find,
    read=_read,
)
"""Scenarios in the common form of ScenarioNet (pickles); read without executing anything, with lanes."""
