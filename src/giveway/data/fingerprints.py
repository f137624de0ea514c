"""Content hashes: a result names the bytes it was made from, never only a file name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from giveway.core.checked import known_sha256, sha256_of_file
from giveway.core.seals import sha256_of_bytes
from giveway.data.protocol import Recording

__all__ = ["combine", "fingerprint", "sha256_of_bytes", "sha256_of_file"]


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
            files[f"{recording.id}:{role}:{path.name}"] = known_sha256(path)
    return combine(files)
