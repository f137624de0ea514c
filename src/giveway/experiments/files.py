"""JSON that is the same text on every machine; files are written by :mod:`giveway.core.files`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """The same value in JSON's own types.

    NaN and infinities become null, NumPy scalars and arrays numbers and lists, paths text.

    Raises:
        TypeError: for anything else, so that no object reaches a content key through its ``repr``.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"cannot write {type(value).__name__} as JSON: {value!r}")


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces; equal values give equal bytes."""
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()
