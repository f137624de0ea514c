"""``giveway gaps learning | calibration``: pictures of how models learned and whether their probabilities hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from giveway.cli.output import print_json
from giveway.core.errors import EmptySelectionError, UsageError

if TYPE_CHECKING:
    from giveway.experiments import Store

STORE = typer.Argument(..., help="Result store of a benchmark run.")
MODEL: str | None = typer.Option(None, "--model", help="Only this model.")
DATASET: str | None = typer.Option(None, "--dataset", help="Only this dataset.")
TIME: str | None = typer.Option(None, "--t0", help="initial, constant or critical.")
PROFILE: str | None = typer.Option(None, "--profile", help="Needed if the store holds several.")
AS_JSON = typer.Option(False, "--json", help="Print one JSON document.")


def learning(
    store: Path = STORE,
    out: Path | None = typer.Option(None, "--out", "-o", help="Picture of the curves, .png, .pdf or .svg."),
    model: str | None = MODEL,
    dataset: str | None = DATASET,
    t0: str | None = TIME,
    profile: str | None = PROFILE,
    as_json: bool = AS_JSON,
) -> None:
    """How training went: epochs, loss, error on held-out samples and own NLL per cell, and a learning curve."""
    from giveway.experiments import Store
    from giveway.gaps.learning import learning_curves

    rows: list[dict[str, Any]] = []
    curves: list[list[dict[str, float | None]]] = []
    for key, params in _cells(Store(store), {"model": model, "dataset": dataset, "t0": t0}, profile):
        info = Store(store).read(key).info
        if "learning_curve" not in info:
            continue
        curve = info["learning_curve"]
        curves.append(curve)
        names = ("model", "dataset", "t0", "n_input", "split", "repetition")
        last = curve[-1] if curve else {"loss": None, "validation_ade_m": None}
        rows.append(
            {name: params[name] for name in names}
            | {"epochs": len(curve), "loss": last["loss"], "validation_ade_m": last["validation_ade_m"]}
            | {"own_nll": info.get("own_nll"), "fallbacks": info.get("fallbacks", {})}
            | {"skipped_updates": sum(entry.get("skipped", 0) for entry in curve)}
        )
    if not rows:
        raise EmptySelectionError(
            "no trained network among these cells",
            where=store,
            found=f"model {model or 'any'}, dataset {dataset or 'any'}, t0 {t0 or 'any'}",
            hint="giveway gaps run with T++ or TPP_small among the models",
        )
    if out is not None:
        learning_curves(
            [[float(e["loss"] or 0.0) for e in curve] for curve in curves],
            [[e["validation_ade_m"] for e in curve] for curve in curves],
            out,
            title=", ".join(sorted({f"{row['model']} on {row['dataset']}" for row in rows})),
        )
    if as_json:
        print_json({"ok": True, "out": out, "cells": rows})
        return
    for row in rows:
        where = " ".join(str(row[name]) for name in ("model", "dataset", "t0", "split", "repetition"))
        shown = [f"{row['epochs']} epochs", f"loss {_number(row['loss'])}"]
        shown += [] if row["validation_ade_m"] is None else [f"validation ADE {row['validation_ade_m']:.3f} m"]
        shown += [] if row["own_nll"] is None else [f"own NLL {row['own_nll']:.3f} nat per step"]
        shown += [f"{row['skipped_updates']} updates skipped"] if row["skipped_updates"] else []
        shown += [f"{count} samples with {name.replace('_', ' ')}" for name, count in row["fallbacks"].items()]
        typer.echo(f"{where}: {', '.join(shown)}")
    if out is not None:
        typer.echo(f"figure written to {out}")


def calibration(
    store: Path = STORE,
    out: Path = typer.Option(..., "--out", "-o", help="Picture, .png, .pdf or .svg."),
    model: str = typer.Option(..., "--model", help="Whose probabilities."),
    dataset: str | None = DATASET,
    t0: str | None = TIME,
    profile: str | None = PROFILE,
    as_json: bool = AS_JSON,
) -> None:
    """Observed against predicted acceptance, over the test samples of all random splits."""
    import numpy as np

    from giveway.experiments import Store
    from giveway.gaps.learning import calibration_plot

    opened = Store(store)
    wanted = {"model": model, "dataset": dataset, "t0": t0, "split": "random"}
    frames = [opened.read_samples(key) for key, _ in _cells(opened, wanted, profile)]
    found = [frame for frame in frames if frame is not None and "p" in frame.columns]
    if not found:
        raise EmptySelectionError("no predictions of this model in the store", where=store, found=model)
    accepted = np.concatenate([frame["accepted"].to_numpy() for frame in found])
    p = np.concatenate([frame["p"].to_numpy() for frame in found])
    calibration_plot(accepted, p, out, title=f"{model}, {len(p)} predictions in {len(found)} splits")
    if as_json:
        print_json({"ok": True, "out": out, "predictions": len(p), "cells": len(found)})
    else:
        typer.echo(f"figure written to {out}")


def _cells(store: Store, wanted: Mapping[str, str | None], profile: str | None) -> list[tuple[str, dict[str, Any]]]:
    """Keys and parameters of the cells that agree with all given values, of one profile."""
    from giveway.experiments import collect

    frame = collect(store)
    known = ("profile", "model", "dataset", "t0", "n_input", "split", "repetition")
    names = [name for name in known if name in frame.columns]
    rows = frame.select("key", *names).unique(maintain_order=True).iter_rows(named=True)
    values = {**wanted, "profile": profile}
    found = [row for row in rows if all(v is None or str(row.get(name)) == v for name, v in values.items())]
    profiles = sorted({str(row.get("profile")) for row in found})
    if len(profiles) > 1:
        raise UsageError(
            "choose the profile to show", where="--profile", found=f"the store holds {', '.join(profiles)}"
        )
    return [(row["key"], row) for row in found]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
