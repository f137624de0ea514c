"""Every evaluation on disk as soon as it is known, so that a killed fit goes on where it stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from giveway.core.checked import Expect, read_bytes
from giveway.core.errors import StoreError
from giveway.core.seals import open_seal, seal

FORMAT = 1
MAX_BYTES = 1 << 30
JOURNAL = Expect(error=StoreError, what="the journal of a fit", hint="delete it to start again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One evaluation.

    Attributes:
        stage: 0 or 1.
        point: 14 coordinates in the unit cube of the stage's box.
        loss: mean over paths.
        error: standard error of that mean.
        seconds: what the evaluation took.
        note: what the optimizer wants to find again, e.g. hyper-parameters and acquisition value.
    """

    stage: int
    point: tuple[float, ...]
    loss: float
    error: float
    seconds: float
    note: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Journal:
    """An append-only file of one JSON document per line: what is fitted first, then every evaluation.

    Every line carries its own SHA-256; those of release 0.1 do not. A line that was cut off by a crash is dropped.
    Numbers are written so that they read back bit by bit.

    Args:
        path: the file, created on the first write; None keeps everything in memory.
        header: what identifies this fit; resuming with another one is refused.

    Raises:
        StoreError: if the file belongs to another fit or cannot be read.
    """

    def __init__(self, path: Path | None, header: Mapping[str, Any]) -> None:
        self.path = path
        self.header = {"format": FORMAT, **header}
        self.entries: list[Entry] = []
        if path is not None and path.exists() and path.stat().st_size > 0:
            self._read(path)

    def append(self, entry: Entry) -> None:
        """Remember an evaluation; on disk when this returns."""
        self.entries.append(entry)
        if self.path is None:
            return
        lines = [_line(entry)]
        if not self.path.exists():
            lines.insert(0, seal(json.dumps(self.header, sort_keys=True).encode()))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(b"".join(lines))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(
                "the journal of a fit cannot be written", where=self.path, found=error.strerror or error
            ) from error

    def _read(self, path: Path) -> None:
        data = read_bytes(path, limit=MAX_BYTES, expect=JOURNAL)
        whole = data[: data.rfind(b"\n") + 1]
        try:
            documents = [json.loads(open_seal(line)[0]) for line in whole.splitlines(keepends=True)]
            header, rows = (documents[0], documents[1:]) if documents else (None, [])
            self.entries = [_entry(row) for row in rows]
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                "the journal of a fit is damaged", where=path, found=str(error), hint="delete it to start again"
            ) from error
        if header is None:
            path.unlink()
            return
        if header != json.loads(json.dumps(self.header)):
            different = sorted(k for k in {*header, *self.header} if header.get(k) != self.header.get(k))
            raise StoreError(
                "the journal belongs to another fit",
                where=path,
                found=f"different: {', '.join(different)}",
                hint="choose another file, or delete this one",
            )
        if len(whole) < len(data):
            with path.open("rb+") as file:
                file.truncate(len(whole))


def _line(entry: Entry) -> bytes:
    document = {
        "stage": entry.stage,
        "point": list(entry.point),
        "loss": entry.loss,
        "error": entry.error,
        "seconds": round(entry.seconds, 4),
        **({"note": dict(entry.note)} if entry.note else {}),
    }
    return seal(json.dumps(document).encode())


def _entry(row: Mapping[str, Any]) -> Entry:
    return Entry(
        stage=int(row["stage"]),
        point=tuple(float(x) for x in row["point"]),
        loss=float(row["loss"]),
        error=float(row["error"]),
        seconds=float(row["seconds"]),
        note=row.get("note", {}),
    )
