"""Cases together with where their recordings are, so that they can be driven without further words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from giveway.core.case import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSet:
    """Cases to drive.

    Attributes:
        cases: in order.
        file: case file they were read from; None if there is none. Workers of a cluster read it.
        recordings: data root with their recordings; None for the bundled set, or if it is not known.
    """

    cases: tuple[Case, ...]
    file: Path | None = None
    recordings: Path | None = None

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def __getitem__(self, index: int) -> Case:
        return self.cases[index]

    def __repr__(self) -> str:
        sites = sorted({case.site for case in self.cases})
        return f"CaseSet({len(self)} cases at {', '.join(sites[:3])}{' and others' if len(sites) > 3 else ''})"
