"""Folders in object stores (S3 and whatever else fsspec knows), copied to this machine once.

A copy is named after the address and the listing it was made from, so a changed object gives a new copy and several
processes share one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from giveway.core.errors import ClusterError, DataError, GivewayError, MissingDependencyError
from giveway.core.urls import is_url
from giveway.experiments.artifacts import Artifacts

CACHE = "GIVEWAY_CACHE"
"""Environment variable: folder for copies; ``~/.cache/giveway`` by default."""

VOLATILE = ("ETag", "etag", "md5", "md5Hash", "checksum", "mtime", "LastModified", "last_modified")


class ObjectStoreError(ClusterError):
    """It does not answer or refuses; going on with further cells makes no sense."""


def cache_folder() -> Path:
    """Where copies of remote files are kept."""
    return Path(os.environ.get(CACHE) or Path.home() / ".cache" / "giveway")


def local_folder(address: str) -> Path:
    """A folder on this machine with the content of ``address``; the folder itself if that is a path.

    Raises:
        ObjectStoreError: if the object store cannot be reached.
        DataError: if there is nothing at the address.
    """
    if not is_url(address):
        return Path(address)
    fs, root = open_remote(address)
    with remote_errors(address):
        listing: dict[str, dict[str, Any]] = fs.find(root, detail=True)
    if not listing:
        raise DataError("there are no files at this address", where=address, hint="check bucket and folder")
    stamps = {name: [info.get("size"), *(str(info.get(k, "")) for k in VOLATILE)] for name, info in listing.items()}

    def build(folder: Path) -> None:
        for name in sorted(listing):
            target = folder / "files" / _relative(name, root)
            target.parent.mkdir(parents=True, exist_ok=True)
            with remote_errors(f"{address}: {name}"), fs.open(name, "rb") as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)

    copies = Artifacts(cache_folder() / "data")
    return copies.get({"what": "copy", "address": address, "files": stamps}, build) / "files"


def open_remote(address: str) -> tuple[Any, str]:
    """The file system behind an address, and the path in it.

    Raises:
        MissingDependencyError: without fsspec or the library of this kind of address.
        DataError: for a kind of address that nobody knows.
    """
    try:
        import fsspec
    except ImportError as error:
        raise MissingDependencyError("fsspec", extra="cluster", purpose="reading from an object store") from error
    try:
        fs, root = fsspec.url_to_fs(address)
    except ImportError as error:
        raise MissingDependencyError(
            "s3fs" if address.startswith("s3") else str(error), extra="cluster", purpose=f"reading {address}"
        ) from error
    except ValueError as error:
        raise DataError(
            "unknown kind of address", where=address, found=error, hint="e.g. s3://bucket/folder"
        ) from error
    return fs, str(root).rstrip("/")


@contextmanager
def remote_errors(address: str) -> Generator[None]:
    """Errors of the object store as one that says what to do."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError(
            "there is nothing at this address", where=address, found=error, hint="check the bucket"
        ) from error
    except GivewayError:
        raise
    except Exception as error:  # every kind of object store has its own
        raise ObjectStoreError(
            "the object store does not work",
            where=address,
            found=f"{type(error).__name__}: {error}"[:300],
            hint="check address and credentials (for S3: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL)",
        ) from error


def _relative(name: str, root: str) -> Path:
    """A path below the folder; nothing may point outside of it."""
    path = Path(name.removeprefix(root).lstrip("/"))
    if path.is_absolute() or ".." in path.parts:
        raise DataError("a name in the object store points outside its folder", where=name)
    return path
