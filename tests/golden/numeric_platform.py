"""On which numeric platform the golden sets were made; bytes are promised only there."""

from __future__ import annotations

import importlib.metadata
import platform

LIBRARIES = ("numpy", "scipy", "numba", "polars", "scikit-learn")


def header() -> str:
    """First line of a set: system, C library and the versions that make numbers."""
    versions = " ".join(f"{name}={importlib.metadata.version(name)}" for name in LIBRARIES)
    return f"# {platform.system()} {platform.machine()} {' '.join(platform.libc_ver())} {versions}"
