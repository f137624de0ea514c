"""Tiny recordings in formats whose real files may not be given away: two cars and a pedestrian, a second or two.

::

    from giveway.testing.formats import write_format
    write_format("nuplan", Path("some/folder"))

Values are made up. The layout is that of the published formats, written by hand so that the readers have an
independent opposite.
"""

from __future__ import annotations

import json
import math
import pickle
import sqlite3
import struct
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

STEPS = 12
STEP_S = 0.1
AGENTS: tuple[tuple[str, str, float, float, float, float, int, int], ...] = (
    # id, kind, x, y [m], heading [rad], speed [m/s], first step, last step
    ("7", "vehicle", 100.0, 50.0, 0.0, 8.0, 0, STEPS - 1),
    ("8", "vehicle", 130.0, 20.0, math.pi / 2, 5.0, 2, STEPS - 1),
    ("9", "pedestrian", 120.0, 45.0, math.pi / 2, 1.2, 1, 7),
)
"""Road users of every format; the first one records."""

LANES: tuple[tuple[int, Sequence[tuple[float, float]], tuple[int, ...]], ...] = (
    (11, ((90.0, 50.0), (120.0, 50.0)), (12, 99)),  # 99 is outside the map
    (12, ((120.0, 50.0), (150.0, 50.0)), ()),
)


def write_format(name: str, root: Path) -> Path:
    """Write a tiny recording below a folder.

    Args:
        name: of a dataset in :data:`WRITERS`.
        root: folder; created.

    Returns:
        The file to damage in tests of bad input.
    """
    root.mkdir(parents=True, exist_ok=True)
    return WRITERS[name](root)


def state_at(agent: Sequence[Any], step: int) -> tuple[float, float, float, float, float]:
    """X, y, heading, vx, vy of an entry of :data:`AGENTS`."""
    _, _, x, y, heading, speed, *_ = agent
    vx, vy = speed * math.cos(heading), speed * math.sin(heading)
    return x + vx * STEP_S * step, y + vy * STEP_S * step, heading, vx, vy


def _argoverse2(root: Path) -> Path:
    name = "0000-aaaa"
    rows: list[dict[str, Any]] = []
    for agent in AGENTS:
        for step in range(agent[6], agent[7] + 1):
            x, y, heading, vx, vy = state_at(agent, step)
            rows.append(
                {
                    "observed": step < 5,
                    "track_id": "AV" if agent is AGENTS[0] else agent[0],
                    "object_type": agent[1],
                    "object_category": 1,
                    "timestep": step,
                    "position_x": x,
                    "position_y": y,
                    "heading": heading,
                    "velocity_x": vx,
                    "velocity_y": vy,
                    "scenario_id": name,
                    "start_timestamp": 3.15e17,
                    "end_timestamp": 3.16e17,
                    "num_timestamps": STEPS,
                    "focal_track_id": "8",
                    "city": "nowhere",
                }
            )
    path = root / "val" / name / f"scenario_{name}.parquet"
    path.parent.mkdir(parents=True)
    pl.DataFrame(rows).write_parquet(path)
    lanes = {
        str(number): {
            "id": number,
            "is_intersection": False,
            "lane_type": "VEHICLE",
            "left_lane_boundary": [{"x": x, "y": y + 1.75, "z": 0.0} for x, y in line],
            "right_lane_boundary": [{"x": x, "y": y - 1.75, "z": 0.0} for x, y in line],
            "left_lane_mark_type": "SOLID_WHITE",
            "right_lane_mark_type": "NONE",
            "left_neighbor_id": None,
            "right_neighbor_id": None,
            "predecessors": [],
            "successors": list(follows),
        }
        for number, line, follows in LANES
    }
    edge = [{"x": 118.0, "y": 45.0, "z": 0.0}, {"x": 118.0, "y": 55.0, "z": 0.0}]
    road = {"lane_segments": lanes, "pedestrian_crossings": {"5": {"id": 5, "edge1": edge, "edge2": edge}}}
    path.with_name(f"log_map_archive_{name}.json").write_text(json.dumps({**road, "drivable_areas": {}}))
    return path


def _nuplan(root: Path) -> Path:
    path = root / "log.db"
    category, boxes = {"vehicle": b"c1", "pedestrian": b"c2", "traffic_cone": b"c3"}, [*AGENTS[1:]]
    cone = ("3", "traffic_cone", 110.0, 40.0, 0.0, 0.0, 0, 3)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            """
            CREATE TABLE category (token BLOB, name TEXT);
            CREATE TABLE log (token BLOB, vehicle_name TEXT, location TEXT, map_version TEXT);
            CREATE TABLE camera (token BLOB, translation BLOB, intrinsic BLOB);
            CREATE TABLE ego_pose (token BLOB, timestamp INTEGER, x REAL, y REAL, qw REAL, qx REAL, qy REAL, qz REAL,
                                   vx REAL, vy REAL, epsg INTEGER);
            CREATE TABLE track (token BLOB, category_token BLOB, width REAL, length REAL);
            CREATE TABLE lidar_pc (token BLOB, ego_pose_token BLOB, timestamp INTEGER);
            CREATE TABLE lidar_box (token BLOB, lidar_pc_token BLOB, track_token BLOB, x REAL, y REAL, vx REAL, vy REAL,
                                    yaw REAL);
            CREATE TABLE traffic_light_status (token BLOB, lidar_pc_token BLOB, lane_connector_id INTEGER, status TEXT);
            """
        )
        database.execute("INSERT INTO log VALUES (?, 'veh-1', 'nowhere', 'nowhere')", (b"l",))
        database.execute("INSERT INTO camera VALUES (?, ?, ?)", (b"k", _bomb(root), _bomb(root)))
        database.executemany("INSERT INTO category VALUES (?, ?)", [(t, n) for n, t in category.items()])
        for agent in (*boxes, cone):
            size = (0.6, 0.6) if agent[1] == "pedestrian" else (1.9, 4.6)
            database.execute("INSERT INTO track VALUES (?, ?, ?, ?)", (agent[0].encode(), category[agent[1]], *size))
        for step in range(STEPS):
            frame, stamp = f"f{step}".encode(), 1_600_000_000_000_000 + 50_000 * step
            x, y, heading, vx, _ = state_at(AGENTS[0], step)
            half = heading / 2
            rear = (x / 1 - 1.461 * math.cos(heading), y - 1.461 * math.sin(heading))
            pose = (stamp, *rear, math.cos(half), 0.0, 0.0, math.sin(half), vx, 0.0, 32632)
            database.execute(f"INSERT INTO ego_pose VALUES (?{', ?' * 10})", (frame, *pose))
            database.execute("INSERT INTO lidar_pc VALUES (?, ?, ?)", (frame, frame, stamp))
            for agent in (*boxes, cone):
                if agent[6] <= step <= agent[7]:
                    x, y, heading, vx, vy = state_at(agent, step)
                    box = (b"b", frame, agent[0].encode(), x, y, vx, vy, heading)
                    database.execute(f"INSERT INTO lidar_box VALUES (?{', ?' * 7})", box)
        database.execute("INSERT INTO traffic_light_status VALUES (?, ?, 4, 'red')", (b"t", b"f3"))
        database.commit()
    return path


class _Bomb:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        import os

        program: Any = os.system  # pyright: ignore[reportDeprecated]
        return program, (f"touch '{self.mark}'",)


def _bomb(root: Path) -> bytes:
    """A pickle that leaves a file ``executed`` if anything unpickles it."""
    return pickle.dumps(_Bomb(root / "executed"))


def write_bomb(path: Path) -> Path:
    """Write a pickle that calls ``os.system``; returns the file that appears if it is executed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_bomb(path.parent))
    return path.parent / "executed"


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _part(number: int, value: int | float | bytes, *, single: bool = False) -> bytes:
    """A field of a message: whole numbers as varints, reals as doubles or floats, bytes with their length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | (5 if single else 1)) + struct.pack("<f" if single else "<d", value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _womd(root: Path) -> Path:
    message = b"".join(_part(1, STEP_S * step) for step in range(STEPS)) + _part(5, b"abc123") + _part(6, 0)
    for agent in AGENTS:
        track = _part(1, int(agent[0])) + _part(2, 1 if agent[1] == "vehicle" else 2)
        for step in range(STEPS):
            state = b""
            if agent[6] <= step <= agent[7]:
                x, y, heading, vx, vy = state_at(agent, step)
                state = _part(2, x) + _part(3, y)
                for number, value in ((5, 4.6), (6, 1.9), (8, heading), (9, vx), (10, vy)):
                    state += _part(number, value, single=True)
                state += _part(11, 1)
            track += _part(3, state)
        message += _part(2, track)
    for step in range(STEPS):
        light = _part(1, 11) + _part(2, 4)
        message += _part(7, _part(1, light) if step == 3 else b"")
    for number, line, follows in LANES:
        lane = _part(1, 25.0) + _part(2, 2) + b"".join(_part(8, _part(1, x) + _part(2, y)) for x, y in line)
        message += _part(8, _part(1, number) + _part(3, lane + b"".join(_part(10, n) for n in follows)))
    edge = b"".join(_part(2, _part(1, x) + _part(2, 52.0)) for x in (90.0, 150.0))
    message += _part(8, _part(1, 21) + _part(5, _part(1, 1) + edge)) + _part(10, 5)
    path = root / "training.tfrecord-00000-of-00001"
    path.write_bytes(struct.pack("<Q", len(message)) + bytes(4) + message + bytes(4))
    _gpudrive(root / "gpudrive" / "scene_0.json")
    return path


def _gpudrive(path: Path) -> None:
    objects: list[dict[str, Any]] = []
    for agent in AGENTS:
        states = [state_at(agent, step) for step in range(STEPS)]
        valid = [agent[6] <= step <= agent[7] for step in range(STEPS)]
        gone = -10_000.0
        shown = list(zip(states, valid, strict=True))
        objects.append(
            {
                "position": [{"x": s[0] if v else gone, "y": s[1] if v else gone} for s, v in shown],
                "velocity": [{"x": s[3] if v else gone, "y": s[4] if v else gone} for s, v in shown],
                "heading": [s[2] if v else gone for s, v in shown],
                "valid": valid,
                "length": 4.6,
                "width": 1.9,
                "type": agent[1],
                "id": int(agent[0]),
            }
        )
    roads = [{"type": "lane", "id": n, "geometry": [{"x": x, "y": y} for x, y in line]} for n, line, _ in LANES]
    roads.append({"type": "road_edge", "id": 21, "geometry": [{"x": 90.0, "y": 52.0}, {"x": 150.0, "y": 52.0}]})
    content = {"name": "scene_0", "scenario_id": "abc123", "objects": objects, "roads": roads, "tl_states": {}}
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**content, "metadata": {"sdc_track_index": 0}}))


def _scenarionet(root: Path) -> Path:
    tracks: dict[str, Any] = {}
    for agent in AGENTS:
        states = np.array([state_at(agent, step) for step in range(STEPS)])
        valid = np.array([agent[6] <= step <= agent[7] for step in range(STEPS)])
        states[~valid] = 0.0
        tracks[agent[0]] = {
            "type": agent[1].upper(),
            "state": {
                "position": np.pad(states[:, :2], ((0, 0), (0, 1))).astype(np.float32),
                "heading": states[:, 2],
                "velocity": states[:, 3:],
                "valid": valid.astype(np.float64),
                "length": np.where(valid, 4.6, 0.0)[:, None],
                "width": np.where(valid, 1.9, 0.0),
                "height": np.where(valid, 1.5, 0.0),
            },
            "metadata": {"track_length": STEPS, "type": agent[1].upper(), "object_id": agent[0]},
        }
    tracks["cone"] = {**tracks["9"], "type": "TRAFFIC_CONE"}
    features: dict[str, Any] = {
        str(number): {"type": "LANE_SURFACE_STREET", "polyline": np.array(line), "exit_lanes": list(follows)}
        for number, line, follows in LANES
    }
    features["boundary_0"] = {"type": "ROAD_EDGE_BOUNDARY", "polyline": [[90.0, 52.0], [150.0, 52.0]]}
    count: defaultdict[str, int] = defaultdict(int)
    count["VEHICLE"] = 2
    content = {
        "id": "abc123",
        "version": "v1.2",
        "length": STEPS,
        "metadata": {"ts": np.arange(STEPS) * STEP_S, "sdc_id": "7", "dataset": "nowhere", "number": count},
        "tracks": tracks,
        "dynamic_map_states": {},
        "map_features": features,
    }
    path = root / "nowhere" / "sd_nowhere_v1.2_abc123.pkl"
    path.parent.mkdir(parents=True)
    path.write_bytes(pickle.dumps(content))
    write_bomb(path.with_name("dataset_summary.pkl"))  # never opened
    return path


def _lines(path: Path, header: str, rows: Sequence[Sequence[Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [",".join(f"{cell:.6f}" if isinstance(cell, float) else str(cell) for cell in row) for row in rows]
    path.write_text("\n".join([header, *cells]) + "\n")
    return path


def _vci(root: Path, clip: str, rate_hz: float) -> Path:
    """Vehicles and pedestrians in files of their own, ids of both from 0, rows by frame."""
    paths: dict[str, Path] = {}
    for label, kind in (("ped", "pedestrian"), ("veh", "vehicle")):
        rows: list[list[Any]] = []
        for frame in range(STEPS):
            for number, agent in enumerate(one for one in AGENTS if one[1] == kind):
                if agent[6] <= frame <= agent[7]:
                    x, y, heading, vx, vy = state_at(agent, frame)
                    x, y = agent[2] + vx * frame / rate_hz, agent[3] + vy * frame / rate_hz
                    state = [heading, agent[5]] if label == "veh" else [vx, vy]
                    rows.append([number, frame, label, x, y, *state])
        header = "id,frame,label,x_est,y_est," + ("psi_est,vel_est" if label == "veh" else "vx_est,vy_est")
        paths[label] = _lines(root / "trajectories_filtered" / f"{clip}_traj_{label}_filtered.csv", header, rows)
    return paths["veh"]


def _sind(root: Path) -> Path:
    rate_hz = 9.99
    folder = root / "Nowhere" / "8_2_1"
    vehicles: list[list[Any]] = []
    pedestrians: list[list[Any]] = []
    for agent in AGENTS:
        for frame in range(agent[6], agent[7] + 1):
            _, _, heading, vx, vy = state_at(agent, frame)
            x, y = agent[2] + vx * frame / rate_hz, agent[3] + vy * frame / rate_hz
            row = [frame, 1000.0 * frame / rate_hz]
            if agent[1] == "pedestrian":
                pedestrians.append([f"P{agent[0]}", *row, "pedestrian", x, y, vx, vy, 0.0, 0.0])
            else:
                vehicles.append([agent[0], *row, "car", x, y, vx, vy, heading, heading, 4.6, 1.9, 0.0, 0.0])
    start = "track_id,frame_id,timestamp_ms,agent_type,x,y,vx,vy,"
    _lines(folder / "Ped_smoothed_tracks.csv", f"{start}ax,ay", pedestrians)
    return _lines(folder / "Veh_smoothed_tracks.csv", f"{start}yaw_rad,heading_rad,length,width,ax,ay", vehicles)


WRITERS: dict[str, Callable[[Path], Path]] = {
    "argoverse2": _argoverse2,
    "citr": lambda root: _vci(root, "front_interaction_01", 29.97),
    "dut": lambda root: _vci(root, "intersection_01", 23.98),
    "nuplan": _nuplan,
    "scenarionet": _scenarionet,
    "sind": _sind,
    "womd": _womd,
}
"""Dataset to what writes a tiny recording of it and returns its main file."""
