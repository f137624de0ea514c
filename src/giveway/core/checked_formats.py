"""Tables, arrays and weights out of bytes in memory: bounded, nothing unpickled, every failure of a library one error.

Used by :mod:`giveway.core.checked`, which reads the bytes and compares their digest first.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Collection, Generator, Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from giveway.core.arrays import AnyArray
from giveway.core.checked_text import check_json
from giveway.core.seals import WEIGHTS_ENTRY, open_weights_seal, weights_header

if TYPE_CHECKING:
    import polars as pl

DEPTH = 64
"""Levels of nesting in any document."""


class FormatError(ValueError):
    """Bytes that are not what they should be; one line."""


def parse_parquet(data: bytes, *, columns: Iterable[str] | None, trusted: bool, limit_rows: int) -> pl.DataFrame:
    """A table.

    Args:
        data: a Parquet file.
        columns: only these, in this order.
        trusted: the digest of the bytes has been compared. Otherwise rows are counted before anything is unpacked, and
            what native code prints is not shown: a panic is no ``Exception``, and its thread writes a trace before
            Python hears of it.
        limit_rows: of bytes that are not trusted.

    Raises:
        FormatError: if it is none, or too long.
    """
    import polars as pl

    wanted = None if columns is None else list(columns)
    try:
        with contextlib.nullcontext() if trusted else _muted():
            if not trusted:
                rows = int(pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item())
                if rows > limit_rows:
                    raise FormatError(f"{rows} rows, at most {limit_rows} are read")
            return pl.read_parquet(data, columns=wanted)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, MemoryError) as error:
        raise FormatError((str(error).splitlines() or [type(error).__name__])[0]) from error


def parse_arrays(data: bytes, *, names: Collection[str] | None, limit: int) -> dict[str, AnyArray]:
    """Plain arrays of an ``.npz``; what it says to hold is added up before anything is unpacked.

    Args:
        data: the file.
        names: these must be there, and only they are unpacked; None takes all.
        limit: bytes of all arrays.

    Raises:
        FormatError: not such a file, damaged, too large, or with objects.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            total = sum(entry.file_size for entry in archive.infolist())
            if total > limit:
                raise FormatError(f"{total} bytes unpacked, at most {limit} are read")
            for entry in archive.infolist():
                _check_array(archive, entry)
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in (archive.files if names is None else names)}
    except (OSError, ValueError, KeyError, EOFError, SyntaxError, MemoryError, RuntimeError, zlib.error) as error:
        raise FormatError(str(error) or type(error).__name__) from error
    except (zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise FormatError(str(error)) from error


def parse_weights(data: bytes, *, framework: Literal["numpy", "torch"]) -> tuple[dict[str, Any], dict[str, str]]:
    """Tensors and metadata of a safetensors file; a seal in its header is checked first and not handed on.

    Raises:
        FormatError: not such a file, or damaged.
        SealError: truncated, or another content than was sealed.
        TextError: a header that is nested too deep.
        ImportError: without the library.
    """
    from safetensors import SafetensorError

    if framework == "torch":
        from safetensors.torch import load
    else:
        from safetensors.numpy import load
    open_weights_seal(data)
    header = weights_header(data)
    check_json(header, depth=DEPTH)
    try:
        facts: dict[str, Any] = json.loads(header).get("__metadata__") or {}
        tensors: dict[str, Any] = load(data)
        return tensors, {name: str(value) for name, value in facts.items() if name != WEIGHTS_ENTRY}
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(str(error) or type(error).__name__) from error


def _check_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Refuse an array that says it is larger than its file, which NumPy would make room for first."""
    with archive.open(entry) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
        count = 1
        for length in shape:
            count *= length
        if dtype.hasobject or count * dtype.itemsize > entry.file_size:
            raise FormatError(f"{entry.filename}: objects, or more values than there are bytes")


@contextlib.contextmanager
def _muted() -> Generator[None]:
    """Nothing that native code writes to the standard error output is seen; without such an output nothing changes."""
    try:
        kept = os.dup(2)
    except OSError:
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
