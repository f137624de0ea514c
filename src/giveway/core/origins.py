"""Where a motion came from, and the words and warnings that follow from it.

Every row of a recording, log or clip has an origin. It goes through every conversion, is never taken from the name of a
folder or condition, and a motion never gets a better one than it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

from giveway.core.errors import DataError

DeclaredBy = Literal["file", "assumed", "user"]
"""Who says so: marked files or the program that made the motion, nobody (files that are not marked), or a person."""


class Origin(StrEnum):
    """What moved a road user, from the most to the least real."""

    RECORDED = "recorded"
    SYNTHETIC = "synthetic"
    DRIVEN = "driven"
    GENERATED = "generated"
    BROKEN = "broken"


WORDS = {
    Origin.RECORDED: "recorded in real traffic",
    Origin.SYNTHETIC: "computed by a traffic model",
    Origin.DRIVEN: "driven by a program",
    Origin.GENERATED: "made to provoke a driving program",
    Origin.BROKEN: "broken on purpose",
}
"""How texts call each origin."""

_RANK = {origin: rank for rank, origin in enumerate(Origin)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOrigin:
    """Origin of one row.

    Attributes:
        origin: what moved it.
        declared_by: who says so.
        by: driver, method or kind of damage; empty for recordings.
        was: origin before it was broken, or of the recorded car whose place a driven one took; None otherwise.
    """

    origin: Origin = Origin.RECORDED
    declared_by: DeclaredBy = "assumed"
    by: str = ""
    was: Origin | None = None

    def becomes(self, origin: Origin, by: str) -> RowOrigin:
        """The same motion after something was done to it.

        Raises:
            DataError: a better origin than before, e.g. driven to recorded.
        """
        if _RANK[origin] < _RANK[self.origin]:
            raise DataError(
                "the origin of a motion cannot be raised",
                found=f"{self.origin} to {origin}",
                hint="only what was recorded is recorded",
            )
        return RowOrigin(origin=origin, declared_by="file", by=by, was=self.origin)

    def signed(self) -> RowOrigin:
        """The same with a person's word that it was recorded; what is known to be something else stays so."""
        return replace(self, declared_by="user") if self.is_assumed else self

    @property
    def is_assumed(self) -> bool:
        """Taken for recorded because nothing says otherwise."""
        return self.origin is Origin.RECORDED and self.declared_by == "assumed"

    def to_plain(self) -> dict[str, str]:
        """JSON's types; empty values are left out."""
        named = {"origin": str(self.origin), "declared_by": self.declared_by, "by": self.by, "was": str(self.was or "")}
        return {name: value for name, value in named.items() if value}

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> RowOrigin:
        """What :meth:`to_plain` gave.

        Raises:
            ValueError: an unknown origin or declaration.
        """
        declared = plain["declared_by"]
        if declared not in ("file", "assumed", "user"):
            raise ValueError(f"declared_by is {declared!r}")
        was = plain.get("was")
        return RowOrigin(
            origin=Origin(plain["origin"]),
            declared_by=declared,
            by=str(plain.get("by", "")),
            was=None if was is None else Origin(was),
        )


def sorted_origins(rows: Iterable[RowOrigin]) -> list[str]:
    """The different origins, the most real first."""
    return [str(origin) for origin in sorted({row.origin for row in rows}, key=_RANK.__getitem__)]


NOT_REAL = "Not real traffic"
"""Begins every banner."""


def banner(what: str, origins: Iterable[str]) -> str:
    """First line of a text, page or document about anything that was not recorded; empty if all of it was.

    Args:
        what: subject in the singular, e.g. ``the reference traffic``.
        origins: names of origins below; anything that is none of them is of unknown origin.
    """
    names = list(dict.fromkeys(origins))
    if names == [Origin.RECORDED]:
        return ""
    known = {str(origin): f"{origin} ({words})" for origin, words in WORDS.items()}
    listed = " and ".join(known.get(name, "of unknown origin") for name in names) or "of unknown origin"
    return f"{NOT_REAL}: {what} is {listed}."
