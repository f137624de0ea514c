"""What generated traffic and its trainings say about themselves: measures, failures, learning curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from giveway.core.errors import EmptySelectionError, StoreError, UsageError
from giveway.core.lanes import LaneMap
from giveway.core.origins import Origin, banner
from giveway.core.scene import Scene
from giveway.experiments import Store
from giveway.generate.answer import generate_answer
from giveway.generate.arena import arena_figure, arena_picture, arena_table, pooled, standings
from giveway.generate.evaluation.results import result_from
from giveway.generate.export.cases import Failure, case_of, flags_of, scene_of
from giveway.generate.export.frames import tracks_of
from giveway.generate.failures import CASES, stored_campaigns, stored_failures
from giveway.generate.learning.curves import curves_figure
from giveway.generate.learning.rounds import stored_rounds
from giveway.generate.pages import (
    WATCH,
    failure_block,
    failure_document,
    generated_blocks,
    pages_document,
    shown_measures,
)
from giveway.generate.summary import CampaignSummary, recorded_reference, summarize
from giveway.generate.world_files import stored_road
from giveway.reports.browsing import KEY_DIGITS
from giveway.reports.cells import Overview
from giveway.reports.content import Page, PageLimits, Paragraph
from giveway.reports.section import Section, checked_name, selected, with_choices
from giveway.reports.table import Block, Column, Entry, Table, entry, table_of
from giveway.sim.case_sets import CaseSet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from giveway.reports.results import Results

NAME_WIDTH, VALUE_WIDTH = 48, 10
"""Columns of the measures of a campaign."""
GALLERY = 12
"""Failures that can be watched on one page."""


class CampaignSection(Section):
    """Tables ``measures``, ``failures`` and ``arena`` of campaigns, and the figure ``arena``."""

    kind = "campaign"
    title = "Generated traffic"
    tables = ("measures", "failures", "arena")
    figures = ("arena",)

    def table(self, results: Results, name: str, **choices: Any) -> Table:
        """See :func:`measures_of`, :func:`failures_table` and :func:`arena_of`."""
        makers = {"measures": measures_of, "failures": failures_table, "arena": arena_of}
        return with_choices(makers[checked_name("table", name, self.tables)], choices, results)

    def figure(self, results: Results, name: str, **choices: Any) -> Figure:
        """Attackers by planners, a panel per road."""
        checked_name("figure", name, self.figures)
        return with_choices(lambda r: arena_figure(standings(stored_campaigns(r.place))), choices, results)

    def log(self, results: Results, **which: Any) -> Scene:
        """One generated test as a scene, e.g. ``test=12``, ``outcome="collision", first=True``; all tests count."""
        filters = {name: v for name, v in which.items() if name != "first"}
        found = _failures(results, filters, everything=True)
        if len(found) > 1 and not which.get("first"):
            raise UsageError(
                f"{len(found)} tests fit",
                where=", ".join(f"{n}={v}" for n, v in which.items()) or results.place,
                found=", ".join(f.id for f in found[:4]) + (" and others" if len(found) > 4 else ""),
                hint="give number=... (and seed=...), or first=True",
            )
        return scene_of(found[0])

    def cases(self, results: Results, **filters: Any) -> CaseSet:
        """Failures as cases, e.g. ``outcome="collision"``, ``counts=True``; ``run_drive`` drives them again."""
        found = _failures(results, filters, everything=False)
        folder = results.place / CASES
        file = folder / "cases.json"
        return CaseSet(
            cases=tuple(case_of(failure) for failure in found),
            file=file if file.is_file() else None,
            recordings=folder / "recordings",
        )

    def origin(self, results: Results) -> str:
        """Nothing here was recorded."""
        return banner("the traffic", [Origin.GENERATED])

    def overview(self, results: Results, limits: PageLimits) -> Overview:
        """Measures of all campaigns, kinds of failures, realism; failures can be watched, those that count first."""
        try:
            campaigns = stored_campaigns(results.place)
        except EmptySelectionError:
            return Overview(blocks=(Paragraph(text="No test is finished yet."),), cells="Tests", samples=False)
        recorded = results.options.get("recorded") or results.options.get("data")
        if all("method" in campaign.params for campaign in campaigns):
            rows = standings(campaigns, "policy")
            against = "policy" if any(math.isfinite(row.gain) for row in rows) else ""
            return Overview(
                blocks=(arena_picture(rows), arena_table(rows, against)),
                answer=generate_answer(pooled(campaigns)),
                cells="Tests",
                samples=False,
            )
        reference = recorded_reference(None if recorded is None else Path(recorded))
        document = pages_document(summarize(results.place, reference), reference)
        failed = [
            (not result.counts, -result.impact_speed_mps if result.impact_speed_mps > 0 else 0.0, key)
            for campaign in campaigns
            for result, key in zip(campaign.results, campaign.keys, strict=True)
            if result.failed
        ]
        keys = [key for *_, key in sorted(failed, key=lambda entry: entry[:2])]
        gallery = self._gallery(results, keys[: min(limits.replays, GALLERY)])
        return Overview(
            blocks=generated_blocks(document),
            pages=[gallery] if gallery.blocks else [],
            answer=generate_answer(campaigns),
            cells="Tests",
            replays=keys,
            order="failures, those that count and the hardest first",
            samples=False,
        )

    def replay(self, results: Results, key: str) -> Mapping[str, Any]:
        """One test: the ego, the car it met, and how it ended."""
        return failure_document(_test(results, key))

    def _gallery(self, results: Results, keys: Sequence[str]) -> Page:
        """Failures to watch one below the other."""
        tests = {f"replays/{key[:KEY_DIGITS]}.js": _test(results, key) for key in keys}
        blocks = tuple(failure_block(test, file) for file, test in tests.items())
        return Page(file="gallery.html", title="Failures to watch", lead=WATCH, blocks=blocks)


class TrainingSection(Section):
    """Table ``rounds`` and figure ``learning`` of a training."""

    kind = "training"
    title = "Training"
    tables = ("rounds",)
    figures = ("learning",)

    def table(self, results: Results, name: str, **choices: Any) -> Table:
        """Return, loss and evaluation after each round."""
        checked_name("table", name, self.tables)
        return with_choices(rounds_table, choices, results)

    def figure(self, results: Results, name: str, **choices: Any) -> Figure:
        """Return, evaluation, losses and noise over the environment steps."""
        checked_name("figure", name, self.figures)
        return with_choices(learning_figure, choices, results)


def measures_of(results: Results, *, realism: bool = False, recorded: Path | str | None = None) -> Table:
    """Measures of every campaign, as ``giveway generate table`` prints them.

    Args:
        results: of campaigns.
        realism: also compare the motion of the cars with recorded ones, which takes some seconds.
        recorded: recordings to compare with; synthetic ones are made without it.
    """
    reference = recorded_reference(None if recorded is None else Path(recorded)) if realism or recorded else None
    return measures_table(summarize(results.place, reference))


def arena_of(results: Results, *, against: str = "policy") -> Table:
    """Attackers by road and planner at equal budget, compared with one of them seed by seed."""
    rows = standings(stored_campaigns(results.place), against)
    return arena_table(rows, against if any(math.isfinite(row.gain) for row in rows) else "")


def measures_table(summaries: Sequence[CampaignSummary]) -> Table:
    """The same from numbers at hand."""
    columns = (Column(head="measure", width=NAME_WIDTH), Column(head="value", width=VALUE_WIDTH))
    blocks: list[Block] = []
    for summary in summaries:
        rows = [(entry(title), _formatted(summary.measures[name], form)) for name, title, form in shown_measures()]
        rows += [(entry(name.replace("_", " ")), entry(v)) for name, v in summary.realism.items()]
        blocks.append(
            Block(title=summary.campaign.label, columns=columns, rows=tuple(rows), indent=2, with_heads=False)
        )
    return Table(
        title="Failures of the planner", blocks=tuple(blocks), banner=banner("the traffic", [Origin.GENERATED])
    )


def failures_table(results: Results, **filters: Any) -> Table:
    """Every failure: kind, grade, violators, avoidability; those that count first."""
    columns = ("case", "outcome", "kind", "grade", "conflict", "violators", "avoidable", "careful+", "impact [m/s]",
               "seconds")  # fmt: skip
    rows = tuple(
        (
            entry(failure.id),
            entry(failure.result.outcome),
            entry(failure.result.kind),
            entry(failure.result.grade),
            entry(failure.result.conflict),
            entry(", ".join(failure.result.violators)),
            entry("yes" if failure.result.avoidable else "no"),
            entry("yes" if failure.result.avoidable_plus else "no"),
            entry(failure.result.impact_speed_mps, ".1f"),
            entry(failure.result.steps / 10, ".1f"),
        )
        for failure in _failures(results, filters, everything=False)
    )
    return table_of("Failures", columns, rows, banner=banner("the traffic", [Origin.GENERATED]))


def rounds_table(results: Results) -> Table:
    """Return, loss and evaluation after each round of a training."""
    reports = [one.report for one in stored_rounds(results.store)]
    names = list(dict.fromkeys(name for report in reports for name in report.evaluation))
    heads = ("round", "env_steps", "return", "critic loss", *(name.replace("_", " ") for name in names))
    rows = tuple(
        (
            entry(report.round),
            entry(report.steps),
            entry(report.mean_return, ".2f"),
            entry(report.critic_loss),
            *(entry(report.evaluation.get(name)) for name in names),
        )
        for report in reports
    )
    return table_of("Rounds of the training", heads, rows)


def learning_figure(results: Results) -> Figure:
    """Learning curves of a training."""
    return curves_figure([one.report for one in stored_rounds(results.store)])


def _failures(results: Results, filters: Mapping[str, Any], *, everything: bool) -> list[Failure]:
    """Failures (or all tests) whose flags and campaign parameters have the given values."""
    found = {
        failure.id: (failure, campaign.params)
        for campaign in stored_campaigns(results.place)
        for failure in stored_failures(results.place, campaign, everything=everything)
    }
    if not found:
        raise EmptySelectionError(
            "there are no failures", where=results.place, hint="run more tests, or another planner"
        )
    plain = ("scene", "genes")
    rows = [
        {"id": name, **params, **{n: v for n, v in flags_of(failure.result).items() if n not in plain}}
        for name, (failure, params) in found.items()
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    renamed = {("number" if name == "test" else name): v for name, v in filters.items()}
    return [found[name][0] for name in selected(frame, renamed)["id"]]


def _test(results: Results, key: str) -> Failure:
    """One test of a store."""
    record = results.store.read_record(key)
    frame = results.store.read_samples(key)
    if frame is None:
        raise StoreError("the motion of this test is not in the store", where=results.place, found=key)
    result, road = result_from(record["info"]["result"]), str(record["cell"]["params"]["road"])
    lanes = _road(results.place, road, record["cell"]["data"], tuple(record.get("shared", ())))
    return Failure(id=f"test {result.number}", result=result, tracks=tracks_of(frame), road=lanes, site=road)


@lru_cache(maxsize=4)
def _road(place: Path, name: str, data: str, kept: tuple[str, ...]) -> LaneMap:
    return stored_road(Store(place), name, data, kept).map()


def _formatted(number: float, form: str) -> Entry:
    return entry(number, text=form.format(number)) if number == number else Entry()


CAMPAIGNS, TRAINING = CampaignSection(), TrainingSection()
