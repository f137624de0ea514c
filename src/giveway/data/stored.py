"""A converted store as a dataset, so that everything that reads recordings reads stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from giveway.core.errors import StoreError
from giveway.core.scene import Scene
from giveway.data.findings import Findings
from giveway.data.layout import entries, no_recordings
from giveway.data.protocol import DatasetInfo, Progress, Recording, RecordingSummary, Verification
from giveway.data.store import (
    VERSION,
    damaged_files,
    open_store,
    read_document,
    read_recording,
    read_sealed_document,
)
from giveway.data.verification import verify_recordings


class Stored:
    """Adapter of the canonical store; recordings are named ``<dataset>/<id>``."""

    @property
    def info(self) -> DatasetInfo:
        """Fact sheet."""
        return DatasetInfo(
            name="store",
            title="Converted recordings",
            frame_rate_hz=float("nan"),
            license="that of the recordings inside",
            obtain="giveway data convert DIR --dataset NAME --out STORE",
            layout="store.json\nrecordings/<dataset>/<id>/{scenes.json,segments.parquet,states.parquet}\nmaps/*.json",
            has_map=True,
        )

    def recognizes(self, root: Path) -> bool:
        """Whether the root is a store."""
        return (root / "store.json").is_file()

    def recordings(self, root: Path) -> Sequence[Recording]:
        """All complete recordings of the store."""
        entries(root)
        if not self.recognizes(root):
            raise no_recordings(self.info, root)
        open_store(root)
        base = root / "recordings"
        found = [path.parent for path in base.rglob("scenes.json") if not _is_hidden(path.relative_to(base))]
        if not found:
            raise no_recordings(self.info, root)
        return [_recording(root, folder) for folder in sorted(found)]

    def scenes(self, recording: Recording) -> Iterator[Scene]:
        """The scenes as they were converted; their provenance names the original dataset and files."""
        dataset, _, name = recording.id.partition("/")
        yield from read_recording(recording.root, dataset, name)

    def verify(self, root: Path, *, progress: Progress | None = None, accept_implausible: bool = False) -> Verification:
        """Check every file against its recorded hash and read every scene."""
        return verify_recordings(
            self, root, self._check, version=str(VERSION), progress=progress, accept_implausible=accept_implausible
        )

    def _check(self, recording: Recording, findings: Findings) -> RecordingSummary | None:
        folder = recording.files["scenes"].parent
        sealed = read_sealed_document(folder)
        if sealed.seal is None:
            findings.warning(
                "written by release 0.1, without a digest of its own",
                folder / "scenes.json",
                found="the tables and maps are compared, the facts about scenes cannot be",
                hint="convert the recording again",
            )
        damaged = damaged_files(recording.root, folder, sealed.document)
        for path in damaged:
            findings.error(
                "the content differs from what was written",
                path,
                found="another SHA-256" if path.is_file() else "no such file",
                hint="convert the recording again",
            )
        return None if damaged else _summarize(recording, list(self.scenes(recording)))


STORED = Stored()


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _recording(root: Path, folder: Path) -> Recording:
    try:
        scenes = read_document(folder)["scenes"]
    except StoreError:
        scenes = []
    return Recording(
        dataset="store",
        id=folder.relative_to(root / "recordings").as_posix(),
        root=root,
        files={
            "scenes": folder / "scenes.json",
            "segments": folder / "segments.parquet",
            "states": folder / "states.parquet",
        },
        location=str(scenes[0]["location"]) if scenes else "",
    )


def _summarize(recording: Recording, scenes: list[Scene]) -> RecordingSummary:
    spans = [scene.tracks.time_s[[0, -1]] for scene in scenes if scene.tracks.num_instants]
    steps = [scene.tracks.dt_s if scene.tracks.num_instants > 1 else 0.0 for scene in scenes]
    return RecordingSummary(
        id=recording.id,
        location=recording.location,
        num_tracks=sum(scene.tracks.num_agents for scene in scenes),
        num_frames=sum(scene.tracks.num_instants for scene in scenes),
        num_rows=sum(int(scene.tracks.observed.sum()) for scene in scenes),
        duration_s=float(sum(last - first for first, last in spans) + sum(steps)),
    )
