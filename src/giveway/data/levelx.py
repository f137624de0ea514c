"""The three-file format of levelXdata's drone recordings, shared by rounD and inD.

Formats: Krajewski et al., "The rounD Dataset", ITSC 2020; Bock et al., "The inD Dataset", IV 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from giveway.core.arrays import BoolArray, IntArray
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind
from giveway.data.assemble import StateRows, group_rows, tracks_from_rows
from giveway.data.checks import check_motion, check_sizes
from giveway.data.findings import Findings, relative_name
from giveway.data.layout import first_line
from giveway.data.levelx_files import RECORDING_META, TRACKS, TRACKS_META, peek, recordings_of, triples
from giveway.data.origins import provenance_of
from giveway.data.protocol import DatasetInfo, Progress, Recording, RecordingSummary, Verification
from giveway.data.tables import Table, line_of
from giveway.data.track_lists import read_triple, same_tracks
from giveway.data.verification import summarize, verify_recordings

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelXDataset:
    """Adapter of one dataset in this format.

    Attributes:
        info: fact sheet.
        kinds: class name to kind.
        sizeless: kinds whose size the dataset writes as zero because it has none; read as NaN.
        elsewhere: class name to the dataset it belongs to, for the hint when folders are mixed up.
    """

    info: DatasetInfo
    kinds: Mapping[str, AgentKind]
    sizeless: frozenset[AgentKind] = frozenset()
    elsewhere: Mapping[str, str]

    def recognizes(self, root: Path) -> bool:
        """Whether a triple below the root has our header and, where it tells, our classes."""
        for paths in triples(root).values():
            if "tracks" in paths and _is_ours(paths["tracks"]):
                return set(peek(paths.get("meta"), "class")) <= set(self.kinds)
        return False

    def recordings(self, root: Path) -> Sequence[Recording]:
        """All complete triples in the root or its ``data`` folder."""
        return recordings_of(self.info, root, foreign="frame,id")

    def scenes(self, recording: Recording) -> Iterator[Scene]:
        """The one scene of a recording."""
        findings = Findings.of(recording)
        content = self._read(recording, findings)
        assert content is not None  # strict findings raise instead
        rows, meta, tables = content
        rate = float(meta.floats("frameRate")[0])
        attributes = {name: meta.frame.get_column(column)[0] for column, name in SCENE_ATTRIBUTES.items()}
        yield Scene(
            tracks=tracks_from_rows([rows], frame_rate_hz=rate),
            location=str(meta.ints("locationId")[0]),
            provenance=provenance_of(
                recording,
                {relative_name(table.path, recording.root): table.sha256 for table in tables},
                notes=findings.notes,
            ),
            attributes={"frame_rate_hz": rate, "first_frame": int(rows.frame.min()), **attributes},
        )

    def verify(self, root: Path, *, progress: Progress | None = None, accept_implausible: bool = False) -> Verification:
        """Check every file below the root."""
        return verify_recordings(
            self, root, self._check, version="1.0", progress=progress, accept_implausible=accept_implausible
        )

    def _check(self, recording: Recording, findings: Findings) -> RecordingSummary | None:
        content = self._read(recording, findings)
        if content is None:
            return None
        rows, meta, _ = content
        return summarize(recording, [rows], frame_rate_hz=float(meta.floats("frameRate")[0]))

    def _read(self, recording: Recording, findings: Findings) -> tuple[StateRows, Table, list[Table]] | None:
        forms = {"recording": RECORDING_META, "meta": TRACKS_META, "tracks": TRACKS}
        tables = read_triple(recording, forms, findings)
        if tables is None:
            return None
        meta, tracks_meta, tracks = tables
        rows = self._rows(meta, tracks_meta, tracks, findings)
        return None if rows is None else (rows, meta, tables)

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
            size=np.where((size == 0) & _is_any(kinds, self.sizeless)[:, None], np.nan, size),
            kind=kinds,
        )
        check_sizes(rows.size, kinds, tracks_meta.path, line_of(np.arange(len(kinds))), findings)
        check_motion(rows, float(meta.floats("frameRate")[0]), findings, columns=("xCenter", "xVelocity", "heading"))
        return rows if findings.num_errors == before else None

    def _kinds(self, tracks_meta: Table, findings: Findings) -> IntArray | None:
        names = tracks_meta.text("class").to_list()
        bad = np.array([index for index, name in enumerate(names) if name not in self.kinds], dtype=np.int64)
        if bad.size:
            owner = self.elsewhere.get(names[int(bad[0])])
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


def _is_any(kinds: IntArray, chosen: frozenset[AgentKind]) -> BoolArray:
    return np.isin(kinds, [int(kind) for kind in chosen])


def _is_ours(tracks: Path) -> bool:
    return first_line(tracks).startswith("recordingId,trackId,frame")
