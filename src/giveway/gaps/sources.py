"""Where scenes come from: data roots of the user, or generated recordings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from giveway.core.errors import DataError, UsageError
from giveway.core.urls import is_url
from giveway.data import DATASETS
from giveway.data.fingerprints import fingerprint
from giveway.data.protocol import Progress
from giveway.data.reading import Scenes
from giveway.experiments import Artifacts, content_key
from giveway.experiments.object_store import local_folder
from giveway.gaps.spec import RunSpec, SyntheticData
from giveway.synth import SYNTHESIZERS
from giveway.synth.folder import RECORD
from giveway.synth.protocol import FORMAT_VERSION, synthesize


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Attributes:
    dataset: adapter.
    root: folder with the recordings.
    address: where workers find them: the same folder, or what was given if that is the address of an object store.
    data: fingerprint of their content.
    is_synthetic: generated, so that published numbers do not belong beside the results.
    """

    dataset: str
    root: Path
    data: str
    is_synthetic: bool
    address: str = ""


def sources_for(spec: RunSpec, roots: Mapping[str, Path | str], artifacts: Artifacts) -> dict[str, Source]:
    """A source for every adapter the grid reads; generates data where the specification says so.

    Args:
        spec: the grid.
        roots: adapter to data root given by the user; takes precedence over generated data.
        artifacts: where generated data is kept.

    Raises:
        UsageError: naming the adapters that have neither a root nor generated data.
        DatasetLayoutError: if a root holds another dataset.
    """
    unknown = sorted(set(roots) - set(spec.adapters()))
    if unknown:
        raise UsageError(
            f"a data root was given for {unknown[0]!r}, which this run does not read",
            where="--data",
            found=f"this run reads: {', '.join(spec.adapters())}",
        )
    lacking = [name for name in spec.adapters() if name not in roots and name not in spec.synthetic]
    if lacking:
        raise UsageError(
            f"no data root for {', '.join(lacking)}",
            where="--data",
            found="this run needs real recordings",
            hint=" ".join(f"--data {name}=FOLDER" for name in lacking) + "; to try without data: --preset quick",
        )
    return {
        name: source_at(name, roots[name]) if name in roots else _generated(name, spec.synthetic[name], artifacts)
        for name in spec.adapters()
    }


def source_at(dataset: str, root: Path | str) -> Source:
    """A data root of the user, with the fingerprint of its content; generated ones say so in a file of their own.

    Args:
        dataset: adapter.
        root: folder, or the address of one in an object store, which is copied here first.
    """
    address = str(root) if is_url(root) else str(Path(root).resolve())
    folder = local_folder(address) if is_url(root) else Path(root)
    recordings = DATASETS.get(dataset).recordings(folder)
    return Source(
        dataset=dataset,
        root=folder,
        data=fingerprint(recordings),
        is_synthetic=(folder / RECORD).is_file(),
        address=address,
    )


def recordings_for(
    dataset: str, data: str, roots: Mapping[str, str], synthetic: Mapping[str, Any], artifacts: Artifacts
) -> Source:
    """The recordings of a cell on the machine that evaluates it.

    Args:
        dataset: adapter.
        data: fingerprint.
        roots: adapter to address.
        synthetic: adapter to :class:`SyntheticData`, made here if the folder is not visible.
        artifacts: where generated data is kept.
    """
    address = roots[dataset]
    if dataset in synthetic and not is_url(address) and not Path(address).is_dir():
        return _generated(dataset, SyntheticData(**synthetic[dataset]), artifacts)
    root = local_folder(address)
    if dataset not in synthetic and fingerprint(DATASETS.get(dataset).recordings(root)) != data:
        raise DataError(
            "these are other recordings than those the run was planned with",
            where=root,
            found="their fingerprint differs",
            hint="give all machines the same files, and start the same command again",
        )
    return Source(dataset=dataset, root=root, data=data, is_synthetic=dataset in synthetic, address=address)


def scenes_of(source: Source, progress: Progress | None = None) -> Scenes:
    """All scenes, recording by recording; those that cannot be read are left out and noted."""
    adapter = DATASETS.get(source.dataset)
    return Scenes(adapter, adapter.recordings(source.root), progress)


def _generated(name: str, data: SyntheticData, artifacts: Artifacts) -> Source:
    SYNTHESIZERS.get(name)
    description = {"what": "synthetic recordings", "dataset": name, "format": FORMAT_VERSION, **data.model_dump()}

    def build(folder: Path) -> None:
        synthesize(name, folder / "recordings", seed=data.seed, count=data.count, minutes=data.minutes)

    folder = artifacts.get(description, build)
    root = folder / "recordings"
    address = str(root.resolve())
    return Source(dataset=name, root=root, data=content_key(description), is_synthetic=True, address=address)
