"""What the training of a planner says about itself: rounds and learning curves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from giveway.core.errors import EmptySelectionError
from giveway.drive.learning.experiment import KIND
from giveway.reports.drawing import new_figure
from giveway.reports.section import Section, checked_name, with_choices
from giveway.reports.table import Table, entry, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from giveway.reports.results import Results

BEST = "return"
"""Measure by which the best round is picked: the reward per case, on the validation recordings."""

PANELS = (
    ("reward per case", ("train_return", "return")),
    ("validation score", ("score",)),
    ("share of cases with a contact", ("contacts",)),
    ("loss", ("critic_loss", "loss")),
)


def rounds_of(results: Results) -> pl.DataFrame:
    """One row per round: ``round``, ``env_steps``, ``key`` and the measures.

    Raises:
        EmptySelectionError: no round is finished.
    """
    frame = results.frame()
    if frame.is_empty():
        raise EmptySelectionError("no round of the training is finished", where=results.place)
    wide = frame.pivot(on="metric", index=["round", "env_steps", "key"], values="value")
    return wide.sort("round")


def best_round(results: Results) -> dict[str, Any]:
    """The round with the highest reward on the validation recordings, the last one of several."""
    rows = rounds_of(results).to_dicts()
    return max(rows, key=lambda row: (row[BEST] if math.isfinite(row[BEST]) else -math.inf, row["round"]))


class PlannerTrainingSection(Section):
    """Table ``rounds`` and figure ``learning`` of the training of a planner."""

    kind = KIND
    title = "Training of a planner"
    tables = ("rounds",)
    figures = ("learning",)

    def table(self, results: Results, name: str, **choices: Any) -> Table:
        """Measures after each round."""
        checked_name("table", name, self.tables)
        return with_choices(rounds_table, choices, results)

    def figure(self, results: Results, name: str, **choices: Any) -> Figure:
        """Measures over the environment steps."""
        checked_name("figure", name, self.figures)
        return with_choices(learning_figure, choices, results)


def rounds_table(results: Results) -> Table:
    """Measures after each round; reward, score and contacts are those on the validation recordings, without noise."""
    frame = rounds_of(results).drop("key")
    heads = [name.replace("_", " ") for name in frame.columns]
    rows = [tuple(entry(value) for value in row) for row in frame.iter_rows()]
    return table_of("Rounds of the training", heads, rows)


def learning_figure(results: Results) -> Figure:
    """Learning curves: reward while learning and on the validation recordings, score, contacts, loss.

    Raises:
        MissingDependencyError: without matplotlib.
    """
    frame = rounds_of(results)
    figure = new_figure(10, 6.5)
    steps = (frame["env_steps"] / 1000).to_list()
    for ax, (title, names) in zip(figure.subplots(2, 2, sharex=True).flat, PANELS, strict=True):
        for name in (n for n in names if n in frame.columns):
            ax.plot(steps, frame[name].to_list(), marker=".", label=name.replace("_", " "))
        ax.set_title(title)
        ax.grid(alpha=0.3)
        if len(ax.lines) > 1:
            ax.legend(fontsize=8)
    for ax in figure.axes[2:]:
        ax.set_xlabel("thousand environment steps")
    return figure


PLANNER_TRAINING = PlannerTrainingSection()
