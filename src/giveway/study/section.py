"""What a rating study says about itself: ratings by condition, differences, agreement of the raters."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from giveway.core.errors import EmptySelectionError, UnknownNameError, UsageError
from giveway.experiments import Status
from giveway.reports.content import Page, PageLimits, Paragraph
from giveway.reports.difference import Difference
from giveway.reports.drawing import new_figure
from giveway.reports.section import Compared, Section, checked_name, selected, with_choices
from giveway.reports.table import Table
from giveway.study.analysis import DRAWS, Analysis, analyze_study
from giveway.study.export import long_answers, rater_table
from giveway.study.manifest import CLIP_FOLDER
from giveway.study.pages import clip_document, study_pages
from giveway.study.report import (
    COLORS,
    agreement_table,
    conditions_table,
    differences_table,
    exclusions_table,
    said_first,
)
from giveway.study.workspace import Study, open_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from giveway.reports.results import Results

FINISHED = "done"
"""Last step of a rater."""


class StudySection(Section):
    """Tables ``conditions``, ``differences``, ``agreement`` and ``exclusions``, figure ``ratings``."""

    kind = "study"
    title = "Rating study"
    tables = ("conditions", "differences", "agreement", "exclusions")
    figures = ("ratings",)

    def spec(self, results: Results) -> Mapping[str, Any]:
        """The declaration of the study."""
        with opened(results) as study:
            return study.design.model_dump(mode="json")

    def runs(self, results: Results) -> Sequence[Mapping[str, Any]]:
        """A study is answered by people, not run."""
        return ()

    def status(self, results: Results) -> Status:
        """Raters that consented, and those of them that have finished."""
        with opened(results) as study:
            people = rater_table(study)
        done = people.filter(pl.col("step") == FINISHED).height
        return Status(
            total=people.height,
            done=done,
            failed=0,
            missing=people.height - done,
            damaged=(),
            failures=(),
            running=False,
        )

    def frame(self, results: Results) -> pl.DataFrame:
        """One row per condition and measure, after exclusions and without them (column ``raters``)."""
        with opened(results) as study:
            analysis = _analysis(study, results)
        rows: list[dict[str, Any]] = []
        for raters, part in (("after exclusions", analysis.kept), ("all", analysis.everybody)):
            for c in part.conditions if part is not None else ():
                for metric, found in (("mean_rating", c.mean), ("share_realistic", c.share_realistic)):
                    rows.append(
                        {
                            "kind": self.kind,
                            "raters": raters,
                            "condition": c.condition,
                            "metric": metric,
                            "value": found.value,
                            "low": found.low,
                            "high": found.high,
                            "num_samples": c.num_ratings,
                        }
                    )
        return pl.DataFrame(rows)

    def samples(self, results: Results, filters: Mapping[str, Any]) -> pl.DataFrame:
        """One row per rating."""
        with opened(results) as study:
            return selected(long_answers(study), filters)

    def table(self, results: Results, name: str, **choices: Any) -> Table:
        """See :func:`study_table`."""
        return with_choices(study_table, choices, results, checked_name("table", name, self.tables))

    def figure(self, results: Results, name: str, **choices: Any) -> Figure:
        """See :func:`ratings_figure`."""
        checked_name("figure", name, self.figures)
        return with_choices(ratings_figure, choices, results)

    def compare(self, results: Results, a: str, b: str, **choices: Any) -> Compared:
        """Difference of the mean ratings of two conditions; one of them must be the reference."""
        return with_choices(condition_difference, choices, results, a, b)

    def origin(self, results: Results) -> str:
        """Who rated, and what was shown where it was not recorded traffic."""
        with opened(results) as study:
            try:
                return " ".join(said_first(_analysis(study, results, draws=100)))
            except EmptySelectionError:
                return ""

    def pages(self, results: Results, limits: PageLimits) -> Iterator[Page]:
        """Results, clips with their replays, raters; a study without answers says so."""
        with opened(results) as study:
            try:
                analysis = _analysis(study, results, with_model=True)
            except EmptySelectionError as error:
                yield Page(
                    title=study.design.title,
                    lead="no answers yet",
                    blocks=(Paragraph(text=str(error), warning=True),),
                )
                return
            yield from list(study_pages(study, analysis))

    def replay(self, results: Results, key: str) -> Mapping[str, Any] | None:
        """What raters saw of one clip."""
        path = results.place / CLIP_FOLDER / f"{key}.json"
        return clip_document(path) if path.exists() else None

    def cites(self, results: Results) -> Iterable[str]:
        """The study application."""
        return (f"command:{self.kind}",)


@contextlib.contextmanager
def opened(results: Results) -> Generator[Study]:
    """The study, closed again afterwards."""
    study = open_study(results.place, url=results.options.get("database"))
    try:
        yield study
    finally:
        study.engine.dispose()


def study_table(results: Results, name: str, *, exclusions: bool = True, draws: int | None = None) -> Table:
    """A table of a study.

    Args:
        results: of a study.
        name: ``conditions``, ``differences``, ``agreement`` or ``exclusions``.
        exclusions: leave out raters by the declared rules.
        draws: bootstrap draws; those of the results, or 2000.
    """
    with opened(results) as study:
        analysis = _analysis(study, results, draws=draws, with_model=name == "differences")
    part = analysis.kept if exclusions and analysis.kept is not None else analysis.everybody
    tables = {
        "conditions": conditions_table,
        "differences": differences_table,
        "agreement": agreement_table,
    }
    made = exclusions_table(analysis) if name == "exclusions" else tables[name](part)
    who = "after exclusions" if part is analysis.kept else "without exclusions"
    title = f"{who}: {part.num_raters} raters, {part.num_ratings} ratings"
    return replace(made, blocks=(replace(made.blocks[0], title=title),), banner=" ".join(said_first(analysis)))


def condition_difference(results: Results, a: str, b: str, *, draws: int | None = None) -> Difference:
    """Mean rating of A minus that of B, bootstrap over raters and clips, after exclusions."""
    with opened(results) as study:
        analysis = _analysis(study, results, draws=draws)
    part = analysis.kept or analysis.everybody
    names = [c.condition for c in part.conditions]
    for name in (a, b):
        if name not in names:
            raise UnknownNameError("condition", name, names)
    if analysis.reference not in (a, b):
        raise UsageError(
            "conditions are compared with the reference of the study",
            where=f"{a}, {b}",
            found=f"the reference is {analysis.reference!r}",
            hint=f"compare({a!r}, {analysis.reference!r})",
        )
    other, sign = (a, 1) if b == analysis.reference else (b, -1)
    found = next(d.mean for d in part.differences if d.condition == other)
    low, high = sorted((sign * found.low, sign * found.high))
    note = "95 %, percentile bootstrap over raters and clips"
    return Difference(
        first=a, second=b, metric="mean_rating", estimate=sign * found.value, low=low, high=high, note=note
    )


def ratings_figure(results: Results, *, exclusions: bool = True) -> Figure:
    """Distribution of the ratings of every condition as stacked bars."""
    with opened(results) as study:
        analysis, options = _analysis(study, results, draws=100), study.design.options
    part = analysis.kept if exclusions and analysis.kept is not None else analysis.everybody
    figure = new_figure(7, 1.4 + 0.4 * len(part.conditions))
    axes: Any = figure.add_subplot()
    for place, condition in enumerate(reversed(part.conditions)):
        left = 0.0
        for index, count in enumerate(condition.counts):
            share = count / max(1, condition.num_ratings)
            color = COLORS[round(index * (len(COLORS) - 1) / max(1, len(options) - 1))]
            axes.barh(place, share, left=left, color=color, label=options[index] if place == 0 else None)
            left += share
    axes.set_yticks(range(len(part.conditions)), [c.condition for c in reversed(part.conditions)])
    axes.set_xlabel("share of ratings")
    figure.legend(loc="outside upper center", ncols=len(options), fontsize=7, frameon=False)
    figure.text(0.01, 0.005, " ".join(said_first(analysis)), fontsize=6)
    return figure


def _analysis(study: Study, results: Results, *, draws: int | None = None, with_model: bool = False) -> Analysis:
    return analyze_study(study, draws=draws or int(results.options.get("draws", DRAWS)), with_model=with_model)


STUDY = StudySection()
