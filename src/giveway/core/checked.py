"""The one place that opens files for reading: bounded, and compared with a digest before a parser sees a byte.

::

    data = read_bytes(path, limit=MIB, sha256=expected)
    document = read_json(path)                                        # foreign: size, depth, numbers, NUL bytes
    document = read_sealed(path, expect=Expect(error=StoreError, what="a plan", hint="run again")).document
    frame = read_parquet(path, sha256=expected, columns=("x", "y"))
    arrays = read_arrays(path, sha256=expected)
    tensors, facts = read_weights(path)

A file that is too large, too deep, not text, of another digest or that its library refuses is one error in four parts:
:class:`FileFormatError` for files of others, :class:`StoreError` (or what :class:`Expect` says) for our own. Polars,
safetensors and torch are imported when a file of theirs is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tomllib
from collections.abc import Collection, Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from giveway.core.arrays import AnyArray
from giveway.core.checked_formats import DEPTH, FormatError, parse_arrays, parse_parquet, parse_weights
from giveway.core.checked_text import TextError, as_text, check_json, check_toml, parse_json
from giveway.core.errors import FileFormatError, GivewayError, MissingDependencyError, StoreError
from giveway.core.seals import SealError, open_seal, sha256_of_bytes

if TYPE_CHECKING:
    import polars as pl

MIB = 1 << 20
DOCUMENT_BYTES = 16 * MIB
TABLE_BYTES = 16 << 30
TABLE_ROWS = 2_000_000_000
ARRAY_BYTES = 4 << 30
WEIGHT_BYTES = 4 << 30
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """What a file should be, for the sentence that is said when it is not.

    Attributes:
        error: class of the error.
        what: the file as the subject of a sentence, e.g. ``"a file of the store"``.
        hint: what to do about damage.
    """

    error: type[GivewayError] = FileFormatError
    what: str = "the file"
    hint: str | None = None

    def refuse(self, path: Path, reason: str, found: object = None, *, where: object = None) -> NoReturn:
        """Raise the error."""
        raise self.error(f"{self.what} {reason}", where=where or path, found=found, hint=self.hint)


FOREIGN = Expect()
OWN = Expect(error=StoreError, what="a file of the store", hint="make it again with the command that wrote it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """Attributes:
    document: without its seal.
    seal: SHA-256 of the document; None for a file of an earlier release, which had none.
    """

    document: dict[str, Any]
    seal: str | None


def read_bytes(path: Path, *, limit: int, sha256: str | None = None, expect: Expect = FOREIGN) -> bytes:
    """The content of a file.

    Args:
        path: which.
        limit: a larger file is refused before it is read.
        sha256: expected digest; None for files that carry their own or have none.
        expect: what to say otherwise.

    Raises:
        GivewayError: as ``expect`` says.
    """
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            data = stream.read(limit + 1) if size <= limit else b""
    except (OSError, ValueError) as error:
        expect.refuse(path, "cannot be read", getattr(error, "strerror", None) or error)
    if max(size, len(data)) > limit:
        expect.refuse(path, "is too large", f"{max(size, len(data))} bytes, at most {limit} are read")
    if sha256 is not None and (found := sha256_of_bytes(data)) != sha256:
        expect.refuse(path, "is not what was written", f"SHA-256 {found[:16]}…, expected {sha256[:16]}…")
    return data


def read_text(path: Path, *, limit: int = DOCUMENT_BYTES, sha256: str | None = None, expect: Expect = FOREIGN) -> str:
    """UTF-8 text without NUL bytes; a byte-order mark is dropped."""
    data = read_bytes(path, limit=limit, sha256=sha256, expect=expect)
    with _text_errors(path, expect, "text"):
        return as_text(data)


def read_json(
    path: Path,
    *,
    limit: int = DOCUMENT_BYTES,
    depth: int = DEPTH,
    sha256: str | None = None,
    expect: Expect = FOREIGN,
) -> Any:
    """A JSON document; depth and length of numbers are checked over the bytes before it is parsed."""
    data = read_bytes(path, limit=limit, sha256=sha256, expect=expect)
    with _text_errors(path, expect, "JSON"):
        text = as_text(data)
        if sha256 is None:
            check_json(data, depth=depth)
        return parse_json(text)


def read_toml(
    path: Path,
    *,
    limit: int = DOCUMENT_BYTES,
    depth: int = DEPTH,
    sha256: str | None = None,
    expect: Expect = FOREIGN,
) -> dict[str, Any]:
    """A TOML document; depth and length of its words are checked over the bytes before it is parsed."""
    data = read_bytes(path, limit=limit, sha256=sha256, expect=expect)
    with _text_errors(path, expect, "TOML"):
        text = as_text(data)
        check_toml(data, depth=depth)
        return tomllib.loads(text)


def read_sealed(path: Path, *, limit: int = DOCUMENT_BYTES, expect: Expect = OWN, needs_seal: bool = False) -> Sealed:
    """A JSON object of ours, compared with its seal before it is parsed.

    Args:
        path: which.
        limit: bytes.
        expect: what to say about damage.
        needs_seal: refuse files of earlier releases, which have none.

    Raises:
        GivewayError: as ``expect`` says.
    """
    data = read_bytes(path, limit=limit, expect=expect)
    return open_document(data, path, expect=expect, needs_seal=needs_seal)


def open_document(data: bytes, path: Path, *, expect: Expect = OWN, needs_seal: bool = False) -> Sealed:
    """The same for bytes that are in memory already."""
    try:
        body, seal = open_seal(data)
        if seal is None:
            if needs_seal:
                raise SealError("it carries no checksum")
            check_json(body, depth=DEPTH)
        document = parse_json(as_text(body))
        if not isinstance(document, dict):
            raise TextError(f"{type(document).__name__} instead of an object")
    except (SealError, TextError, ValueError, RecursionError) as error:
        expect.refuse(path, "is damaged", error)
    return Sealed(document=document, seal=seal)  # pyright: ignore[reportUnknownArgumentType]


def read_parquet(
    path: Path,
    *,
    sha256: str | None = None,
    columns: Iterable[str] | None = None,
    schema: Mapping[str, Any] | None = None,
    limit_bytes: int = TABLE_BYTES,
    limit_rows: int = TABLE_ROWS,
    expect: Expect = FOREIGN,
) -> pl.DataFrame:
    """A table.

    Args:
        path: which.
        sha256: expected digest, compared before Polars sees the bytes.
        columns: only these, in this order.
        schema: names and types that it must have exactly; None if it does not matter.
        limit_bytes: of the file.
        limit_rows: of a table without digest; counted before anything is unpacked.
        expect: what to say otherwise.

    Raises:
        GivewayError: as ``expect`` says.
    """
    data = read_bytes(path, limit=limit_bytes, sha256=sha256, expect=expect)
    return parse_table(
        data, path, trusted=sha256 is not None, columns=columns, schema=schema, limit_rows=limit_rows, expect=expect
    )


def parse_table(
    data: bytes,
    path: Path,
    *,
    trusted: bool,
    columns: Iterable[str] | None = None,
    schema: Mapping[str, Any] | None = None,
    limit_rows: int = TABLE_ROWS,
    expect: Expect = FOREIGN,
) -> pl.DataFrame:
    """The same for bytes in memory; ``trusted`` if their digest has been compared."""
    try:
        frame = parse_parquet(data, columns=columns, trusted=trusted, limit_rows=limit_rows)
    except FormatError as error:
        expect.refuse(path, "is no readable Parquet table", error)
    if schema is not None and dict(frame.schema) != dict(schema):
        expect.refuse(path, "has other columns than it should", dict(frame.schema))
    return frame


def read_arrays(
    path: Path,
    *,
    names: Collection[str] | None = None,
    sha256: str | None = None,
    limit: int = ARRAY_BYTES,
    expect: Expect = FOREIGN,
) -> dict[str, AnyArray]:
    """Plain arrays of an ``.npz``; what it says to hold is added up before anything is unpacked, nothing is unpickled.

    Args:
        path: which.
        names: exactly these must be there; None takes all.
        sha256: expected digest.
        limit: bytes of the file, and of all its arrays.
        expect: what to say otherwise.

    Raises:
        GivewayError: as ``expect`` says.
    """
    data = read_bytes(path, limit=limit, sha256=sha256, expect=expect)
    try:
        return parse_arrays(data, names=names, limit=limit)
    except FormatError as error:
        expect.refuse(path, "holds no readable arrays", error)


def read_weights(
    path: Path,
    *,
    framework: Literal["numpy", "torch"] = "numpy",
    sha256: str | None = None,
    limit: int = WEIGHT_BYTES,
    expect: Expect = FOREIGN,
    purpose: str = "reading weights",
) -> tuple[dict[str, Any], dict[str, str]]:
    """Tensors and metadata of a safetensors file, its seal checked if it has one (the entry is not handed on).

    Args:
        path: which.
        framework: NumPy arrays or tensors of torch.
        sha256: expected digest of the file.
        limit: bytes.
        expect: what to say about damage.
        purpose: what safetensors is needed for, should it be missing.

    Raises:
        GivewayError: as ``expect`` says.
        MissingDependencyError: without safetensors.
    """
    data = read_bytes(path, limit=limit, sha256=sha256, expect=expect)
    try:
        return parse_weights(data, framework=framework)
    except ImportError as error:
        raise MissingDependencyError("safetensors", extra="learn", purpose=purpose) from error
    except (FormatError, SealError, TextError) as error:
        expect.refuse(path, "is damaged or not a file of weights", error)


def sha256_of_file(path: Path) -> str:
    """SHA-256 of a file of any size, read in pieces.

    Raises:
        OSError: if it cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


_digests: dict[tuple[str, int, int, int, int, int], str] = {}


def known_sha256(path: Path) -> str:
    """The same, computed once per process and file.

    A file counts as the same as long as device, inode, size, time of the content and time of the inode stay. The last
    one cannot be set back, so writing in place is noticed even if size and time of the content are restored. Every
    process digests anew.

    Raises:
        OSError: if it cannot be read.
    """
    key = _identity(path)
    if key not in _digests:
        found = sha256_of_file(path)
        if _identity(path) != key:  # it was written meanwhile
            return found
        _digests[key] = found
    return _digests[key]


def remember_sha256(path: Path, sha256: str) -> None:
    """Tell :func:`known_sha256` the digest of a file that this process has just written and digested elsewhere."""
    _digests[_identity(path)] = sha256


def _identity(path: Path) -> tuple[str, int, int, int, int, int]:
    stat = path.stat()
    return (os.path.realpath(path), stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


@contextlib.contextmanager
def _text_errors(path: Path, expect: Expect, kind: str) -> Generator[None]:
    reason = f"does not parse as {kind}"
    try:
        yield
    except TextError as error:
        expect.refuse(path, reason, error, where=f"{path}, line {error.line}" if error.line else None)
    except json.JSONDecodeError as error:
        expect.refuse(path, reason, error.msg, where=f"{path}, line {error.lineno}, column {error.colno}")
    except (ValueError, RecursionError) as error:
        expect.refuse(path, reason, str(error)[:200])
