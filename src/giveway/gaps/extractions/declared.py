"""Own recordings: gaps at places that the data declares, or where a map says who gives way.

A declared conflict has two gates. Whoever crosses the target's gate from its left to its right may take a gap, whoever
crosses the other gate offers them; where and when their paths meet is told by the tracks, see
:mod:`giveway.gaps.extractions.paths`. With ``rule = "none"`` nobody has priority: both streams are targets. Scenes
without declared conflicts follow the rules of their map, see :mod:`giveway.gaps.extractions.lanes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import shapely

from giveway.core.arrays import FloatArray
from giveway.core.errors import DataError
from giveway.core.scene import Scene
from giveway.gaps.encounters import Encounter, Traffic, encounters_of, traffic_of
from giveway.gaps.extractions.lane_routes import RouteBook
from giveway.gaps.extractions.lanes import LaneExtraction, LaneStreams, PlacedRoutes
from giveway.gaps.extractions.paths import path_gaps, path_samples
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import OneSample
from giveway.gaps.references import MedianReferences
from giveway.roads.path_conflicts import DrivenPath, PathConflict

UNCONFIRMED = 'who yields is a guess; confirm it with rule = "target_yields" or "none"'


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStreams:
    """See :class:`giveway.gaps.encounters.Streams`.

    Attributes:
        name: of the conflict.
        target_gate, priority_gate: (2, 2) ends of each gate [m].
        zone: area of the place, or None for wherever paths meet.
    """

    name: str
    target_gate: FloatArray
    priority_gate: FloatArray
    zone: shapely.Geometry | None = None

    def targets(self, traffic: Traffic) -> Sequence[int]:
        """Everybody who crosses the target's gate."""
        return [row for row, path in enumerate(traffic.paths) if crosses(path, self.target_gate)]

    def contests(self, traffic: Traffic, target: int, other: int, conflict: PathConflict) -> bool:
        """Whether the other one crossed the gate of those with priority, and the paths meet in the zone."""
        inside = self.zone is None or bool(shapely.intersects(self.zone, shapely.Point(conflict.place)))
        return inside and crosses(traffic.paths[other], self.priority_gate)


def crosses(path: DrivenPath | None, gate: FloatArray) -> bool:
    """Whether a path crosses a gate from its left to its right, seen from its first end to its second."""
    if path is None:
        return False
    along = gate[1] - gate[0]
    a, b = path.xy[:-1], path.xy[1:]
    side = along[0] * (path.xy[:, 1] - gate[0, 1]) - along[1] * (path.xy[:, 0] - gate[0, 0])
    through = (side[:-1] > 0) & (side[1:] <= 0)
    if not through.any():
        return False
    share = side[:-1][through] / (side[:-1][through] - side[1:][through])
    at = a[through] + share[:, None] * (b - a)[through]
    part = ((at - gate[0]) @ along) / float(along @ along)
    return bool(((part >= 0) & (part <= 1)).any())


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredExtraction(LaneExtraction):
    """One candidate per road user with priority that passes while T is near, and the next one after T went."""

    def enumerate(self, scenes: Iterable[Scene], profile: Profile) -> Candidates:
        """Conflicts in the order of the declaration, recordings in order, targets in order of tracks.

        Raises:
            DataError: scenes without declared conflicts and without rules, or a conflict that no pair passes.
        """
        met: dict[tuple[str, str], list[Encounter]] = {}
        samples: list[OneSample] = []
        books: dict[str, RouteBook] = {}
        placed: dict[str, PlacedRoutes] = {}
        by_map: dict[str, list[Encounter]] = {}
        notes: dict[str, None] = {}
        count = 0
        for scene in scenes:
            count += 1
            streams = declared_streams(scene)
            notes |= dict.fromkeys(f"conflict {name!r}: {UNCONFIRMED}" for name in _guessed(scene))
            if streams:
                traffic = traffic_of(scene)
                for stream in streams:
                    met.setdefault((stream.name, scene.location), []).extend(encounters_of(traffic, stream))
            elif scene.road is not None and any(lane.yields_to for lane in scene.road.lanes.values()):
                book = books.setdefault(scene.location, RouteBook(scene.road))
                lanes = LaneStreams(book=book, routes=book.routes(scene.tracks))
                encounters = list(encounters_of(traffic_of(scene), lanes))
                placed.setdefault(scene.location, PlacedRoutes()).add(lanes, encounters)
                by_map.setdefault(scene.location, []).extend(encounters)
                notes[f"{scene.location}: no conflict declared, the rules of the map say who gives way"] = None
            else:
                notes[f"{scene.location}: no conflict declared, and no map with rules; left out"] = None
        for location, encounters in by_map.items():
            samples += path_samples(encounters, placed[location], prefix=self.info.name)
        for (name, location), encounters in met.items():
            if not encounters:
                raise DataError(
                    "no pair of road users passes a declared conflict",
                    where=f"conflict {name!r}, target_gate and priority_gate, {location or 'all recordings'}",
                    found=f"{count} recordings without an encounter",
                    hint="gates are crossed from their left to their right; look at the tracks with giveway data show",
                )
            book = MedianReferences(encounters, location or "all recordings")
            notes |= dict.fromkeys(f"conflict {name!r}: {note}" for note in book.notes)
            samples += path_samples(encounters, book, prefix=f"{self.info.name} {name}")
        if not samples and count:
            raise DataError(
                "nothing says where gaps are",
                where="[[conflict]] of dataset.toml or conflicts.toml",
                found="; ".join(notes) or "no encounter",
                hint="declare a conflict (docs: own data), or draw a map: giveway data lanes",
            )
        return Candidates(raw=path_gaps(samples), notes=tuple(notes))


def _guessed(scene: Scene) -> list[str]:
    """Conflicts whose rule nobody confirmed."""
    conflicts = cast("list[dict[str, Any]]", scene.attributes.get("conflicts") or [])
    return [str(conflict["name"]) for conflict in conflicts if conflict.get("rule") is None]


def declared_streams(scene: Scene) -> list[GateStreams]:
    """Streams of the conflicts that a scene declares; both ways round where nobody has priority."""
    found: list[GateStreams] = []
    for conflict in cast("list[dict[str, Any]]", scene.attributes.get("conflicts") or []):
        stream = GateStreams(
            name=str(conflict["name"]),
            target_gate=np.array(conflict["target_gate"], dtype=np.float64),
            priority_gate=np.array(conflict["priority_gate"], dtype=np.float64),
            zone=None if conflict["zone"] is None else shapely.Polygon(conflict["zone"]),
        )
        found.append(stream)
        if conflict.get("rule") == "none":
            found.append(
                replace(
                    stream,
                    name=f"{stream.name}, the other way round",
                    target_gate=stream.priority_gate,
                    priority_gate=stream.target_gate,
                )
            )
    return found


def _of(dataset: str, title: str) -> DeclaredExtraction:
    return DeclaredExtraction(
        info=ExtractionInfo(
            name=dataset,
            title=title,
            dataset=dataset,
            situation="declared conflicts, or crossing and merging where the map says who gives way",
            revision=1,
        )
    )


GENERIC = _of("generic", "Own data")
"""Six agents: E, T, before and behind E, before T, and the pedestrian or cyclist nearest to T."""

IND, UNID, EXID = _of("ind", "inD"), _of("unid", "uniD"), _of("exid", "exiD")
SIND = _of("sind", "SinD")
ARGOVERSE2, NUPLAN = _of("argoverse2", "Argoverse 2"), _of("nuplan", "nuPlan")
WOMD, SCENARIONET = _of("womd", "WOMD"), _of("scenarionet", "ScenarioNet")
