"""What commands say about the store they read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from giveway.experiments import Store


def say_shortfall(store: Store) -> str:
    """Say on the standard error output what a table of this store lacks, and return it; empty if it has everything."""
    from giveway.experiments import status

    missing = status(store).shortfall
    if missing:
        typer.echo(missing, err=True)
    return missing
