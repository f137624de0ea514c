"""The three-file format of levelXdata's drone recordings, shared by rounD, inD, uniD and exiD.

Formats: Krajewski et al., "The rounD Dataset", ITSC 2020; Bock et al., "The inD Dataset", IV 2020; Moers et al., "The
exiD Dataset", IV 2022.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from giveway.core.arrays import IntArray
from giveway.core.origins import Origin
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind
from giveway.data.assemble import StateRows, group_rows, tracks_from_rows
from giveway.data.checks import check_motion, check_sizes
from giveway.data.declared import declared
from giveway.data.findings import Findings, relative_name
from giveway.data.fingerprints import sha256_of_file
from giveway.data.levelx_files import RECORDING_META, TRACKS, TRACKS_META, names_of, recordings_of
from giveway.data.origins import provenance_of
from giveway.data.protocol import DatasetInfo, Progress, Recording, RecordingSummary, Verification
from giveway.data.released import check_released, release_of
from giveway.data.roads import check_place, check_road, read_road
from giveway.data.tables import Table, TableFormat, line_of
from giveway.data.track_lists import read_triple, same_recording, same_tracks
from giveway.data.verification import summarize, verify_recordings
from giveway.roads.projection import UtmProjection

SCENE_ATTRIBUTES = {
    "speedLimit": "speed_limit_mps",
    "weekday": "weekday",
    "startTime": "start_hour",
    "latLocation": "latitude",
    "lonLocation": "longitude",
    "xUtmOrigin": "x_utm_origin_m",
    "yUtmOrigin": "y_utm_origin_m",
    "orthoPxToMeter": "ortho_px_to_meter",
}
MAP_FIELD = "xUtmOrigin, yUtmOrigin, lonLocation of recordingMeta"

VULNERABLE = {
    "motorcycle": AgentKind.MOTORCYCLE,
    "bicycle": AgentKind.BICYCLE,
    "pedestrian": AgentKind.PEDESTRIAN,
    "animal": AgentKind.UNKNOWN,
}
"""Classes whose size the family writes as zero where it has none; read as NaN. A car of size zero is an error."""

MOTOR_VEHICLES = {
    "car": AgentKind.CAR,
    "van": AgentKind.VAN,
    "truck": AgentKind.TRUCK,
    "bus": AgentKind.BUS,
    "trailer": AgentKind.TRAILER,
}
LICENSE = "non-commercial research; no redistribution; commercial licences from levelXdata"
KINDS: Mapping[str, Mapping[str, AgentKind]] = {
    "exid": {name: (MOTOR_VEHICLES | VULNERABLE)[name] for name in ("car", "van", "truck", "motorcycle")},
    "ind": {
        "car": AgentKind.CAR,
        "truck_bus": AgentKind.TRUCK,
        "bicycle": AgentKind.BICYCLE,
        "pedestrian": AgentKind.PEDESTRIAN,
    },
    "round": MOTOR_VEHICLES | {name: kind for name, kind in VULNERABLE.items() if name != "animal"},
    "unid": MOTOR_VEHICLES | VULNERABLE,
}
"""Classes of each dataset of the family."""


def fact_sheet(name: str, title: str, numbers: str, reference: str) -> DatasetInfo:
    """What the datasets of the family have in common, and what not."""
    return DatasetInfo(
        name=name,
        title=title,
        frame_rate_hz=25.0,
        license=LICENSE,
        obtain=f"request access at https://levelxdata.com/{title.lower()}-dataset/ and unpack the archive",
        layout="data/NN_recordingMeta.csv\ndata/NN_tracksMeta.csv\ndata/NN_tracks.csv   "
        f"(NN = {numbers})\nmaps/.../*.osm   (lanelet2; optional)",
        references=(reference,),
        has_map=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelXDataset:
    """Adapter of one dataset in this format.

    Attributes:
        info: fact sheet.
        tracks: columns of the tracks file.
        kept: column to the name of a scene attribute: one whole number per state, in the order of ``tracks.observed``;
            of lists the first entry.
    """

    info: DatasetInfo
    tracks: TableFormat = TRACKS
    kept: Mapping[str, str] | None = None

    @property
    def kinds(self) -> Mapping[str, AgentKind]:
        """Class name to kind."""
        return KINDS[self.info.name]

    def recognizes(self, root: Path) -> bool:
        """Whether header, classes, folder name and position leave this dataset possible."""
        return self.info.name in names_of(root, KINDS)

    def recordings(self, root: Path) -> Sequence[Recording]:
        """All complete triples in the root or its ``data`` folder."""
        return recordings_of(self.info, root, foreign="frame,id")

    def scenes(self, recording: Recording) -> Iterator[Scene]:
        """The one scene of a recording, with the map of its location in the recording's coordinates."""
        findings = Findings.of(recording)
        content = self._read(recording, findings)
        assert content is not None  # strict findings raise instead
        rows, tables = content
        meta, _, tracks = tables
        rate = float(meta.floats("frameRate")[0])
        hashes = {relative_name(table.path, recording.root): table.sha256 for table in tables}
        road = None
        if "map" in recording.files:
            path = recording.files["map"]
            road, digest = read_road(path, frame="file", projection=_projection(meta))
            check_place(road, [rows], path, findings, field=MAP_FIELD)
            hashes[relative_name(path, recording.root)] = digest
        extras: dict[str, Any] = {}
        if "conflicts" in recording.files:
            path = recording.files["conflicts"]
            extras["conflicts"] = declared(path)
            hashes[relative_name(path, recording.root)] = sha256_of_file(path)
        kept = {name: _first_entries(tracks, column) for column, name in (self.kept or {}).items()}
        yield Scene(
            tracks=tracks_from_rows([rows], frame_rate_hz=rate),
            road=road,
            location=str(meta.ints("locationId")[0]),
            provenance=provenance_of(recording, hashes, notes=findings.notes),
            attributes={
                "frame_rate_hz": rate,
                "first_frame": int(rows.frame.min()),
                **_attributes(meta),
                **kept,
                **extras,
            },
        )

    def verify(self, root: Path, *, progress: Progress | None = None, accept_implausible: bool = False) -> Verification:
        """Check every file below the root, and compare with the release where its files are known."""
        agreements: dict[str, str] = {}

        def check(recording: Recording, findings: Findings) -> RecordingSummary | None:
            return self._check(recording, findings, agreements)

        found = verify_recordings(
            self, root, check, version="1.0", progress=progress, accept_implausible=accept_implausible
        )
        return replace(found, extra={"released": agreements}) if agreements else found

    def _check(self, recording: Recording, findings: Findings, agreements: dict[str, str]) -> RecordingSummary | None:
        content = self._read(recording, findings)
        if content is None:
            return None
        rows, tables = content
        meta = tables[0]
        if release_of(self.info.name) is not None:
            files = {relative_name(table.path, recording.root): table.sha256 for table in tables}
            if provenance_of(recording, files).origin is Origin.RECORDED:
                agreement = check_released(self.info.name, {t.path: t.sha256 for t in tables}, findings)
                agreements[recording.id] = agreement or ""
        if "map" in recording.files:
            path, projection = recording.files["map"], _projection(meta)
            check_road(path, findings, frame="file", projection=projection, parts=[rows], field=MAP_FIELD)
        return summarize(recording, [rows], frame_rate_hz=float(meta.floats("frameRate")[0]))

    def _read(self, recording: Recording, findings: Findings) -> tuple[StateRows, list[Table]] | None:
        forms = {"recording": RECORDING_META, "meta": TRACKS_META, "tracks": self.tracks}
        tables = read_triple(recording, forms, findings)
        if tables is None or not same_recording(tables, findings):
            return None
        meta, tracks_meta, tracks = tables
        rows = self._rows(meta, tracks_meta, tracks, findings)
        return None if rows is None else (rows, tables)

    def _rows(self, meta: Table, tracks_meta: Table, tracks: Table, findings: Findings) -> StateRows | None:
        before = findings.num_errors
        frame = tracks.ints("frame")
        grouping = group_rows(tracks.ints("trackId"), frame, tracks.path, findings, columns=("trackId", "frame"))
        kinds = self._kinds(tracks_meta, findings)
        if grouping is None or kinds is None or not same_tracks(meta, tracks_meta, tracks, grouping, findings):
            return None
        size = np.stack([tracks_meta.floats("length"), tracks_meta.floats("width")], axis=1)
        rows = StateRows(
            file=tracks.path,
            grouping=grouping,
            frame=frame,
            x=tracks.floats("xCenter"),
            y=tracks.floats("yCenter"),
            heading=np.radians(tracks.floats("heading")),
            vx=tracks.floats("xVelocity"),
            vy=tracks.floats("yVelocity"),
            size=np.where((size == 0) & np.isin(kinds, list(VULNERABLE.values()))[:, None], np.nan, size),
            kind=kinds,
        )
        check_sizes(rows.size, kinds, tracks_meta.path, line_of(np.arange(len(kinds))), findings)
        check_motion(rows, float(meta.floats("frameRate")[0]), findings, columns=("xCenter", "xVelocity", "heading"))
        return rows if findings.num_errors == before else None

    def _kinds(self, tracks_meta: Table, findings: Findings) -> IntArray | None:
        names = tracks_meta.text("class").to_list()
        bad = np.array([index for index, name in enumerate(names) if name not in self.kinds], dtype=np.int64)
        if bad.size:
            known = set(names)
            owner = next((name for name, kinds in KINDS.items() if known <= set(kinds)), None)
            hint = f"this looks like {owner}: --dataset {owner}" if owner else f"known: {', '.join(self.kinds)}"
            findings.rows(
                "unknown class of road user",
                tracks_meta.path,
                line_of(bad),
                column="class",
                values=[names[index] for index in bad.tolist()],
                hint=hint,
            )
            return None
        return np.array([int(self.kinds[name]) for name in names], dtype=np.int64)


def _projection(meta: Table) -> UtmProjection:
    """UTM in the zone of the recording, local to its origin."""
    lat, lon, east, north = (
        float(meta.floats(name)[0]) for name in ("latLocation", "lonLocation", "xUtmOrigin", "yUtmOrigin")
    )
    return UtmProjection(origin_lat_deg=lat, origin_lon_deg=lon, grid_origin_m=(east, north))


def _attributes(meta: Table) -> dict[str, Any]:
    """Facts of the recording; None where a cell is empty."""
    values = {name: meta.cell(column, 0) for column, name in SCENE_ATTRIBUTES.items()}
    return {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in values.items()}


def _first_entries(tracks: Table, column: str) -> IntArray:
    """(R,) first number of each cell; -1 where there is none."""
    entries = tracks.text(column).str.split(";").list.first().cast(pl.Float64, strict=False)
    return entries.fill_null(-1.0).fill_nan(-1.0).cast(pl.Int64).to_numpy()
