"""What an application says about its results; :class:`giveway.reports.results.Results` asks it.

An application registers one :class:`Section` per kind of result. Reading cells, filters and counts are the same for
all of them and done here; tables, figures, comparisons, logs and cases are the application's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import polars as pl

from giveway.core.errors import EmptySelectionError, UnknownNameError, UsageError
from giveway.core.registry import Registry
from giveway.experiments.index import Status, collect, status
from giveway.reports.cells import Overview, store_pages
from giveway.reports.content import Page, PageLimits
from giveway.reports.table import Table, entry, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from giveway.core.log import DriveLog
    from giveway.core.scene import Scene
    from giveway.reports.results import Results
    from giveway.sim.case_sets import CaseSet

T = TypeVar("T")
MEASURED = ("value", "num_samples", "metric_version", "note")
"""Columns of a tidy frame that are results; all others can be used as filters."""
CITED = (
    ("dataset", "dataset"),
    ("model", "model"),
    ("predictor", "model"),
    ("planner", "planner"),
    ("metric", "metric"),
)
"""Columns that name components with references, and the kind of these components."""
MAX_LISTED = 8
"""Existing values listed in the message about a filter that selects nothing."""


class Compared(Protocol):
    """What a comparison gives."""

    def text(self) -> str:
        """For a terminal."""
        ...

    def _repr_html_(self) -> str: ...


class Section:
    """Results of one kind in a store of cells; applications override what they can do better.

    Attributes:
        kind: of the cells.
        title: heading.
        tables: names of tables, the first is the leaderboard.
        figures: names of figures, the first is the default.
    """

    kind: str = ""
    title: str = "Results"
    tables: tuple[str, ...] = ("means",)
    figures: tuple[str, ...] = ()

    def spec(self, results: Results) -> Mapping[str, Any]:
        """What was asked for last."""
        plans = results.store.plans()
        return plans[-1].spec if plans else {}

    def runs(self, results: Results) -> Sequence[Mapping[str, Any]]:
        """Provenance of each start, oldest first."""
        return results.store.provenance()

    def status(self, results: Results) -> Status:
        """Finished, failed, missing and damaged cells."""
        return status(results.store)

    def frame(self, results: Results) -> pl.DataFrame:
        """Tidy table of all measurements of this kind, see :func:`giveway.experiments.collect`."""
        return collect(results.store).filter(pl.col("kind") == self.kind)

    def samples(self, results: Results, filters: Mapping[str, Any]) -> pl.DataFrame:
        """Per-sample values of the cells that the filters leave, the cells' parameters in front."""
        frame = self.frame(results)
        names = [name for name in frame.columns if name not in (*MEASURED, "metric", "kind", "data")]
        cells = selected(frame, filters).select(names).unique(subset="key", maintain_order=True)
        parts: list[pl.DataFrame] = []
        for cell in cells.iter_rows(named=True):
            found = results.store.read_samples(cell["key"])
            if found is not None:
                known = [pl.lit(v).alias(n) for n, v in cell.items() if n not in found.columns and v is not None]
                parts.append(found.select(*known, pl.all()))
        if not parts:
            raise EmptySelectionError(
                "these cells have no per-sample values", where=results.place, found=f"{cells.height} cells"
            )
        return pl.concat(parts, how="diagonal_relaxed")

    def table(self, results: Results, name: str, **choices: Any) -> Table:
        """The mean of each metric over cells."""
        checked_name("table", name, self.tables)
        frame = selected(self.frame(results), choices)
        means = frame.group_by("metric", maintain_order=True).agg(
            pl.len().alias("cells"), pl.col("value").mean().alias("mean")
        )
        rows = ((entry(m), entry(n), entry(v)) for m, n, v in means.iter_rows())
        return table_of(self.title, ("metric", "cells", "mean"), rows)

    def figure(self, results: Results, name: str, **choices: Any) -> Figure:
        """A picture."""
        raise UsageError(f"results of kind {self.kind!r} have no figure", where=results.place, hint="use .frame()")

    def compare(self, results: Results, a: str, b: str, **choices: Any) -> Compared:
        """Is A better than B?"""
        raise UsageError(f"results of kind {self.kind!r} cannot be compared", where=results.place, hint="use .frame()")

    def log(self, results: Results, **which: Any) -> DriveLog | Scene:
        """What happened in one drive."""
        raise UsageError(f"results of kind {self.kind!r} have no logs", where=results.place)

    def cases(self, results: Results, **filters: Any) -> CaseSet:
        """What was driven, or what can be driven again."""
        raise UsageError(f"results of kind {self.kind!r} have no cases", where=results.place)

    def origin(self, results: Results) -> str:
        """What is said before any number if not all of the traffic was recorded."""
        return ""

    def pages(self, results: Results, limits: PageLimits) -> Iterator[Page]:
        """Pages of a report, the first one is ``index.html``."""
        overview = self.overview(results, limits)
        return store_pages(results, overview, limits, title=self.title, replay=lambda key: self.replay(results, key))

    def overview(self, results: Results, limits: PageLimits) -> Overview:
        """What stands on the first page of a store, and which pages and replays follow."""
        return Overview(blocks=(self.table(results, ""),))

    def replay(self, results: Results, key: str) -> Mapping[str, Any] | None:
        """The replay document of one cell; None if it has none."""
        return None

    def cites(self, results: Results) -> Iterable[str]:
        """Components to cite: ``"dataset:round"``, ``"model:LR_1D"``, ``"metric:auc"``."""
        frame = results.frame()
        yield f"command:{self.kind}"
        for column, kind in CITED:
            if column in frame.columns:
                yield from (f"{kind}:{value}" for value in frame[column].drop_nulls().unique().sort())


BUILTIN = {
    "gaps": "giveway.gaps.section:GAPS",
    "drive": "giveway.drive.section:DRIVE",
    "realism": "giveway.drive.realism_section:REALISM",
    "planner_training": "giveway.drive.learning.section:PLANNER_TRAINING",
    "campaign": "giveway.generate.section:CAMPAIGNS",
    "training": "giveway.generate.section:TRAINING",
    "study": "giveway.study.section:STUDY",
}
"""Kinds of results of this package, in the order of a report."""

SECTIONS: Registry[Section] = Registry("kind of results", BUILTIN, group="giveway.sections")
"""Sections by kind of result."""


def selected(frame: pl.DataFrame, filters: Mapping[str, Any]) -> pl.DataFrame:
    """The rows whose columns have the given values; a list, tuple or set allows several.

    Raises:
        UnknownNameError: a filter that is no column.
        EmptySelectionError: naming the filter that removed the last rows, and the values there are.
    """
    left = frame
    for name, wanted in filters.items():
        known = [column for column in frame.columns if column not in MEASURED]
        if name not in known:
            raise UnknownNameError("filter", name, known)
        values = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
        before = left
        left = left.filter(_is_one_of(pl.col(name), values, is_number=frame.schema[name].is_numeric()))
        if left.is_empty():
            there = before[name].drop_nulls().unique().sort().to_list()
            listed = ", ".join(map(str, there[:MAX_LISTED])) + (" and others" if len(there) > MAX_LISTED else "")
            raise EmptySelectionError(
                f"no results with {name} = {', '.join(map(str, values))}",
                found=f"{name} is one of: {listed}" if there else "there are no results",
            )
    return left


def checked_name(kind: str, name: str, known: Sequence[str]) -> str:
    """The name, or the first known one if it is empty.

    Raises:
        UnknownNameError: naming the nearest known ones.
    """
    if not name and known:
        return known[0]
    if name not in known:
        raise UnknownNameError(kind, name, known)
    return name


def with_choices(function: Callable[..., T], choices: Mapping[str, Any], *given: Any) -> T:
    """Call a function of a section with the choices of a user.

    Raises:
        UnknownNameError: a choice that the function does not know.
        UsageError: a choice that it needs and was not given.
    """
    parameters = inspect.signature(function).parameters
    known = {n: p for n, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    for name in choices:
        if name not in known and not takes_all:
            raise UnknownNameError("choice", name, known)
    lacking = [n for n, p in known.items() if p.default is inspect.Parameter.empty and n not in choices]
    if lacking:
        raise UsageError(f"{lacking[0]} must be chosen", found="it was left out", hint=f"{lacking[0]}=...")
    return function(*given, **choices)


def _is_one_of(column: pl.Expr, values: list[Any], *, is_number: bool) -> pl.Expr:
    """Numbers are compared as numbers, everything else as text."""
    if is_number and all(isinstance(v, int | float) for v in values):
        return column.cast(pl.Float64).is_in([float(v) for v in values])
    return column.cast(pl.String).is_in([str(v).lower() if isinstance(v, bool) else str(v) for v in values])
