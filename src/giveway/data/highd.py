"""highD: drone recordings of motorways (levelXdata).

The files give the upper left corner of axis-parallel boxes in an image with y pointing down. Scenes have the center of
the box and y pointing up: ``x = x_file + width/2``, ``y = -(y_file + height/2)``; velocities and lane markings follow.
 Vehicles of direction 1 drive towards smaller x, so their heading is pi; those of direction 2 have heading 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind
from giveway.data.assemble import StateRows, group_rows, tracks_from_rows
from giveway.data.checks import COORDINATE_LIMIT_M, MAX_SPEED_MPS, check_motion, check_sizes
from giveway.data.findings import Findings, relative_name
from giveway.data.layout import first_line
from giveway.data.levelx_files import recordings_of, triples
from giveway.data.origins import provenance_of
from giveway.data.protocol import DatasetInfo, Progress, Recording, RecordingSummary, Verification
from giveway.data.tables import Column, Table, TableFormat, header_of, line_of
from giveway.data.track_lists import read_triple, same_tracks
from giveway.data.verification import summarize, verify_recordings

KINDS = {"Car": AgentKind.CAR, "Truck": AgentKind.TRUCK}
NEIGHBORS = {
    "precedingId": "preceding_id",
    "followingId": "following_id",
    "leftPrecedingId": "left_preceding_id",
    "leftAlongsideId": "left_alongside_id",
    "leftFollowingId": "left_following_id",
    "rightPrecedingId": "right_preceding_id",
    "rightAlongsideId": "right_alongside_id",
    "rightFollowingId": "right_following_id",
    "laneId": "lane_id",
}
RECORDING_META = TableFormat(
    columns=(
        Column(name="id", type="int"),
        Column(name="frameRate", low=1, high=1000, unit="Hz"),
        Column(name="locationId", type="int"),
        Column(name="speedLimit", low=-1, high=MAX_SPEED_MPS, unit="m/s"),
        Column(name="month", type="text"),
        Column(name="weekDay", type="text"),
        Column(name="startTime", type="text"),
        Column(name="duration", low=0, high=1e7, unit="s"),
        Column(name="numVehicles", type="int", low=1, high=10_000_000),
        Column(name="upperLaneMarkings", type="text"),
        Column(name="lowerLaneMarkings", type="text"),
    ),
    header=header_of(
        "id,frameRate,locationId,speedLimit,month,weekDay,startTime,duration,totalDrivenDistance,totalDrivenTime,"
        "numVehicles,numCars,numTrucks,upperLaneMarkings,lowerLaneMarkings"
    ),
)
TRACKS_META = TableFormat(
    columns=(
        Column(name="id", type="int", low=1),
        Column(name="width", low=0, high=100, unit="m"),
        Column(name="height", low=0, high=100, unit="m"),
        Column(name="initialFrame", type="int", low=0),
        Column(name="finalFrame", type="int", low=0),
        Column(name="numFrames", type="int", low=1),
        Column(name="class", type="text"),
        Column(name="drivingDirection", type="int", low=1, high=2),
        Column(name="numLaneChanges", type="int", low=0),
    ),
    header=header_of(
        "id,width,height,initialFrame,finalFrame,numFrames,class,drivingDirection,traveledDistance,minXVelocity,"
        "maxXVelocity,meanXVelocity,minDHW,minTHW,minTTC,numLaneChanges"
    ),
)
TRACKS = TableFormat(
    columns=(
        Column(name="frame", type="int", low=0, high=10_000_000),
        Column(name="id", type="int", low=1),
        Column(name="x", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
        Column(name="y", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
        Column(name="xVelocity", low=-MAX_SPEED_MPS, high=MAX_SPEED_MPS, unit="m/s"),
        Column(name="yVelocity", low=-MAX_SPEED_MPS, high=MAX_SPEED_MPS, unit="m/s"),
        *(Column(name=name, type="int", low=0, high=10_000_000) for name in NEIGHBORS),
    ),
    header=header_of(
        "frame,id,x,y,width,height,xVelocity,yVelocity,xAcceleration,yAcceleration,frontSightDistance,"
        "backSightDistance,dhw,thw,ttc,precedingXVelocity,precedingId,followingId,leftPrecedingId,leftAlongsideId,"
        "leftFollowingId,rightPrecedingId,rightAlongsideId,rightFollowingId,laneId"
    ),
)
FORMS = {"recording": RECORDING_META, "meta": TRACKS_META, "tracks": TRACKS}


class HighD:
    """Adapter; one scene per recording.

    Besides the tracks a scene has as attributes: ``driving_direction`` and ``num_lane_changes`` (A,), the lane markings
    of both carriageways as y coordinates, and the lane and neighbors of every state as flat arrays in the order of
    ``tracks.observed`` (so ``dense[tracks.observed] = attributes["lane_id"]``); id 0 means no neighbor.
    """

    @property
    def info(self) -> DatasetInfo:
        """Fact sheet."""
        return DatasetInfo(
            name="highd",
            title="highD",
            frame_rate_hz=25.0,
            license="non-commercial research; no redistribution; commercial licences from levelXdata",
            obtain="request access at https://levelxdata.com/highd-dataset/ and unpack the archive",
            layout="data/NN_recordingMeta.csv\ndata/NN_tracksMeta.csv\ndata/NN_tracks.csv   (NN = 01..60)",
            references=(
                "Krajewski, R., Bock, J., Kloeker, L., Eckstein, L. (2018). The highD Dataset: A Drone Dataset of "
                "Naturalistic Vehicle Trajectories on German Highways. IEEE ITSC 2018. doi:10.1109/ITSC.2018.8569552.",
            ),
        )

    def recognizes(self, root: Path) -> bool:
        """Whether a tracks file below the root has our header."""
        return any("tracks" in paths and _is_ours(paths["tracks"]) for paths in triples(root).values())

    def recordings(self, root: Path) -> Sequence[Recording]:
        """All triples in the root or its ``data`` folder."""
        return recordings_of(self.info, root, foreign="recordingId")

    def scenes(self, recording: Recording) -> Iterator[Scene]:
        """The one scene of a recording."""
        findings = Findings.of(recording)
        content = _read(recording, findings)
        assert content is not None  # strict findings raise instead
        rows, tables = content
        meta, tracks_meta, tracks = tables
        rate = float(meta.floats("frameRate")[0])
        yield Scene(
            tracks=tracks_from_rows([rows], frame_rate_hz=rate),
            location=str(meta.ints("locationId")[0]),
            provenance=provenance_of(
                recording,
                {relative_name(table.path, recording.root): table.sha256 for table in tables},
                notes=findings.notes,
            ),
            attributes={
                "frame_rate_hz": rate,
                "first_frame": int(rows.frame.min()),
                "speed_limit_mps": float(meta.floats("speedLimit")[0]),
                "weekday": meta.text("weekDay")[0],
                "start_time": meta.text("startTime")[0],
                "upper_lane_markings_m": _markings(meta, "upperLaneMarkings"),
                "lower_lane_markings_m": _markings(meta, "lowerLaneMarkings"),
                "driving_direction": tracks_meta.ints("drivingDirection").copy(),
                "num_lane_changes": tracks_meta.ints("numLaneChanges").copy(),
                **{name: tracks.ints(column).astype(np.int32) for column, name in NEIGHBORS.items()},
            },
        )

    def verify(self, root: Path, *, progress: Progress | None = None, accept_implausible: bool = False) -> Verification:
        """Check every file below the root."""
        return verify_recordings(
            self, root, _check, version="1.0", progress=progress, accept_implausible=accept_implausible
        )


HIGHD = HighD()


def _is_ours(tracks: Path) -> bool:
    return first_line(tracks).startswith("frame,id,x,y")


def _check(recording: Recording, findings: Findings) -> RecordingSummary | None:
    content = _read(recording, findings)
    if content is None:
        return None
    rows, tables = content
    return summarize(recording, [rows], frame_rate_hz=float(tables[0].floats("frameRate")[0]))


def _read(recording: Recording, findings: Findings) -> tuple[StateRows, list[Table]] | None:
    tables = read_triple(recording, FORMS, findings)
    if tables is None:
        return None
    before = findings.num_errors
    meta, tracks_meta, tracks = tables
    frame, track = tracks.ints("frame"), tracks.ints("id")
    grouping = group_rows(track, frame, tracks.path, findings, columns=("id", "frame"))
    kinds = _kinds(tracks_meta, findings)
    _check_markings(meta, findings)
    if grouping is None or kinds is None:
        return None
    if not same_tracks(meta, tracks_meta, tracks, grouping, findings, track="id", count="numVehicles"):
        return None
    size = np.stack([tracks_meta.floats("width"), tracks_meta.floats("height")], axis=1)
    count = np.diff(grouping.offsets)
    direction = tracks_meta.ints("drivingDirection")
    rows = StateRows(
        file=tracks.path,
        grouping=grouping,
        frame=frame,
        x=tracks.floats("x") + np.repeat(size[:, 0] / 2, count),
        y=-(tracks.floats("y") + np.repeat(size[:, 1] / 2, count)),
        heading=np.repeat(np.where(direction == 1, np.pi, 0.0), count),
        vx=tracks.floats("xVelocity"),
        vy=-tracks.floats("yVelocity"),
        size=size,
        kind=kinds,
    )
    check_sizes(size, kinds, tracks_meta.path, line_of(np.arange(len(size))), findings)
    rate = float(meta.floats("frameRate")[0])
    # Headings are those of the carriageway, and nobody drives backwards on a motorway.
    check_motion(rows, rate, findings, columns=("x", "xVelocity", "drivingDirection"), reverses=False)
    return (rows, tables) if findings.num_errors == before else None


def _kinds(tracks_meta: Table, findings: Findings) -> IntArray | None:
    names = tracks_meta.text("class").to_list()
    bad = np.array([row for row, name in enumerate(names) if name not in KINDS], dtype=np.int64)
    findings.rows(
        "unknown class of road user",
        tracks_meta.path,
        line_of(bad),
        column="class",
        values=[names[row] for row in bad.tolist()],
        hint=f"known: {', '.join(KINDS)}",
    )
    return None if bad.size else np.array([int(KINDS[name]) for name in names], dtype=np.int64)


def _check_markings(meta: Table, findings: Findings) -> None:
    for column in ("upperLaneMarkings", "lowerLaneMarkings"):
        try:
            values = _markings(meta, column)
        except ValueError:
            values = np.array([np.nan])
        if len(values) < 2 or not np.isfinite(values).all():
            hint = "two or more numbers with semicolons between them"
            found = meta.text(column)[0]
            findings.error("lane markings do not parse", meta.path, line=2, column=column, found=found, hint=hint)


def _markings(meta: Table, column: str) -> FloatArray:
    """Y of the markings in the frame of the scene, from the left of the image to its lower edge."""
    return -np.array([float(cell) for cell in str(meta.text(column)[0]).split(";")])
