"""All finished cells as one table, fast for a hundred thousand of them.

``index.parquet`` holds one row per whole record together with the size and time of its file. Reading the index
lists the folders, keeps rows whose files have not changed, opens only the others, and writes the index again if
anything differed. Deleting it costs time, never data.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from giveway.core.errors import StoreError
from giveway.core.files import write_bytes
from giveway.runs.records import DamagedRecordError, open_record
from giveway.runs.store import Damaged, FailedCell, Stamp, Store

MEASUREMENT = pl.Struct(
    {
        "metric": pl.String,
        "value": pl.Float64,
        "num_samples": pl.Int64,
        "metric_version": pl.Int64,
        "note": pl.String,
    }
)
SCHEMA: dict[str, Any] = {
    "key": pl.String,
    "size": pl.Int64,
    "mtime_ns": pl.Int64,
    "samples_size": pl.Int64,
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
    """

    total: int
    done: int
    failed: int
    missing: int
    damaged: tuple[Damaged, ...]
    failures: tuple[FailedCell, ...]
    running: bool


def read_index(store: Store) -> Index:
    """The current index, brought up to date with the files."""
    stamps = store.stamps()
    cached = _cached(store)
    fresh = _unchanged(cached, stamps)
    known = set(fresh["key"])
    rows: list[dict[str, Any]] = []
    damaged: list[Damaged] = []
    for key in sorted(stamps.keys() - known):
        try:
            rows.append(_row(store, key, stamps[key]))
        except DamagedRecordError as error:
            damaged.append(Damaged(key=key, reason=str(error)))
    frame = pl.concat([fresh, pl.DataFrame(rows, schema=SCHEMA)]).sort("key") if rows else fresh
    if rows or frame.height != cached.height:
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd")
        with contextlib.suppress(StoreError):  # a store on read-only media is still readable
            write_bytes(store.root / "index.parquet", buffer.getvalue())
    return Index(frame=frame, damaged=tuple(damaged))


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
    )


def _cached(store: Store) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(store.root / "index.parquet", memory_map=False)
    except (OSError, pl.exceptions.PolarsError):
        return pl.DataFrame(schema=SCHEMA)
    return frame if frame.schema == pl.Schema(SCHEMA) else pl.DataFrame(schema=SCHEMA)


def _unchanged(cached: pl.DataFrame, stamps: Mapping[str, Stamp]) -> pl.DataFrame:
    current = pl.DataFrame(
        {
            "key": list(stamps),
            "size": [s.size for s in stamps.values()],
            "mtime_ns": [s.mtime_ns for s in stamps.values()],
            "samples_size": [s.samples_size for s in stamps.values()],
        },
        schema={name: SCHEMA[name] for name in ("key", "size", "mtime_ns", "samples_size")},
    )
    return cached.join(current, on=["key", "size", "mtime_ns", "samples_size"], how="semi", maintain_order="left")


def _row(store: Store, key: str, stamp: Stamp) -> dict[str, Any]:
    try:
        document = open_record(store.record_path(key).read_bytes(), key)
    except OSError as error:
        raise DamagedRecordError(f"cannot be read ({error.strerror})") from error
    expected = -1 if document["samples"] is None else document["samples"]["bytes"]
    if expected >= 0 and stamp.samples_size != expected:
        raise DamagedRecordError("its per-sample values are missing or truncated")
    return {
        "key": key,
        "size": stamp.size,
        "mtime_ns": stamp.mtime_ns,
        "samples_size": stamp.samples_size,
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
