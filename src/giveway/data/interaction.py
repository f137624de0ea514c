"""INTERACTION v1.x: recorded track files of vehicles and pedestrians, with lanelet2 maps.

Format: Zhan et al., "INTERACTION Dataset", arXiv 1910.03088 (2019), and the read-me of its release.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from giveway.core.lanes import LaneMap
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind
from giveway.data.assemble import StateRows, group_rows, tracks_from_rows
from giveway.data.checks import COORDINATE_LIMIT_M, MAX_SPEED_MPS, check_constant, check_motion, check_sizes
from giveway.data.findings import Findings, relative_name
from giveway.data.layout import entries, files, first_line, folders, no_recordings
from giveway.data.origins import provenance_of
from giveway.data.protocol import DatasetInfo, Progress, Recording, RecordingSummary, Verification
from giveway.data.roads import check_road, read_road
from giveway.data.tables import Column, Table, TableFormat, line_of, read_table
from giveway.data.verification import summarize, verify_recordings

FRAME_RATE_HZ = 10.0
MS_PER_FRAME = 100
TRACK_FILE = re.compile(r"(vehicle|pedestrian)_tracks_(\d+)\.csv")
KINDS = {"car": AgentKind.CAR, "pedestrian/bicycle": AgentKind.PEDESTRIAN_OR_BICYCLE}

STATE_COLUMNS = (
    Column(name="frame_id", type="int", low=0, high=10_000_000),
    Column(name="timestamp_ms", type="int", low=0, high=1_000_000_000),
    Column(name="agent_type", type="text"),
    Column(name="x", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
    Column(name="y", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
    Column(name="vx", low=-MAX_SPEED_MPS, high=MAX_SPEED_MPS, unit="m/s"),
    Column(name="vy", low=-MAX_SPEED_MPS, high=MAX_SPEED_MPS, unit="m/s"),
)
BOX_COLUMNS = (
    Column(name="psi_rad", low=-6.3, high=6.3, unit="rad"),
    Column(name="length", low=-100, high=100, unit="m"),
    Column(name="width", low=-100, high=100, unit="m"),
)
STATE_HEADER = ("track_id", *(column.name for column in STATE_COLUMNS))
VEHICLES = TableFormat(
    columns=(Column(name="track_id", type="int"), *STATE_COLUMNS, *BOX_COLUMNS),
    header=(*STATE_HEADER, *(column.name for column in BOX_COLUMNS)),
    # Six of 165 published files are like that. A line cut short still shows: its width differs from the line before.
    windows_end_optional=True,
)
PEDESTRIANS = TableFormat(columns=(Column(name="track_id", type="text"), *STATE_COLUMNS), header=STATE_HEADER)


class Interaction:
    """Adapter of the recorded track files; one recording is one numbered file of a site, one scene each."""

    @property
    def info(self) -> DatasetInfo:
        """Fact sheet."""
        return DatasetInfo(
            name="interaction",
            title="INTERACTION v1.x",
            frame_rate_hz=FRAME_RATE_HZ,
            license="non-commercial research after registration; no redistribution",
            obtain="register at https://interaction-dataset.com and unpack the release",
            layout=(
                "recorded_trackfiles/<site>/vehicle_tracks_NNN.csv\n"
                "recorded_trackfiles/<site>/pedestrian_tracks_NNN.csv   (may be absent)\n"
                "maps/<site>.osm\n"
                "(the site folders may also lie directly below the root, or the root may be one site folder)"
            ),
            references=(
                "Zhan, W. et al. (2019). INTERACTION Dataset: An INTERnational, Adversarial and Cooperative moTION "
                "Dataset in Interactive Driving Scenarios with Semantic Maps. arXiv:1910.03088.",
            ),
            has_map=True,
        )

    def recognizes(self, root: Path) -> bool:
        """Whether track files of this format lie below the root."""
        for site in _sites(root):
            for path in files(site):
                if TRACK_FILE.fullmatch(path.name):
                    return first_line(path).startswith("track_id,")
        return False

    def recordings(self, root: Path) -> Sequence[Recording]:
        """All numbered files of all sites; hidden folders are no sites."""
        found: list[Recording] = []
        for site in _sites(root):
            roles: dict[str, dict[str, Path]] = {}
            for path in files(site):
                match = TRACK_FILE.fullmatch(path.name)
                if match is not None:
                    roles.setdefault(match[2], {})[f"{match[1]}s"] = path
            name = site.resolve().name
            road = _map_of(site, root)
            for number in sorted(roles):
                paths = dict(sorted(roles[number].items(), reverse=True))
                if road is not None:
                    paths["map"] = road
                found.append(
                    Recording(dataset="interaction", id=f"{name}/{number}", root=root, files=paths, location=name)
                )
        if not found:
            raise no_recordings(self.info, root)
        return sorted(found, key=lambda recording: recording.id)

    def scenes(self, recording: Recording) -> Iterator[Scene]:
        """The one scene of a recording; vehicles first, then pedestrians and cyclists."""
        findings = Findings.of(recording)
        parts, tables = _read(recording, findings)
        hashes = {relative_name(table.path, recording.root): table.sha256 for table in tables}
        road: LaneMap | None = None
        if "map" in recording.files:
            road, digest = read_road(recording.files["map"])
            hashes[relative_name(recording.files["map"], recording.root)] = digest
        yield Scene(
            tracks=tracks_from_rows(parts, frame_rate_hz=FRAME_RATE_HZ),
            road=road,
            location=recording.location,
            provenance=provenance_of(recording, hashes, notes=findings.notes),
            attributes={"frame_rate_hz": FRAME_RATE_HZ, "first_frame": min(int(p.frame.min()) for p in parts)},
        )

    def verify(self, root: Path, *, progress: Progress | None = None, accept_implausible: bool = False) -> Verification:
        """Check every file below the root."""
        return verify_recordings(
            self, root, _check, version="1.0 or 1.1", progress=progress, accept_implausible=accept_implausible
        )


INTERACTION = Interaction()


def _check(recording: Recording, findings: Findings) -> RecordingSummary | None:
    parts, _ = _read(recording, findings)
    expected = sum(role in recording.files for role in ("vehicles", "pedestrians"))
    if "map" in recording.files:
        check_road(recording.files["map"], findings)
    else:
        name = f"maps/{recording.location}.osm"
        findings.warning(
            "no map of the site; scenes will have none", recording.root / name, hint="unpack the maps, too"
        )
    return summarize(recording, parts, frame_rate_hz=FRAME_RATE_HZ) if len(parts) == expected else None


def _read(recording: Recording, findings: Findings) -> tuple[list[StateRows], list[Table]]:
    parts: list[StateRows] = []
    tables: list[Table] = []
    for role, form in (("vehicles", VEHICLES), ("pedestrians", PEDESTRIANS)):
        path = recording.files.get(role)
        table = None if path is None else read_table(path, form, findings)
        rows = None if table is None else state_rows(table, findings)
        if table is not None and rows is not None:
            parts.append(rows)
            tables.append(table)
    return parts, tables


def state_rows(table: Table, findings: Findings) -> StateRows | None:
    """Rows of a vehicle or pedestrian file, checked; None after an error in collecting mode."""
    before = findings.num_errors
    frame = table.ints("frame_id")
    stamp = table.ints("timestamp_ms")
    wrong = np.flatnonzero(stamp != MS_PER_FRAME * frame)
    findings.rows(
        "timestamp_ms is not 100 times frame_id",
        table.path,
        line_of(wrong),
        column="timestamp_ms",
        values=stamp[wrong],
        hint="the file is damaged, or not a recorded track file of this release",
    )
    is_vehicle = "psi_rad" in table
    track = table.ints("track_id") if is_vehicle else table.text_runs("track_id")
    grouping = group_rows(track, frame, table.path, findings, columns=("track_id", "frame_id"))
    kind = _kinds(table, findings)
    if grouping is None or kind is None:
        return None
    unknown = np.full(table.num_rows, np.nan)
    firsts = grouping.first_rows
    length, width = (table.floats(name) if is_vehicle else unknown for name in ("length", "width"))
    rows = StateRows(
        file=table.path,
        grouping=grouping,
        frame=frame,
        x=table.floats("x"),
        y=table.floats("y"),
        heading=table.floats("psi_rad") if is_vehicle else unknown,
        vx=table.floats("vx"),
        vy=table.floats("vy"),
        size=np.stack([length[firsts], width[firsts]], axis=1),
        kind=np.full(len(firsts), kind, dtype=np.int64),
    )
    check_motion(rows, FRAME_RATE_HZ, findings, columns=("x", "vx", "psi_rad"))
    if is_vehicle:
        check_constant(length, rows, "length", findings)
        check_constant(width, rows, "width", findings)
        check_sizes(rows.size, rows.kind, table.path, line_of(firsts), findings)
    return rows if findings.num_errors == before else None


def _kinds(table: Table, findings: Findings) -> AgentKind | None:
    """The one kind of a file: v1.x keeps vehicles and pedestrians apart."""
    expected = "car" if "psi_rad" in table else "pedestrian/bicycle"
    types = table.text("agent_type")
    wrong = (types != expected).arg_true().to_numpy()
    findings.rows(
        f"agent_type is not {expected!r}",
        table.path,
        line_of(wrong),
        column="agent_type",
        values=types.gather(wrong[:10]).to_list() + [""] * max(0, len(wrong) - 10),
        hint="v1.2 case files belong to --dataset interaction_cases",
    )
    return None if len(wrong) else KINDS[expected]


def _sites(root: Path) -> list[Path]:
    """Folders that hold track files, whichever level of the tree the root is."""
    if any(TRACK_FILE.fullmatch(path.name) for path in files(root)):
        return [root]
    inside = root / "recorded_trackfiles"
    base = inside if inside.is_dir() else root
    return [site for site in folders(base) if any(TRACK_FILE.fullmatch(entry.name) for entry in entries(site))]


def _map_of(site: Path, root: Path) -> Path | None:
    """``maps/<site>.osm`` beside the track files, beside their parent, or in the site folder itself."""
    name = f"{site.resolve().name}.osm"
    site = site.resolve() if site == root else site
    for folder in (root / "maps", site, site.parent / "maps", site.parent.parent / "maps"):
        if (folder / name).is_file():
            return folder / name
    return None
