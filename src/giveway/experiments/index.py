"""All finished cells as one table, fast for a hundred thousand of them.

``index.parquet`` holds one row per whole record together with its seal and the size and time of its file. Reading the
index lists the folders, keeps rows whose files have not changed, opens only the others, and writes the index again if
anything differed. Deleting it costs time, never data.

``index.seal`` holds the SHA-256 of the table, and of the one before it, because two files cannot be replaced in one
step. A table that is neither is not parsed but made again from the cells. The index is never the only witness:
:func:`verify` reads every record and all samples again.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from giveway.core.checked import OWN, parse_table, read_bytes, read_sealed
from giveway.core.errors import StoreError
from giveway.core.files import write_bytes
from giveway.core.seals import seal, sha256_of_bytes
from giveway.experiments.artifacts import checked_seal, has_no_digests, read_manifest
from giveway.experiments.files import canonical_json
from giveway.experiments.records import DamagedRecordError
from giveway.experiments.store import Damaged, FailedCell, Stamp, Store

LOG = logging.getLogger(__name__)
TABLE, SEAL = "index.parquet", "index.seal"
INDEX_BYTES = 16 << 30

MEASUREMENT = pl.Struct(
    {
        "metric": pl.String,
        "value": pl.Float64,
        "num_samples": pl.Int64,
        "metric_version": pl.Int64,
        "note": pl.String,
    }
)
STAMP = ("key", "size", "mtime_ns", "samples_size", "attachments_size")
"""What tells a changed record from an unchanged one without opening it."""
SCHEMA: dict[str, Any] = {
    "key": pl.String,
    "size": pl.Int64,
    "mtime_ns": pl.Int64,
    "samples_size": pl.Int64,
    "attachments_size": pl.Int64,
    "seal": pl.String,
    "inputs": pl.String,
    "kind": pl.String,
    "params": pl.String,
    "data": pl.String,
    "measurements": pl.List(MEASUREMENT),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Attributes:
    frame: one row per whole record, sorted by key; see ``SCHEMA``.
    damaged: records that are present but cannot be used.
    """

    frame: pl.DataFrame
    damaged: tuple[Damaged, ...]

    def keys(self) -> set[str]:
        """Keys of all finished cells."""
        return set(self.frame["key"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How far a store has come.

    Attributes:
        total: cells asked for by all plans (or present, if there is no plan).
        done: finished.
        failed: without a result because of a recorded failure.
        missing: neither; includes damaged ones.
        damaged: records that must be computed again.
        failures: details of the failed cells.
        running: whether a run holds the lock now.
        documents: plans, runs and failures that cannot be read; provenance is incomplete.
    """

    total: int
    done: int
    failed: int
    missing: int
    damaged: tuple[Damaged, ...]
    failures: tuple[FailedCell, ...]
    running: bool
    documents: tuple[Damaged, ...] = ()

    @property
    def shortfall(self) -> str:
        """What a table made from this store must say; empty if it has everything that was asked for."""
        parts: list[str] = []
        if self.done < self.total:
            why = [f"{len(self.damaged)} damaged"] * bool(self.damaged) + [f"{self.failed} failed"] * bool(self.failed)
            parts.append(f"{self.done} of {self.total} cells" + (f" ({', '.join(why)})" if why else ""))
        if self.documents:
            names = ", ".join(d.key for d in self.documents[:3]) + (" and others" if len(self.documents) > 3 else "")
            parts.append(f"provenance incomplete: cannot read {names}")
        return "; ".join(parts)


def read_index(store: Store) -> Index:
    """The current index, brought up to date with the files.

    Cells that were computed from an artifact which has since been rebuilt differently count as damaged.
    """
    stamps = store.stamps()
    cached, is_lost = _cached(store)
    fresh = _unchanged(cached, stamps)
    known = set(fresh["key"])
    rows: list[dict[str, Any]] = []
    damaged: list[Damaged] = []
    for key in sorted(stamps.keys() - known):
        try:
            rows.append(_row(store, key, stamps[key]))
        except DamagedRecordError as error:
            damaged.append(Damaged(key=key, reason=str(error)))
    damaged += [Damaged(key=key, reason="altered on disk and put aside") for key in sorted(store.lost())]
    frame = pl.concat([fresh, pl.DataFrame(rows, schema=SCHEMA)]).sort("key") if rows else fresh
    if rows or is_lost or frame.height != cached.height:
        with contextlib.suppress(StoreError):  # a store on read-only media is still readable
            _write(store, frame)
    outdated = _outdated(store, frame)
    if outdated:
        frame = frame.filter(~pl.col("key").is_in([d.key for d in outdated]))
    return Index(frame=frame, damaged=(*damaged, *outdated))


def verify(store: Store) -> tuple[Damaged, ...]:
    """Read every record and all samples again and compare them with their seals, and with those of the index.

    Records and samples that do not match are put aside, as by everything that reads them, so that the next run computes
    their cells again.
    """
    found: list[Damaged] = []
    known = dict(zip(*(read_index(store).frame[name].to_list() for name in ("key", "seal")), strict=True))
    for key in sorted(store.stamps()):
        try:
            store.read_samples(key)
            if store.read_record(key).get("attachments"):
                store.attachments(key)
            store.shared(key)
            if known.get(key) not in (None, store.open_record(key)[1]):
                raise DamagedRecordError("another record than the index knows")
        except (DamagedRecordError, StoreError, OSError) as error:
            found.append(Damaged(key=key, reason=str(error.found if isinstance(error, StoreError) else error)))
    for folder in sorted(store.artifacts.root.glob("*/*/artifact.json")):
        _verify_artifact(store, folder.parent, found)
    return (*found, *store.damaged_documents())


def collect(store: Store) -> pl.DataFrame:
    """Tidy table of all measurements: one row per cell and metric.

    Returns:
        Columns ``key, kind, data``, one column per parameter (nested ones as JSON text), then ``metric, value,
        num_samples, metric_version, note``. Undefined values are null. Sorted by key, then in the order in which
        the cell gave its measurements, so that equal stores give equal tables.
    """
    frame = read_index(store).frame
    params: list[dict[str, Any]] = json.loads(f"[{','.join(frame['params'])}]")
    names = list(dict.fromkeys(name for p in params for name in p))
    columns = [_column(name, [p.get(name) for p in params]) for name in names]
    tidy = frame.select("key", "kind", "data", *columns, "measurements")
    return tidy.explode("measurements", empty_as_null=True).unnest("measurements")


def status(store: Store) -> Status:
    """Counts for people and for ``giveway … status``."""
    index = read_index(store)
    done = index.keys()
    failures = tuple(store.failures())
    wanted = {key for plan in store.plans() for key in plan.keys}
    wanted = wanted or done | {f.key for f in failures}
    num_failed = sum(f.key in wanted for f in failures)
    num_done = len(wanted & done)
    return Status(
        total=len(wanted),
        done=num_done,
        failed=num_failed,
        missing=len(wanted) - num_done - num_failed,
        damaged=index.damaged,
        failures=failures,
        running=store.lock().is_held(),
        documents=store.damaged_documents(),
    )


def _cached(store: Store) -> tuple[pl.DataFrame, bool]:
    """The table of the last time, and whether there was one that cannot be used."""
    nothing = pl.DataFrame(schema=SCHEMA)
    table, sealed = store.root / TABLE, store.root / SEAL
    if not table.exists():
        return nothing, False
    try:
        if not sealed.exists():
            LOG.warning("the index had no seal and has been rebuilt: %s", table)
            return nothing, True
        known = read_sealed(sealed, expect=OWN, needs_seal=True).document
        data = read_bytes(table, limit=INDEX_BYTES, expect=OWN)
        if sha256_of_bytes(data) not in (known.get("sha256"), known.get("before")):
            OWN.refuse(table, "is not what was written")
        return parse_table(data, table, trusted=True, schema=SCHEMA, expect=OWN), False
    except StoreError:
        LOG.warning("the index was damaged and has been rebuilt: %s", table)
        return nothing, True


def _write(store: Store, frame: pl.DataFrame) -> None:
    """The seal first, for the new table and for the one that is still there: at any moment one of them matches."""
    table, sealed = store.root / TABLE, store.root / SEAL
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    data = buffer.getvalue()
    document = {"rows": frame.height, "sha256": sha256_of_bytes(data), "before": None}
    with contextlib.suppress(StoreError):
        if table.exists() and sealed.exists():
            document["before"] = read_sealed(sealed, expect=OWN, needs_seal=True).document.get("sha256")
    write_bytes(sealed, seal(canonical_json(document)))
    write_bytes(table, data)


def _outdated(store: Store, frame: pl.DataFrame) -> list[Damaged]:
    """Cells whose artifacts have been built again since, with another content; deleted ones tell nothing."""
    now: dict[str, str | None] = {}
    found: list[Damaged] = []
    for key, text in zip(frame["key"], frame["inputs"], strict=True):
        for name, sealed in (json.loads(text) if text else {}).items():
            if name not in now:
                now[name] = _seal_there(store, name)
            if now[name] not in (None, sealed):
                found.append(Damaged(key=key, reason=f"artifact {name[:16]} has been rebuilt with another content"))
                break
    return found


def _seal_there(store: Store, name: str) -> str | None:
    try:
        return read_manifest(store.artifacts.root / name[:2] / name)[1]
    except StoreError:
        return None


def _verify_artifact(store: Store, folder: Path, found: list[Damaged]) -> None:
    if not folder.name.endswith(".damaged") and checked_seal(folder) is None and not has_no_digests(folder):
        reason = "not what was written; built again by the next run that needs it"
        found.append(Damaged(key=folder.relative_to(store.root).as_posix(), reason=reason))


def _unchanged(cached: pl.DataFrame, stamps: Mapping[str, Stamp]) -> pl.DataFrame:
    current = pl.DataFrame(
        {
            "key": list(stamps),
            "size": [s.size for s in stamps.values()],
            "mtime_ns": [s.mtime_ns for s in stamps.values()],
            "samples_size": [s.samples_size for s in stamps.values()],
            "attachments_size": [s.attachments_size for s in stamps.values()],
        },
        schema={name: SCHEMA[name] for name in STAMP},
    )
    return cached.join(current, on=list(STAMP), how="semi", maintain_order="left")


def _row(store: Store, key: str, stamp: Stamp) -> dict[str, Any]:
    try:
        document, sealed = store.open_record(key)
    except OSError as error:
        raise DamagedRecordError(f"cannot be read ({error.strerror})") from error
    expected = -1 if document["samples"] is None else document["samples"]["bytes"]
    if expected >= 0 and stamp.samples_size != expected:
        raise DamagedRecordError("its per-sample values are missing or truncated")
    attached: Mapping[str, Any] = document.get("attachments", {})
    if attached and stamp.attachments_size != sum(facts["bytes"] for facts in attached.values()):
        raise DamagedRecordError("its attachments are missing or truncated")
    return {
        "key": key,
        "size": stamp.size,
        "mtime_ns": stamp.mtime_ns,
        "samples_size": stamp.samples_size,
        "attachments_size": stamp.attachments_size,
        "seal": sealed,
        "inputs": json.dumps(document["inputs"]) if document.get("inputs") else "",
        "kind": document["cell"]["kind"],
        "params": json.dumps(document["cell"]["params"], ensure_ascii=False),
        "data": document["cell"]["data"],
        "measurements": document["measurements"],
    }


def _column(name: str, values: list[Any]) -> pl.Series:
    """Numbers stay numbers; a column that mixes types becomes text, as it must have one type."""
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {int, float}:
        return pl.Series(name, values, dtype=pl.Float64 if float in kinds else pl.Int64)
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if kinds <= {str}:
        return pl.Series(name, values, dtype=pl.String)
    return pl.Series(name, [_text(v) for v in values], dtype=pl.String)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
