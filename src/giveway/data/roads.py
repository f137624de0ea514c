"""Maps that belong to recordings: read once per content, shared by all recordings of a site."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

from giveway.core.errors import DataError
from giveway.core.lanes import LaneMap
from giveway.data.findings import Findings
from giveway.data.fingerprints import sha256_of_bytes
from giveway.data.tables import read_bytes
from giveway.roads.lanelet2 import read_lanelet2

Frame = Literal["file", "dataset"]


def read_road(path: Path, *, frame: Frame = "dataset") -> tuple[LaneMap, str]:
    """The map in the frame of the recordings and the SHA-256 of its file; parsed again only when the content changed.

    Args:
        path: of the map.
        frame: see :func:`giveway.roads.lanelet2.read_lanelet2`; ``"dataset"`` knows INTERACTION's shifted maps.

    Raises:
        MapError: if it is broken or unsafe.
    """
    digest = sha256_of_bytes(read_bytes(path))
    return _parse(path, digest, frame), digest


def check_road(path: Path, findings: Findings, *, frame: Frame = "dataset") -> None:
    """Report what is wrong with a map, and what its reader tolerated."""
    try:
        road, _ = read_road(path, frame=frame)
    except DataError as error:
        findings.forward(error)
        return
    for warning in road.warnings:
        match = re.fullmatch(r"(?:line (\d+): )?(.*)", warning, re.DOTALL)
        assert match is not None  # every text matches
        findings.warning(match[2], path, line=int(match[1]) if match[1] else None)


@lru_cache(maxsize=32)
def _parse(path: Path, digest: str, frame: Frame) -> LaneMap:
    return read_lanelet2(path, frame=frame)
