"""Own recordings: CSV files described by a small ``dataset.toml`` beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.derivatives import backward_difference
from giveway.core.errors import ConfigError, DatasetLayoutError
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.data.assemble import Grouping, StateRows, group_rows, tracks_from_rows
from giveway.data.checks import MAX_SPEED_MPS, check_constant, check_motion, check_sizes
from giveway.data.findings import Findings, relative_name
from giveway.data.fingerprints import sha256_of_bytes
from giveway.data.generic_mapping import MAPPING_FILE, Mapping, read_mapping
from giveway.data.headings import heading_from_velocity
from giveway.data.layout import entries, no_recordings
from giveway.data.origins import provenance_of
from giveway.data.protocol import DatasetInfo, Progress, Recording, RecordingSummary, Verification
from giveway.data.roads import check_road, read_road
from giveway.data.tables import Column, Table, TableFormat, line_of, parse_table, read_bytes
from giveway.data.verification import summarize, verify_recordings

METERS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "km": 1000.0, "ft": 0.3048}
METERS_PER_SECOND = {"m/s": 1.0, "km/h": 1 / 3.6, "mph": 0.44704, "ft/s": 0.3048}
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
COORDINATE_LIMIT_M = 1e7
"""Largest coordinate of any frame in use (UTM northing)."""

LARGEST_SIZE_M = 100.0
LARGEST_ANGLE = 1e4
"""Beyond this a float says little about a direction; the sine of 1e308 is noise."""

LARGEST_TIME = 1e19
"""Nanoseconds since 1970 fit."""

LONGEST_FRAMES = 100_000_000
MAX_OFF_GRID = 0.25
"""Share of a frame by which a time may miss its grid point."""


class Generic:
    """Adapter for files that no other adapter knows; one recording and one scene per file."""

    @property
    def info(self) -> DatasetInfo:
        """Fact sheet."""
        return DatasetInfo(
            name="generic",
            title="Own data",
            frame_rate_hz=float("nan"),
            license="yours",
            obtain=f"write {MAPPING_FILE} beside your CSV files; see docs: own data",
            layout=f"{MAPPING_FILE}   (columns, units, frame rate)\n*.csv   (or whatever files.tracks says)",
            has_map=True,
        )

    def recognizes(self, root: Path) -> bool:
        """Whether there is a mapping."""
        return (root / MAPPING_FILE).is_file()

    def recordings(self, root: Path) -> Sequence[Recording]:
        """Every file that the mapping names."""
        entries(root)
        path = root / MAPPING_FILE
        if not path.is_file():
            raise no_recordings(self.info, root)
        mapping = read_mapping(path)
        if Path(mapping.files.tracks).is_absolute() or ".." in Path(mapping.files.tracks).parts:
            raise ConfigError("files.tracks must stay below the root", where=path, found=mapping.files.tracks)
        try:
            if any("**" in part and part != "**" for part in Path(mapping.files.tracks).parts):
                raise ValueError("'**' stands for whole folders only")  # Python 3.13 takes it for '*'
            matches = list(root.glob(mapping.files.tracks))
        except ValueError as error:
            raise ConfigError(
                "files.tracks is not a pattern",
                where=path,
                found=f"{mapping.files.tracks!r}: {error}",
                hint="e.g. '*.csv', or '**/*.csv' with folders",
            ) from None
        found = sorted(file for file in matches if file.is_file() and not _is_hidden(file, root))
        if not found:
            raise DatasetLayoutError(
                "no file matches the mapping",
                where=root,
                found=f"nothing for files.tracks = {mapping.files.tracks!r}",
                hint=f"change it in {MAPPING_FILE}",
            )
        road = {} if mapping.files.map is None else {"map": root / mapping.files.map}
        return [
            Recording(
                dataset="generic",
                id=relative_name(file.with_suffix(""), root),
                root=root,
                files={"tracks": file, "mapping": path, **road},
                location=mapping.files.location,
            )
            for file in found
        ]

    def scenes(self, recording: Recording) -> Iterator[Scene]:
        """The one scene of a file; velocity and heading are derived where the file gives none."""
        mapping = read_mapping(recording.files["mapping"])
        findings = Findings.of(recording)
        content = _read(recording, mapping, findings)
        assert content is not None  # strict findings raise instead
        rows, table = content
        tracks = tracks_from_rows([rows], frame_rate_hz=mapping.time.frame_rate_hz)
        tracks, notes = _complete(tracks, mapping)
        hashes = {relative_name(table.path, recording.root): table.sha256}
        hashes[MAPPING_FILE] = sha256_of_bytes(read_bytes(recording.files["mapping"]))
        road = None
        if "map" in recording.files:
            path = recording.files["map"]
            road, hashes[relative_name(path, recording.root)] = read_road(path, frame="file")
        yield Scene(
            tracks=tracks,
            road=road,
            location=recording.location,
            provenance=provenance_of(recording, hashes, notes=(*notes, *findings.notes)),
            attributes={"frame_rate_hz": mapping.time.frame_rate_hz, "first_frame": int(rows.frame.min())},
        )

    def verify(self, root: Path, *, progress: Progress | None = None, accept_implausible: bool = False) -> Verification:
        """Check the mapping and every file."""
        return verify_recordings(
            self, root, _check, version="mapping 1", progress=progress, accept_implausible=accept_implausible
        )


GENERIC = Generic()


def _check(recording: Recording, findings: Findings) -> RecordingSummary | None:
    mapping = read_mapping(recording.files["mapping"])
    if "map" in recording.files:
        check_road(recording.files["map"], findings, frame="file")
    content = _read(recording, mapping, findings)
    return None if content is None else summarize(recording, [content[0]], frame_rate_hz=mapping.time.frame_rate_hz)


def _is_hidden(file: Path, root: Path) -> bool:
    """Copies that programs keep for themselves, such as ``.ipynb_checkpoints`` and ``._a.csv``."""
    return any(part.startswith(".") for part in file.relative_to(root).parts)


def _check_kinds(kinds: IntArray, rows: StateRows, column: str, findings: Findings) -> None:
    """A road user stays what it is; ``kinds`` in the order of ``rows``."""
    changed = np.flatnonzero(rows.inner & (kinds[1:] != kinds[:-1])) + 1
    findings.rows(
        "the kind changes inside a track",
        rows.file,
        rows.lines(changed),
        column=column,
        values=[" after ".join(AgentKind(kinds[n]).name.lower() for n in (r, r - 1)) for r in changed.tolist()],
        hint="give every road user an id of its own",
    )


def _format(mapping: Mapping) -> TableFormat:
    names = mapping.columns
    wanted = {
        names.track: Column(name=names.track, type="text"),
    }
    units = mapping.units
    limits = (
        (COORDINATE_LIMIT_M / METERS[units.position], units.position, (names.x, names.y)),
        (LARGEST_TIME, mapping.time.time_unit, (names.time,)),
        (LARGEST_ANGLE, units.angle, (names.heading,)),
        (MAX_SPEED_MPS / METERS_PER_SECOND[units.speed], units.speed, (names.vx, names.vy)),
        (LARGEST_SIZE_M / METERS[units.position], units.position, (names.length, names.width)),
    )
    for limit, unit, columns in limits:
        for name in columns:
            if name is not None:
                wanted.setdefault(name, Column(name=name, low=-limit, high=limit, unit=unit))
    if names.frame is not None:
        wanted[names.frame] = Column(name=names.frame, type="int", low=-10_000_000, high=100_000_000)
    if names.kind is not None:
        wanted.setdefault(names.kind, Column(name=names.kind, type="text"))
    return TableFormat(columns=tuple(wanted.values()), separator=mapping.files.separator)


def _read(recording: Recording, mapping: Mapping, findings: Findings) -> tuple[StateRows, Table] | None:
    path = recording.files["tracks"]
    # Quotes around cells carry no meaning for us; a separator inside them then shows as a surplus cell.
    original = read_bytes(path)
    data = original.replace(b'"', b"")
    if mapping.files.decimal == ",":
        data = data.replace(b",", b".")
    table = parse_table(data, path, _format(mapping), findings)
    if table is None:
        return None
    table = dataclasses.replace(table, sha256=sha256_of_bytes(original))
    before = findings.num_errors
    frame = _frames(table, mapping, findings)
    if frame is None:
        return None
    names = mapping.columns
    grouping = group_rows(
        table.text(names.track),
        frame,
        path,
        findings,
        columns=(names.track, names.frame or names.time or ""),
        order="any",
        holes=mapping.missing_frames,
    )
    kinds = _kinds(table, mapping, findings)
    if grouping is None or kinds is None:
        return None
    rows = _rows(table, mapping, grouping, frame, kinds)
    for name in (names.length, names.width):
        if name is not None:
            check_constant(grouping.apply(table.floats(name)), rows, name, findings)
    if names.kind is not None:
        _check_kinds(kinds if grouping.order is None else kinds[grouping.order], rows, names.kind, findings)
    check_sizes(rows.size, rows.kind, path, line_of(grouping.first_rows), findings)
    rate = mapping.time.frame_rate_hz
    compared = rows
    if names.vx is None:  # a heading can still contradict the way a vehicle goes
        vx, vy = _forward_velocity(rows, rate)
        compared = dataclasses.replace(rows, vx=vx, vy=vy)
    check_motion(compared, rate, findings, columns=(names.x, names.vx or names.x, names.heading or names.x))
    return (rows, table) if findings.num_errors == before else None


def _rows(table: Table, mapping: Mapping, grouping: Grouping, frame: IntArray, kinds: IntArray) -> StateRows:
    names, units = mapping.columns, mapping.units
    meter, up = METERS[units.position], -1.0 if units.y_axis == "down" else 1.0
    unknown = np.full(table.num_rows, np.nan)

    def column(name: str | None, factor: float) -> FloatArray:
        return unknown if name is None else grouping.apply(table.floats(name) * factor)

    speed = METERS_PER_SECOND[units.speed]
    firsts = grouping.first_rows
    sizes = [unknown if name is None else table.floats(name) * meter for name in (names.length, names.width)]
    return StateRows(
        file=table.path,
        grouping=grouping,
        frame=frame if grouping.order is None else frame[grouping.order],
        x=column(names.x, meter),
        y=column(names.y, meter * up),
        heading=_heading(column(names.heading, 1.0), mapping),
        vx=column(names.vx, speed),
        vy=column(names.vy, speed * up),
        size=np.stack([values[firsts] for values in sizes], axis=1),
        kind=kinds[firsts],
    )


def _forward_velocity(rows: StateRows, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """(R,) velocity on the way to the next frame; NaN at the end of a track and before a hole."""
    follows = rows.inner & (np.diff(rows.frame) == 1)
    vx, vy = (np.append(np.where(follows, np.diff(p) * rate_hz, np.nan), np.nan) for p in (rows.x, rows.y))
    return vx, vy


def _heading(angle: FloatArray, mapping: Mapping) -> FloatArray:
    """Radians, counter-clockwise from +x of a frame whose y points up.

    The direction is what one sees on the screen, whichever way its y axis points.
    """
    units = mapping.units
    radians = np.radians(angle) if units.angle == "deg" else angle
    turned = -radians if units.angle_direction == "clockwise" else radians
    return turned + np.pi / 2 if units.angle_zero == "y" else turned


def _frames(table: Table, mapping: Mapping, findings: Findings) -> IntArray | None:
    """Frame numbers, or times rounded to the grid if they are near it."""
    names = mapping.columns
    if names.frame is not None:
        return table.ints(names.frame)
    assert names.time is not None  # the mapping is validated
    exact = table.floats(names.time) * (SECONDS[mapping.time.time_unit] * mapping.time.frame_rate_hz)
    exact = exact - exact.min()
    frame = np.round(exact)
    late = np.flatnonzero(exact > LONGEST_FRAMES)
    findings.rows(
        "the time is too far from the first one",
        table.path,
        line_of(late),
        column=names.time,
        values=table.floats(names.time)[late],
        hint="check time.time_unit; otherwise a time is damaged",
    )
    if late.size:
        return None
    off = np.flatnonzero(np.abs(exact - frame) > MAX_OFF_GRID)
    findings.rows(
        "the time is not on the grid of the frame rate",
        table.path,
        line_of(off),
        column=names.time,
        values=table.floats(names.time)[off],
        hint="check time.frame_rate_hz and time.time_unit",
    )
    return None if off.size else frame.astype(np.int64)


def _kinds(table: Table, mapping: Mapping, findings: Findings) -> IntArray | None:
    """(rows,) codes."""
    default = int(AgentKind[mapping.default_kind.upper()])
    if mapping.columns.kind is None:
        return np.full(table.num_rows, default, dtype=np.int64)
    words = table.text(mapping.columns.kind)
    known = mapping.kind_of()
    bad = (~words.is_in(list(known))).arg_true().to_numpy()
    if bad.size:
        findings.rows(
            "a kind of road user is not in the mapping",
            table.path,
            line_of(bad),
            column=mapping.columns.kind,
            values=words.gather(bad).to_list(),
            hint=f"add it to [kinds] in {MAPPING_FILE}",
        )
        return None
    return words.replace_strict({word: int(kind) for word, kind in known.items()}).to_numpy().astype(np.int64)


def _complete(tracks: Tracks, mapping: Mapping) -> tuple[Tracks, tuple[str, ...]]:
    """Velocity and heading by causal differences where the file has none."""
    notes: list[str] = []
    velocity, heading = tracks.velocity, tracks.heading
    if mapping.columns.vx is None:
        velocity = backward_difference(tracks.xy, 1 / mapping.time.frame_rate_hz, tracks.observed)
        notes.append("velocity by backward differences of position")
    if mapping.columns.heading is None:
        heading = heading_from_velocity(velocity, tracks.observed)
        notes.append("heading from the direction of the velocity")
    return dataclasses.replace(tracks, velocity=velocity, heading=heading), tuple(notes)
