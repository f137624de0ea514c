"""nuPlan: logs of a moving car as SQLite databases.

Only whole numbers, reals and tokens are selected. The tables ``camera`` and ``lidar`` hold pickles, which are programs;
they are never read. The database is opened read-only. Positions of boxes are UTM; the pose of the recording car is that
of its rear axle and its velocity is in its own axes, so both are turned and moved to the center of the box.

Format: Karnchanachari et al., "Towards learning-based planning: The nuPlan benchmark for real-world autonomous
driving", ICRA 2024.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.tracks import AgentKind
from giveway.data.logged import Logged, LoggedDataset, dense_tracks, refuse
from giveway.data.protocol import DatasetInfo, Recording

KINDS = {"vehicle": AgentKind.CAR, "bicycle": AgentKind.BICYCLE, "pedestrian": AgentKind.PEDESTRIAN}
"""Categories that move; cones, barriers, signs and generic objects are left out."""

EGO = "ego"
EGO_SIZE_M = (5.176, 2.297)
"""Chrysler Pacifica."""

REAR_AXLE_TO_CENTER_M = 1.461
"""(4.049 - 1.127) / 2: from the rear axle to the middle between front and rear."""

FRAMES = """
    SELECT p.token, p.timestamp, e.x, e.y, e.qw, e.qx, e.qy, e.qz, e.vx, e.vy, e.epsg
    FROM lidar_pc AS p JOIN ego_pose AS e ON e.token = p.ego_pose_token ORDER BY p.timestamp
"""
BOXES = """
    SELECT b.track_token, b.lidar_pc_token, b.x, b.y, b.yaw, b.vx, b.vy, t.length, t.width, c.name
    FROM lidar_box AS b JOIN track AS t ON t.token = b.track_token JOIN category AS c ON c.token = t.category_token
    ORDER BY b.rowid
"""
LIGHTS = "SELECT lidar_pc_token, lane_connector_id, status FROM traffic_light_status ORDER BY rowid"
LOG = "SELECT location, vehicle_name, map_version FROM log"


def _find(root: Path) -> Sequence[tuple[str, Mapping[str, Path], str]]:
    return [
        (path.relative_to(root).with_suffix("").as_posix(), {"log": path}, "")
        for path in sorted(root.rglob("*.db"))
        if _is_sqlite(path)
    ]


def _is_sqlite(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _read(recording: Recording, _: Mapping[str, bytes]) -> Iterator[Logged]:
    path = recording.files["log"]
    with path.open("rb") as stream:
        head = stream.read(100)
    # Pages and page size stand in the header; SQLite reads missing pages as nothing.
    size, pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
    expected = pages * (65_536 if size == 1 else size)
    if len(head) < 100 or path.stat().st_size < expected:
        found = f"{path.stat().st_size} bytes, {expected} announced"
        refuse("the database cannot be read: it is cut", path, "header, number of pages", found=found)
    try:
        # Immutable: neither locks nor journal files are made, whatever the permissions of the folder.
        address = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            frames, boxes, lights, logs = (database.execute(q).fetchall() for q in (FRAMES, BOXES, LIGHTS, LOG))
    except sqlite3.Error as error:
        refuse("the database cannot be read", path, found=str(error)[:120])
    if not frames:
        refuse("the database has no frames", path, "lidar_pc.timestamp")
    yield _logged(path, frames, boxes, lights, logs[0] if logs else ("", "", ""))


def _logged(path: Path, frames: list[Any], boxes: list[Any], lights: list[Any], log: Any) -> Logged:
    index = {row[0]: n for n, row in enumerate(frames)}
    stamp = _column(path, frames, 1, "lidar_pc.timestamp")
    tokens: dict[bytes, int] = {}
    kind: list[AgentKind] = []
    size: list[tuple[float, float]] = []
    kept: list[Any] = []
    things: list[bytes] = []
    for row in boxes:
        if row[9] not in KINDS:
            things.append(row[0])
            continue
        if row[0] not in tokens:
            tokens[row[0]] = len(tokens)
            kind.append(KINDS[row[9]])
            size.append((row[7], row[8]))
        if row[1] not in index:
            refuse("a box belongs to a frame that does not exist", path, "lidar_box.lidar_pc_token")
        kept.append(row)
    shape = (len(tokens) + 1, len(frames))
    states = np.full((*shape, 5), np.nan)
    agent = np.array([tokens[row[0]] for row in kept], dtype=np.int64)
    instant = np.array([index[row[1]] for row in kept], dtype=np.int64)
    for n, name in enumerate(("x", "y", "yaw", "vx", "vy")):
        states[agent, instant, n] = _column(path, kept, 2 + n, f"lidar_box.{name}")
    observed = np.zeros(shape, dtype=np.bool_)
    observed[agent, instant] = True
    states[-1], observed[-1] = _ego(path, frames), True
    return Logged(
        tracks=dense_tracks(
            path,
            ids=[*(token.hex() for token in tokens), EGO],
            kind=[*kind, AgentKind.CAR],
            time_s=(stamp - stamp[0]) * 1e-6,
            xy=states[..., :2],
            heading=states[..., 2],
            velocity=states[..., 3:],
            observed=observed,
            size=np.array([*size, EGO_SIZE_M], dtype=np.float64),
        ),
        location=str(log[0]),
        attributes={
            "first_frame": 0,
            "epsg": int(frames[0][10]),
            "start_timestamp_us": int(stamp[0]),
            "vehicle_name": str(log[1]),
            "left_out_tracks": len(set(things)),
            "left_out_boxes": len(things),
            "light_instant": np.array([index.get(row[0], -1) for row in lights], dtype=np.int64),
            "light_lane_connector": np.array([row[1] for row in lights], dtype=np.int64),
            "light_status": np.array([str(row[2]) for row in lights], dtype=np.str_),
        },
        recorder=EGO,
        notes=("no lanes: maps of nuPlan are separate files",),
    )


def _ego(path: Path, frames: list[Any]) -> FloatArray:
    """(T, 5) x, y, heading and velocity of the center of the recording car."""
    x, y, qw, qx, qy, qz, vx, vy = (_column(path, frames, n, "ego_pose") for n in range(2, 10))
    heading = elementary.arctan2(2 * (qw * qz + qx * qy), 1 - 2 * (qy**2 + qz**2))
    cos, sin = np.cos(heading), np.sin(heading)
    return np.stack(
        [
            x + REAR_AXLE_TO_CENTER_M * cos,
            y + REAR_AXLE_TO_CENTER_M * sin,
            heading,
            vx * cos - vy * sin,
            vx * sin + vy * cos,
        ],
        axis=1,
    )


def _column(path: Path, rows: list[Any], index: int, field: str) -> FloatArray:
    try:
        values = np.array([row[index] for row in rows], dtype=np.float64)
    except (TypeError, ValueError) as error:
        refuse("a value is not a number", path, field, found=str(error)[:80])
    if not np.isfinite(values).all():
        refuse("a value is missing or not finite", path, field)
    return values


NUPLAN = LoggedDataset(
    info=DatasetInfo(
        name="nuplan",
        title="nuPlan",
        frame_rate_hz=20.0,
        license="CC BY-NC-SA 4.0 with terms of Motional; non-commercial",
        obtain="register at https://www.nuscenes.org/nuplan and download a split of the logs",
        layout="**/<log>.db",
        references=(
            "Karnchanachari, N. et al. (2024). Towards learning-based planning: The nuPlan benchmark for real-world "
            "autonomous driving. IEEE ICRA 2024.",
        ),
        is_occluded=True,
    ),
    version="1.1",
    find=_find,
    read=_read,
    binary=frozenset({"log"}),
)
"""Logs of a car (nuPlan, SQLite); one scene per database, the recording car included, no lanes."""
