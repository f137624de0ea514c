"""What generated traffic and its trainings say about themselves: measures, failures, learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from giveway.core.checked import Expect, read_sealed
from giveway.core.errors import EmptySelectionError, MissingDependencyError, StoreError, UsageError
from giveway.core.origins import Origin, banner
from giveway.core.scene import Scene
from giveway.experiments import Status
from giveway.generate.campaign.kept import stored_campaigns, stored_failures
from giveway.generate.export.cases import Failure, case_of, flags_of, scene_of
from giveway.generate.report.page import MEASURES
from giveway.generate.report.summary import CampaignSummary, recorded_reference, summarize
from giveway.reports.plain_table import Block, Column, PlainTable, Value, value
from giveway.reports.section import Section, Shown, checked_name, selected, with_choices
from giveway.sim.case_sets import CaseSet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from giveway.reports.results import Results

NAME_WIDTH, VALUE_WIDTH = 48, 10
"""Columns of the measures of a campaign."""
CASES = "cases"
"""Folder of the exported failures inside a store."""
TRAINING_FILE = "training.json"


class CampaignSection(Section):
    """Tables ``measures`` and ``failures`` of campaigns."""

    kind = "generate"
    title = "Generated traffic"
    tables = ("measures", "failures")

    def table(self, results: Results, name: str, **choices: Any) -> Shown:
        """See :func:`measures_of` and :func:`failures_table`."""
        chosen = checked_name("table", name, self.tables)
        return with_choices(measures_of if chosen == "measures" else failures_table, choices, results)

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


class ProtocolSection(Section):
    """Methods compared by ``giveway generate bench``; means over all cells."""

    kind = "generate_protocol"
    title = "Comparison of methods"

    def origin(self, results: Results) -> str:
        """Nothing here was recorded."""
        return banner("the traffic", [Origin.GENERATED])


class TrainingSection(Section):
    """Table ``rounds`` and figure ``learning`` of a training."""

    kind = "training"
    title = "Training"
    tables = ("rounds",)
    figures = ("learning",)

    def spec(self, results: Results) -> Mapping[str, Any]:
        """Settings of learning, worlds and rounds."""
        return training_document(results.place)["settings"]

    def runs(self, results: Results) -> Sequence[Mapping[str, Any]]:
        """Trainings keep no record of their starts."""
        return ()

    def status(self, results: Results) -> Status:
        """Rounds that are done; the number asked for is known only of a finished training."""
        done = int(training_document(results.place)["rounds"])
        return Status(total=done, done=done, failed=0, missing=0, damaged=(), failures=(), running=False)

    def frame(self, results: Results) -> pl.DataFrame:
        """One row per round and measure."""
        document = training_document(results.place)
        names = ("mean_return", "critic_loss", "value", "noise")
        rows: list[dict[str, Any]] = []
        for entry in document["history"]:
            measured = {**{name: entry[name] for name in names}, **entry["evaluation"]}
            where = {"kind": self.kind, "round": entry["round"], "env_steps": entry["steps"]}
            rows += [
                {**where, "metric": metric, "value": v, "num_samples": entry["episodes"]}
                for metric, v in measured.items()
            ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def samples(self, results: Results, filters: Mapping[str, Any]) -> pl.DataFrame:
        """A training keeps none."""
        raise UsageError("a training has no per-sample values", where=results.place, hint="use .frame()")

    def table(self, results: Results, name: str, **choices: Any) -> Shown:
        """Return, loss and evaluation after each round."""
        checked_name("table", name, self.tables)
        return with_choices(rounds_table, choices, results)

    def figure(self, results: Results, name: str, **choices: Any) -> Figure:
        """Return, evaluation, losses and noise over the environment steps."""
        checked_name("figure", name, self.figures)
        return with_choices(learning_figure, choices, results)


def measures_of(results: Results, *, realism: bool = False, recorded: Path | str | None = None) -> PlainTable:
    """Measures of every campaign, as ``giveway generate table`` prints them.

    Args:
        results: of campaigns.
        realism: also compare the motion of the cars with recorded ones, which takes some seconds.
        recorded: recordings to compare with; synthetic ones are made without it.
    """
    reference = recorded_reference(None if recorded is None else Path(recorded)) if realism or recorded else None
    return measures_table(summarize(results.place, reference))


def measures_table(summaries: Sequence[CampaignSummary]) -> PlainTable:
    """The same from numbers at hand."""
    columns = (Column(head="measure", width=NAME_WIDTH), Column(head="value", width=VALUE_WIDTH))
    blocks: list[Block] = []
    for summary in summaries:
        rows = [(value(title), _formatted(summary.measures[name], form)) for name, title, form in MEASURES]
        rows += [(value(name.replace("_", " ")), value(v)) for name, v in summary.realism.items()]
        blocks.append(
            Block(title=summary.campaign.label, columns=columns, rows=tuple(rows), indent=2, with_heads=False)
        )
    return PlainTable(
        title="Failures of the planner", blocks=tuple(blocks), banner=banner("the traffic", [Origin.GENERATED])
    )


def failures_table(results: Results, **filters: Any) -> PlainTable:
    """Every failure: kind, fault, avoidability; those that count first."""
    columns = ("case", "outcome", "kind", "at fault", "avoidable", "impact [m/s]", "seconds")
    rows = tuple(
        (
            value(failure.id),
            value(failure.result.outcome),
            value(failure.result.kind),
            value("yes" if failure.result.at_fault else "no"),
            value("yes" if failure.result.avoidable else "no"),
            value(failure.result.impact_speed_mps, ".1f"),
            value(failure.result.steps / 10, ".1f"),
        )
        for failure in _failures(results, filters, everything=False)
    )
    block = Block(columns=tuple(Column(head=head) for head in columns), rows=rows)
    return PlainTable(title="Failures", blocks=(block,), banner=banner("the traffic", [Origin.GENERATED]))


def rounds_table(results: Results) -> PlainTable:
    """Return, loss and evaluation after each round of a training."""
    history = training_document(results.place)["history"]
    names = list(dict.fromkeys(name for entry in history for name in entry["evaluation"]))
    heads = ("round", "env_steps", "return", "critic loss", *(name.replace("_", " ") for name in names))
    rows = tuple(
        (
            value(entry["round"]),
            value(entry["steps"]),
            value(entry["mean_return"], ".2f"),
            value(entry["critic_loss"]),
            *(value(entry["evaluation"].get(name)) for name in names),
        )
        for entry in history
    )
    return PlainTable(
        title="Rounds of the training", blocks=(Block(columns=tuple(Column(head=h) for h in heads), rows=rows),)
    )


def learning_figure(results: Results) -> Figure:
    """Learning curves of a training."""
    try:
        from giveway.generate.learning.checkpoint import read_saved
        from giveway.generate.learning.curves import curves_figure
    except ImportError as error:
        raise MissingDependencyError("torch", extra="generate", purpose="reading a training") from error
    saved = read_saved(results.place)
    return curves_figure(() if saved is None else saved.history)


def training_document(folder: Path) -> dict[str, Any]:
    """What ``training.json`` says.

    Raises:
        StoreError: it is damaged, or a newer version wrote it.
    """
    expect = Expect(error=StoreError, what="the training", hint="start the same training again")
    document = read_sealed(folder / TRAINING_FILE, expect=expect).document
    if document.get("format") != "giveway-training" or int(document.get("version", 0)) > 1:
        raise StoreError(
            "this training was written by a newer version, or is none",
            where=folder / TRAINING_FILE,
            found=f"format {document.get('format')!r}, version {document.get('version')}",
            hint="pip install --upgrade giveway",
        )
    return document


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


def _formatted(number: float, form: str) -> Value:
    return Value(raw=number, text=form.format(number)) if number == number else Value(raw=None, text="-")


CAMPAIGNS, PROTOCOL, TRAINING = CampaignSection(), ProtocolSection(), TrainingSection()
