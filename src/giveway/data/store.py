"""The canonical store: scenes as Parquet, read back bit for bit.

::

    <store>/store.json                          format and version
    <store>/maps/<sha256>.json                  lane maps, shared by recordings
    <store>/recordings/<dataset>/<id>/          one folder per recording, moved into place when complete
        scenes.json                             time grid, location, provenance, attributes of each scene; digests of
                                                the tables, and its own as the last entry
        segments.parquet                        one row per unbroken stretch of an agent: who, what, from when, how long
        states.parquet                          x, y, heading, vx, vy of all stretches, one after the other

Only observed states are stored, so a store is small although scenes are dense. Every file is compared with its digest
before it is parsed, and all of a recording before its first scene is given. A ``scenes.json`` of release 0.1 carries no
digest of its own: it is read, its tables and maps are compared all the same, and ``verify`` says so.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.checked import Expect, Sealed, read_parquet, read_sealed, sha256_of_file
from giveway.core.derivatives import runs
from giveway.core.errors import StoreError
from giveway.core.files import flush, in_memory, portable_name, replace_folder, write_bytes
from giveway.core.lanes import LaneMap
from giveway.core.locks import FolderLock
from giveway.core.origins import RowOrigin
from giveway.core.scene import Provenance, Scene
from giveway.core.seals import seal, sha256_of_bytes
from giveway.core.tagged_json import from_plain, to_plain
from giveway.core.tracks import Tracks
from giveway.data.assemble import lay_out
from giveway.data.origins import stored_origin
from giveway.roads.json_maps import map_bytes, read_map

FORMAT = "giveway-store"
VERSION = 1
STATE_COLUMNS = ("x", "y", "heading", "vx", "vy")
TABLES = ("segments.parquet", "states.parquet")
AGAIN = "delete the folder and convert the recording again"
DOCUMENT_BYTES = 1 << 30
LOCK_SUFFIX = ".lock"
SAVED = Expect(error=StoreError, what="a file of the store", hint=AGAIN)
RECORDING = Expect(error=StoreError, what="a converted recording", hint=AGAIN)


def open_store(folder: Path, *, create: bool = False) -> None:
    """Check that a folder is a store of a version we can read; optionally make it one.

    Raises:
        StoreError: if it is not.
    """
    path = folder / "store.json"
    if create and not path.exists():
        if folder.is_dir() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
            raise StoreError(
                "the folder is not empty and not a store",
                where=folder,
                found="other files",
                hint="choose another --out",
            )
        write_bytes(path, seal(json.dumps({"format": FORMAT, "version": VERSION}).encode()))
    content = read_sealed(path, expect=SAVED).document
    if content.get("format") != FORMAT:
        raise StoreError("not a store", where=path, found=content.get("format"), hint="giveway data convert --help")
    if content.get("version") != VERSION:
        raise StoreError(
            "the store has another version",
            where=path,
            found=f"version {content.get('version')}, this release reads {VERSION}",
            hint="convert the recordings again",
        )


def recording_folder(store: Path, dataset: str, recording: str) -> Path:
    """Where a recording lies; every part of its id is one folder, under a name that every system takes."""
    parts = [part for part in recording.split("/") if part not in ("", ".", "..")]
    as_given = store.joinpath("recordings", dataset, *parts)  # how release 0.1 called it
    portable = store.joinpath("recordings", dataset, *map(portable_name, parts))
    return as_given if portable != as_given and (as_given / "scenes.json").is_file() else portable


def remove_leftovers(store: Path) -> None:
    """Delete what killed conversions left; what a living one is writing stays."""
    for path in sorted((store / "recordings").rglob(".*")):
        folder = path.with_suffix("") if path.suffix == LOCK_SUFFIX else path
        if path.is_dir() or (folder != path and not folder.exists()):
            _remove_unless_in_use(folder)


def write_recording(store: Path, dataset: str, recording: str, scenes: Sequence[Scene]) -> Path:
    """Write all scenes of a recording; the folder appears when everything is on disk, or not at all.

    Args:
        store: folder that :func:`open_store` accepts.
        dataset: registered name of the source.
        recording: identifier of the recording.
        scenes: at least one.

    Returns:
        The folder of the recording; an earlier one is replaced.

    Raises:
        StoreError: if the disk refuses, or the folder would be hidden, or inside or around that of another.
    """
    target = recording_folder(store, dataset, recording)
    _check_place(store, target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _temporary_folder(target) as temporary:
            _write_tables(temporary, scenes)
            roads = {id(scene.road): scene.road for scene in scenes if scene.road is not None}
            written = {key: _write_road(store, road) for key, road in roads.items()}
            document = {
                "format": FORMAT,
                "version": VERSION,
                "dataset": dataset,
                "recording": recording,
                "files": {name: sha256_of_file(temporary / name) for name in TABLES},
                **_describe(scenes, written),
            }
            path = temporary / "scenes.json"
            path.write_bytes(seal(json.dumps(document, ensure_ascii=False, allow_nan=False).encode()))
            flush(path)
            temporary.chmod(0o755)
            replace_folder(temporary, target)
    except OSError as error:
        raise StoreError(
            "cannot write",
            where=target,
            found=error.strerror,
            hint="is the disk full, or may you not write here? otherwise run the same again",
        ) from error
    return target


def read_recording(store: Path, dataset: str, recording: str) -> Iterator[Scene]:
    """The scenes of a stored recording, equal to those that were written.

    Raises:
        StoreError: if files are missing, damaged or of another version.
    """
    folder = recording_folder(store, dataset, recording)
    document = read_document(folder)
    try:
        digests = {name: str(document["files"][name]) for name in TABLES}
        for name in sorted({entry["road"] for entry in document["scenes"]} - {None}):
            read_map(_road_path(store, name))
        segments, states = (
            read_parquet(folder / name, sha256=digests[name], columns=columns, expect=RECORDING)
            for name, columns in (("segments.parquet", None), ("states.parquet", STATE_COLUMNS))
        )
        states = states.rechunk()
        columns = [cast(FloatArray, states.get_column(name).to_numpy()) for name in STATE_COLUMNS]
        yield from _scenes(store, document, segments, columns)
    except (OSError, pl.exceptions.PolarsError, KeyError, IndexError, ValueError, TypeError) as error:
        raise StoreError("a stored recording is damaged", where=folder, found=error, hint=AGAIN) from error


def read_document(folder: Path) -> dict[str, Any]:
    """``scenes.json`` of a stored recording, its digest and version checked."""
    return read_sealed_document(folder).document


def read_sealed_document(folder: Path) -> Sealed:
    """The same together with its seal; one of release 0.1 has none.

    Raises:
        StoreError: missing, damaged or of another version.
    """
    found = read_sealed(folder / "scenes.json", limit=DOCUMENT_BYTES, expect=RECORDING)
    document = found.document
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        raise StoreError(
            "not a recording of this store version", where=folder, found=document.get("version"), hint=AGAIN
        )
    return found


def damaged_files(store: Path, folder: Path, document: Mapping[str, Any]) -> list[Path]:
    """Files of a stored recording, its maps included, that are missing or not what was written."""
    digests: Mapping[str, str | None] = {**dict.fromkeys(TABLES), **document.get("files", {})}
    roads = sorted({entry["road"] for entry in document["scenes"]} - {None})
    paths = {folder / name: digest for name, digest in digests.items()}
    paths |= {_road_path(store, digest): digest for digest in roads}
    return [path for path, digest in paths.items() if not path.is_file() or sha256_of_file(path) != digest]


def _check_place(store: Path, target: Path) -> None:
    parts = target.relative_to(store / "recordings").parts
    if any(part.startswith(".") for part in parts):
        raise StoreError(
            "the name of a recording starts with a dot, which the store takes for an unfinished one",
            where=target,
            hint="rename the file or folder of the recording",
        )
    around = [folder for folder in target.parents[: len(parts) - 1] if (folder / "scenes.json").exists()]
    inside = [path.parent for path in target.glob("*/**/scenes.json")]
    if around or inside:
        raise StoreError(
            "the folders of two recordings would lie inside one another",
            where=target,
            found=(around or sorted(inside))[0],
            hint="rename one of the recordings, or choose another --out",
        )


@contextmanager
def _temporary_folder(target: Path) -> Generator[Path]:
    """A hidden folder beside the target, locked as long as this process lives; removed at the end."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    lock = _lock_of(temporary)
    with suppress(OSError):  # a file system without locks: such folders are never taken for leftovers
        lock.take()
    try:
        temporary.mkdir(mode=0o700)
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        lock.remove()


def _remove_unless_in_use(folder: Path) -> None:
    """Delete a temporary folder unless a living process holds its lock, or nobody can tell."""
    lock = _lock_of(folder)
    with suppress(OSError):
        if lock.take():
            shutil.rmtree(folder, ignore_errors=True)
            lock.remove()


def _lock_of(temporary: Path) -> FolderLock:
    """Beside the folder, which can be moved while it is locked."""
    return FolderLock(temporary.with_name(f"{temporary.name}{LOCK_SUFFIX}"))


def _write_tables(folder: Path, scenes: Sequence[Scene]) -> None:
    parts: list[pl.DataFrame] = []
    values: list[list[FloatArray]] = [[] for _ in STATE_COLUMNS]
    for number, scene in enumerate(scenes):
        tracks = scene.tracks
        stretches = [runs(tracks.observed[agent]) for agent in range(tracks.num_agents)]
        # An agent that is never observed still has a row, of length zero.
        stretches = [part if len(part) else np.zeros((1, 2), dtype=np.int64) for part in stretches]
        agents = np.repeat(np.arange(tracks.num_agents), [len(part) for part in stretches])
        spans: IntArray = np.concatenate(stretches) if stretches else np.zeros((0, 2), dtype=np.int64)
        parts.append(
            pl.DataFrame(
                {
                    "scene": np.full(len(agents), number, dtype=np.int32),
                    "agent": agents.astype(np.int32),
                    "id": tracks.ids[agents].tolist(),
                    "kind": tracks.kind[agents].astype(np.int16),
                    "length": tracks.size[agents, 0],
                    "width": tracks.size[agents, 1],
                    "first": spans[:, 0].astype(np.int32),
                    "count": (spans[:, 1] - spans[:, 0]).astype(np.int32),
                },
                schema_overrides={"id": pl.String},
            )
        )
        dense = (tracks.xy[..., 0], tracks.xy[..., 1], tracks.heading, tracks.velocity[..., 0], tracks.velocity[..., 1])
        for column, array in zip(values, dense, strict=True):
            column.append(array[tracks.observed])
    states = pl.DataFrame({name: np.concatenate(column) for name, column in zip(STATE_COLUMNS, values, strict=True)})
    for name, frame in (("segments", pl.concat(parts)), ("states", states)):
        path = folder / f"{name}.parquet"
        rows = max(frame.height, 1)
        write = partial(frame.write_parquet, compression="lz4", statistics=False, row_group_size=rows)
        path.write_bytes(in_memory(write))
        flush(path)


def _describe(scenes: Sequence[Scene], roads: Mapping[int, str]) -> dict[str, Any]:
    """What is not in the tables; provenances are listed once because thousands of cases share one."""
    provenances: list[Provenance] = []
    entries: list[dict[str, Any]] = []
    for scene in scenes:
        if not provenances or provenances[-1] != scene.provenance:
            provenances.append(scene.provenance)
        entries.append(
            {
                "agents": scene.tracks.num_agents,
                "instants": scene.tracks.num_instants,
                "time": _describe_time(scene),
                "location": scene.location,
                "road": None if scene.road is None else roads[id(scene.road)],
                "provenance": len(provenances) - 1,
                "origins": [row.to_plain() for row in scene.rows],
                "attributes": to_plain(dict(scene.attributes)),
            }
        )
    sources = [
        {
            "dataset": p.dataset,
            "recording": p.recording,
            "files": dict(p.files),
            "notes": list(p.notes),
            "origin": {"origin": str(p.origin), "declared_by": p.declared_by},
        }
        for p in provenances
    ]
    return {"provenances": sources, "scenes": entries}


def _describe_time(scene: Scene) -> Any:
    """A rule where the instants are exactly frames over a rate, otherwise the instants themselves."""
    time = scene.tracks.time_s
    rate, first = scene.attributes.get("frame_rate_hz"), scene.attributes.get("first_frame")
    if isinstance(rate, float) and isinstance(first, int) and np.array_equal(_grid(first, len(time), rate), time):
        return {"first_frame": first, "frame_rate_hz": rate}
    return to_plain(time)


def _grid(first: int, count: int, rate_hz: float) -> FloatArray:
    return np.arange(first, first + count) / rate_hz


def _scenes(
    store: Path, document: dict[str, Any], segments: pl.DataFrame, columns: Sequence[FloatArray]
) -> Iterator[Scene]:
    scene_of = segments.get_column("scene").to_numpy()
    bounds = np.searchsorted(scene_of, np.arange(len(document["scenes"]) + 1))
    lengths = segments.get_column("count").to_numpy().astype(np.int64)
    ends = np.cumsum(lengths)
    if len(ends) and ends[-1] != len(columns[0]):
        raise ValueError("segments and states do not fit together")
    provenances = [
        Provenance(
            dataset=p["dataset"],
            recording=p["recording"],
            files=p["files"],
            notes=tuple(p["notes"]),
            **stored_origin(p),
        )
        for p in document["provenances"]
    ]
    for number, entry in enumerate(document["scenes"]):
        part = segments.slice(int(bounds[number]), int(bounds[number + 1] - bounds[number]))
        agent = part.get_column("agent").to_numpy()
        stops = ends[bounds[number] : bounds[number + 1]]
        starts = stops - lengths[bounds[number] : bounds[number + 1]]
        stretches = zip(
            agent.tolist(), starts.tolist(), stops.tolist(), part.get_column("first").to_list(), strict=True
        )
        _, heads = np.unique(agent, return_index=True)
        yield Scene(
            tracks=Tracks(
                **lay_out(list(stretches), columns, entry["agents"], entry["instants"]),
                time_s=_time(entry),
                size=np.stack([part.get_column(name).to_numpy()[heads] for name in ("length", "width")], axis=1),
                kind=part.get_column("kind").to_numpy()[heads].astype(np.int64),
                ids=np.array(part.get_column("id").to_list(), dtype=np.str_)[heads],
            ),
            road=None if entry["road"] is None else read_map(_road_path(store, entry["road"])),
            location=entry["location"],
            provenance=provenances[entry["provenance"]],
            attributes=from_plain(entry["attributes"]),
            rows=tuple(RowOrigin.from_plain(row) for row in entry.get("origins", ())),
        )


def _time(entry: dict[str, Any]) -> FloatArray:
    time = from_plain(entry["time"])
    if isinstance(time, dict):
        rule = cast("dict[str, Any]", time)
        return _grid(rule["first_frame"], entry["instants"], rule["frame_rate_hz"])
    return time


def _road_path(store: Path, digest: str) -> Path:
    return store / "maps" / f"{digest}.json"


def _write_road(store: Path, road: LaneMap) -> str:
    data = map_bytes(road)
    digest = sha256_of_bytes(data)
    path = _road_path(store, digest)
    if not path.is_file() or sha256_of_file(path) != digest:
        write_bytes(path, data)
    return digest
