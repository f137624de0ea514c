"""Where torch computes, with a sentence when it cannot compute there."""

from __future__ import annotations

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
