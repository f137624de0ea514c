"""Stores of an earlier format: finished cells are taken over under their new keys, nothing is computed again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from giveway import __version__
from giveway.core.checked import read_bytes, read_sealed
from giveway.core.errors import StoreError
from giveway.core.files import write_bytes
from giveway.core.seals import seal, sha256_of_bytes
from giveway.core.urls import is_url
from giveway.experiments.cells import Cell
from giveway.experiments.files import canonical_json
from giveway.experiments.lock import StoreLock
from giveway.experiments.records import CELL_FORMAT, RECORD_BYTES, DamagedRecordError, open_record
from giveway.experiments.store import DOCUMENT, RECORD, SAMPLES_BYTES, STORE_FILE, STORE_FORMAT


@runtime_checkable
class Upgrades(Protocol):
    """An experiment that knows what its cells were called in earlier formats."""

    @property
    def name(self) -> str:
        """Kind of its cells."""
        ...

    def upgraded(self, cell: Mapping[str, Any]) -> Cell:
        """The cell that an earlier release described like this: kind, params, data and versions."""
        ...


def migrate(out: Path | str, experiment: object) -> int:
    """Bring a store of an earlier format up to date; returns how many cells were taken over.

    A store that is missing, remote or up to date is left alone; so is one whose experiment has no rule, which is then
    refused when it is opened. Killed in between, the next call goes on. Failures are forgotten: their cells count as
    missing.

    Args:
        out: folder of the store.
        experiment: one that :class:`Upgrades`.

    Raises:
        StoreError: two cells that are the same by today's rules have different results.
    """
    root = Path(out)
    if is_url(out) or not (root / STORE_FILE).is_file() or not isinstance(experiment, Upgrades):
        return 0
    if int(read_sealed(root / STORE_FILE, expect=DOCUMENT).document.get("format", 0)) >= STORE_FORMAT:
        return 0
    taken = 0
    with StoreLock(root / "lock"):
        sources: dict[str, str] = {}
        for path in sorted((root / "cells").glob("*/*.json")):
            taken += _move(root, path, experiment, sources)
        for path in [*(root / "plans").glob("*.json"), *(root / "failed").glob("*/*.json")]:
            path.unlink()  # they name cells by keys that are no more; the run that asks for this writes a new plan
        document = {"format": STORE_FORMAT, "written_by": f"giveway {__version__}"}
        write_bytes(root / STORE_FILE, seal(canonical_json(document)))
    return taken


def _move(root: Path, path: Path, experiment: Upgrades, sources: dict[str, str]) -> bool:
    """Write a record and its samples under the new key, then remove the old ones; damaged ones are left to the run."""
    try:
        document = open_record(read_bytes(path, limit=RECORD_BYTES, expect=RECORD), path.stem)
    except (DamagedRecordError, StoreError):
        path.unlink()
        return False
    if document["format"] >= CELL_FORMAT:
        return False
    if document["cell"]["kind"] != experiment.name:
        raise StoreError(
            f"the store also holds results of kind {document['cell']['kind']!r} of an earlier version",
            where=root,
            hint="run into a new folder",
        )
    cell = experiment.upgraded(document["cell"])
    target = root / "cells" / cell.key[:2] / f"{cell.key}.json"
    renewed = {**document, "format": CELL_FORMAT, "key": cell.key, "cell": cell.as_json()}
    if target.exists():
        _require_equal(target, renewed, path, sources)
    else:
        samples = path.with_suffix(".parquet")
        if document["samples"] is not None and samples.exists():
            data = read_bytes(samples, limit=SAMPLES_BYTES, expect=RECORD)
            if sha256_of_bytes(data) == document["samples"]["sha256"]:
                write_bytes(target.with_suffix(".parquet"), data)
        write_bytes(target, seal(canonical_json(renewed)))
    sources[cell.key] = path.stem
    path.unlink()
    path.with_suffix(".parquet").unlink(missing_ok=True)
    return True


def _require_equal(target: Path, renewed: Mapping[str, Any], path: Path, sources: Mapping[str, str]) -> None:
    there = open_record(read_bytes(target, limit=RECORD_BYTES, expect=RECORD), target.stem)
    if any(there[name] != renewed[name] for name in ("measurements", "info", "samples")):
        raise StoreError(
            "two results of an earlier version are of the same cell now, and differ",
            where=path.parent.parent,
            found=f"{path.stem[:16]} and {sources.get(target.stem, target.stem)[:16]}",
            hint="delete the file of the one you trust less, or run into a new folder",
        )
