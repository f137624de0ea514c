"""Roads for bundled cases, generation, synthetic recordings and tests; one file and one line each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from giveway.core.errors import UsageError
from giveway.core.registry import Registry
from giveway.roads.road import Road

ROADS: Registry[Callable[[], Road]] = Registry(
    "road",
    {
        "straight": "giveway.roads.library.straight:straight_road",
        "motorway": "giveway.roads.library.motorway:motorway_road",
        "merge": "giveway.roads.library.merge:merge_road",
        "roundabout": "giveway.roads.library.roundabout:roundabout_road",
        "four_way": "giveway.roads.library.four_way:four_way_road",
        "crossing": "giveway.roads.library.crossing:crossing_road",
    },
    group="giveway.roads",
)
"""Makers of roads by name."""


def make_road(name: str) -> Road:
    """A road by registered name, or from a lanelet2 map if the name is the path of an ``.osm`` file.

    Raises:
        UnknownNameError: nothing of that name.
        MapError: a map that cannot be read or has no way through.
    """
    if name.endswith((".osm", ".osm_xy", ".xodr")):
        from giveway.roads.library.lanelet import lanelet_road

        path = Path(name)
        if not path.is_file():
            raise UsageError("no such map", where=name, hint="give the path of a lanelet2 file, or a known road name")
        return lanelet_road(path)
    return ROADS.get(name)()
