"""How the networks of a benchmark run were trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from giveway.core.errors import EmptySelectionError, UsageError
from giveway.gaps.learning import learning_curves
from giveway.reports.results import Results
from giveway.reports.section import selected
from giveway.reports.table import Block, Column, Table, entry

NAMES = ("model", "dataset", "t0", "n_input", "split", "repetition")


def trained_cells(results: Results, **filters: Any) -> list[dict[str, Any]]:
    """Cells whose predictor is a trained network, with epochs, last loss, held-out error and learning curve.

    Args:
        results: of a benchmark run.
        filters: column to value, see :meth:`giveway.reports.results.Results.frame`.

    Raises:
        EmptySelectionError: no such cell.
    """
    rows: list[dict[str, Any]] = []
    for cell in cells_of_one_profile(results, **filters):
        info = results.store.read(cell["key"]).info
        if "learning_curve" not in info:
            continue
        curve = info["learning_curve"]
        last = curve[-1] if curve else {"loss": None, "validation_ade_m": None}
        rows.append(
            {name: cell[name] for name in NAMES}
            | {"epochs": len(curve), "loss": last["loss"], "validation_ade_m": last["validation_ade_m"]}
            | {"own_nll": info.get("own_nll"), "fallbacks": info.get("fallbacks", {})}
            | {"skipped_updates": sum(entry.get("skipped", 0) for entry in curve), "curve": curve}
        )
    if not rows:
        raise EmptySelectionError(
            "no trained network among these cells",
            where=results.place,
            found=", ".join(f"{name} {wanted}" for name, wanted in filters.items()) or "cells of other predictors",
            hint="giveway gaps run with T++ or TPP_small among the predictors",
        )
    return rows


def cells_of_one_profile(results: Results, **filters: Any) -> list[dict[str, Any]]:
    """Keys and parameters of the cells that the filters leave.

    Raises:
        UsageError: they are of several profiles, whose numbers must not be mixed.
    """
    frame = selected(results.frame(), filters)
    profiles = [str(profile) for profile in frame["profile"].unique().sort()]
    if len(profiles) > 1:
        raise UsageError(
            "choose the profile to show", where="--profile", found=f"the store holds {', '.join(profiles)}"
        )
    return list(frame.select("key", *NAMES).unique(maintain_order=True).iter_rows(named=True))


def learning_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """One line per training: epochs, loss, held-out error, own NLL per step, samples that fell back."""
    heads = ("epochs", "loss", "validation ADE [m]", "own NLL", "updates skipped", "fallbacks")
    body = tuple(
        (
            entry(" ".join(str(row[name]) for name in ("model", "dataset", "t0", "split", "repetition"))),
            entry(row["epochs"]),
            entry(row["loss"], ".2f"),
            entry(row["validation_ade_m"]),
            entry(row["own_nll"]),
            entry(row["skipped_updates"]),
            entry(", ".join(f"{n} {name.replace('_', ' ')}" for name, n in row["fallbacks"].items()) or "none"),
        )
        for row in rows
    )
    columns = (Column(head="cell"), *(Column(head=head) for head in heads))
    return Table(title="Trainings", blocks=(Block(columns=columns, rows=body),))


def write_learning_curves(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw loss and held-out error of every training against epochs."""
    learning_curves(
        [[float(entry["loss"] or 0.0) for entry in row["curve"]] for row in rows],
        [[entry["validation_ade_m"] for entry in row["curve"]] for row in rows],
        path,
        title=", ".join(sorted({f"{row['model']} on {row['dataset']}" for row in rows})),
    )
