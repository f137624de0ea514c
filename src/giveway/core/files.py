"""Writing files so that a reader never sees half of one, and what to say when a disk refuses.

Every writer of the package ends here: :func:`write_atomically` for libraries that write to a path, :func:`write_bytes`
and :func:`write_text` for content in memory, :func:`replace_folder` for whole folders.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from giveway.core.errors import DiskFullError, GivewayError, StoreError, UsageError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Error numbers that mean: nothing can be written here until somebody makes room. Missing inodes are ENOSPC, too."""

REFUSED = frozenset(
    {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EFBIG}
)
"""Error numbers that mean: this place cannot be written or read by this user, whatever the disk has left."""

SQLITE_FULL = 13
"""Result code of SQLite; not imported from ``sqlite3``, which few commands need."""

MAKE_ROOM = "make room and start the same command again: what is finished is kept"


@contextmanager
def write_atomically(path: Path) -> Generator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends without an error.

    The file is flushed to disk before it is renamed; on an error it is removed and ``path`` is left as it was.

    Raises:
        DiskFullError: if there is no room, whatever a library makes of it.
        UsageError: if the folder cannot be created or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise write_error(error, path) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        flush(temporary)
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException as error:
        need = _size(temporary)
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        full = disk_full(error, path=path, need=need)
        if full is not None and not isinstance(error, DiskFullError):
            raise full from error
        raise


def write_bytes(path: Path, data: bytes, *, flush: bool = True) -> None:
    """Write a temporary file in the same folder, flush it to the disk, rename it.

    After a crash of the process at any moment ``path`` holds either the old or the new content.

    Args:
        path: where to.
        data: content.
        flush: wait for the disk, so that a power failure cannot take the file either. Without it such a failure may
            leave an empty file; only for content that carries a checksum and is cheap to make again.

    Raises:
        DiskFullError: if there is no room.
        StoreError: if the folder cannot be written.
    """
    # Not mkstemp: results of a run are readable for the group as the umask says, and written thousands of times.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(data)
            if flush:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise as_store_error(error, path, need=len(data)) from error


def flush(path: Path) -> None:
    """Wait until a file that a library wrote is on the disk; opened for writing, which Windows asks for."""
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())


def in_memory(write: Callable[[BinaryIO], object]) -> bytes:
    """What a writer makes, as bytes.

    Polars tells of a full disk only that "the transport" failed, so its tables are written to memory first.
    """
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    data = text.encode()
    with write_atomically(path) as temporary:
        try:
            temporary.write_bytes(data)
        except OSError as error:
            raise write_error(error, path, need=len(data)) from error


def replace_folder(new: Path, target: Path) -> None:
    """Move a finished folder to its place.

    An earlier one is moved aside, beside ``new`` under its name with ``.old``, and deleted only when the new one is in
    its place; if that fails it comes back. A process that is killed leaves at least one of them whole.

    Raises:
        OSError: the folder cannot be moved.
    """
    aside = new.with_name(f"{new.name}.old")
    with suppress(FileNotFoundError):
        target.rename(aside)
    try:
        new.rename(target)
    except BaseException:
        if aside.exists():
            aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def move_folder(new: Path, target: Path) -> None:
    """Move a finished folder to where there is nothing, or an empty folder, which not every system renames over.

    Raises:
        OSError: there is something, or the folder cannot be moved.
    """
    with suppress(FileNotFoundError):
        target.rmdir()
    new.rename(target)


UNPORTABLE = frozenset('<>:"\\|?*%') | frozenset(map(chr, range(32)))
"""Characters that Windows refuses in names, and the one that replaces them."""

RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
"""Names of devices on Windows, with any ending."""


def portable_name(name: str) -> str:
    """A file name that every system takes; equal to ``name`` unless one of them refuses it.

    Characters that Windows refuses become ``%`` and two hexadecimal digits, as does the first letter of a device name
    and a dot or blank at the end. Different names stay different.
    """
    spelled = "".join(f"%{ord(c):02X}" if c in UNPORTABLE else c for c in name)
    if name.partition(".")[0].rstrip().lower() in RESERVED:
        spelled = f"%{ord(name[0]):02X}{spelled[1:]}"
    if name.endswith((".", " ")):
        spelled = f"{spelled[:-1]}%{ord(name[-1]):02X}"
    return spelled


def write_error(error: OSError, path: Path, *, need: int | None = None) -> GivewayError:
    """An error of the operating system while writing for a user, as one that says what to do."""
    full = disk_full(error, path=path, need=need)
    if full is not None:
        return full
    return UsageError("cannot write here", where=path, found=_reason(error), hint="choose another folder")


def as_store_error(error: OSError, path: Path, *, need: int | None = None) -> StoreError:
    """The same for a file of a store."""
    full = disk_full(error, path=path, need=need)
    if full is not None:
        return full
    return StoreError(
        "this place cannot be written",
        where=path,
        found=_reason(error),
        hint="check that the folder exists and that you may write to it",
    )


def disk_full(
    error: BaseException | None, *, path: Path | None = None, need: int | None = None
) -> DiskFullError | None:
    """The same error as one about a full disk, if that is what caused it; libraries hide it in errors of their own.

    Args:
        error: what was caught; its causes are looked at, too.
        path: what was being written; by default what the error names, or the folder for temporary files.
        need: bytes that were to be written, as far as known.

    Returns:
        None if the disk has nothing to do with it. Otherwise an error that names path, need and free space.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, DiskFullError):
            return error
        if _says_full(error):
            where = path or Path(getattr(error, "filename", None) or tempfile.gettempdir())
            needed = f"{need} bytes are needed, " if need else ""
            return DiskFullError(
                "the disk is full",
                where=where,
                found=f"{needed}{free_space(where)}: {str(error)[:160]}",
                hint=MAKE_ROOM,
            )
        error = error.__cause__ or error.__context__
    return None


def refusal(error: OSError) -> GivewayError | None:
    """What to tell a user whom the operating system does not let read or write a file; None for other errors."""
    if error.errno not in REFUSED:
        return None
    return UsageError(
        "a file or folder cannot be read or written",
        where=error.filename,
        found=_reason(error),
        hint="check the path and its permissions, or choose another folder",
    )


def _says_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in FULL:
        return True
    if getattr(error, "sqlite_errorcode", None) == SQLITE_FULL:
        return True
    text = str(error)
    return any(f"(os error {number})" in text for number in FULL) or "No space left on device" in text


def free_space(path: Path) -> str:
    """Free space where a file was to be written, in words; the file itself need not exist."""
    for folder in (path, *path.absolute().parents):
        try:
            return f"{shutil.disk_usage(folder).free} bytes are free"
        except OSError:
            continue
    return "free space unknown"


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size or None
    except OSError:
        return None


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)
