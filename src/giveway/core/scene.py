"""A recording or a log with what belongs to it: tracks, map, frame, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from giveway.core.displays import shown
from giveway.core.lanes import LaneMap
from giveway.core.origins import DeclaredBy, Origin, RowOrigin
from giveway.core.tracks import Tracks


def _empty() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a scene came from; enough to find and check the source again.

    Attributes:
        dataset: registered name of the adapter, or ``"simulation"``.
        recording: identifier of the recording inside the dataset.
        files: file name (relative to the data root) to SHA-256, for every file that was read.
        notes: free text for people, e.g. repairs that were made.
        origin: what moved the road users, unless the scene says otherwise for single rows.
        declared_by: who says so; ``assumed`` if nobody does.
    """

    dataset: str
    recording: str
    files: Mapping[str, str] = field(default_factory=_empty)
    notes: tuple[str, ...] = ()
    origin: Origin = Origin.RECORDED
    declared_by: DeclaredBy = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Traffic on a piece of road.

    Attributes:
        tracks: states of all agents.
        road: lane map in the same frame, or None.
        location: name of the site (``"DR_USA_Roundabout_FT"``, ``"0"``).
        provenance: source files and their hashes.
        attributes: dataset-specific extras with plain values (numbers, text, small arrays), e.g. ``frame_rate_hz``.
        rows: origin of each row of the tracks; empty if all have that of the provenance.
    """

    tracks: Tracks
    road: LaneMap | None = None
    location: str = ""
    provenance: Provenance
    attributes: Mapping[str, Any] = field(default_factory=_empty)
    rows: tuple[RowOrigin, ...] = ()

    def __repr__(self) -> str:
        tracks = self.tracks
        seconds = float(tracks.time_s[-1] - tracks.time_s[0]) if tracks.num_instants else 0.0
        name = f"{self.provenance.dataset} {self.provenance.recording}"
        road = "no map" if self.road is None else f"{len(self.road.lanes)} lanes"
        return f"Scene({name}, {tracks.num_agents} agents, {seconds:.1f} s, {road})"

    def _repr_html_(self) -> str:
        return shown("scene", self)

    @property
    def origins(self) -> tuple[RowOrigin, ...]:
        """(A,) origin of every row."""
        whole = RowOrigin(origin=self.provenance.origin, declared_by=self.provenance.declared_by)
        return self.rows or (whole,) * self.tracks.num_agents
