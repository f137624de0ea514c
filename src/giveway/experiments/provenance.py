"""Which code on which machine: what a number needs to be believed."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import giveway

LIBRARIES = ("numpy", "scipy", "numba", "polars", "scikit-learn", "torch", "botorch")


@cache
def code_version() -> dict[str, Any]:
    """Package version and, if it runs from a git checkout, commit and whether files were changed."""
    found: dict[str, Any] = {"giveway": giveway.__version__, "commit": None, "modified": None}
    folder = Path(giveway.__file__).parent
    commit = _git(folder, "rev-parse", "HEAD")
    if commit and _git(folder, "ls-files", "--error-unmatch", "__init__.py") is not None:
        found["commit"] = commit
        found["modified"] = bool(_git(folder, "status", "--porcelain", "--untracked-files=no", "--", "."))
    return found


@cache
def source_digest() -> str:
    """SHA-256 over the package's own source files, so that two machines can tell whether they run the same code."""
    folder = Path(giveway.__file__).parent
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        total.update(f"{path.relative_to(folder).as_posix()}\0".encode())
        total.update(path.read_bytes())
    return total.hexdigest()


@cache
def machine() -> dict[str, Any]:
    """Operating system, processor, cores, Python and the libraries that make numbers."""
    return {
        "host": platform.node(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "libraries": {name: version for name in LIBRARIES if (version := _version(name))},
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
            return next(names, platform.machine())
    except OSError:
        return platform.machine()


def _git(folder: Path, *args: str) -> str | None:
    try:
        done = subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
