"""Result stores named on the command line: a folder, or the address of one in an object store."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from giveway.core.urls import is_url

if TYPE_CHECKING:
    from giveway.runs import Store


def readable_store(place: str) -> Store:
    """The store to read from; a remote one is brought up to date on this machine first."""
    from giveway.runs import Store

    if not is_url(place):
        return Store(Path(place))
    from giveway.runs.mirror import Mirror

    return Mirror(place).pull()


def say_shortfall(store: Store) -> str:
    """Say on the standard error output what a table of this store lacks, and return it; empty if it has everything."""
    from giveway.runs import status

    missing = status(store).shortfall
    if missing:
        typer.echo(missing, err=True)
    return missing


@contextlib.contextmanager
def working_store(place: str) -> Generator[Store]:
    """The store to write to; what is new in a remote one is sent there whatever happens."""
    from giveway.runs import Store

    if not is_url(place):
        yield Store(Path(place), create=True)
        return
    from giveway.runs.mirror import Mirror

    with Mirror(place).working() as store:
        yield store
