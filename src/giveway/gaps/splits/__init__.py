"""How samples are divided into training and test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveway.core.registry import Registry

if TYPE_CHECKING:
    from giveway.gaps.splits.protocol import Split

SPLITS: Registry[Split] = Registry(
    "split",
    {
        "random": "giveway.gaps.splits.random:RANDOM",
        "critical": "giveway.gaps.splits.critical:CRITICAL",
        "cross_validation": "giveway.gaps.splits.cross_validation:CROSS_VALIDATION",
        "location": "giveway.gaps.splits.location:LOCATION",
        "participant": "giveway.gaps.splits.participant:PARTICIPANT",
    },
    group="giveway.splits",
)
"""Splits by name."""
