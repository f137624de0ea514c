"""Drive logs on disk: columnar Parquet for what has many rows, JSON for the rest.

A log is a folder with ``states.parquet`` (one row per instant and agent), ``predictions.parquet`` (one row per
prediction and mode), ``minds.parquet`` (one row per decision of a mind, if there are any) and ``log.json``, which is
written last: a folder without it is not a log. It holds the digests of the tables and is sealed itself; logs of release
0.1 are only compared with the digest of what happened. The lane map that ``meta`` names by its digest lies in the
folder ``shared`` of the store, where all its logs find it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from giveway.core.case import Role
from giveway.core.checked import Expect, read_parquet, read_sealed
from giveway.core.errors import DataError, FileFormatError
from giveway.core.files import in_memory, write_bytes
from giveway.core.lanes import LaneMap
from giveway.core.log import Collision, DriveLog, Grade, LogEvent, LoggedMinds, LoggedPredictions, Region
from giveway.core.origins import RowOrigin
from giveway.core.sealed_files import sealed_document
from giveway.core.seals import sha256_of_bytes
from giveway.core.tracks import Tracks
from giveway.roads.json_maps import read_map
from giveway.sim.case_files import case_from

FORMAT = "giveway-drive-log"
VERSION = 2
"""Version 1, of release 0.1, knew who was at fault and no grade; it is still read."""

LOG_FILE, STATES, PREDICTIONS, MINDS = "log.json", "states.parquet", "predictions.parquet", "minds.parquet"
LOG_BYTES = 1 << 30
LOG = Expect(error=FileFormatError, what="a drive log", hint="drive the case again: giveway drive run resumes")
MAP = "map"
"""Entry of ``meta``: SHA-256 of the file of the lane map."""
SHARED, LEVELS = "shared", 3
"""Folder of a result store with the maps, and how far above a log it may be."""
STATE_COLUMNS = ("x", "y", "vx", "vy", "heading")


def write_log(folder: Path, log: DriveLog) -> None:
    """Write one log over whatever is there; it can be read as soon as ``log.json`` is there."""
    (folder / LOG_FILE).unlink(missing_ok=True)
    for name, part in ((PREDICTIONS, log.predictions), (MINDS, log.minds)):
        if part is None:
            (folder / name).unlink(missing_ok=True)
    for name, data in log_files(log).items():
        write_bytes(folder / name, data)


def log_files(log: DriveLog) -> dict[str, bytes]:
    """The files of a log by name, ``log.json`` last; the same bytes for the same log."""
    tables = {STATES: in_memory(_states(log).write_parquet)}
    if log.predictions is not None:
        tables[PREDICTIONS] = in_memory(_predictions(log.predictions).write_parquet)
    if log.minds is not None:
        tables[MINDS] = in_memory(_minds(log.minds).write_parquet)
    tracks = log.tracks
    document = {
        "format": FORMAT,
        "version": VERSION,
        "digest": log.digest,
        "files": {name: sha256_of_bytes(data) for name, data in tables.items()},
        "agents": {
            "ids": tracks.ids.tolist(),
            "kind": tracks.kind.tolist(),
            "size_m": tracks.size.tolist(),
            "recorded_size_m": log.recorded.size.tolist(),
        },
        "time_s": {"start": float(tracks.time_s[0]), "step": 0.1, "count": tracks.num_instants},
        **log.facts(),
    }
    return {**tables, LOG_FILE: sealed_document(document, indent=1)}


def read_log(folder: Path) -> DriveLog:
    """Read one log back, equal to what was written.

    Raises:
        DataError: no log there.
        FileFormatError: of another version or damaged.
    """
    file = folder / LOG_FILE
    if not file.exists():
        raise DataError("no drive log here", where=folder, found="no log.json", hint="giveway drive run writes them")
    sealed = read_sealed(file, limit=LOG_BYTES, expect=LOG)
    document = sealed.document
    if document.get("format") != FORMAT or document.get("version") not in (1, VERSION):
        raise FileFormatError(
            "not a drive log of this version", where=file, found=f"{document.get('format')} {document.get('version')}"
        )
    try:
        log = _log(folder, document, None if sealed.seal is None else document["files"])
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise FileFormatError("a damaged drive log", where=folder, found=f"{type(error).__name__}: {error}") from error
    if log.digest_with(document["collisions"]) != document["digest"]:
        raise FileFormatError("a drive log that was changed", where=folder, found="its digest does not fit its content")
    return log


def logs_below(folder: Path) -> list[Path]:
    """Folders of all logs below a folder, sorted by name."""
    return sorted(path.parent for path in folder.rglob(LOG_FILE))


def _states(log: DriveLog) -> pl.DataFrame:
    agents, instants = log.tracks.observed.shape
    columns: dict[str, Any] = {
        "tick": np.repeat(np.arange(instants, dtype=np.int32), agents),
        "car": np.tile(log.tracks.ids, instants),
    }
    for prefix, tracks in (("", log.tracks), ("recorded_", log.recorded)):
        states = np.concatenate([tracks.xy, tracks.velocity, tracks.heading[..., None]], axis=-1)
        for i, name in enumerate(STATE_COLUMNS):
            columns[prefix + name] = states[..., i].T.ravel()
        columns[prefix + "present"] = tracks.observed.T.ravel()
    ego = np.tile(np.arange(agents) == log.ego, instants)
    columns["outside_m"] = log.outside_m.T.ravel()
    columns["recorded_outside_m"] = log.recorded_outside_m.T.ravel()
    for name in ("ego_s", "recorded_ego_s", "limit_mps"):
        columns[name] = np.where(ego, np.repeat(getattr(log, name), agents), np.nan)
    plan = np.full((instants, agents, log.plans.shape[1] * 2), np.nan)
    plan[: log.plans.shape[0], log.ego] = log.plans.reshape(log.plans.shape[0], -1)
    columns["plan"] = list(plan.reshape(instants * agents, -1))
    return pl.DataFrame(columns)


def _predictions(predictions: LoggedPredictions) -> pl.DataFrame:
    row, mode = np.nonzero(predictions.probability > 0)
    states = predictions.states[row, mode]
    return pl.DataFrame(
        {
            "tick": predictions.tick[row],
            "agent": predictions.agent[row],
            "mode": mode,
            "modes": np.full(row.size, predictions.probability.shape[1]),
            "row": row,
            "probability": predictions.probability[row, mode],
            **{name: list(states[..., i]) for i, name in enumerate(STATE_COLUMNS)},
        }
    )


def _minds(minds: LoggedMinds) -> pl.DataFrame:
    columns = {f.name: getattr(minds, f.name) for f in fields(LoggedMinds)}
    return pl.DataFrame({name: list(values) if values.ndim > 1 else values for name, values in columns.items()})


def _read_minds(folder: Path, digests: Mapping[str, str] | None) -> LoggedMinds | None:
    if digests is None or MINDS not in digests:
        return None
    frame = _table(folder, MINDS, digests)
    columns: dict[str, Any] = {
        name: np.stack(frame[name].to_list()) if frame[name].dtype == pl.List else frame[name].to_numpy()
        for name in (f.name for f in fields(LoggedMinds))
    }
    return LoggedMinds(**columns)


def _log(folder: Path, document: dict[str, Any], digests: Mapping[str, str] | None) -> DriveLog:
    frame = _table(folder, STATES, digests)
    ids = np.array(document["agents"]["ids"])
    clock, sizes = document["time_s"], document["agents"]
    shape = (int(clock["count"]), len(ids))

    def column(name: str) -> Any:
        return frame[name].to_numpy().reshape(shape)

    def tracks(prefix: str) -> Tracks:
        states = np.stack([column(prefix + name).T for name in STATE_COLUMNS], axis=-1)
        return Tracks(
            time_s=clock["start"] + 0.1 * np.arange(shape[0]),
            xy=np.ascontiguousarray(states[..., :2]),
            velocity=np.ascontiguousarray(states[..., 2:4]),
            heading=np.ascontiguousarray(states[..., 4]),
            observed=np.ascontiguousarray(column(prefix + "present").T).astype(np.bool_),
            size=np.array(sizes.get(prefix + "size_m", sizes["size_m"]), dtype=np.float64),
            kind=np.array(document["agents"]["kind"], dtype=np.int64),
            ids=ids,
        )

    ego = int(document["ego"])
    plans = np.stack(frame["plan"].to_list()).reshape(*shape, -1, 2)[:-1, ego]
    return DriveLog(
        case=case_from(document["case"], f"{folder}/log.json"),
        tracks=tracks(""),
        recorded=tracks("recorded_"),
        roles=tuple(Role(role) for role in document["roles"]),
        predicted=np.array(document["predicted"], dtype=np.bool_),
        ego=ego,
        ego_s=column("ego_s")[:, ego].copy(),
        recorded_ego_s=column("recorded_ego_s")[:, ego].copy(),
        expected_progress_m=document["expected_progress_m"],
        ego_left=document["ego_left"],
        plans=np.ascontiguousarray(plans, dtype=np.float64),
        predictions=_read_predictions(folder, digests),
        collisions=tuple(_collision(entry) for entry in document["collisions"]),
        events=tuple(LogEvent(**event) for event in document["events"]),
        outside_m=np.ascontiguousarray(column("outside_m").T),
        recorded_outside_m=np.ascontiguousarray(column("recorded_outside_m").T),
        limit_mps=column("limit_mps")[:, ego].copy(),
        meta=document["meta"],
        failed=document["failed"],
        origins=tuple(RowOrigin.from_plain(row) for row in document.get("origins", ())),
        recorded_origins=tuple(RowOrigin.from_plain(row) for row in document.get("recorded_origins", ())),
        road=_road(folder, document["meta"].get(MAP)),
        minds=_read_minds(folder, digests),
    )


def _road(folder: Path, digest: str | None) -> LaneMap | None:
    """The map that a log names, from the store that it is in; None for a log without one, or outside of a store."""
    if not digest or not digest.isalnum():
        return None
    places = [parent / SHARED / digest[:2] / f"{digest}.json" for parent in (folder, *folder.parents[:LEVELS])]
    return next((read_map(place, LOG) for place in places if place.is_file()), None)


def _collision(entry: dict[str, Any]) -> Collision:
    """A contact as written; in logs of version 1 the violators are those at fault, and the reason is the sentence."""
    facts: dict[str, Any] = {name: Region(entry[name]) for name in ("first_region", "second_region")}
    if "first_at_fault" in entry:
        entry = dict(entry)
        blamed = entry.pop("first_at_fault"), entry.pop("second_at_fault")
        names = (entry["first"], entry["second"])
        facts["violators"] = tuple(name for name, at_fault in zip(names, blamed, strict=True) if at_fault)
        facts["sentence"] = entry.pop("reason")
    else:
        facts |= {"violators": tuple(entry["violators"]), "grade": Grade(entry["grade"])}
    return Collision(**{**entry, **facts})


def _table(folder: Path, name: str, digests: Mapping[str, str] | None) -> pl.DataFrame:
    """One of the tables; compared with its digest unless the log was written by release 0.1."""
    return read_parquet(folder / name, sha256=None if digests is None else str(digests[name]), expect=LOG)


def _read_predictions(folder: Path, digests: Mapping[str, str] | None) -> LoggedPredictions | None:
    is_there = (folder / PREDICTIONS).exists() if digests is None else PREDICTIONS in digests
    if not is_there:
        return None
    frame = _table(folder, PREDICTIONS, digests)
    row, mode = frame["row"].to_numpy(), frame["mode"].to_numpy()
    count, modes = int(row.max()) + 1, int(frame["modes"][0])
    values = np.stack([np.stack(frame[name].to_list()) for name in STATE_COLUMNS], axis=-1)
    states, probability = np.zeros((count, modes, *values.shape[1:])), np.zeros((count, modes))
    states[row, mode], probability[row, mode] = values, frame["probability"].to_numpy()
    first = np.unique(row, return_index=True)[1]
    return LoggedPredictions(
        tick=frame["tick"].to_numpy()[first].astype(np.int64),
        agent=frame["agent"].to_numpy()[first].astype(np.int64),
        states=states,
        probability=probability,
    )
