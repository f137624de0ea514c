"""What is accepted on purpose although it means something else, and why no reader could know.

A mutated file that is read and means something else without a remark fails the run unless one of these rules covers it.
The page docs/explanation/inputs.md shows the same list with counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from fuzz.harness import Trial

WITHOUT_COUNTS = frozenset({"interaction", "interaction_cases", "leeds", "lgap", "generic"})
TABLES = WITHOUT_COUNTS | {"round", "ind", "highd"}
DOCUMENTS = frozenset({"spec", "cluster", "study", "cases"})
ACCEPTED = frozenset({"values", "rows", "labels"})
MAX_CHANGED_LINES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Attributes:
    name: as counted in the table.
    why: one sentence.
    """

    name: str
    why: str


CELL = Reason(
    name="one cell, another possible number",
    why="A cell became another number, word or id that no range, no neighbor in time and no other column contradicts.",
)
END = Reason(
    name="rows lost at the end of a track or file",
    why="The format writes no count of rows or tracks, so an earlier end is a possible recording.",
)
FREE = Reason(
    name="columns that nothing ties together",
    why="Two header names were exchanged whose columns no law connects, such as the axes of a simulator log.",
)
MAP = Reason(
    name="a map with other points",
    why="A map has no second witness: a node, a point of a line or a tag that is still possible is read as it stands.",
)
DOCUMENT = Reason(
    name="a document that says something else",
    why="A specification, mapping, case or study file is the user's word; every other valid value is a valid wish.",
)
REASONS = (CELL, END, FREE, MAP, DOCUMENT)

ONE_CELL = frozenset(
    {"bit flipped", "byte changed", "byte deleted", "byte inserted", "digit changed", "cells swapped", "nasty cell"}
    | {"noise block", "endless integer"}
)
LOST_ROWS = frozenset({"cut at a line", "line dropped", "cut anywhere"})


def reason_of(trial: Trial, original: bytes) -> Reason | None:
    """The rule that covers an accepted difference; None if there is none, which is a failure."""
    if trial.outcome not in ACCEPTED:
        return None
    if trial.subject == "map" or trial.file.endswith(".osm"):
        return MAP
    if trial.subject in DOCUMENTS or trial.file.endswith(".toml"):
        return DOCUMENT
    if trial.subject not in TABLES:
        return None
    if trial.mutation in ONE_CELL and changed_lines(original, trial.data) <= MAX_CHANGED_LINES:
        return CELL
    if trial.mutation in LOST_ROWS and trial.subject in WITHOUT_COUNTS and lost_only(original, trial.data):
        return END
    if trial.mutation == "header names swapped" and trial.outcome in ("values", "labels"):
        return FREE
    return None


def changed_lines(original: bytes, data: bytes) -> int:
    """Lines of one text that the other does not have."""
    return len(set(data.split(b"\n")) - set(original.split(b"\n")))


def lost_only(original: bytes, data: bytes) -> bool:
    """Whether nothing was added: every line is one of the original ones."""
    return changed_lines(original, data) == 0
