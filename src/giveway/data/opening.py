"""Recordings in one call: list datasets, open a folder, write synthetic recordings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from giveway.core.displays import facts_html
from giveway.core.scene import Scene
from giveway.data import DATASETS
from giveway.data.protocol import Dataset, DatasetInfo, Recording, Verification
from giveway.data.synthetic.protocol import synthesize as write_synthetic


class OpenDataset:
    """Recordings below a folder; iterating reads one scene after the other.

    Attributes:
        root: folder.
        info: what the dataset is and how one gets it.
        recordings: all recordings, sorted by id; no tracks are read.
    """

    def __init__(self, adapter: Dataset, root: Path) -> None:
        self._adapter = adapter
        self.root = root
        self.info: DatasetInfo = adapter.info
        self.recordings: Sequence[Recording] = adapter.recordings(root)

    def __iter__(self) -> Iterator[Scene]:
        for recording in self.recordings:
            yield from self._adapter.scenes(recording)

    def __len__(self) -> int:
        return len(self.recordings)

    def scenes(self, recording: Recording) -> Iterator[Scene]:
        """The scenes of one recording."""
        return self._adapter.scenes(recording)

    def verify(self) -> Verification:
        """Check every file; all problems at once, with file, line and column."""
        return self._adapter.verify(self.root)

    def __repr__(self) -> str:
        return f"OpenDataset({self.info.name}, {len(self)} recordings, {str(self.root)!r})"

    def _repr_html_(self) -> str:
        sites = sorted({recording.location for recording in self.recordings})
        facts = {"recordings": len(self), "sites": ", ".join(sites[:8]), "folder": self.root}
        return facts_html(self.info.title, {**facts, "license": self.info.license})


def datasets() -> list[DatasetInfo]:
    """All datasets that can be read, with license and how to obtain them."""
    return [DATASETS.get(name).info for name in DATASETS.names()]


def open_dataset(name: str, root: Path | str) -> OpenDataset:
    """The recordings below a folder.

    Args:
        name: registered dataset, e.g. ``"interaction"``.
        root: folder that holds them.

    Raises:
        UnknownNameError: no such dataset.
        DatasetLayoutError: nothing readable there.
    """
    return OpenDataset(DATASETS.get(name), Path(root))


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
