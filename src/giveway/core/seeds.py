"""Named random streams from one root seed.

A stream depends on the root seed and on its own name only, never on how many other streams
were drawn from before, on the order of work or on the number of processes.
"""

from __future__ import annotations

import hashlib

import numpy as np


def seed_for(root: int, *names: object) -> int:
    """A 128-bit seed for the stream called ``names`` under ``root``.

    The seed is the start of SHA-256 over the length-prefixed parts, so ``("ab", "c")`` and
    ``("a", "bc")`` differ, and the result does not depend on ``PYTHONHASHSEED``.
    """
    digest = hashlib.sha256()
    for part in (root, *names):
        text = str(part).encode()
        digest.update(len(text).to_bytes(8, "little"))
        digest.update(text)
    return int.from_bytes(digest.digest()[:16], "little")


def stream(root: int, *names: object) -> np.random.Generator:
    """A generator for the stream called ``names`` under ``root``.

    Example:
        ``stream(0, "split", dataset, repetition)``
    """
    return np.random.default_rng(seed_for(root, *names))
