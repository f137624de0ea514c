"""Failures as ASAM OpenSCENARIO XML 1.2: every car an entity that follows its trajectory, the ego left to its planner.

The road lies beside the scenarios as OpenDRIVE (:mod:`giveway.roads.opendrive_writer`). The reader in tests is the one
of the package ``scenariogeneration``. CommonRoad was the other choice; its reader pins a protobuf release that our gRPC
server cannot be installed with.

Reference:
    ASAM OpenSCENARIO XML 1.2.0 (2022), user guide and class reference.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from giveway.core.files import write_atomically
from giveway.core.tracks import Tracks
from giveway.generate.export.cases import EGO, Failure
from giveway.roads.opendrive_writer import opendrive, write_opendrive

REVISION = ("1", "2")
AUTHOR = "giveway"
FIXED_DATE = "2026-01-01T00:00:00"
"""Equal failures give equal files."""


def write_scenarios(folder: Path, failures: Sequence[Failure]) -> list[Path]:
    """Write one scenario per failure, and each road once beside them as OpenDRIVE, to which the scenarios refer.

    Returns:
        The scenarios, then the roads.
    """
    roads: dict[str, Path] = {}
    files: list[Path] = []
    for failure in failures:
        map_file = ""
        if failure.road is not None:
            digest = hashlib.sha256(ElementTree.tostring(opendrive(failure.road))).hexdigest()[:8]
            map_file = f"{Path(failure.site).stem}-{digest}.xodr"
            if map_file not in roads:
                roads[map_file] = folder / map_file
                write_opendrive(roads[map_file], failure.road)
        files.append(folder / f"{failure.id}.xosc")
        write_openscenario(files[-1], failure, map_file=map_file)
    return [*files, *roads.values()]


def write_openscenario(path: Path, failure: Failure, *, map_file: str = "") -> None:
    """Write one scenario.

    Args:
        path: ``.xosc`` file.
        failure: what to write.
        map_file: file name of the road, relative to ``path``; empty for none.
    """
    tree = ElementTree.ElementTree(scenario(failure, map_file=map_file))
    ElementTree.indent(tree)
    with write_atomically(path) as temporary:
        tree.write(temporary, encoding="utf-8", xml_declaration=True)


def scenario(failure: Failure, *, map_file: str = "") -> ElementTree.Element:
    """The document of one failure."""
    tracks = failure.tracks
    root = ElementTree.Element("OpenSCENARIO")
    _add(
        root,
        "FileHeader",
        revMajor=REVISION[0],
        revMinor=REVISION[1],
        date=FIXED_DATE,
        author=AUTHOR,
        description=f"{failure.id}: {failure.result.kind or failure.result.outcome}",
    )
    _add(root, "ParameterDeclarations")
    _add(root, "CatalogLocations")
    network = _add(root, "RoadNetwork")
    if map_file:
        _add(network, "LogicFile", filepath=map_file)
    entities = _add(root, "Entities")
    for row, name in enumerate(tracks.ids):
        _entity(entities, str(name), float(tracks.size[row, 0]), float(tracks.size[row, 1]))
    board = _add(root, "Storyboard")
    actions = _add(_add(board, "Init"), "Actions")
    for row, name in enumerate(tracks.ids):
        _start(actions, str(name), tracks, row)
    act = _act(board)
    for row, name in enumerate(tracks.ids):
        if str(name) != EGO:
            _follow(act, str(name), tracks, row)
    _clock(_add(act, "StartTrigger"), "start", 0.0)
    _clock(_add(board, "StopTrigger"), "end", float(tracks.time_s[-1] - tracks.time_s[0]))
    return root


def _add(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, attributes)


def _number(value: float) -> str:
    return f"{value:.6g}" if abs(value) < 1e5 else f"{value:.3f}"


def _entity(parent: ElementTree.Element, name: str, length: float, width: float) -> None:
    car = _add(_add(parent, "ScenarioObject", name=name), "Vehicle", name=f"{name}_car", vehicleCategory="car")
    _add(car, "ParameterDeclarations")
    box = _add(car, "BoundingBox")
    _add(box, "Center", x="0", y="0", z="0.75")
    _add(box, "Dimensions", width=_number(width), length=_number(length), height="1.5")
    _add(car, "Performance", maxSpeed="60", maxAcceleration="6", maxDeceleration="9")
    axles = _add(car, "Axles")
    for tag, at, steering in (("FrontAxle", 0.3 * length, "0.6"), ("RearAxle", -0.3 * length, "0")):
        _add(
            axles,
            tag,
            maxSteering=steering,
            wheelDiameter="0.6",
            trackWidth=_number(0.85 * width),
            positionX=_number(at),
            positionZ="0.3",
        )
    _add(car, "Properties")


def _start(actions: ElementTree.Element, name: str, tracks: Tracks, row: int) -> None:
    first = int(tracks.first[row])
    private = _add(actions, "Private", entityRef=name)
    teleport = _add(_add(private, "PrivateAction"), "TeleportAction")
    _position(teleport, tracks, row, first)
    speed = _add(_add(_add(private, "PrivateAction"), "LongitudinalAction"), "SpeedAction")
    _add(speed, "SpeedActionDynamics", dynamicsShape="step", value="0", dynamicsDimension="time")
    _add(_add(speed, "SpeedActionTarget"), "AbsoluteTargetSpeed", value=_number(float(tracks.speed[row, first])))


def _position(parent: ElementTree.Element, tracks: Tracks, row: int, at: int) -> None:
    x, y = tracks.xy[row, at]
    heading = float(tracks.heading[row, at])
    _add(
        _add(parent, "Position"),
        "WorldPosition",
        x=_number(float(x)),
        y=_number(float(y)),
        z="0",
        h=_number(math.remainder(heading, 2 * math.pi)),
        p="0",
        r="0",
    )


def _act(board: ElementTree.Element) -> ElementTree.Element:
    story = _add(board, "Story", name="traffic")
    _add(story, "ParameterDeclarations")
    return _add(story, "Act", name="drive")


def _follow(act: ElementTree.Element, name: str, tracks: Tracks, row: int) -> None:
    group = _add(act, "ManeuverGroup", name=f"{name}_group", maximumExecutionCount="1")
    _add(_add(group, "Actors", selectTriggeringEntities="false"), "EntityRef", entityRef=name)
    maneuver = _add(group, "Maneuver", name=f"{name}_maneuver")
    event = _add(maneuver, "Event", name=f"{name}_event", priority="override", maximumExecutionCount="1")
    action = _add(_add(event, "Action", name=f"{name}_action"), "PrivateAction")
    follow = _add(_add(action, "RoutingAction"), "FollowTrajectoryAction")
    reference = _add(follow, "TrajectoryRef")
    trajectory = _add(reference, "Trajectory", name=f"{name}_trajectory", closed="false")
    _add(trajectory, "ParameterDeclarations")
    line = _add(_add(trajectory, "Shape"), "Polyline")
    for at in np.flatnonzero(tracks.observed[row]):
        vertex = _add(line, "Vertex", time=_number(float(tracks.time_s[at] - tracks.time_s[0])))
        _position(vertex, tracks, row, int(at))
    timing = _add(_add(follow, "TimeReference"), "Timing")
    timing.attrib.update(domainAbsoluteRelative="absolute", scale="1", offset="0")
    _add(follow, "TrajectoryFollowingMode", followingMode="position")
    _clock(_add(event, "StartTrigger"), f"{name}_begin", 0.0)


def _clock(trigger: ElementTree.Element, name: str, after_s: float) -> None:
    condition = _add(_add(trigger, "ConditionGroup"), "Condition", name=name, delay="0", conditionEdge="none")
    _add(
        _add(condition, "ByValueCondition"),
        "SimulationTimeCondition",
        value=_number(after_s),
        rule="greaterOrEqual" if after_s == 0 else "greaterThan",
    )
