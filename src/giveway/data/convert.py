"""Recordings of any dataset to the store: resumable, one recording at a time, as many at once as wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from giveway.core.errors import DatasetLayoutError, GivewayError, StoreError
from giveway.core.files import disk_full
from giveway.data import DATASETS
from giveway.data.findings import relative_name
from giveway.data.fingerprints import sha256_of_file
from giveway.data.protocol import Recording
from giveway.data.store import (
    damaged_files,
    open_store,
    read_document,
    recording_folder,
    remove_leftovers,
    write_recording,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What became of one recording.

    Attributes:
        recording: its identifier.
        state: ``written``, ``skipped`` (the store has it, from the same bytes), ``empty`` (it holds no scene) or
            ``failed``.
        scenes: how many; 0 unless written.
        error: the four parts of the message, if it failed.
    """

    recording: str
    state: str
    scenes: int = 0
    error: Mapping[str, str | None] | None = None


def convert(
    dataset: str, root: Path, store: Path, *, jobs: int = 1, accept_implausible: bool = False
) -> Iterator[Conversion]:
    """Convert every recording below a root, skipping what the store has already and undamaged.

    A recording that cannot be read is reported and leaves nothing behind; the others go on.

    Args:
        dataset: registered name.
        root: data root.
        store: folder of the store; created if absent.
        jobs: processes.
        accept_implausible: take recordings whose numbers contradict one another; their scenes carry a note.

    Yields:
        One result per recording, in their order.

    Raises:
        DatasetLayoutError: if there are no recordings, or one would take the place of another in the store.
        StoreError: if the folder is something else.
        DiskFullError: if there is no room; what is converted stays.
    """
    recordings = [
        replace(recording, accept_implausible=accept_implausible)
        for recording in DATASETS.get(dataset).recordings(root)
    ]
    yield from convert_recordings(recordings, store, jobs=jobs)


def convert_recordings(recordings: Sequence[Recording], store: Path, *, jobs: int = 1) -> Iterator[Conversion]:
    """As :func:`convert`, for recordings that are found already."""
    _check_folders(recordings, store)
    open_store(store, create=True)
    remove_leftovers(store)
    if jobs <= 1 or len(recordings) < 2:
        for recording in recordings:
            yield convert_recording(recording, store)
        return
    # A forked child would inherit the locks of polars' threads.
    with ProcessPoolExecutor(max_workers=min(jobs, len(recordings)), mp_context=get_context("spawn")) as pool:
        yield from pool.map(convert_recording, recordings, [store] * len(recordings))


def convert_recording(recording: Recording, store: Path) -> Conversion:
    """Convert one recording unless the store has it from the same bytes.

    Raises:
        DiskFullError: if there is no room; the recordings after it would not find any either.
    """
    try:
        if is_converted(recording, store):
            return Conversion(recording=recording.id, state="skipped")
        scenes = list(DATASETS.get(recording.dataset).scenes(recording))
        if not scenes:
            return Conversion(recording=recording.id, state="empty")
        write_recording(store, recording.dataset, recording.id, scenes)
    except Exception as error:
        full = disk_full(error, path=recording_folder(store, recording.dataset, recording.id))
        if full is not None:
            raise full from error
        if not isinstance(error, GivewayError):
            raise
        return Conversion(recording=recording.id, state="failed", error=error.as_dict())
    return Conversion(recording=recording.id, state="written", scenes=len(scenes))


def is_converted(recording: Recording, store: Path) -> bool:
    """Whether the store holds this recording undamaged, made from files with the same content."""
    folder = recording_folder(store, recording.dataset, recording.id)
    if not (folder / "scenes.json").is_file():
        return False
    try:
        document = read_document(folder)
    except StoreError:
        return False
    known = {name: digest for entry in document["provenances"] for name, digest in entry["files"].items()}
    try:
        present = {relative_name(p, recording.root): sha256_of_file(p) for p in recording.files.values()}
        return known == present and not damaged_files(store, folder, document)
    except OSError:
        return False


def _check_folders(recordings: Sequence[Recording], store: Path) -> None:
    """Refuse recordings that would overwrite one another: of the same name, or named like the folder of others."""
    owners: dict[Path, Recording] = {}
    for recording in recordings:
        folder = recording_folder(store, recording.dataset, recording.id)
        other = owners.setdefault(folder, recording)
        if other is not recording:
            raise DatasetLayoutError(
                "two recordings have the same name",
                where=recording.root,
                found=f"{recording.id!r}: {_first_file(other)} and {_first_file(recording)}",
                hint="rename one of the files",
            )
    for folder, recording in owners.items():
        around = next((owners[parent] for parent in folder.parents if parent in owners), None)
        if around is not None:
            raise DatasetLayoutError(
                "a recording is named like the folder of another",
                where=recording.root,
                found=f"{_first_file(recording)} would lie below {_first_file(around)}",
                hint="rename the file or the folder",
            )


def _first_file(recording: Recording) -> str:
    return relative_name(next(iter(recording.files.values())), recording.root)
