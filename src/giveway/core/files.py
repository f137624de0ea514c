"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
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
