"""``giveway generate prior``: how people drive, from recordings."""

from __future__ import annotations

from pathlib import Path

import typer

from giveway.cli.output import print_json


def prior(
    dataset: str = typer.Option(..., "--dataset", "-d", help="Whose recordings; see 'giveway data list'."),
    root: Path = typer.Option(..., "--root", "-r", help="Folder of the recordings."),
    out: Path = typer.Option(..., "--out", "-o", help="File to write (JSON)."),
    limit: int | None = typer.Option(None, "--limit", help="Read so many recordings only."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Fit the naturalness prior of the reward to recorded traffic."""
    from giveway.data import DATASETS
    from giveway.generate.prior import fit_prior, save_prior

    adapter = DATASETS.get(dataset)
    recordings = list(adapter.recordings(root))[:limit]
    if not as_json:
        typer.echo(f"{len(recordings)} recordings", err=True)
    fitted = fit_prior(scene for recording in recordings for scene in adapter.scenes(recording))
    save_prior(fitted, out)
    if as_json:
        print_json({"ok": True, "prior": str(out), "steps": fitted["steps"], "median": fitted["median"]})
    else:
        typer.echo(f"{out}: {fitted['steps']} steps, median log-density {fitted['median']:.3f}")
