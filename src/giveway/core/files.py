"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from giveway.core.errors import UsageError


@contextmanager
def write_atomically(path: Path) -> Generator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends without an error.

    The file is flushed to disk before it is renamed; on an error it is removed and ``path`` is left as it was.

    Raises:
        UsageError: if the folder cannot be created or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UsageError(
            "cannot write here", where=path, found=error.strerror or error, hint="choose another folder"
        ) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    with write_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


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
