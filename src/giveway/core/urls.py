"""Telling addresses of object stores from paths."""

from __future__ import annotations


def is_url(text: object) -> bool:
    """Whether ``text`` is an address such as ``s3://bucket/folder`` and not a path."""
    scheme, mark, _ = str(text).partition("://")
    return bool(mark) and scheme.isascii() and scheme.replace("+", "").isalnum() and len(scheme) > 1
