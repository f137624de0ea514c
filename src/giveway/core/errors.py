"""What can go wrong because of what a user gave us.

::

    GivewayError                 anything a user can cause; exit code 2
    ├── UsageError               an argument or option that makes no sense
    │   └── UnknownNameError     a name that is not registered (suggests near ones)
    ├── ConfigError              a configuration file or model that does not validate
    ├── DataError                files that are not what they should be
    │   ├── DatasetLayoutError   expected files are missing or of another dataset
    │   ├── FileFormatError      a file does not parse (file, line, column)
    │   └── MapError             a map that is broken or unsafe
    ├── EmptySelectionError      filters removed everything
    ├── MissingDependencyError   an optional library is not installed
    ├── PredictionError          a predictor returned something unusable
    ├── StoreError               a result store that cannot be read or written
    │   └── DiskFullError        no room left (path, need, free space)
    ├── ClusterError             machines that cannot be reached, or do not fit together
    └── ProtocolError            a message from the network that breaks the contract

A message has four parts: what went wrong, where, what was found, what to try. Errors of our own
making are ordinary Python exceptions and keep their traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MAX_NAMES = 24
"""More known names than this are counted instead of listed."""


MAX_SHOWN = 100
"""Longer names are cut in messages."""


class GivewayError(Exception):
    """Base of every error that a user can cause and mend.

    Args:
        what: one sentence without a full stop, e.g. ``"no recordings found for dataset 'ind'"``.
        where: file, line, column, option or cell.
        found: what was there instead.
        hint: what to do about it; a command where possible.
    """

    def __init__(self, what: str, *, where: object = None, found: object = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = None if where is None else str(where)
        self.found = None if found is None else str(found)
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join([f"{self.what}", *(f"  {label:<6} {text}" for label, text in self._parts())])

    def _parts(self) -> list[tuple[str, str]]:
        parts = [("where", self.where), ("found", self.found), ("try", self.hint)]
        return [(label, text.replace("\n", "\n         ")) for label, text in parts if text]

    def as_dict(self) -> dict[str, str | None]:
        """The same four parts for ``--json`` output."""
        return {
            "error": type(self).__name__,
            "what": self.what,
            "where": self.where,
            "found": self.found,
            "try": self.hint,
        }


class UsageError(GivewayError):
    """An argument or option that makes no sense."""


class UnknownNameError(UsageError):
    """A name that is not known, with the nearest known ones.

    Args:
        kind: what was being named, e.g. ``"dataset"``.
        name: what the user wrote.
        known: everything that would have been accepted.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: object = None) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=3, cutoff=0.5)
        suggestions = [n for n in names if n.lower() in near]
        hint = f"did you mean {' or '.join(repr(s) for s in suggestions)}?" if suggestions else "pick a known one"
        shown = names if len(names) <= MAX_NAMES else [*names[:MAX_NAMES], f"and {len(names) - MAX_NAMES} more"]
        super().__init__(
            f"unknown {kind} {name if len(name) <= MAX_SHOWN else name[:MAX_SHOWN] + '...'!r}",
            where=where,
            found=f"known: {', '.join(shown) or 'none'}",
            hint=hint,
        )
        self.suggestions = suggestions


class ConfigError(GivewayError):
    """A configuration file or model that does not validate."""


class DataError(GivewayError):
    """Files that are not what they should be."""


class DatasetLayoutError(DataError):
    """Expected files are missing, or the folder holds another dataset."""


class FileFormatError(DataError):
    """A file that does not parse; names file, line and column."""


class MapError(DataError):
    """A map that is broken (dangling reference) or unsafe (XML entities)."""


class EmptySelectionError(GivewayError):
    """Filters removed everything; ``found`` says which rule removed how many."""


class MissingDependencyError(GivewayError):
    """Optional libraries are needed now and not installed.

    Args:
        libraries: import names.
        extra: the extra of this package that brings them; several with commas.
        purpose: what they are needed for.
    """

    def __init__(self, *libraries: str, extra: str, purpose: str) -> None:
        one = len(libraries) == 1
        super().__init__(
            f"{purpose} needs the {'library' if one else 'libraries'} {', '.join(map(repr, libraries))}",
            found="it is not installed" if one else "they are not installed",
            hint=f"pip install 'giveway[{extra}]'",
        )


class PredictionError(GivewayError):
    """A predictor returned something unusable: wrong shape, NaN, probabilities outside [0, 1]."""


class StoreError(GivewayError):
    """A result store that cannot be read or written."""


class DiskFullError(StoreError):
    """No room left on a disk, or a quota is used up; whatever was being written has been removed again."""


class ClusterError(GivewayError):
    """Machines that cannot be reached, or do not fit together."""


class ProtocolError(GivewayError):
    """A message from the network that breaks the contract."""
