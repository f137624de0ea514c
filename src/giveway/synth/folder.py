"""Put a finished set of files into a folder: all or nothing, never at the expense of somebody else's files."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence, Set
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any

from giveway.core.errors import UsageError
from giveway.core.files import move_folder, write_error
from giveway.data.fingerprints import sha256_of_file
from giveway.data.origins import LIST as RECORD

__all__ = ["RECORD", "ChosenFolder"]


class ChosenFolder:
    """A target folder that is filled through a temporary one beside it.

    Args:
        target: where the files shall be.
        force: allow a folder that is not empty. Files of an earlier synthesis (listed in its
            ``synthetic.json``) are replaced or removed, all others stay.

    Raises:
        UsageError: on entering, if the target is a file, is not empty or cannot be written; on publishing, if
            somebody else's file is where one of ours would go.
    """

    def __init__(self, target: Path, *, force: bool) -> None:
        self._target = target
        self._force = force
        self._staging: Path | None = None

    @property
    def staging(self) -> Path:
        """The temporary folder to write into."""
        if self._staging is None:
            raise RuntimeError("enter the context first")
        return self._staging

    def __enter__(self) -> ChosenFolder:
        target = self._target
        if target.exists() and not target.is_dir():
            raise UsageError("the output folder is a file", where=target, hint="choose another --out")
        try:
            if target.is_dir() and any(target.iterdir()) and not self._force:
                raise UsageError(
                    "the output folder is not empty",
                    where=target,
                    found=", ".join(sorted(p.name for p in target.iterdir())[:5]),
                    hint="choose another --out, or --force to replace what an earlier synthesis wrote there",
                )
            target.parent.mkdir(parents=True, exist_ok=True)
            self._staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
        except OSError as error:
            raise write_error(error, target) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._staging is not None:
            shutil.rmtree(self._staging, ignore_errors=True)

    def publish(self, record: Mapping[str, Any]) -> tuple[int, int]:
        """Write the record and move everything into place.

        Returns:
            Number of files (without the record) and their total size in bytes.
        """
        staging = self.staging
        files = sorted(p for p in staging.rglob("*") if p.is_file())
        names = [p.relative_to(staging).as_posix() for p in files]
        num_bytes = sum(p.stat().st_size for p in files)
        digests = {name: sha256_of_file(staging / name) for name in names}
        _write_durably(staging / RECORD, json.dumps({**record, "files": names, "sha256": digests}, indent=2) + "\n")
        staging.chmod(0o755)
        try:
            if self._target.is_dir() and any(self._target.iterdir()):
                self._merge(names)
            else:
                move_folder(staging, self._target)
        except OSError as error:
            raise write_error(error, self._target) from error
        return len(files), num_bytes

    def _merge(self, names: list[str]) -> None:
        earlier = set(_earlier_files(self._target))
        foreign = _first_foreign(self._target, [*names, RECORD], earlier)
        if foreign is not None:
            raise UsageError(
                "a file in the way was not written by an earlier synthesis",
                where=self._target,
                found=foreign,
                hint="move it away, or choose another --out",
            )
        stale = earlier - {*names, RECORD}
        for name in names:
            path = self._target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            (self.staging / name).replace(path)
        for name in sorted(stale):
            (self._target / name).unlink(missing_ok=True)
        (self.staging / RECORD).replace(self._target / RECORD)


def _first_foreign(target: Path, names: Sequence[str], earlier: Set[str]) -> str | None:
    """What is in the way of the new files, or of their folders, and does not come from an earlier synthesis."""
    for name in names:
        path = target / name
        if os.path.lexists(path) and (name not in earlier or path.is_dir()):
            return name
        for folder in PurePosixPath(name).parents:
            if os.path.lexists(target / folder) and not (target / folder).is_dir():
                return str(folder)
    return None


def _earlier_files(target: Path) -> list[str]:
    """What an earlier synthesis wrote, its record included; empty if there was none."""
    try:
        record: Any = json.loads((target / RECORD).read_text(encoding="utf-8"))
        listed = [RECORD, *(str(name) for name in record["files"])]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    inside = target.resolve()
    return [name for name in listed if (target / name).resolve().is_relative_to(inside)]


def _write_durably(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
