"""Recordings in one call: list datasets, open a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from giveway.core.displays import facts_html
from giveway.core.scene import Scene
from giveway.data import DATASETS
from giveway.data.protocol import Dataset, DatasetInfo, Recording, Verification


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
