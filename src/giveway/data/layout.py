"""Folders: what lies below a data root, and which dataset it looks like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from giveway.core.errors import DataError, DatasetLayoutError
from giveway.data import DATASETS
from giveway.data.protocol import DatasetInfo
from giveway.data.tables import unreadable

MAX_LISTED = 6


def entries(folder: Path) -> list[Path]:
    """What a folder holds, sorted by name, without hidden entries.

    Raises:
        DatasetLayoutError: if there is no such folder.
        DataError: if it cannot be read.
    """
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except FileNotFoundError as error:
        hint = "check the path of the folder"
        raise DatasetLayoutError("no such folder", where=folder, found="nothing", hint=hint) from error
    except NotADirectoryError as error:
        hint = "give the folder that holds the files"
        raise DatasetLayoutError("the data root is not a folder", where=folder, found="a file", hint=hint) from error
    except OSError as error:
        raise unreadable(folder, error) from error


def folders(folder: Path) -> list[Path]:
    """Visible folders inside a folder, sorted."""
    return [entry for entry in entries(folder) if _is(entry, Path.is_dir)]


def files(folder: Path) -> list[Path]:
    """Visible files inside a folder, sorted."""
    return [entry for entry in entries(folder) if _is(entry, Path.is_file)]


def _is(entry: Path, question: Callable[[Path], bool]) -> bool:
    try:
        return question(entry)
    except OSError as error:  # a folder that may be listed but not entered
        raise unreadable(entry, error) from error


def no_recordings(info: DatasetInfo, root: Path) -> DatasetLayoutError:
    """The error for a root in which an adapter found nothing: what was expected, what is there, what it looks like."""
    content = entries(root)
    listed = ", ".join(entry.name + ("/" if entry.is_dir() else "") for entry in content[:MAX_LISTED])
    more = f" and {len(content) - MAX_LISTED} more" if len(content) > MAX_LISTED else ""
    others = [name for name in identify(root) if name != info.name]
    first_line = info.layout.strip().splitlines()[0]
    if others:
        hint = f"this looks like {' or '.join(others)}: --dataset {others[0]}"
    else:
        hint = f"expected {first_line} below the root; {info.obtain}"
    return DatasetLayoutError(
        f"no recordings of {info.title} found",
        where=root,
        found=f"{len(content)} entries: {listed}{more}" if content else "an empty folder",
        hint=hint,
    )


def identify(root: Path) -> Sequence[str]:
    """Registered datasets whose files lie below a root, judged by names and headers alone."""
    found: list[str] = []
    for name in DATASETS.names():
        recognizes = getattr(DATASETS.get(name), "recognizes", None)
        if recognizes is None:
            continue
        try:
            if recognizes(root):
                found.append(name)
        except DataError:
            continue
    return found


def first_line(path: Path) -> str:
    """Header of a text file, or an empty text if it cannot be read; for recognition only."""
    try:
        with path.open("rb") as stream:
            return stream.readline(1 << 16).decode("utf-8", errors="replace").strip("\ufeff\r\n")
    except OSError:
        return ""
