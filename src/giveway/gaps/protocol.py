"""The contract of an extraction: from scenes to candidate gaps and their one-dimensional description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from giveway.core.arrays import FloatArray
from giveway.core.scene import Scene
from giveway.gaps.profile import Profile
from giveway.gaps.raw import Description, RawGaps


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionInfo:
    """What an extraction finds.

    Attributes:
        name: registered name, e.g. ``"round_2v"``.
        title: how tables print it, e.g. ``"rounD_2V"``.
        dataset: adapter that reads the recordings.
        situation: one line for people.
        is_reduced: keeps samples and times of the full extraction, but shows models only E and T.
        references: full citations.
        revision: counts up when the same recordings give other samples of this extraction; others stay valid.
        switches: those that it reads beside the ones of every extraction.
    """

    name: str
    title: str
    dataset: str
    situation: str
    is_reduced: bool = False
    references: tuple[str, ...] = ()
    revision: int = 0
    switches: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Attributes:
    raw: candidate gaps in dataset order.
    num_role_conflicts: candidates left out by a veto on their roles.
    notes: what people should know about this enumeration.
    """

    raw: RawGaps
    num_role_conflicts: int = 0
    notes: tuple[str, ...] = ()


@runtime_checkable
class Extraction(Protocol):
    """Finds gaps in the scenes of one dataset."""

    @property
    def info(self) -> ExtractionInfo:
        """Fact sheet."""
        ...

    def enumerate(self, scenes: Iterable[Scene], profile: Profile) -> Candidates:
        """Candidate gaps of all scenes in a fixed order, roles assigned, frames normalized."""
        ...

    def describe(self, raw: RawGaps, profile: Profile) -> Description:
        """Distances of every row.

        In ``clean`` a row depends on rows at or before it only, and on ``raw.constants``, which enumeration has fixed.
        """
        ...

    def complete(
        self, xy: FloatArray, roles: tuple[str, ...], constants: Mapping[str, FloatArray], profile: Profile
    ) -> FloatArray:
        """Invent absent agents in 2D inputs where the profile wants it.

        Args:
            xy: (M, A, n_I, 2) resampled inputs [m]; NaN where absent.
            roles: agents along axis 1.
            constants: name to (M,) numbers of these samples, see :class:`RawGaps`.
            profile: uses ``phantoms`` and ``ped_fill``.
        """
        ...
