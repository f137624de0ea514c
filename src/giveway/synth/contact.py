"""Nobody drives into anybody: find contacts and draw again until there is none."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.boxes import Boxes, overlaps
from giveway.core.seeds import stream

LOG = logging.getLogger(__name__)
T = TypeVar("T")
D = TypeVar("D")
ATTEMPTS = 40


def run_undisturbed(
    attempt: Callable[[np.random.Generator], tuple[T, D]],
    is_disturbed: Callable[[T], bool],
    seed: int,
    *names: object,
) -> tuple[T, D]:
    """The first of a fixed sequence of random runs in which no two boxes touch and nobody is stuck.

    The driving rules leave a contact in some runs, mostly of long vehicles in tight entries; such runs are drawn
    again as a whole, so that what remains is one undisturbed run.

    Raises:
        RuntimeError: if all of :data:`ATTEMPTS` runs are disturbed, which would be a mistake of ours.
    """
    for number in range(ATTEMPTS):
        result, decisions = attempt(stream(seed, *names, "attempt", number))
        LOG.debug("attempt %d of %s", number, names)
        if not is_disturbed(result):
            return result, decisions
    raise RuntimeError(f"no undisturbed traffic in {ATTEMPTS} attempts for {names}")


def touching(*, frame: IntArray, xy: FloatArray, heading: FloatArray, size: FloatArray) -> bool:
    """Whether any two boxes overlap in any frame.

    Args:
        frame: (M,) frame of each row, in any order.
        xy: (M, 2) centers.
        heading: (M,).
        size: (M, 2) length and width.
    """
    order = np.argsort(frame, kind="stable")
    sorted_frame = frame[order]
    reach = np.hypot(size[:, 0], size[:, 1]) / 2
    shift = 1
    while shift < order.size:
        same = np.flatnonzero(sorted_frame[shift:] == sorted_frame[:-shift])
        if same.size == 0:
            return False
        first, second = order[same], order[same + shift]
        near = np.hypot(*(xy[first] - xy[second]).T) < reach[first] + reach[second]
        first, second = first[near], second[near]
        if first.size:
            a = Boxes.of(xy[first], heading[first], size[first])
            b = Boxes.of(xy[second], heading[second], size[second])
            if bool(overlaps(a, b).any()):
                return True
        shift += 1
    return False
