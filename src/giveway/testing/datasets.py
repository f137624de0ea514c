"""Conformance of dataset adapters: what everything that reads recordings relies on, checked on real files.

::

    from giveway.testing.datasets import check_dataset
    check_dataset(MyDataset(), Path("some/recordings"))
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from giveway.core.errors import DataError, GivewayError
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.data.fingerprints import sha256_of_file
from giveway.data.protocol import Dataset, Recording
from giveway.data.store import open_store, read_recording, write_recording

MAX_RECORDINGS = 3
"""Recordings that are read in full; all are listed and verified."""


def check_dataset(dataset: Dataset, root: Path, *, max_recordings: int = MAX_RECORDINGS) -> None:
    """Check an adapter against files that are known to be right.

    A complete fact sheet; recordings in a fixed order, unique and made of existing files; scenes with NaN exactly where
    nothing was observed, finite positions elsewhere and honest provenance; the same scenes on a second reading;
    ``verify`` without errors and with the counts of the scenes; a round trip through the store; and a clear error for
    a folder that is empty or absent.

    Args:
        dataset: the adapter.
        root: data root with at least one recording.
        max_recordings: how many to read in full.

    Raises:
        DataError: naming every check that failed.
    """
    failures: list[str] = []
    for check in CHECKS:
        try:
            check(dataset, root, max_recordings)
        except (GivewayError, AssertionError) as error:
            failures.append(f"{check.__name__.removeprefix('_')}: {error}")
    if failures:
        raise DataError(
            f"the adapter {dataset.info.name!r} breaks the contract",
            where=root,
            found="\n".join(failures),
            hint="see giveway.data.protocol for what each method promises",
        )


def _fact_sheet(dataset: Dataset, root: Path, limit: int) -> None:
    info = dataset.info
    for name in ("name", "title", "license", "obtain", "layout"):
        assert getattr(info, name), f"info.{name} is empty"
    assert info.name == info.name.lower() and " " not in info.name, "info.name must be lower case without blanks"


def _recordings(dataset: Dataset, root: Path, limit: int) -> None:
    recordings = dataset.recordings(root)
    ids = [recording.id for recording in recordings]
    assert ids, "no recordings"
    assert len(set(ids)) == len(ids), "ids are not unique"
    assert ids == [recording.id for recording in dataset.recordings(root)], "the order changes between calls"
    for recording in recordings:
        assert recording.dataset == dataset.info.name, f"recording {recording.id} names dataset {recording.dataset!r}"
        for role, path in recording.files.items():
            assert path.exists(), f"recording {recording.id}: {role} {path} does not exist"


def _scenes(dataset: Dataset, root: Path, limit: int) -> None:
    for recording in dataset.recordings(root)[:limit]:
        scenes = list(dataset.scenes(recording))
        assert scenes, f"recording {recording.id} has no scene"
        for scene in scenes:
            _check_tracks(scene.tracks, recording)
            _check_provenance(scene, recording)


def _repeatable(dataset: Dataset, root: Path, limit: int) -> None:
    for recording in dataset.recordings(root)[:limit]:
        for one, other in zip(dataset.scenes(recording), dataset.scenes(recording), strict=True):
            _assert_same(one, other, f"recording {recording.id} differs on a second reading")


def _verification(dataset: Dataset, root: Path, limit: int) -> None:
    calls: list[tuple[int, int, str]] = []
    verification = dataset.verify(root, progress=lambda done, total, name: calls.append((done, total, name)))
    errors = [problem for problem in verification.problems if problem.severity == "error"]
    assert verification.ok and not errors, f"verify reports errors: {errors[:3]}"
    recordings = dataset.recordings(root)
    assert len(calls) == len(recordings), "verify does not report progress for every recording"
    summaries = {summary.id: summary for summary in verification.recordings}
    assert sorted(summaries) == sorted(recording.id for recording in recordings), "verify misses recordings"
    for recording in recordings[:limit]:
        tracks = sum(scene.tracks.num_agents for scene in dataset.scenes(recording))
        stated = summaries[recording.id].num_tracks
        assert stated == tracks, f"recording {recording.id}: verify counts {stated} tracks, scenes have {tracks}"


def _store(dataset: Dataset, root: Path, limit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder)
        open_store(store, create=True)
        for recording in dataset.recordings(root)[:limit]:
            scenes = list(dataset.scenes(recording))
            write_recording(store, dataset.info.name, recording.id, scenes)
            for one, other in zip(scenes, read_recording(store, dataset.info.name, recording.id), strict=True):
                _assert_same(one, other, f"recording {recording.id} changes in the store")


def _wrong_folders(dataset: Dataset, root: Path, limit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for wrong in (Path(folder), Path(folder) / "absent"):
            try:
                dataset.recordings(wrong)
            except GivewayError as error:
                assert error.hint, "the error for a wrong folder gives no hint"
            else:
                raise AssertionError("an empty or absent folder is accepted")
            assert not dataset.verify(wrong).ok, "verify is content with an empty or absent folder"


CHECKS: tuple[Callable[[Dataset, Path, int], None], ...] = (
    _fact_sheet,
    _recordings,
    _scenes,
    _repeatable,
    _verification,
    _store,
    _wrong_folders,
)


def _check_tracks(tracks: Tracks, recording: Recording) -> None:
    where = f"recording {recording.id}"
    seen = tracks.observed
    assert tracks.num_agents and tracks.num_instants, f"{where}: a scene is empty"
    assert bool(seen.any(axis=1).all()), f"{where}: an agent is never observed"
    assert bool(np.isfinite(tracks.xy[seen]).all()), f"{where}: an observed position is not finite"
    for name in ("xy", "heading", "velocity"):
        assert bool(np.isnan(getattr(tracks, name)[~seen]).all()), f"{where}: {name} has values where nothing was seen"
    assert len(set(tracks.ids.tolist())) == tracks.num_agents, f"{where}: agent ids are not unique"
    kinds = {int(kind) for kind in AgentKind}
    assert set(tracks.kind.tolist()) <= kinds, f"{where}: unknown kind codes"
    assert not bool((tracks.size <= 0).any()), f"{where}: a size is not positive"
    assert np.isfinite(tracks.time_s).all(), f"{where}: a time is not finite"


def _check_provenance(scene: Scene, recording: Recording) -> None:
    assert scene.provenance.recording, "provenance without recording"
    assert scene.provenance.files, f"recording {recording.id}: provenance names no file"
    if scene.provenance.dataset != recording.dataset:
        return  # a converted recording names its original files
    for name, digest in scene.provenance.files.items():
        path = recording.root / name
        assert path.is_file(), f"provenance names {name}, which is not below the root"
        assert sha256_of_file(path) == digest, f"the hash of {name} is wrong"


def _assert_same(one: Scene, other: Scene, message: str) -> None:
    for name in Tracks.__dataclass_fields__:
        a, b = getattr(one.tracks, name), getattr(other.tracks, name)
        same = a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        assert same, f"{message}: tracks.{name}"
    assert one.location == other.location and one.provenance == other.provenance, message
    assert list(one.attributes) == list(other.attributes), f"{message}: attributes"
