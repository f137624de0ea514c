"""The contract of a split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from giveway.core.arrays import IntArray
from giveway.core.errors import EmptySelectionError
from giveway.core.samples import GapSamples
from giveway.gaps.profile import Profile

TEST_SHARE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitInfo:
    """Attributes:
    name: registered name.
    title: how tables print it.
    repetitions: how many different divisions it offers; None if that depends on the samples.
    switches: those that it reads.
    """

    name: str
    title: str
    repetitions: int | None
    switches: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """Attributes:
    train, test: indices of samples, disjoint.
    notes: what a report should say about this division.
    """

    train: IntArray
    test: IntArray
    notes: tuple[str, ...] = ()


@runtime_checkable
class Split(Protocol):
    """Divides samples; the same samples and repetition give the same division."""

    @property
    def info(self) -> SplitInfo:
        """Fact sheet."""
        ...

    def divide(self, samples: GapSamples, repetition: int, profile: Profile) -> Division:
        """Indices of training and test samples."""
        ...


def require_classes(samples: GapSamples, division: Division, where: str) -> Division:
    """Check that both parts hold accepted and rejected gaps.

    Raises:
        EmptySelectionError: with the counts of each part.
    """
    counts = {
        part: (int(labels.sum()), int(len(labels) - labels.sum()))
        for part, labels in (
            ("training", samples.truth.accepted[division.train]),
            ("test", samples.truth.accepted[division.test]),
        )
    }
    for part, (accepted, rejected) in counts.items():
        if min(accepted, rejected) == 0:
            raise EmptySelectionError(
                f"the {part} part has one class only",
                where=where,
                found="; ".join(f"{p}: {a} accepted, {r} rejected" for p, (a, r) in counts.items()),
                hint="use more recordings, or another prediction time or split",
            )
    return division
