"""How many threads torch may use for small networks."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch


@contextmanager
def one_torch_thread() -> Generator[None]:
    """Run a block on one thread and restore the setting afterwards.

    Matrices here have a few hundred rows and columns: handing them to a second thread costs more than it saves, and on
    a busy machine many times more. Several fits at once use several processes instead.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
