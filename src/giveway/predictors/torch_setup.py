"""Where torch computes, on how many threads, and from which seed; for all networks of the package."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch

from giveway.core.errors import UsageError

DEVICES = ("cpu", "cuda", "mps")


def device_named(name: str) -> torch.device:
    """The device of this name, e.g. ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.

    Raises:
        UsageError: for an unknown name, and for hardware that is not there.
    """
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UsageError("unknown device", where="device", found=name, hint=f"one of {', '.join(DEVICES)}") from error
    count = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    there = count.get(device.type, 0)
    if (device.index or 0) >= there:
        raise UsageError(
            f"this machine has no device {name!r} that torch can use",
            where="device",
            found=f"{there} of type {device.type}, torch {torch.__version__}",
            hint="use cpu",
        )
    return device


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


@contextmanager
def seeded(seed: int, device: torch.device) -> Generator[None]:
    """Run a block with torch's generators seeded, and leave them as they were."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed % 2**63)
        yield
