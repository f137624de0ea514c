"""Telling addresses of object stores from paths."""

from __future__ import annotations

from pathlib import Path

from giveway.core.errors import UsageError


def is_url(text: object) -> bool:
    """Whether ``text`` is an address such as ``s3://bucket/folder`` and not a path."""
    scheme, mark, _ = str(text).partition("://")
    return bool(mark) and scheme.isascii() and scheme.replace("+", "").isalnum() and len(scheme) > 1


def local_path(place: Path | str, *, where: str) -> Path:
    """A path on this machine; ``Path("s3://bucket/R")``, which has lost a slash, is known as the address it was.

    Raises:
        UsageError: for an address.
    """
    scheme, mark, rest = str(place).partition(":/")
    if mark and is_url(f"{scheme}://{rest}"):
        raise UsageError(
            "only gaps run and drive run write to an object store",
            where=where,
            found=str(place),
            hint="give a folder of this machine",
        )
    return Path(place)
