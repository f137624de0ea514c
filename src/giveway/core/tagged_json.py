"""Plain values to JSON and back without loss: arrays keep dtype, shape and every bit; NaN and infinities survive."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from giveway.core.errors import StoreError

ARRAY, NUMBER, TUPLE = "$array", "$float", "$tuple"
KINDS = "biufU"
"""Array kinds that may be stored: booleans, integers, floats, text. Never objects."""


def to_plain(value: Any) -> Any:
    """The value in JSON's types; what JSON lacks becomes a tagged object.

    Raises:
        TypeError: for a type that cannot come back as it was.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {NUMBER: repr(value)}
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, np.ndarray):
        return _array_to_plain(cast("np.ndarray[Any, Any]", value))
    if isinstance(value, tuple):
        return {TUPLE: [to_plain(item) for item in cast("tuple[Any, ...]", value)]}
    if isinstance(value, list):
        return [to_plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    raise TypeError(f"cannot store {type(value).__name__}")


def from_plain(value: Any) -> Any:
    """What :func:`to_plain` was given.

    Raises:
        StoreError: if a tagged object is damaged.
    """
    if isinstance(value, list):
        return [from_plain(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    content = cast("dict[str, Any]", value)
    if NUMBER in content:
        return float(content[NUMBER])
    if TUPLE in content:
        return tuple(from_plain(item) for item in content[TUPLE])
    if ARRAY in content:
        return _array_from_plain(content)
    return {key: from_plain(item) for key, item in content.items()}


def _array_to_plain(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    if array.dtype.kind not in KINDS:
        raise TypeError(f"cannot store an array of {array.dtype}")
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    data = base64.b64encode(little.tobytes()).decode("ascii")
    return {ARRAY: little.dtype.str, "shape": list(array.shape), "base64": data}


def _array_from_plain(content: dict[str, Any]) -> np.ndarray[Any, Any]:
    try:
        dtype = np.dtype(str(content[ARRAY]))
        if dtype.kind not in KINDS:
            raise ValueError(f"array of {dtype}")
        data = base64.b64decode(content["base64"], validate=True)
        return np.frombuffer(data, dtype=dtype).reshape(content["shape"]).astype(dtype.newbyteorder("="))
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError("a stored array is damaged", found=error, hint="convert the recording again") from error
