"""What a second core gives at best on this machine: arithmetic without memory, in one process and in two.

    python benchmarks/two_cores.py

Cores of a virtual machine may be two threads of one physical core, or be shared with other machines; then no program
gets twice the speed from two of them. Other benchmarks print this ceiling beside what they reached.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import time

import numpy as np
from numba import njit

LOOPS = 30_000_000


@njit
def _arithmetic(loops: int) -> float:
    total = 0.0
    for i in range(loops):
        total += math.sin(0.5 * i)
    return total


def _work(barrier: object, loops: int, took: object) -> None:
    _arithmetic(1)
    barrier.wait()  # pyright: ignore
    began = time.perf_counter()
    _arithmetic(loops)
    took.put(time.perf_counter() - began)  # pyright: ignore


def _seconds(processes: int, loops: int) -> float:
    """Until the slower one of equal processes is done [s]; their start is not counted."""
    context = multiprocessing.get_context("spawn")
    barrier, took = context.Barrier(processes), context.Queue()
    workers = [context.Process(target=_work, args=(barrier, loops, took)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    slowest = max(took.get() for _ in workers)
    for worker in workers:
        worker.join()
    return slowest


def ceiling(*, rounds: int = 3, loops: int = LOOPS) -> float:
    """Work done by two processes over that done by one in the same time; the median of rounds in alternation."""
    return float(np.median([2.0 * _seconds(1, loops) / _seconds(2, loops) for _ in range(rounds)]))


if __name__ == "__main__":
    print(json.dumps({"benchmark": "two_cores", "ratio": ceiling(rounds=5)}, indent=2))
