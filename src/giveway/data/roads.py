"""Maps that belong to recordings: read once per content, shared by all recordings of a site."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import DataError
from giveway.core.lanes import LaneMap
from giveway.data.assemble import StateRows
from giveway.data.findings import Findings
from giveway.data.fingerprints import sha256_of_bytes
from giveway.data.tables import read_bytes
from giveway.roads.lanelet2 import read_lanelet2
from giveway.roads.opendrive import read_opendrive
from giveway.roads.projection import UtmProjection

Frame = Literal["file", "dataset"]


MAX_APART_M = 500.0
"""A map whose box is farther than this from the box of the tracks is of another place."""


def read_road(path: Path, *, frame: Frame = "dataset", projection: UtmProjection | None = None) -> tuple[LaneMap, str]:
    """The map in the frame of the recordings and the SHA-256 of its file; parsed again only when the content changed.

    Args:
        path: of the map.
        frame: see :func:`giveway.roads.lanelet2.read_lanelet2`; ``"dataset"`` knows INTERACTION's shifted maps.
        projection: zone and origin of the recording, where it tells.

    Raises:
        MapError: if it is broken or unsafe.
    """
    digest = sha256_of_bytes(read_bytes(path))
    return _parse(path, digest, frame, projection), digest


def check_road(
    path: Path,
    findings: Findings,
    *,
    frame: Frame = "dataset",
    projection: UtmProjection | None = None,
    parts: Sequence[StateRows] = (),
    field: str = "",
) -> None:
    """Report what is wrong with a map, what its reader tolerated, and whether it lies where the tracks are.

    Args:
        path: of the map.
        findings: where problems go.
        frame: see :func:`read_road`.
        projection: likewise.
        parts: states on this road.
        field: what says where the map lies, for the hint.
    """
    try:
        road, _ = read_road(path, frame=frame, projection=projection)
    except DataError as error:
        findings.forward(error)
        return
    check_place(road, parts, path, findings, field=field)
    for warning in road.warnings:
        match = re.fullmatch(r"(?:line (\d+): )?(.*)", warning, re.DOTALL)
        assert match is not None  # every text matches
        findings.warning(match[2], path, line=int(match[1]) if match[1] else None)


def check_place(road: LaneMap, parts: Sequence[StateRows], path: Path, findings: Findings, *, field: str = "") -> None:
    """Report a map that lies farther than :data:`MAX_APART_M` from all tracks: another zone, origin or site."""
    if not parts:
        return
    centers = np.concatenate([lane.center for lane in road.lanes.values()])
    low, high = centers.min(axis=0), centers.max(axis=0)
    places = np.concatenate([np.stack([part.x, part.y], axis=1) for part in parts])
    first, last = places.min(axis=0), places.max(axis=0)
    apart = float(np.hypot(*np.maximum(0.0, np.maximum(low - last, first - high))))
    if apart > MAX_APART_M:
        findings.error(
            "the map does not lie where the tracks are; it is in another zone, around another origin, or of another "
            "site",
            path,
            column=field or None,
            found=f"map around ({_middle(low, high)}) m, tracks around ({_middle(first, last)}) m, {apart:.0f} m apart",
            hint=f"check {field or 'the georeference'}, or remove the map",
        )


def _middle(low: FloatArray, high: FloatArray) -> str:
    return ", ".join(f"{value:.0f}" for value in 0.5 * (low + high))


@lru_cache(maxsize=32)
def _parse(path: Path, digest: str, frame: Frame, projection: UtmProjection | None) -> LaneMap:
    if path.suffix == ".xodr":
        return read_opendrive(path, projection=projection)
    return read_lanelet2(path, frame=frame, projection=projection)
