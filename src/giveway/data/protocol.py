"""The contract of a dataset adapter and what verification reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol, runtime_checkable

from giveway.core.scene import Scene

Severity = Literal["error", "warning"]

Progress = Callable[[int, int, str], None]
"""Called with how many recordings are done, how many there are, and the one that comes next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """What a dataset is and how one gets it.

    Attributes:
        name: registered name, e.g. ``"round"``.
        title: how its authors write it, e.g. ``"rounD"``.
        frame_rate_hz: nominal rate.
        license: one line on what its licence allows.
        obtain: where and how to get it.
        layout: expected folder tree, as lines of text.
        references: full citations.
        has_map: whether scenes come with a lane map.
        is_occluded: recorded from a moving car, so that absent road users are no evidence of an empty road.
    """

    name: str
    title: str
    frame_rate_hz: float
    license: str
    obtain: str
    layout: str
    references: tuple[str, ...] = ()
    has_map: bool = False
    is_occluded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One unit of reading: a set of files that belong together.

    Attributes:
        dataset: registered name of the adapter.
        id: unique within the root, sortable, e.g. ``"DR_USA_Roundabout_FT/000"``.
        root: data root the files are relative to.
        files: role (``"tracks"``, ``"meta"``, ``"map"``) to path.
        location: site.
        accept_implausible: read it although its numbers contradict one another (see
            :mod:`giveway.data.plausibility`); scenes then carry a note. ``dataclasses.replace`` sets it.
    """

    dataset: str
    id: str
    root: Path
    files: Mapping[str, Path]
    location: str = ""
    accept_implausible: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with the files.

    Attributes:
        severity: an ``error`` makes the recording unusable or its numbers doubtful; a ``warning`` does not.
        message: what is wrong, one sentence.
        file: relative to the data root.
        line: 1-based line of the file, where it applies.
        column: name of the column, where it applies.
        found: the offending value.
        hint: what to do.
    """

    severity: Severity
    message: str
    file: str
    line: int | None = None
    column: str | None = None
    found: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSummary:
    """Counts of one recording."""

    id: str
    location: str
    num_tracks: int
    num_frames: int
    num_rows: int
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was found under a data root: all problems at once, and the counts."""

    dataset: str
    root: str
    version: str
    recordings: tuple[RecordingSummary, ...] = ()
    problems: tuple[Problem, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def ok(self) -> bool:
        """No error; warnings are allowed."""
        return not any(problem.severity == "error" for problem in self.problems)


@runtime_checkable
class Dataset(Protocol):
    """An adapter: finds recordings below a folder, checks them, and turns them into scenes."""

    @property
    def info(self) -> DatasetInfo:
        """Fact sheet; must not touch the disk."""
        ...

    def recordings(self, root: Path) -> Sequence[Recording]:
        """All recordings below ``root``, sorted by id; cheap, reads no tracks.

        Raises:
            DatasetLayoutError: if there is none.
        """
        ...

    def scenes(self, recording: Recording) -> Iterator[Scene]:
        """The scenes of a recording, in a fixed order: one for drone recordings, one per trial or case elsewhere.

        Raises:
            FileFormatError: naming file, line and column.
        """
        ...

    def verify(self, root: Path, *, progress: Progress | None = None, accept_implausible: bool = False) -> Verification:
        """Check everything below ``root`` and report all problems at once; never raises for bad content.

        Numbers that contradict one another are errors, with ``accept_implausible`` warnings.
        """
        ...
