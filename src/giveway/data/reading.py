"""Scenes of many recordings, of which some may be broken: those are left out and told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from giveway.core.errors import DataError
from giveway.core.scene import Scene
from giveway.data.protocol import Dataset, Progress, Recording


class Scenes:
    """All scenes of recordings, in order; a recording that cannot be read does not end the others.

    Args:
        adapter: reads them.
        recordings: what to read.
        progress: called before each recording.

    Attributes:
        left_out: recording to why it, or the rest of it, could not be read; complete after the iteration.
    """

    def __init__(self, adapter: Dataset, recordings: Sequence[Recording], progress: Progress | None = None) -> None:
        self._adapter, self._recordings, self._progress = adapter, recordings, progress
        self.left_out: dict[str, DataError] = {}

    def __iter__(self) -> Iterator[Scene]:
        """Read.

        Raises:
            DataError: that of the first recording, if none could be read.
        """
        for _, scene in self.pairs():
            yield scene

    def pairs(self) -> Iterator[tuple[Recording, Scene]]:
        """Each scene with its recording."""
        self.left_out.clear()
        found = 0
        for done, recording in enumerate(self._recordings):
            if self._progress is not None:
                self._progress(done, len(self._recordings), recording.id)
            scenes = self._adapter.scenes(recording)
            while True:
                try:
                    scene = next(scenes)
                except StopIteration:
                    break
                except DataError as error:
                    self.left_out[recording.id] = error
                    break
                found += 1
                yield recording, scene
        if not found and self.left_out:
            raise next(iter(self.left_out.values()))

    @property
    def notes(self) -> tuple[str, ...]:
        """One line per recording that was left out."""
        return tuple(f"recording {name} was left out: {_line(error)}" for name, error in self.left_out.items())


def _line(error: DataError) -> str:
    return "; ".join(part for part in (error.what, error.where, error.found) if part)
