"""Where readers put what they find wrong: raise at once, or collect everything.

One reader serves both ``scenes`` (stop at the first error) and ``verify`` (list all problems), so that the two cannot
disagree about what a defect is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from giveway.core.arrays import AnyArray, IntArray
from giveway.core.errors import FileFormatError, GivewayError
from giveway.data.protocol import Problem, Recording, Severity

PLACE = re.compile(r"(?P<file>.*?)(, line (?P<line>\d+))?(, column '?(?P<column>[^']*?)'?)?", re.DOTALL)
"""How :func:`place` and the map reader write where an error is."""

AGAIN = "get the file again; it seems damaged"
SWAPPED = "columns may be swapped; check the header against the format"
ACCEPT = "if the recording is right, read it with --accept-implausible (data verify, show, convert)"
MAX_PER_KIND = 5
"""Problems of one kind (same message, file and column) that are listed; the rest is counted."""


@dataclass(slots=True)
class Findings:
    """Collects problems; in strict mode the first error is raised instead.

    Args:
        root: data root; files are named relative to it where they lie below it.
        strict: raise :class:`FileFormatError` for the first error and drop warnings.
        accept_implausible: numbers that contradict one another are warnings and notes instead of errors.
    """

    root: Path
    strict: bool = True
    accept_implausible: bool = False
    _accepted: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    _problems: list[Problem] = field(default_factory=list[Problem])
    _counts: dict[tuple[str, str, str | None], int] = field(default_factory=dict[tuple[str, str, str | None], int])
    _seen: set[tuple[object, ...]] = field(default_factory=set[tuple[object, ...]])
    _num_errors: int = 0

    @classmethod
    def of(cls, recording: Recording) -> Findings:
        """Strict findings for reading one recording as it asks to be read."""
        return cls(recording.root, accept_implausible=recording.accept_implausible)

    def error(
        self,
        message: str,
        file: Path,
        *,
        line: int | None = None,
        column: str | None = None,
        found: object = None,
        hint: str | None = None,
        count: int = 1,
    ) -> None:
        """Something that makes the recording unusable or its numbers doubtful.

        Args:
            message: one sentence; the same text for every problem of a kind.
            file: the file that is wrong.
            line: 1-based line.
            column: name of the column.
            found: the offending value.
            hint: what to do; to get the file again by default.
            count: how many problems of the kind this call stands for.

        Raises:
            FileFormatError: in strict mode.
        """
        if self.strict:
            raise FileFormatError(message, where=place(file, line, column), found=found, hint=hint or AGAIN)
        self._add("error", message, file, line, column, found, hint or AGAIN, count)

    def warning(
        self,
        message: str,
        file: Path,
        *,
        line: int | None = None,
        column: str | None = None,
        found: object = None,
        hint: str | None = None,
        count: int = 1,
    ) -> None:
        """Something odd that leaves the numbers right."""
        if not self.strict:
            self._add("warning", message, file, line, column, found, hint, count)

    def forward(self, error: GivewayError) -> None:
        """Take in an error that a reader raised, keeping its place; raised again in strict mode."""
        if self.strict:
            raise error
        match = PLACE.fullmatch(error.where or str(self.root))
        assert match is not None  # every text matches
        line = int(match["line"]) if match["line"] else None
        self.error(
            error.what, Path(match["file"]), line=line, column=match["column"], found=error.found, hint=error.hint
        )

    def rows(
        self,
        message: str,
        file: Path,
        lines: IntArray,
        *,
        column: str | None,
        values: Sequence[object] | AnyArray,
        hint: str | None = None,
        severity: Severity = "error",
    ) -> None:
        """The same problem on many lines; the first few are listed, the rest counted.

        Args:
            message: one sentence.
            file: the file that is wrong.
            lines: (n,) 1-based lines; nothing happens if empty.
            column: name of the column.
            values: (n,) offending values.
            hint: what to do.
            severity: error or warning.
        """
        report = self.error if severity == "error" else self.warning
        shown = min(len(lines), MAX_PER_KIND)
        for k in range(shown):
            extra = len(lines) - shown if k == shown - 1 else 0
            report(
                message, file, line=int(lines[k]), column=column, found=_plain(values[k]), hint=hint, count=1 + extra
            )

    def implausible(
        self,
        message: str,
        file: Path,
        lines: IntArray,
        *,
        column: str | None,
        values: Sequence[object] | AnyArray,
        hint: str | None = None,
    ) -> None:
        """Numbers that parse and contradict one another; as :meth:`rows`, but a reader may accept them."""
        if not len(lines):
            return
        if self.accept_implausible:
            key = (message, self.relative(file))
            self._accepted[key] = self._accepted.get(key, 0) + len(lines)
        severity: Severity = "warning" if self.accept_implausible else "error"
        advice = f"{hint}; {ACCEPT}" if hint else f"{SWAPPED}; {ACCEPT}"
        self.rows(message, file, lines, column=column, values=values, hint=advice, severity=severity)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was accepted although it is implausible, for the provenance of a scene."""
        return tuple(
            f"accepted although implausible: {message} ({name}, {count} times)"
            for (message, name), count in self._accepted.items()
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was found, errors and warnings in order of discovery, each kind capped with a count of the rest."""
        seen: dict[tuple[str, str, str | None], int] = {}
        result: list[Problem] = []
        for problem in self._problems:
            key = (problem.message, problem.file, problem.column)
            seen[key] = seen.get(key, 0) + 1
            total = self._counts[key]
            if seen[key] == MAX_PER_KIND and total > MAX_PER_KIND:
                more = f"{problem.found or ''} (and {total - MAX_PER_KIND} more like this)".strip()
                result.append(
                    Problem(
                        severity=problem.severity,
                        message=problem.message,
                        file=problem.file,
                        line=problem.line,
                        column=problem.column,
                        found=more,
                        hint=problem.hint,
                    )
                )
            else:
                result.append(problem)
        return tuple(result)

    @property
    def num_errors(self) -> int:
        """Errors so far, with those that are not listed: more of a kind, and the same ones found again."""
        return self._num_errors

    def relative(self, file: Path) -> str:
        """Name of a file for people: relative to the root where possible."""
        return relative_name(file, self.root)

    def _add(
        self,
        severity: Severity,
        message: str,
        file: Path,
        line: int | None,
        column: str | None,
        found: object,
        hint: str | None,
        count: int,
    ) -> None:
        if severity == "error":
            self._num_errors += count
        name = self.relative(file)
        text = None if found is None else str(found)
        key = (message, name, column)
        exact = (*key, line, text)
        if exact in self._seen:  # one map serves many recordings
            return
        self._seen.add(exact)
        before = self._counts.get(key, 0)
        self._counts[key] = before + count
        if before < MAX_PER_KIND:
            self._problems.append(
                Problem(severity=severity, message=message, file=name, line=line, column=column, found=text, hint=hint)
            )


def place(file: Path, line: int | None = None, column: str | None = None) -> str:
    """``file, line 7, column 'x'``."""
    parts = [str(file)]
    if line is not None:
        parts.append(f"line {line}")
    if column is not None:
        parts.append(f"column {column!r}")
    return ", ".join(parts)


def relative_name(file: Path, root: Path) -> str:
    """Path below ``root`` with forward slashes; a file elsewhere (a map beside the root) keeps a ``..`` path."""
    return Path(os.path.relpath(file, root)).as_posix()


def _plain(value: object) -> object:
    return value.item() if hasattr(value, "item") else value  # pyright: ignore[reportAttributeAccessIssue]
