"""The bytes of a finished or failed cell on disk, and the check that they are whole."""

from __future__ import annotations

import io
import math
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from giveway.core.checked_text import parse_json
from giveway.core.errors import GivewayError
from giveway.core.seals import SealError, open_seal, seal, sha256_of_bytes
from giveway.experiments.cells import Cell, CellFailure, CellResult, Measurement
from giveway.experiments.files import canonical_json, plain

CELL_FORMAT = 2
RECORD_BYTES = 1 << 30
ATTACHMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
"""Names of attachments: one file, below no other folder."""


class DamagedRecordError(ValueError):
    """A record that is truncated, altered or of another cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A result as bytes: what a worker writes, or sends back when it cannot reach the store."""

    record: bytes
    samples: bytes | None
    attachments: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    shared: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCell:
    """Why a cell has no result.

    Attributes:
        key: content key.
        cell: what was to be computed.
        error: type of the exception, or ``"WorkerDied"``, ``"TimeLimit"``.
        message: what it said.
        traceback: where it was raised; empty if the worker died.
        attempts: how often it was tried.
    """

    key: str
    cell: Cell
    error: str
    message: str
    traceback: str = ""
    attempts: int = 1

    @property
    def reason(self) -> str:
        """Error and message in one line."""
        return f"{self.error}: {self.message.partition(chr(10))[0]}"


def encode_result(cell: Cell, result: CellResult, inputs: Mapping[str, str] | None = None) -> Encoded:
    """Bytes of a result; equal results give equal bytes.

    Args:
        cell: what was computed.
        result: what came out.
        inputs: content key to seal of every artifact that it was computed from.
    """
    samples = None if result.samples is None else _parquet(result.samples)
    document: dict[str, Any] = {
        "format": CELL_FORMAT,
        "key": cell.key,
        "cell": cell.as_json(),
        "measurements": [_measurement(m) for m in result.measurements],
        "info": plain(result.info),
        "samples": None,
    }
    if result.samples is not None and samples is not None:
        document["samples"] = {"sha256": sha256_of_bytes(samples), "bytes": len(samples), "rows": result.samples.height}
    if result.attachments:
        document["attachments"] = {
            checked_attachment(name): {"sha256": sha256_of_bytes(data), "bytes": len(data)}
            for name, data in sorted(result.attachments.items())
        }
    if inputs:
        document["inputs"] = dict(inputs)
    shared = {sha256_of_bytes(data): data for data in result.shared}
    if shared:
        document["shared"] = sorted(shared)
    record = seal(canonical_json(document))
    return Encoded(record=record, samples=samples, attachments=dict(result.attachments), shared=shared)


def checked_attachment(name: str) -> str:
    """The name, if it is that of a plain file.

    Raises:
        ValueError: a path, a hidden file or an odd character.
    """
    if not ATTACHMENT.fullmatch(name):
        raise ValueError(f"an attachment needs a plain file name, not {name!r}")
    return name


def encode_failure(failure: FailedCell) -> bytes:
    """Bytes of a failure record."""
    document: dict[str, Any] = {
        "format": CELL_FORMAT,
        "key": failure.key,
        "cell": failure.cell.as_json(),
        "error": failure.error,
        "message": failure.message,
        "traceback": failure.traceback,
        "attempts": failure.attempts,
    }
    return seal(canonical_json(document))


def open_record(data: bytes, key: str) -> dict[str, Any]:
    """The document in ``data`` after checking that it is whole and belongs to ``key``.

    Raises:
        DamagedRecordError: if not.
    """
    try:
        body, found = open_seal(data)
        if found is None:
            raise SealError("truncated or not a cell record")
        document: dict[str, Any] = parse_json(body.decode())
    except ValueError as error:
        raise DamagedRecordError(str(error)) from error
    if document.get("key") != key:
        raise DamagedRecordError("belongs to another cell")
    return document


def result_from(document: Mapping[str, Any], samples: pl.DataFrame | None = None) -> CellResult:
    """The result a record describes."""
    return CellResult(
        measurements=tuple(_measured(m) for m in document["measurements"]),
        samples=samples,
        info=document["info"],
    )


def failure_from(document: Mapping[str, Any]) -> FailedCell:
    """The failure a record describes."""
    return FailedCell(
        key=document["key"],
        cell=Cell.from_json(document["cell"]),
        error=document["error"],
        message=document["message"],
        traceback=document["traceback"],
        attempts=document["attempts"],
    )


def failure_of(cell: Cell, error: BaseException | CellFailure, *, attempts: int = 1) -> FailedCell:
    """A failure record for an exception; a user's error keeps its four parts as the message."""
    if isinstance(error, CellFailure):
        message = _encodable(error.message)
        return FailedCell(key=cell.key, cell=cell, error=error.error, message=message, attempts=attempts)
    text = str(error) if isinstance(error, GivewayError) else (str(error).strip() or type(error).__name__)
    trace = "".join(traceback.format_exception(error))
    return FailedCell(
        key=cell.key,
        cell=cell,
        error=type(error).__name__,
        message=_encodable(text),
        traceback=_encodable(trace),
        attempts=attempts,
    )


def _encodable(text: str) -> str:
    """The text with what UTF-8 cannot hold written as escapes; names of files may contain such bytes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _measurement(m: Measurement) -> dict[str, Any]:
    return {
        "metric": m.metric,
        "value": plain(float(m.value)),
        "num_samples": int(m.num_samples),
        "metric_version": int(m.metric_version),
        "note": m.note,
    }


def _measured(m: Mapping[str, Any]) -> Measurement:
    value = m["value"]
    return Measurement(
        metric=m["metric"],
        value=math.nan if value is None else float(value),
        num_samples=m["num_samples"],
        metric_version=m["metric_version"],
        note=m["note"],
    )


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()
