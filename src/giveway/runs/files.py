"""Writing files so that a reader never sees half of one, and JSON that is the same text on every machine."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.errors import StoreError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Error numbers that mean: nothing can be written here until somebody makes room."""


def plain(value: Any) -> Any:
    """The same value in JSON's own types.

    NaN and infinities become null, NumPy scalars and arrays numbers and lists, paths text.

    Raises:
        TypeError: for anything else, so that no object reaches a content key through its ``repr``.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"cannot write {type(value).__name__} as JSON: {value!r}")


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces; equal values give equal bytes."""
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def write_atomically(path: Path, data: bytes, *, flush: bool = True) -> None:
    """Write a temporary file in the same folder, flush it to the disk, rename it.

    After a crash of the process at any moment ``path`` holds either the old or the new content.

    Args:
        path: where to.
        data: content.
        flush: wait for the disk, so that a power failure cannot take the file either. Without it such a failure may
            leave an empty file; only for content that carries a checksum and is cheap to make again.

    Raises:
        StoreError: when the disk is full or the folder cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(data)
            if flush:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise as_store_error(error, path) from error


def as_store_error(error: OSError, path: Path) -> StoreError:
    """An error of the operating system as one that says what to do."""
    if error.errno in FULL:
        return DiskFullError(
            "the disk is full",
            where=path,
            found=os.strerror(error.errno or 0),
            hint="make room and start the same command again: finished cells are kept",
        )
    return StoreError(
        "cannot write to the result store",
        where=path,
        found=os.strerror(error.errno) if error.errno else error,
        hint="check that the folder exists and that you may write to it",
    )


def disk_full(error: BaseException | None) -> DiskFullError | None:
    """The same error as one about a full disk, if that is what caused it; libraries hide it in errors of their own."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, DiskFullError):
            return error
        is_full = isinstance(error, OSError) and error.errno in FULL
        if is_full or any(f"(os error {number})" in str(error) for number in FULL):
            where = getattr(error, "filename", None) or tempfile.gettempdir()
            return DiskFullError(
                "the disk is full",
                where=where,
                found=str(error)[:200],
                hint="make room and start the same command again: finished cells are kept",
            )
        error = error.__cause__ or error.__context__
    return None


class DiskFullError(StoreError):
    """No room left; going on with further cells makes no sense."""
