"""Scenes as files of ScenarioNet, for MetaDrive and whatever else reads its form."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.errors import EmptySelectionError
from giveway.core.files import write_bytes
from giveway.core.lanes import LaneMap
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind
from giveway.data.logged import usual_sizes
from giveway.roads.topology import outline

VERSION = "giveway"
HEIGHT_M = 1.6
TYPES = dict.fromkeys((AgentKind.PEDESTRIAN, AgentKind.PEDESTRIAN_OR_BICYCLE), "PEDESTRIAN") | {
    AgentKind.BICYCLE: "CYCLIST",
    AgentKind.MOTORCYCLE: "CYCLIST",
}
"""Type of a kind; all others are VEHICLE."""


def write_scenarionet(folder: Path, scenes: Iterable[Scene]) -> list[Path]:
    """Write one ``sd_*.pkl`` per scene, and the summary and mapping that ScenarioNet's loader wants.

    States that were not observed are zero and not valid, as in the published files. A scene without a recording car
    names the motor vehicle that is observed longest as ``sdc_id``, because the form needs one.

    Raises:
        EmptySelectionError: no scene.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    summary: dict[str, Any] = {}
    for number, scene in enumerate(scenes):
        content = scenario_of(scene)
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", f"{content['id']}")
        path = folder / f"sd_{scene.provenance.dataset}_{name}_{number}.pkl"
        write_bytes(path, pickle.dumps(content, protocol=4))
        summary[path.name] = content["metadata"]
        written.append(path)
    if not written:
        raise EmptySelectionError("no scene to write", where=folder)
    write_bytes(folder / "dataset_summary.pkl", pickle.dumps(summary, protocol=4))
    write_bytes(folder / "dataset_mapping.pkl", pickle.dumps(dict.fromkeys(summary, ""), protocol=4))
    return written


def scenario_of(scene: Scene) -> dict[str, Any]:
    """A scene as the dictionary that ScenarioNet stores."""
    tracks, count = scene.tracks, scene.tracks.num_instants
    size = np.where(np.isfinite(tracks.size), tracks.size, usual_sizes(tracks.kind))
    objects = {
        str(name): {
            "type": TYPES.get(AgentKind(int(tracks.kind[row])), "VEHICLE"),
            "state": {
                "position": np.pad(np.nan_to_num(tracks.xy[row]), ((0, 0), (0, 1))),
                "heading": np.nan_to_num(tracks.heading[row]),
                "velocity": np.nan_to_num(tracks.velocity[row]),
                "valid": tracks.observed[row].copy(),
                "length": np.where(tracks.observed[row], size[row, 0], 0.0),
                "width": np.where(tracks.observed[row], size[row, 1], 0.0),
                "height": np.where(tracks.observed[row], HEIGHT_M, 0.0),
            },
            "metadata": {
                "track_length": count,
                "type": TYPES.get(AgentKind(int(tracks.kind[row])), "VEHICLE"),
                "object_id": str(name),
                "dataset": scene.provenance.dataset,
            },
        }
        for row, name in enumerate(tracks.ids)
    }
    number = f"{scene.provenance.recording}"
    return {
        "id": number,
        "version": VERSION,
        "length": count,
        "metadata": {
            "id": number,
            "scenario_id": number,
            "dataset": scene.provenance.dataset,
            "map": scene.location,
            "coordinate": "metadrive",
            "metadrive_processed": False,
            "ts": tracks.time_s - tracks.time_s[0],
            "sdc_id": _recorder(scene),
            "track_length": count,
            "source_files": dict(scene.provenance.files),
            "number_summary": {"num_objects": len(objects)},
        },
        "tracks": objects,
        "dynamic_map_states": {},
        "map_features": {} if scene.road is None else _features(scene.road),
    }


def _recorder(scene: Scene) -> str:
    tracks = scene.tracks
    mark = scene.attributes.get("is_recorder")
    if mark is not None and np.any(mark):
        return str(tracks.ids[int(np.argmax(mark))])
    seen = tracks.observed.sum(axis=1) + tracks.num_instants * ~np.isin(tracks.kind, [int(kind) for kind in TYPES])
    return str(tracks.ids[int(np.argmax(seen))])


def _features(road: LaneMap) -> dict[str, Any]:
    features: dict[str, Any] = {
        str(lane.id): {
            "type": "LANE_SURFACE_STREET",
            "polyline": lane.center,
            "polygon": outline(lane.left, lane.right),
            "entry_lanes": [str(n) for n in lane.predecessors],
            "exit_lanes": [str(n) for n in lane.successors],
            "left_neighbor": [] if lane.left_neighbor is None else [str(lane.left_neighbor)],
            "right_neighbor": [] if lane.right_neighbor is None else [str(lane.right_neighbor)],
            **({} if lane.speed_limit_mps is None else {"speed_limit_kmh": 3.6 * lane.speed_limit_mps}),
        }
        for lane in road.lanes.values()
    }
    for line in road.lines:
        kind = (
            "ROAD_EDGE_BOUNDARY"
            if line.type in ("curbstone", "road_border", "guard_rail")
            else (f"ROAD_LINE_{'BROKEN' if line.subtype == 'dashed' else 'SOLID'}_SINGLE_WHITE")
        )
        if line.type != "virtual":
            features[f"line_{line.id}"] = {"type": kind, "polyline": line.points}
    return features
