"""Own recordings: CSV files described by a small ``dataset.toml`` beside them."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.derivatives import backward_difference
from giveway.core.errors import ConfigError, DatasetLayoutError
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.data.assemble import Grouping, StateRows, group_rows, tracks_from_rows
from giveway.data.checks import MAX_SPEED_MPS, check_constant, check_motion, check_sizes
from giveway.data.declared import conflicts_file, declared
from giveway.data.findings import Findings, relative_name
from giveway.data.fingerprints import sha256_of_bytes, sha256_of_file
from giveway.data.generic_mapping import MAPPING_FILE, Columns, FilePart, Mapping, read_mapping
from giveway.data.headings import heading_from_velocity
from giveway.data.layout import entries, first_line, no_recordings
from giveway.data.origins import provenance_of
from giveway.data.protocol import DatasetInfo, Progress, Recording, RecordingSummary, Verification
from giveway.data.roads import check_place, check_road, read_road
from giveway.data.tables import Column, Table, TableFormat, line_of, read_bytes, read_table
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


MAY_LACK_SIZE = [int(kind) for kind in AgentKind if kind.is_vulnerable] + [int(AgentKind.MOTORCYCLE)]
"""Kinds whose size many files write as zero because they have none; read as NaN."""

LACKING = "this scene has no such file"
MAP_FIELD = f"georeference.epsg and georeference.origin_m of {MAPPING_FILE}"

OWN_DATA = DatasetInfo(
    name="generic",
    title="Own data",
    frame_rate_hz=float("nan"),
    license="yours",
    obtain=f"write {MAPPING_FILE} beside your CSV files; see docs: own data",
    layout=f"{MAPPING_FILE}   (columns, units, frame rate)\n*.csv   (or whatever files.tracks says)",
    has_map=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Generic:
    """Adapter for files that a mapping describes; one scene per file, or per group of files that belong together.

    Attributes:
        info: fact sheet.
        mapping: of a known format; None reads ``dataset.toml`` in the root.
    """

    info: DatasetInfo = OWN_DATA
    mapping: Path | None = None

    def recognizes(self, root: Path) -> bool:
        """Whether there is a mapping, or files whose names and headers are those of the known format."""
        if self.mapping is None:
            return (root / MAPPING_FILE).is_file()
        parts = read_mapping(self.mapping).parts()
        for _, files in _groups(root, read_mapping(self.mapping), self.mapping):
            for role, path in files.items():
                columns = parts[_number(role)].columns.model_dump().values()
                if not {name for name in columns if name} <= set(first_line(path).split(",")):
                    return False
            return True
        return False

    def recordings(self, root: Path) -> Sequence[Recording]:
        """Every file, or group of files, that the mapping names."""
        entries(root)
        path = self.mapping or root / MAPPING_FILE
        if not path.is_file():
            raise no_recordings(self.info, root)
        mapping = read_mapping(path)
        found = _groups(root, mapping, path)
        if not found and self.mapping is not None:
            raise no_recordings(self.info, root)
        if not found:
            raise DatasetLayoutError(
                "no file matches the mapping",
                where=root,
                found="nothing for files." + " and ".join(f"{part.match!r}" for part in mapping.parts()),
                hint=f"change it in {MAPPING_FILE}",
            )
        own = {**({} if self.mapping is not None else {"mapping": path}), **conflicts_file(root)}
        recordings: list[Recording] = []
        for groups, files in found:
            location = groups.get("location") or mapping.location
            recordings.append(
                Recording(
                    dataset=self.info.name,
                    id=groups[""],
                    root=root,
                    files={**files, **own, **_map_of(root, mapping, {**groups, "location": location})},
                    location=location,
                )
            )
        return sorted(recordings, key=lambda recording: recording.id)

    def scenes(self, recording: Recording) -> Iterator[Scene]:
        """The one scene of a recording; velocity and heading are derived where the files give none."""
        mapping = read_mapping(self.mapping or recording.files["mapping"])
        findings = Findings.of(recording)
        findings.accept_implausible |= mapping.implausible == "warning"
        read = _read_all(recording, mapping, findings)
        rows = [part for part, _, _ in read]
        hashes = {relative_name(table.path, recording.root): table.sha256 for _, table, _ in read}
        if "mapping" in recording.files:
            hashes[MAPPING_FILE] = sha256_of_bytes(read_bytes(recording.files["mapping"]))
        road = None
        if "map" in recording.files:
            path = recording.files["map"]
            road, digest = read_road(path, frame="file", projection=mapping.projection())
            check_place(road, rows, path, findings, field=MAP_FIELD)
            hashes[relative_name(path, recording.root)] = digest
        tracks = tracks_from_rows(rows, frame_rate_hz=mapping.time.frame_rate_hz)
        tracks, notes = _complete(tracks, [(len(part.kind), file) for part, _, file in read], mapping)
        notes += tuple(f"read without {match}: {LACKING}" for match in _lacking(recording, mapping))
        extras: dict[str, Any] = {} if mapping.georeference is None else {"epsg": mapping.georeference.epsg}
        conflicts = [conflict.model_dump(mode="json") for conflict in mapping.conflict]
        if "conflicts" in recording.files:
            path = recording.files["conflicts"]
            conflicts += declared(path)
            hashes[relative_name(path, recording.root)] = sha256_of_file(path)
        if conflicts:
            extras["conflicts"] = conflicts
        yield Scene(
            tracks=tracks,
            road=road,
            location=recording.location,
            provenance=provenance_of(recording, hashes, notes=(*notes, *findings.notes)),
            attributes={
                "frame_rate_hz": mapping.time.frame_rate_hz,
                "first_frame": min(int(part.frame.min()) for part in rows),
                **extras,
            },
        )

    def verify(self, root: Path, *, progress: Progress | None = None, accept_implausible: bool = False) -> Verification:
        """Check the mapping and every file."""
        return verify_recordings(
            self, root, self._check, version="mapping 1", progress=progress, accept_implausible=accept_implausible
        )

    def _check(self, recording: Recording, findings: Findings) -> RecordingSummary | None:
        mapping = read_mapping(self.mapping or recording.files["mapping"])
        before, strict = findings.num_errors, findings.accept_implausible
        for match in _lacking(recording, mapping):
            findings.warning(f"read without {match}: {LACKING}", next(iter(recording.files.values())))
        findings.accept_implausible |= mapping.implausible == "warning"
        rows = [part for part, _, _ in _read_all(recording, mapping, findings)]
        findings.accept_implausible = strict
        if "map" in recording.files:
            path = recording.files["map"]
            projection = mapping.projection()
            check_road(path, findings, frame="file", projection=projection, parts=rows, field=MAP_FIELD)
        if findings.num_errors > before or not rows:
            return None
        return summarize(recording, rows, frame_rate_hz=mapping.time.frame_rate_hz)


GENERIC = Generic()
"""Own CSV files, described by a ``dataset.toml`` beside them."""


def _lacking(recording: Recording, mapping: Mapping) -> list[str]:
    """Patterns of files that other scenes have and this one has not."""
    return [part.match for n, part in enumerate(mapping.parts()) if _role(n) not in recording.files]


def _role(number: int) -> str:
    """Role of a file of a scene: ``tracks``, ``tracks_1``, ..."""
    return f"tracks_{number}" if number else "tracks"


def _number(role: str) -> int:
    return int(role.partition("_")[2] or 0)


def _groups(root: Path, mapping: Mapping, path: Path) -> list[tuple[dict[str, str], dict[str, Path]]]:
    """Named groups (and the id under the empty name) and files by role, for every scene."""
    scenes: dict[str, tuple[dict[str, str], dict[str, Path]]] = {}
    pattern = None if mapping.scene.name is None else re.compile(mapping.scene.name)
    for number, part in enumerate(mapping.parts()):
        for file in _matches(root, part.match, path):
            name = relative_name(file.with_suffix(""), root)
            groups: dict[str, str] = {}
            if pattern is not None:
                whole = relative_name(file, root)
                match = pattern.fullmatch(whole if "/" in pattern.pattern else file.name)
                if match is None:
                    continue
                groups = {key: value or "" for key, value in match.groupdict().items()}
                joined = "/" if "/" in pattern.pattern else "_"
                spans = [match.span(key) for key in groups]
                outer = [key for key in groups if not _is_inside(match.span(key), spans)]
                name = joined.join(groups[key] for key in outer if groups[key])
                if "/" not in pattern.pattern and file.parent != root:
                    name = f"{relative_name(file.parent, root)}/{name}"
            place = name
            if _role(number) in scenes.get(name, ({}, {}))[1]:
                if pattern is not None:
                    raise DatasetLayoutError(
                        "two files of a scene match the same part of the mapping",
                        where=path,
                        found=f"{relative_name(scenes[name][1][_role(number)], root)} and {relative_name(file, root)}",
                        hint="name the scene by more groups: scene.name",
                    )
                place = relative_name(file, root)  # a recording of its own, whose name convert refuses
            scenes.setdefault(place, ({**groups, "": name}, {}))[1][_role(number)] = file
    # Vehicles before pedestrians, as the mapping lists them, whichever file of a scene was found first.
    return [(groups, dict(sorted(files.items(), key=lambda one: _number(one[0])))) for groups, files in scenes.values()]


def _is_inside(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    """Whether a group is part of another one, which names it already."""
    return any(other != span and other[0] <= span[0] and span[1] <= other[1] for other in others)


def _matches(root: Path, pattern: str, where: Path) -> list[Path]:
    if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        raise ConfigError("files.tracks must stay below the root", where=where, found=pattern)
    try:
        if any("**" in part and part != "**" for part in Path(pattern).parts):
            raise ValueError("'**' stands for whole folders only")  # Python 3.13 takes it for '*'
        matches = list(root.glob(pattern))
    except ValueError as error:
        raise ConfigError(
            "files.tracks is not a pattern",
            where=where,
            found=f"{pattern!r}: {error}",
            hint="e.g. '*.csv', or '**/*.csv' with folders",
        ) from None
    return sorted(file for file in matches if file.is_file() and not _is_hidden(file, root) and not _is_pointer(file))


def _is_pointer(file: Path) -> bool:
    """Whether git-lfs has not brought the file yet: then it is not here."""
    return first_line(file).startswith("version https://git-lfs")


def _map_of(root: Path, mapping: Mapping, groups: dict[str, str]) -> dict[str, Path]:
    """The map of a scene; a pattern may match no file, a plain name is an error later if it does not exist."""
    if mapping.map_file is None:
        return {}
    name = mapping.map_file
    for key, value in groups.items():
        name = name.replace(f"{{{key}}}", value) if key else name
    if Path(name).is_absolute() or ".." in Path(name).parts or "{" in name:
        raise ConfigError(
            "map.file must stay below the root and name known groups",
            where=root / MAPPING_FILE,
            found=name,
            hint="known: " + ", ".join(f"{{{key}}}" for key in groups if key),
        )
    if "*" not in name:
        return {"map": root / name}
    found = [path for path in sorted(root.glob(name)) if path.is_file()]
    return {"map": found[0]} if len(found) == 1 else {}


def _read_all(recording: Recording, mapping: Mapping, findings: Findings) -> list[tuple[StateRows, Table, FilePart]]:
    """Every file of a scene that can be used."""
    found: list[tuple[StateRows, Table, FilePart]] = []
    for number, part in enumerate(mapping.parts()):
        if _role(number) not in recording.files:
            continue
        content = _read(recording.files[_role(number)], part, mapping, findings)
        if content is not None:
            found.append((*content, part))
    names = [name for rows, _, _ in found for name in rows.grouping.ids.tolist()]
    twice = sorted(name for name, count in Counter(names).items() if count > 1) if len(found) > 1 else []
    if twice:
        findings.error(
            "an id is in two files of a scene",
            found[-1][1].path,
            column=found[-1][2].columns.track,
            found=twice[0],
            hint=f"give one of the [[files]] in {MAPPING_FILE} an id_prefix",
        )
    return found


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


def _format(part: FilePart, mapping: Mapping) -> TableFormat:
    names = part.columns
    wanted = {
        names.track: Column(name=names.track, type="text"),
    }
    units = mapping.units
    limits = (
        (COORDINATE_LIMIT_M / METERS[units.position], units.position, (names.x, names.y)),
        (LARGEST_TIME, mapping.time.time_unit, (names.time,)),
        (LARGEST_ANGLE, units.angle, (names.heading,)),
        (MAX_SPEED_MPS / METERS_PER_SECOND[units.speed], units.speed, (names.vx, names.vy, names.speed)),
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
    return TableFormat(
        columns=tuple(wanted.values()),
        separator=part.separator,
        named_in="[columns] of dataset.toml",
        decimal=part.decimal,
        quotes=True,
    )


def _read(path: Path, part: FilePart, mapping: Mapping, findings: Findings) -> tuple[StateRows, Table] | None:
    table = read_table(path, _format(part, mapping), findings)
    if table is None:
        return None
    before = findings.num_errors
    names = part.columns
    frame = _frames(table, names, mapping, findings)
    if frame is None:
        return None
    words, lengths = table.text_runs(names.track)
    grouping = group_rows(
        ([part.id_prefix + word for word in words], lengths),
        frame,
        path,
        findings,
        columns=(names.track, names.frame or names.time or ""),
        order="any",
        holes=mapping.missing_frames,
    )
    kinds = _kinds(table, part, mapping, findings)
    if grouping is None or kinds is None:
        return None
    rows = _rows(table, part, mapping, grouping, frame, kinds)
    for name in (names.length, names.width):
        if name is not None:
            check_constant(grouping.apply(table.floats(name)), rows, name, findings)
    if names.kind is not None:
        _check_kinds(kinds if grouping.order is None else kinds[grouping.order], rows, names.kind, findings)
    check_sizes(rows.size, rows.kind, path, line_of(grouping.first_rows), findings)
    rate = mapping.time.frame_rate_hz
    compared = rows
    if names.vx is None and names.speed is None:  # a heading can still contradict the way a vehicle goes
        vx, vy = _forward_velocity(rows, rate)
        compared = dataclasses.replace(rows, vx=vx, vy=vy)
    speed = names.vx or names.speed or names.x
    check_motion(compared, rate, findings, columns=(names.x, speed, names.heading or names.x))
    return (rows, table) if findings.num_errors == before else None


def _rows(
    table: Table, part: FilePart, mapping: Mapping, grouping: Grouping, frame: IntArray, kinds: IntArray
) -> StateRows:
    names, units = part.columns, mapping.units
    meter, up = METERS[units.position], -1.0 if units.y_axis == "down" else 1.0
    unknown = np.full(table.num_rows, np.nan)

    def column(name: str | None, factor: float) -> FloatArray:
        return unknown if name is None else grouping.apply(table.floats(name) * factor)

    factor = METERS_PER_SECOND[units.speed]
    firsts = grouping.first_rows
    size = np.stack([unknown if name is None else table.floats(name) * meter for name in (names.length, names.width)])
    size, kind = size[:, firsts].T, kinds[firsts]
    size = np.where((size == 0) & np.isin(kind, MAY_LACK_SIZE)[:, None], np.nan, size)
    if part.size_m is not None:
        size = np.where(np.isnan(size), part.size_m, size)
    heading = _heading(column(names.heading, 1.0), mapping)
    vx, vy = column(names.vx, factor), column(names.vy, factor * up)
    if names.speed is not None:
        along = column(names.speed, factor)
        vx, vy = along * np.cos(heading), along * np.sin(heading)
    return StateRows(
        file=table.path,
        grouping=grouping,
        frame=frame if grouping.order is None else frame[grouping.order],
        x=column(names.x, meter),
        y=column(names.y, meter * up),
        heading=heading,
        vx=vx,
        vy=vy,
        size=size,
        kind=kind,
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


def _frames(table: Table, names: Columns, mapping: Mapping, findings: Findings) -> IntArray | None:
    """Frame numbers, or times rounded to the grid if they are near it."""
    if names.frame is not None:
        return table.ints(names.frame)
    assert names.time is not None  # the mapping is validated
    exact = table.floats(names.time) * (SECONDS[mapping.time.time_unit] * mapping.time.frame_rate_hz)
    if not mapping.several:  # files of a scene share one clock
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


def _kinds(table: Table, part: FilePart, mapping: Mapping, findings: Findings) -> IntArray | None:
    """(rows,) codes."""
    if part.columns.kind is None:
        default = part.default_kind or mapping.default_kind
        return np.full(table.num_rows, int(AgentKind[default.upper()]), dtype=np.int64)
    words, lengths = table.text_runs(part.columns.kind)
    known = part.kind_of
    bad = np.flatnonzero(np.repeat([word not in known for word in words], lengths))
    if bad.size:
        findings.rows(
            "a kind of road user is not in the mapping",
            table.path,
            line_of(bad),
            column=part.columns.kind,
            values=table.text(part.columns.kind).gather(bad).to_list(),
            hint=f"add it to [kinds] in {MAPPING_FILE}",
        )
        return None
    return np.repeat(np.array([int(known[word]) for word in words], dtype=np.int64), lengths)


def _complete(
    tracks: Tracks, parts: Sequence[tuple[int, FilePart]], mapping: Mapping
) -> tuple[Tracks, tuple[str, ...]]:
    """Velocity and heading by causal differences where a file has none; ``parts`` with their numbers of agents."""
    notes: list[str] = []
    velocity, heading = tracks.velocity, tracks.heading  # made just now for nobody else: filled in place
    begin = 0
    for count, part in parts:
        rows, names = slice(begin, begin + count), part.columns
        begin += count
        of = f" ({part.match})" if len(parts) > 1 else ""
        if names.vx is None and names.speed is None:
            step_s = 1 / mapping.time.frame_rate_hz
            velocity[rows] = backward_difference(tracks.xy[rows], step_s, tracks.observed[rows])
            notes.append(f"velocity by backward differences of position{of}")
        if names.heading is None:
            heading[rows] = heading_from_velocity(velocity[rows], tracks.observed[rows])
            notes.append(f"heading from the direction of the velocity{of}")
        if part.size_m is not None:
            notes.append(f"sizes of {part.size_m[0]:g} x {part.size_m[1]:g} m where the file has none{of}")
    return tracks, tuple(notes)
