"""Pickles as data: a reader that builds dictionaries, lists, numbers, text and arrays, and calls nothing else.

A pickle is a program. The names below are all that the published files of ScenarioNet use; any other name, and any
object that is not data afterwards, is refused before it can do anything.
"""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from giveway.data.logged import refuse

ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("collections", "defaultdict"),
    ("builtins", "int"),
}
"""Names a pickle may ask for; they make arrays, numbers and dictionaries and run no code of the file."""

MAKERS: dict[str, Any] = {
    # The same function, whichever version of NumPy wrote the file and whichever reads it.
    "_reconstruct": np.zeros(0).__reduce__()[0],
    "ndarray": np.ndarray,
    "dtype": np.dtype,
    "defaultdict": defaultdict,
    "int": int,
}

PLAIN = (type(None), bool, int, float, str)
ARRAY_KINDS = "biufUS"
MAX_DEPTH = 32
HINT = "do not trust this file; nothing of it was executed. Scenarios of ScenarioNet hold arrays and dictionaries only"


class _Reader(pickle.Unpickler):
    def __init__(self, data: bytes, path: Path) -> None:
        super().__init__(io.BytesIO(data))
        self._path = path

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) not in ALLOWED:
            refuse("a pickle asks for code that is no data", self._path, f"{module}.{name}", hint=HINT)
        return MAKERS[name]

    def persistent_load(self, pid: Any, /) -> Any:
        refuse("a pickle refers to something outside itself", self._path, "persistent id", found=str(pid)[:60])


def restricted_load(data: bytes, path: Path) -> Any:
    """The content of a pickle, if it is data.

    Returns:
        Dictionaries with text or whole numbers as keys, lists, tuples, sets as lists, numbers, text, arrays of numbers.

    Raises:
        FileFormatError: naming what the pickle asked for; nothing was executed.
    """
    try:
        content = _Reader(data, path).load()
    except pickle.UnpicklingError as error:
        refuse("the pickle is cut or damaged", path, found=str(error)[:120])
    except (EOFError, AttributeError, IndexError, KeyError, TypeError, ValueError, ImportError) as error:
        refuse("the pickle is cut or damaged", path, found=f"{type(error).__name__} {error}"[:120])
    except (MemoryError, OverflowError, RecursionError) as error:
        refuse("the pickle asks for too much memory", path, found=type(error).__name__)
    return _plain(content, path, "", 0)


def _plain(value: Any, path: Path, place: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        refuse("the pickle is nested too deeply", path, place)
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, np.ndarray) and type(value) is np.ndarray:
        if value.dtype.kind not in ARRAY_KINDS:
            refuse("an array holds objects instead of numbers", path, place, found=value.dtype)
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {
            key if isinstance(key, int) else str(key): _plain(one, path, f"{place}.{key}".strip("."), depth + 1)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one, path, f"{place}[{n}]", depth + 1) for n, one in enumerate(value)]
    return refuse("the pickle holds something that is no data", path, place, found=type(value).__name__)
