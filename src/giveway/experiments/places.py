"""Stores by where they are: a folder, or the address of one in an object store."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path

from giveway.core.urls import is_url
from giveway.experiments.store import Store


def readable_store(place: Path | str) -> Store:
    """The store to read from; a remote one is brought up to date on this machine first."""
    if not is_url(place):
        return Store(place)
    from giveway.experiments.mirror import Mirror

    return Mirror(str(place)).pull()


@contextlib.contextmanager
def working_store(place: Path | str) -> Generator[Store]:
    """The store to write to; what is new in a remote one is sent there whatever happens."""
    if not is_url(place):
        yield Store(place, create=True)
        return
    from giveway.experiments.mirror import Mirror

    with Mirror(str(place)).working() as store:
        yield store
