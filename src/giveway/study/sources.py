"""Finding logs and recordings below a folder, whatever format they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from giveway.core.case import Case
from giveway.core.errors import DatasetLayoutError
from giveway.core.lanes import LaneMap
from giveway.core.origins import Origin
from giveway.core.scene import Scene
from giveway.data import DATASETS
from giveway.data.protocol import Dataset, Recording
from giveway.experiments.store import STORE_FILE
from giveway.roads.lanelet2 import read_lanelet2
from giveway.study.log_sources import (
    UNKNOWN_ORIGIN,
    RoadOf,
    condition_of,
    drive_logs,
    recorded_readers,
    simulated_readers,
)

UNKNOWN_CONDITION = "reference"
"""Traffic of which nobody knows the origin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """All recordings of one condition.

    Attributes:
        condition: name of the folder, or the origin of its traffic if the folder given is itself a data root.
        folder: where they lie.
        readers: one function per recording that reads its scenes.
    """

    condition: str
    folder: Path
    readers: tuple[Callable[[], Iterator[Scene]], ...]

    def origin(self) -> Origin | None:
        """Of its first scene; None if there is none or nobody knows."""
        for read in self.readers:
            for scene in read():
                return None if scene.attributes.get(UNKNOWN_ORIGIN) else scene.provenance.origin
        return None

    def called_by_origin(self) -> Source:
        """The same source under the name of what its traffic is."""
        return replace(self, condition=str(self.origin() or UNKNOWN_CONDITION))

    def scenes(self, rng: np.random.Generator) -> Iterator[Scene]:
        """Scenes of all recordings, recordings in random order; read when asked for."""
        for index in rng.permutation(len(self.readers)):
            yield from self.readers[int(index)]()


def without_road(case: Case) -> LaneMap | None:
    """No map for any case."""
    return None


def find_sources(folder: Path, *, road_of: RoadOf = without_road) -> list[Source]:
    """The folder as one source, or one source per subfolder that holds recordings or logs.

    Args:
        folder: a data root of any registered dataset; or a folder with drive logs, which give one condition per folder
            that holds logs, and one for the recorded drivers; or a folder whose subfolders are such roots, one per
            condition.
        road_of: where the map of a drive log comes from if the store did not keep it.

    Raises:
        DatasetLayoutError: if nothing readable is found.
    """
    if not folder.is_dir():
        raise DatasetLayoutError("there is no such folder", where=folder, hint="give a folder with logs or recordings")
    if (folder / STORE_FILE).is_file() and (found := drive_logs(folder)):
        return _log_sources(found, folder, road_of)
    below = [child for child in sorted(folder.iterdir()) if child.is_dir() and not child.name.startswith(".")]
    logs = {child: found for child in below if (found := drive_logs(child))}
    sources = [s for child in below if child not in logs and (s := _source(child, child.name)) is not None]
    if logs and not sources:
        return _log_sources(drive_logs(folder), folder, road_of)
    sources += [
        Source(condition=child.name, folder=child, readers=simulated_readers(found, road_of))
        for child, found in logs.items()
    ]
    whole = _source(folder, UNKNOWN_CONDITION)
    # A data root may have subfolders that are roots themselves (sites); then the folder as a whole is one condition.
    if whole is not None and len(whole.readers) >= sum(len(s.readers) for s in sources):
        return [whole.called_by_origin()]
    if not sources:
        raise DatasetLayoutError(
            "no logs or recordings found",
            where=folder,
            found=f"{len(below)} subfolders, none with recordings of {', '.join(DATASETS.names())}",
            hint="one subfolder per condition, each with drive logs or laid out as in: giveway list datasets",
        )
    return sources


def _log_sources(logs: list[Path], folder: Path, road_of: RoadOf) -> list[Source]:
    """One condition per predictor or folder that holds logs, and the recorded drivers of the same cases."""
    conditions: dict[str, list[Path]] = {}
    for log in logs:
        conditions.setdefault(condition_of(log, folder), []).append(log)
    sources = [
        Source(condition=name, folder=folder, readers=simulated_readers(found, road_of))
        for name, found in sorted(conditions.items())
    ]
    recorded = Source(condition=UNKNOWN_CONDITION, folder=folder, readers=recorded_readers(logs, road_of))
    named = recorded.called_by_origin()
    return sources if named.condition in conditions else [named, *sources]


def _source(folder: Path, condition: str) -> Source | None:
    for name in DATASETS.names():
        dataset = DATASETS.get(name)
        try:
            recordings = dataset.recordings(folder)
        except DatasetLayoutError:
            continue
        roads: dict[Path, LaneMap] = {}
        readers = tuple(partial(_scenes, dataset, recording, roads) for recording in recordings)
        return Source(condition=condition, folder=folder, readers=readers)
    return None


def _scenes(dataset: Dataset, recording: Recording, roads: dict[Path, LaneMap]) -> Iterator[Scene]:
    """Scenes with the map of their recording, also where the adapter leaves reading it to us."""
    path = recording.files.get("map")
    for scene in dataset.scenes(recording):
        if scene.road is not None or path is None or path.suffix not in (".osm", ".osm_xy"):
            yield scene
            continue
        if path not in roads:
            roads[path] = read_lanelet2(path, frame="dataset")
        yield replace(scene, road=roads[path])
