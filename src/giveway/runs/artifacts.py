"""Inputs shared by many cells (extracted samples, conditional models), computed once and kept by content.

::

    folder = artifacts.get({"what": "samples", "dataset": "lgap", ...}, build)

``build(folder)`` writes files into an empty folder; the folder appears under its final name only when everything in it
is on disk. Several processes asking for the same artifact wait for the one that builds it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

from giveway.core.errors import DiskFullError
from giveway.core.files import disk_full, write_bytes
from giveway.runs.cells import content_key
from giveway.runs.files import canonical_json

MANIFEST = "artifact.json"


class Artifacts:
    """The folder of artifacts of a store.

    Args:
        root: folder; created when the first artifact is built.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, spec: Mapping[str, Any]) -> Path:
        """Where the artifact described by ``spec`` lives, whether or not it exists yet."""
        key = content_key(spec)
        return self.root / key[:2] / key

    def get(self, spec: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
        """The artifact's folder; ``build`` is called if it does not exist or has been damaged.

        Args:
            spec: plain values that determine the content completely, including versions of the code that makes it.
            build: writes the files into the folder it is given. An exception leaves nothing behind.

        Raises:
            DiskFullError: if there is no room.
        """
        final = self.path(spec)
        if _is_whole(final):
            return final
        final.parent.mkdir(parents=True, exist_ok=True)
        with _waiting_lock(final.with_name(f"{final.name}.lock")):
            if not _is_whole(final):
                self._build(final, spec, build)
        return final

    def _build(self, final: Path, spec: Mapping[str, Any], build: Callable[[Path], None]) -> None:
        temporary = final.with_name(f".{final.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
        temporary.mkdir(parents=True)
        try:
            build(temporary)
            sizes = {
                str(p.relative_to(temporary)): p.stat().st_size for p in sorted(temporary.rglob("*")) if p.is_file()
            }
            for name in sizes:
                _flush(temporary / name)
            write_bytes(temporary / MANIFEST, canonical_json({"spec": spec, "files": sizes}))
            if final.exists():
                shutil.rmtree(final)
            temporary.rename(final)
        except Exception as error:
            full = disk_full(error)
            if full is not None:
                raise (full if isinstance(error, DiskFullError) else _no_room(final, full)) from error
            if not isinstance(error, OSError) or not _is_whole(final):  # else another machine was faster
                raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _no_room(final: Path, full: DiskFullError) -> DiskFullError:
    return DiskFullError(full.what, where=final, found=full.found, hint=full.hint)


def _is_whole(folder: Path) -> bool:
    """Every file of the manifest is there with its size."""
    try:
        files: dict[str, int] = json.loads((folder / MANIFEST).read_bytes())["files"]
        return all((folder / name).stat().st_size == size for name, size in files.items())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _flush(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def _waiting_lock(path: Path) -> Generator[None]:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        # Without support for locks two processes may build the same thing; the result is equal, only work is lost.
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
