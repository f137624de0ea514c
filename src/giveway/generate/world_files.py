"""Files that worlds are made from: in keys by name and digest, on a machine by path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from giveway.core.checked import sha256_of_file
from giveway.core.errors import DataError
from giveway.experiments import Cell, Store, content_key
from giveway.generate.protocol import JOINT, egos_of
from giveway.generate.worlds import WorldSettings
from giveway.planning import make_planner
from giveway.roads.json_maps import map_bytes, read_map
from giveway.roads.library import make_road
from giveway.roads.library.lanelet import road_of_map
from giveway.roads.road import Road

MAPS = (".osm", ".osm_xy", ".xodr")


def world_files(world: WorldSettings) -> dict[str, str]:
    """Absolute paths of the map and the prior, those of the package left out."""
    files = {"road": world.road if world.road.endswith(MAPS) else None, "prior": world.prior}
    return {name: str(Path(path).resolve()) for name, path in files.items() if path is not None}


def files_digest(world: WorldSettings) -> str:
    """Digest of the content of these files; empty if there are none."""
    files = world_files(world)
    return content_key([sha256_of_file(Path(path)) for path in files.values()]) if files else ""


def world_facts(world: WorldSettings) -> dict[str, Any]:
    """What a key holds of worlds: as :meth:`WorldSettings.as_dict`, files by their name only."""
    return {**world.as_dict(), **{name: Path(path).name for name, path in world_files(world).items()}}


def planner_facts(name: str) -> tuple[str, str]:
    """Version of a planner and digest of its parameters, for keys; of several ones if they are joined by ``+``."""
    infos = [make_planner(ego).info for ego in egos_of(name)]
    return JOINT.join(info.version for info in infos), JOINT.join(content_key(dict(info.parameters)) for info in infos)


def world_of_cell(cell: Cell, machine: Mapping[str, Any]) -> WorldSettings:
    """Worlds of a cell, made from the files of this machine.

    Raises:
        DataError: they are not the files that the cell was planned with.
    """
    facts, files, default = cell.settings["world"], machine.get("files", {}), WorldSettings()
    values: dict[str, Any] = {**facts, **files}
    values["weights"] = type(default.weights)(**facts["weights"])
    values["v1"] = type(default.v1)(**facts["v1"])
    values["legacy"] = type(default.legacy)(**facts["legacy"])
    values["prior"] = None if values["prior"] is None else Path(values["prior"])
    world = WorldSettings(**values)
    if files_digest(world) != cell.data:
        raise DataError(
            "the map or the prior is not the one that was asked for",
            where=", ".join(files.values()) or facts["road"],
            hint="the file has changed since the run began: start the same command again",
        )
    return world


def map_file(world: WorldSettings) -> bytes | None:
    """The lane map of worlds whose road is a file, as a store keeps it; None for roads of the library."""
    return map_bytes(make_road(world.road).map()) if world.road.endswith(MAPS) else None


def stored_road(store: Store, name: str, data: str, kept: Sequence[str] = ()) -> Road:
    """The road of stored tests; the map of one that was a file is kept in the store.

    Args:
        store: with the tests.
        name: of the road.
        data: of the cells.
        kept: digest of the map, as the records of the tests name it; in stores of earlier releases it is looked for
            where a run into them had it.

    Raises:
        DataError: the map is not there any more, or is another one.
    """
    if not name.endswith(MAPS):
        return make_road(name)
    if kept:
        return road_of_map(read_map(store.shared_path(kept[0])))
    for start in reversed(store.provenance()):
        files = start.get("settings", {}).get("files", {})
        prior = Path(files["prior"]) if "prior" in files else None
        world = WorldSettings(road=files.get("road", ""), prior=prior)
        if all(Path(path).is_file() for path in world_files(world).values()) and files_digest(world) == data:
            return make_road(world.road)
    raise DataError(
        "the map of these tests is not on this machine, or was changed",
        where=store.root,
        found=name,
        hint="start the command that drove them again, with the path of that map",
    )
