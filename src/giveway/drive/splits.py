"""Which recordings are for learning, which for choosing, which for judging."""

from __future__ import annotations

import hashlib
from typing import Literal

SplitName = Literal["train", "val", "test"]
TEST_BELOW, VAL_BELOW = 0.2, 0.3
"""Bounds of the number u of a recording: test < 0.2 <= val < 0.3 <= train."""


def split_number(recording: str) -> float:
    """U in [0, 1): the first 8 hexadecimal digits of SHA-256("giveway-split-1:" + recording), over 2^32."""
    return int(hashlib.sha256(f"giveway-split-1:{recording}".encode()).hexdigest()[:8], 16) / 2**32


def split_of(recording: str) -> SplitName:
    """The split of a recording, whatever other recordings there are."""
    u = split_number(recording)
    return "test" if u < TEST_BELOW else "val" if u < VAL_BELOW else "train"
