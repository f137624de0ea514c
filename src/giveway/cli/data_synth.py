"""``giveway data synth``: recordings for those who have none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from giveway.cli.output import print_json

if TYPE_CHECKING:
    from giveway.synth.protocol import Synthesis

ALL = "all"


def synth(
    dataset: str = typer.Option(..., "--dataset", "-d", help="Whose files to imitate, or 'all'."),
    out: Path = typer.Option(..., "--out", "-o", help="Folder to create; with 'all' one folder per dataset below it."),
    seed: int = typer.Option(0, "--seed", help="Same seed and size, same bytes."),
    size: int | None = typer.Option(
        None, "--size", "-n", help="How many trials (lgap), participants (leeds) or recordings (others)."
    ),
    minutes: float | None = typer.Option(None, "--minutes", help="Length of a recording, where it has one."),
    variant: str | None = typer.Option(None, "--variant", help="File variant, e.g. 'old' for the older lgap form."),
    force: bool = typer.Option(False, "--force", help="Replace what an earlier call wrote; other files stay."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Write synthetic recordings in the format of a real dataset, with the hidden truth beside them."""
    from giveway.core.errors import UsageError
    from giveway.synth import SYNTHESIZERS
    from giveway.synth.protocol import synthesize

    if dataset == ALL and (size is not None or minutes is not None or variant is not None):
        raise UsageError("'all' writes every dataset in its default size", hint="name one --dataset to choose a size")
    names = SYNTHESIZERS.names() if dataset == ALL else [dataset]
    for name in names:
        SYNTHESIZERS.get(name)
    written: list[Synthesis] = []
    for name in names:
        folder = out / name if dataset == ALL else out
        if not as_json:
            typer.echo(f"{name}: writing to {folder} ...", err=True)
        result = synthesize(name, folder, seed=seed, count=size, minutes=minutes, variant=variant, force=force)
        written.append(result)
        if not as_json:
            _say(result)
    if as_json:
        print_json({"ok": True, "seed": seed, "written": written})


def _say(result: Synthesis) -> None:
    counts = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in result.counts.items())
    typer.echo(f"{result.dataset}: {result.files} files, {result.num_bytes / 1e6:.1f} MB: {counts}")
    typer.echo(f"  truth in {result.folder / 'truth'}, seed and parameters in {result.folder / 'synthetic.json'}")
    typer.echo(f"  try  giveway data verify --dataset {result.dataset} --root {result.folder}")
    typer.echo(f"       giveway data show --dataset {result.dataset} --root {result.folder} --out pictures")
