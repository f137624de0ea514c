"""The three files of a levelXdata recording: columns, names, triples in a folder."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from giveway.data.checks import COORDINATE_LIMIT_M, MAX_SPEED_MPS
from giveway.data.declared import conflicts_file
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
        Column(name="weekday", type="text", nullable=True),
        Column(name="startTime", low=-1e6, high=1e6, nullable=True),  # empty in inD 07 to 10
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
        "numVRUs,latLocation,lonLocation,xUtmOrigin,yUtmOrigin,orthoPxToMeter,exportVersion"
    ),
)
TRACKS_META = TableFormat(
    columns=(
        Column(name="recordingId", type="int"),
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
        Column(name="recordingId", type="int"),
        Column(name="trackId", type="int", low=0),
        Column(name="frame", type="int", low=0, high=10_000_000),
        Column(name="xCenter", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
        Column(name="yCenter", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
        Column(name="heading", low=-360, high=360, unit="degrees"),
        Column(name="xVelocity", low=-MAX_SPEED_MPS, high=MAX_SPEED_MPS, unit="m/s"),
        Column(name="yVelocity", low=-MAX_SPEED_MPS, high=MAX_SPEED_MPS, unit="m/s"),
    ),
    header=header_of(
        "recordingId,trackId,frame,trackLifetime,xCenter,yCenter,heading,width,length,xVelocity,"
        "yVelocity,xAcceleration,yAcceleration,lonVelocity,latVelocity,lonAcceleration,latAcceleration"
    ),
)


LANELETS = ("laneletId",)
NEIGHBORS = (
    "leadId",
    "rearId",
    "leftLeadId",
    "leftRearId",
    "leftAlongsideId",
    "rightLeadId",
    "rightRearId",
    "rightAlongsideId",
)
EXID_TRACKS = TableFormat(
    columns=(*TRACKS.columns, *(Column(name=name, type="text") for name in (*LANELETS, *NEIGHBORS))),
    header=(
        *TRACKS.header,
        *header_of(
            "traveledDistance,latLaneCenterOffset,laneWidth,laneletId,laneChange,lonLaneletPos,laneletLength,leadDHW,"
            "leadDV,leadTHW,leadTTC,leadId,rearId,leftLeadId,leftRearId,leftAlongsideId,rightLeadId,rightRearId,"
            "rightAlongsideId"
        ),
    ),
)
"""Tracks of exiD. Lanelets and neighbors alongside are lists with semicolons between them; -1 means none."""

NAMES = ("exid", "ind", "round", "unid")
SITES_DEG = {
    "ind": ((50.7822, 6.0709), (50.7684, 6.1024), (50.7787, 6.1655), (50.7856, 6.1314)),
    "round": ((50.8905, 6.1747), (50.7905, 6.0593), (50.8738, 6.1067)),
}
"""Latitude and longitude of the sites, from their maps."""

SITE_DEG = 0.01


def names_of(root: Path, kinds: Mapping[str, Collection[str]]) -> set[str]:
    """Datasets of the family that the files below a root may belong to.

    The header of the tracks decides first (exiD has lanelets), then classes that only one dataset has, then the name of
    the folder, then the position of the site. More than one name is left if nothing tells them apart.

    Args:
        root: data root.
        kinds: classes of each dataset.
    """
    for paths in triples(root).values():
        if "tracks" not in paths:
            continue
        header = first_line(paths["tracks"]).split(",")
        if header[:3] != ["recordingId", "trackId", "frame"]:
            return set()
        if LANELETS[0] in header:
            return {"exid"}
        classes = set(peek(paths.get("meta"), "class"))
        able = {name for name, known in kinds.items() if classes <= set(known)} - {"exid"}
        named = {name for part in root.resolve().parts for name in _words(part)} & able
        return named or able & _at_site(paths.get("recording"), able) or able
    return set()


def _words(part: str) -> set[str]:
    return {name for name in NAMES if re.search(rf"(?<![a-z]){name}(?![a-z])", part.lower())}


def _at_site(path: Path | None, able: set[str]) -> set[str]:
    try:
        lat, lon = (float(peek(path, column)[0]) for column in ("latLocation", "lonLocation"))
    except (IndexError, ValueError):
        return able
    near = {name for name, sites in SITES_DEG.items() if any(abs(lat - a) + abs(lon - b) < SITE_DEG for a, b in sites)}
    return near or able - set(SITES_DEG) or able


def map_of(root: Path, location: str) -> Path | None:
    """The lanelet2 map of a location below the root or beside it, by the number in its name."""
    wanted = re.compile(rf"(?:.*[^0-9])?0*{re.escape(location)}(?:_.*)?")
    for base in (root, root.parent):
        for folder in (base / "maps", base / "lanelets"):
            if not folder.is_dir():
                continue
            found = [path for path in sorted(folder.rglob("*.osm")) if wanted.fullmatch(path.stem)]
            if found:
                return found[0]
    return None


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
    found: list[Recording] = []
    maps: dict[str, dict[str, Path]] = {}
    for number, paths in triples(root).items():
        if "tracks" not in paths or first_line(paths["tracks"]).startswith(foreign):
            continue
        location = next(iter(peek(paths.get("recording"), "locationId")), "")
        if location not in maps:
            road = map_of(root, location) if info.has_map and location else None
            maps[location] = {} if road is None else {"map": road}
        paths = {**paths, **maps[location], **(conflicts_file(root) if info.has_map else {})}
        found.append(Recording(dataset=info.name, id=number, root=root, files=paths, location=location))
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
