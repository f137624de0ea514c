"""Compiled kernels whose cache is renewed when a module they call into changes, and fast calls of kernels.

Numba keeps compiled code on disk and renews it when the file of the kernel changes, but not when a compiled function
of another file that it calls does. Kernels that reach into other files name them here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from giveway.core.kernels import njit


class DirectCalls:
    """Calls of kernels whose arguments have the same types every time.

    Numba looks up the types of all arguments at each call, 30 us for the tables of the simulator. Here it does so once
    per kernel; if the kernel then has a single variant, which is the one that these arguments need, later calls go
    straight to its compiled code. Arrays must keep dtype, layout and number of dimensions: nothing checks them.
    """

    def __init__(self) -> None:
        self._entry: dict[int, Callable[..., Any]] = {}

    def __call__(self, kernel: Any, *args: Any) -> Any:
        """``kernel(*args)``."""
        entry = self._entry.get(id(kernel))
        if entry is not None:
            return entry(*args)
        result = kernel(*args)
        variants = list(getattr(kernel, "overloads", {}).values())
        self._entry[id(kernel)] = variants[0].entry_point if len(variants) == 1 else kernel
        return result


def compiled(*depends_on: ModuleType) -> Callable[[Callable[..., Any]], Any]:
    """``njit(cache=True, nogil=True)`` that forgets its cache if it is older than one of the modules."""

    def decorate(function: Callable[..., Any]) -> Any:
        kernel: Any = njit(cache=True, nogil=True)(function)
        newest = max((Path(module.__file__ or "").stat().st_mtime for module in depends_on), default=0.0)
        for index in Path(kernel.stats.cache_path).glob(f"*.{function.__name__}-*.nbi"):
            if index.stat().st_mtime < newest:
                index.unlink(missing_ok=True)
        return kernel

    return decorate
