"""How many threads numerical libraries may use inside one worker.

One by default: workers times threads must not exceed the cores, and a sum split over another number of
threads is rounded differently, which would make results depend on the number of workers.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator, Mapping

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
)


def num_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def changed_environment(variables: Mapping[str, str]) -> Generator[None]:
    """Processes started inside see these variables, before they import anything."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def limited_threads(num_threads: int) -> Generator[None]:
    """Limits for work in this process: BLAS and OpenMP pools, and numba and torch if they are loaded."""
    from threadpoolctl import threadpool_limits

    restore = [_limit_numba(num_threads), _limit_torch(num_threads)]
    try:
        with threadpool_limits(limits=num_threads):
            yield
    finally:
        for undo in restore:
            undo()


def _limit_numba(num_threads: int) -> Callable[[], None]:
    if "numba" not in sys.modules:
        return lambda: None
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(min(num_threads, before))
    return lambda: numba.set_num_threads(before)


def _limit_torch(num_threads: int) -> Callable[[], None]:
    torch = sys.modules.get("torch")
    if torch is None:
        return lambda: None
    before: int = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    return lambda: torch.set_num_threads(before)
