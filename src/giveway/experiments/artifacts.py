"""Inputs shared by many cells (extracted samples, conditional models), computed once and kept by content.

::

    folder = artifacts.get({"what": "samples", "dataset": "lgap", ...}, build)

``build(folder)`` writes files into an empty folder; the folder appears under its final name only when everything in it
is on disk. Several processes asking for the same artifact wait for the one that builds it.

``artifact.json`` lists every file with size and SHA-256 and is sealed. A process compares each file once before it
hands out the folder. A damaged artifact is put aside as ``<key>.damaged`` and built again; one of release 0.1, which
knows sizes only, is built again as well. Every cell keeps the seals of the artifacts it was computed from, so cells of
an artifact that came out differently are found.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from giveway.core.checked import Expect, known_sha256, read_sealed, remember_sha256, sha256_of_file
from giveway.core.errors import DiskFullError, StoreError
from giveway.core.files import disk_full, flush, write_bytes
from giveway.core.locks import waiting_lock
from giveway.core.seals import seal
from giveway.experiments.cells import content_key
from giveway.experiments.files import canonical_json

MANIFEST = "artifact.json"
ARTIFACT = Expect(error=StoreError, what="an artifact", hint="start the same run again: it is built anew")


class Artifacts:
    """The folder of artifacts of a store.

    Args:
        root: folder; created when the first artifact is built.

    Attributes:
        used: content key to seal of what :meth:`get` handed out, without what was only needed to build it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.used: dict[str, str] = {}

    def fresh(self) -> Artifacts:
        """The same folder, nothing used yet: for one cell."""
        return Artifacts(self.root)

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
        found = checked_seal(final)
        if found is None:
            final.parent.mkdir(parents=True, exist_ok=True)
            with waiting_lock(final.with_name(f"{final.name}.lock")):
                found = checked_seal(final) or self._build(final, spec, build)
        self.used[final.name] = found
        return final

    def _build(self, final: Path, spec: Mapping[str, Any], build: Callable[[Path], None]) -> str:
        temporary = final.with_name(f".{final.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
        temporary.mkdir(parents=True)
        outside, self.used = self.used, {}
        try:
            build(temporary)
            files = {
                p.relative_to(temporary).as_posix(): {"bytes": p.stat().st_size, "sha256": sha256_of_file(p)}
                for p in sorted(temporary.rglob("*"))
                if p.is_file()
            }
            for name in files:
                flush(temporary / name)
            manifest = {"spec": spec, "files": files, "inputs": self.used}
            write_bytes(temporary / MANIFEST, seal(canonical_json(manifest)))
            _put_aside(final)
            temporary.rename(final)
            for name, entry in files.items():
                remember_sha256(final / name, str(entry["sha256"]))
        except Exception as error:
            full = disk_full(error)
            if full is not None:
                raise (full if isinstance(error, DiskFullError) else _no_room(final, full)) from error
            if not isinstance(error, OSError) or checked_seal(final) is None:  # else another machine was faster
                raise
        finally:
            self.used = outside
            shutil.rmtree(temporary, ignore_errors=True)
        built = checked_seal(final)
        if built is None:
            ARTIFACT.refuse(final, "is not what was just written", "is the disk sound?")
        return built


def read_manifest(folder: Path) -> tuple[dict[str, Any], str]:
    """The checked manifest of an artifact and its seal; its files are not looked at.

    Raises:
        StoreError: missing, damaged, or of release 0.1.
    """
    found = read_sealed(folder / MANIFEST, expect=ARTIFACT, needs_seal=True)
    assert found.seal is not None
    return found.document, found.seal


def has_no_digests(folder: Path) -> bool:
    """Whether release 0.1 wrote an artifact: it knows sizes only, so nobody can tell whether it is damaged."""
    try:
        return read_sealed(folder / MANIFEST, expect=ARTIFACT).seal is None
    except StoreError:
        return False


def checked_seal(folder: Path) -> str | None:
    """The seal of an artifact all of whose files are what was written; None otherwise.

    A file is digested once per process; see :func:`giveway.core.checked.known_sha256`.
    """
    try:
        manifest, found = read_manifest(folder)
        files: dict[str, Any] = manifest["files"]
        whole = all(known_sha256(folder / name) == entry["sha256"] for name, entry in files.items())
    except (StoreError, OSError, KeyError, TypeError, AttributeError):
        return None
    return found if whole else None


def _put_aside(final: Path) -> None:
    """Move what is in the way: a damaged artifact is kept for looking at, one without digests is not damaged."""
    if not final.exists():
        return
    aside = final.with_name(f"{final.name}.damaged")
    shutil.rmtree(aside, ignore_errors=True)
    if has_no_digests(final):
        shutil.rmtree(final)
    else:
        final.rename(aside)


def _no_room(final: Path, full: DiskFullError) -> DiskFullError:
    return DiskFullError(full.what, where=final, found=full.found, hint=full.hint)
