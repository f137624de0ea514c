"""The optional libraries: which extra of the package brings which, and what is missing here.

A need is the name of an extra (``"study"``: all it brings) or of one library of it (``"learn/safetensors"``).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

from giveway.core.errors import MissingDependencyError

EXTRAS: dict[str, dict[str, str]] = {
    "plot": {"matplotlib": "matplotlib"},
    "models": {"sklearn": "scikit-learn"},
    "learn": {"torch": "torch", "safetensors": "safetensors"},
    "fit": {"torch": "torch", "botorch": "botorch"},
    "generate": {
        "torch": "torch",
        "safetensors": "safetensors",
        "pymoo": "pymoo",
        "cma": "cma",
        "pettingzoo": "pettingzoo",
        "gymnasium": "gymnasium",
    },
    "rpc": {"grpc": "grpcio", "google.protobuf": "protobuf"},
    "study": {
        "fastapi": "fastapi",
        "uvicorn": "uvicorn",
        "httptools": "httptools",
        "uvloop": "uvloop",
        "sqlalchemy": "sqlalchemy",
        "alembic": "alembic",
        "python_multipart": "python-multipart",
        "cryptography": "cryptography",
    },
    "postgres": {"psycopg": "psycopg"},
    "cluster": {
        "distributed": "distributed",
        "dask_jobqueue": "dask-jobqueue",
        "asyncssh": "asyncssh",
        "fsspec": "fsspec",
        "s3fs": "s3fs",
    },
    "video": {"imageio_ffmpeg": "imageio-ffmpeg", "PIL": "pillow"},
}
"""Extra to import name to name of the distribution; a test compares this with ``pyproject.toml``."""

ONLY_FASTER = frozenset({"httptools", "uvloop"})
"""Never asked for: the server works without them, for fewer raters at once."""


def is_installed(library: str) -> bool:
    """Whether a library could be imported; it is not."""
    try:
        return importlib.util.find_spec(library) is not None
    except (ImportError, ValueError):
        return False


def missing(needs: Iterable[str]) -> dict[str, str]:
    """Libraries that are not installed, each with the extra that was asked for, in the order of the needs.

    Args:
        needs: see the head of the module.
    """
    lacking: dict[str, str] = {}
    for need in needs:
        extra, _, only = need.partition("/")
        for library in (only,) if only else EXTRAS[extra]:
            if library not in ONLY_FASTER and library not in lacking and not is_installed(library):
                lacking[library] = extra
    return lacking


def require(needs: Iterable[str], *, purpose: str) -> None:
    """Complain about everything that is missing, at once.

    Args:
        needs: see the head of the module.
        purpose: what they are needed for, as the subject of a sentence.

    Raises:
        MissingDependencyError: naming all libraries and the one line that installs them.
    """
    lacking = missing(needs)
    if lacking:
        raise MissingDependencyError(*lacking, extra=",".join(dict.fromkeys(lacking.values())), purpose=purpose)
