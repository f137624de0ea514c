"""The three files of a levelXdata recording: columns, names, triples in a folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from giveway.data.checks import COORDINATE_LIMIT_M, MAX_SPEED_MPS
from giveway.data.layout import files, first_line, no_recordings
from giveway.data.protocol import DatasetInfo, Recording
from giveway.data.tables import Column, TableFormat, header_of

PART_FILE = re.compile(r"(\d+)_(recordingMeta|tracksMeta|tracks)\.csv")
ROLES = {"recordingMeta": "recording", "tracksMeta": "meta", "tracks": "tracks"}
SUFFIXES = {role: suffix for suffix, role in ROLES.items()}

RECORDING_META = TableFormat(
    columns=(
        Column(name="recordingId", type="int"),
        Column(name="locationId", type="int"),
        Column(name="frameRate", low=1, high=1000, unit="Hz"),
        Column(name="speedLimit", low=-1, high=MAX_SPEED_MPS, unit="m/s"),
        Column(name="weekday", type="text"),
        Column(name="startTime", low=-1e6, high=1e6),
        Column(name="duration", low=0, high=1e7, unit="s"),
        Column(name="numTracks", type="int", low=1, high=10_000_000),
        Column(name="latLocation", low=-90, high=90),
        Column(name="lonLocation", low=-180, high=180),
        Column(name="xUtmOrigin", low=-1e8, high=1e8, unit="m"),
        Column(name="yUtmOrigin", low=-1e8, high=1e8, unit="m"),
        Column(name="orthoPxToMeter", low=1e-6, high=10, unit="m"),
    ),
    header=header_of(
        "recordingId,locationId,frameRate,speedLimit,weekday,startTime,duration,numTracks,numVehicles,"
        "numVRUs,latLocation,lonLocation,xUtmOrigin,yUtmOrigin,orthoPxToMeter"
    ),
)
TRACKS_META = TableFormat(
    columns=(
        Column(name="trackId", type="int", low=0),
        Column(name="initialFrame", type="int", low=0),
        Column(name="finalFrame", type="int", low=0),
        Column(name="numFrames", type="int", low=1),
        Column(name="width", low=0, high=100, unit="m"),
        Column(name="length", low=0, high=100, unit="m"),
        Column(name="class", type="text"),
    ),
    header=header_of("recordingId,trackId,initialFrame,finalFrame,numFrames,width,length,class"),
)
TRACKS = TableFormat(
    columns=(
        Column(name="trackId", type="int", low=0),
        Column(name="frame", type="int", low=0, high=10_000_000),
        Column(name="xCenter", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
        Column(name="yCenter", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
        Column(name="heading", low=-360, high=360, unit="degrees"),
        Column(name="xVelocity", low=-MAX_SPEED_MPS, high=MAX_SPEED_MPS, unit="m/s"),
        Column(name="yVelocity", low=-MAX_SPEED_MPS, high=MAX_SPEED_MPS, unit="m/s"),
        # Not used, but the last cell of a line: reading it shows lines that are too short.
        Column(name="latAcceleration", low=-1e6, high=1e6),
    ),
    header=header_of(
        "recordingId,trackId,frame,trackLifetime,xCenter,yCenter,heading,width,length,xVelocity,"
        "yVelocity,xAcceleration,yAcceleration,lonVelocity,latVelocity,lonAcceleration,latAcceleration"
    ),
)


def triples(root: Path) -> dict[str, dict[str, Path]]:
    """Files by recording number and role, from the root or its ``data`` folder."""
    for folder in (root, root / "data"):
        if folder != root and not folder.is_dir():
            continue
        found: dict[str, dict[str, Path]] = {}
        for path in files(folder):
            match = PART_FILE.fullmatch(path.name)
            if match is not None:
                found.setdefault(match[1], {})[ROLES[match[2]]] = path
        if found:
            return dict(sorted(found.items()))
    return {}


def recordings_of(info: DatasetInfo, root: Path, *, foreign: str) -> Sequence[Recording]:
    """All triples in the root or its ``data`` folder, without those whose tracks begin with a ``foreign`` header.

    Raises:
        DatasetLayoutError: there is none.
    """
    found = [
        Recording(
            dataset=info.name,
            id=number,
            root=root,
            files=paths,
            location=next(iter(peek(paths.get("recording"), "locationId")), ""),
        )
        for number, paths in triples(root).items()
        if "tracks" in paths and not first_line(paths["tracks"]).startswith(foreign)
    ]
    if not found:
        raise no_recordings(info, root)
    return found


def peek(path: Path | None, column: str, *, separator: str = ",") -> list[str]:
    """Cells of one column of a small file, as text; empty if that fails. For recognition and labels only."""
    if path is None:
        return []
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    header = lines[0].split(separator) if lines else []
    if column not in header:
        return []
    index = header.index(column)
    rows = (line.split(separator) for line in lines[1:])
    return [cells[index].strip() for cells in rows if len(cells) == len(header)]
