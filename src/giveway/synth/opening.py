"""Synthetic recordings in one call."""

from __future__ import annotations

from pathlib import Path

from giveway.data.opening import OpenDataset, open_dataset
from giveway.synth.protocol import synthesize as write_synthetic


def synthesize(
    name: str,
    out: Path | str,
    *,
    seed: int = 0,
    size: int | None = None,
    minutes: float | None = None,
    variant: str | None = None,
) -> OpenDataset:
    """Write synthetic recordings in the file format of a dataset, and open them.

    Args:
        name: dataset whose files are written, e.g. ``"lgap"``.
        out: folder to create; must be absent or empty.
        seed: same seed and size, same bytes.
        size: number of trials, recordings or participants; None for the default.
        minutes: length of a recording, where it has one.
        variant: file variant; None for the default.

    Raises:
        UsageError: a size that makes no sense, or a folder that is not empty.
    """
    write_synthetic(name, Path(out), seed=seed, count=size, minutes=minutes, variant=variant)
    return open_dataset(name, out)
