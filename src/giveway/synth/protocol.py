"""The contract of a generator and the one call that runs it safely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from giveway import __version__
from giveway.core.errors import UsageError
from giveway.synth import SYNTHESIZERS
from giveway.synth.folder import ChosenFolder

FORMAT_VERSION = 3
"""Raised whenever the same seed gives other bytes than before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much to write.

    Attributes:
        count: number of units (:attr:`SynthesizerInfo.unit`).
        minutes: length of one unit; None where a unit has no length of its own.
        variant: name of a file variant of the dataset.
    """

    count: int
    minutes: float | None
    variant: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesizerInfo:
    """Fact sheet of a generator.

    Attributes:
        name: dataset whose files it writes.
        unit: what ``--size`` counts, in the plural.
        count: default size.
        max_count: largest size the id rules of the format allow.
        minutes: default length of one unit; None where it has none.
        variants: file variants on offer, the first is the default; empty where there is only one.
    """

    name: str
    unit: str
    count: int
    max_count: int
    minutes: float | None = None
    variants: tuple[str, ...] = ()


class Synthesizer(Protocol):
    """Writes one dataset below a folder."""

    @property
    def info(self) -> SynthesizerInfo:
        """Fact sheet."""
        ...

    def write(self, folder: Path, *, seed: int, size: Size) -> Mapping[str, Any]:
        """Write all files below ``folder`` (empty) and say how many of what there are.

        The bytes depend on ``seed`` and ``size`` only. The truth goes to ``folder / "truth"``.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """What was written.

    Attributes:
        dataset: name of the generator.
        folder: data root, to be given to the adapter of the same name.
        seed: root seed.
        counts: numbers for people, e.g. trials and accepted gaps.
        files: number of files.
        num_bytes: their total size.
    """

    dataset: str
    folder: Path
    seed: int
    counts: Mapping[str, Any]
    files: int
    num_bytes: int


def synthesize(
    name: str,
    folder: Path,
    *,
    seed: int = 0,
    count: int | None = None,
    minutes: float | None = None,
    variant: str | None = None,
    force: bool = False,
) -> Synthesis:
    """Write a synthetic dataset; all of it or nothing.

    Everything is written into a temporary folder beside ``folder`` and moved into place at the end.

    Args:
        name: a name in :data:`giveway.synth.SYNTHESIZERS`.
        folder: data root to create; must be absent or empty unless ``force``.
        seed: same seed and size, same bytes.
        count: how many trials, recordings, participants, ...; None for the default.
        minutes: length of a recording; None for the default.
        variant: file variant; None for the default.
        force: replace what an earlier call wrote here; files of others are left alone.

    Raises:
        UsageError: if an option makes no sense for this dataset or the folder is not empty.
    """
    generator = SYNTHESIZERS.get(name)
    size = _checked_size(generator.info, count, minutes, variant)
    with ChosenFolder(folder, force=force) as chosen:
        counts = generator.write(chosen.staging, seed=seed, size=size)
        record = {
            "synthetic": True,
            "dataset": name,
            "seed": seed,
            "giveway": __version__,
            "format_version": FORMAT_VERSION,
            "parameters": {"size": size.count, "minutes": size.minutes, "variant": size.variant},
            "counts": dict(counts),
        }
        files, num_bytes = chosen.publish(record)
    return Synthesis(dataset=name, folder=folder, seed=seed, counts=counts, files=files, num_bytes=num_bytes)


def _checked_size(info: SynthesizerInfo, count: int | None, minutes: float | None, variant: str | None) -> Size:
    number = info.count if count is None else count
    if not 1 <= number <= info.max_count:
        raise UsageError(
            f"the size of {info.name!r} must lie between 1 and {info.max_count} {info.unit}",
            where="--size",
            found=number,
            hint=f"leave it out for {info.count} {info.unit}",
        )
    if minutes is not None and info.minutes is None:
        raise UsageError(f"{info.name!r} has no length in minutes", where="--minutes", hint="use --size instead")
    if minutes is not None and not 0.5 <= minutes <= 60:
        raise UsageError("a recording lasts between 0.5 and 60 minutes", where="--minutes", found=minutes)
    if variant is not None and variant not in info.variants:
        raise UsageError(
            f"{info.name!r} has no variant {variant!r}",
            where="--variant",
            found=f"known: {', '.join(info.variants) or 'none'}",
        )
    return Size(
        count=number,
        minutes=info.minutes if minutes is None else minutes,
        variant=variant or (info.variants[0] if info.variants else None),
    )
