"""Compiled kernels whose cache is renewed when a module they call into changes.

Numba keeps compiled code on disk and renews it when the file of the kernel changes, but not when a compiled function
of another file that it calls does. Kernels that reach into other files name them here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from giveway.core.kernels import njit


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
