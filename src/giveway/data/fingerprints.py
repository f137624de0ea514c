"""Content hashes: a result names the bytes it was made from, never only a file name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from giveway.data.protocol import Recording

CHUNK_BYTES = 1 << 20


def sha256_of_bytes(data: bytes | memoryview) -> str:
    """Hexadecimal SHA-256 of what is in memory already."""
    return hashlib.sha256(data).hexdigest()


def sha256_of_file(path: Path) -> str:
    """Hexadecimal SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def combine(files: Mapping[str, str]) -> str:
    """One hash for a set of named files, whatever their order.

    Args:
        files: name to SHA-256.
    """
    lines = "".join(f"{files[name]}  {name}\n" for name in sorted(files))
    return sha256_of_bytes(lines.encode())


def fingerprint(recordings: Iterable[Recording]) -> str:
    """One hash for the contents of recordings; moving the data root does not change it."""
    files: dict[str, str] = {}
    for recording in recordings:
        for role, path in recording.files.items():
            files[f"{recording.id}:{role}:{path.name}"] = sha256_of_file(path)
    return combine(files)
