"""What the three sites have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from giveway.core.arrays import FloatArray
from giveway.roads.sketch import RoadSketch
from giveway.synth.drivers import AcceptanceRule
from giveway.synth.network import Network

CENTER_M = (1000.0, 1000.0)
"""Sites lie about here, as the real ones do."""
LANE_WIDTH_M = 3.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A place with its traffic.

    Attributes:
        name: folder and map name.
        network: paths about the origin.
        road: the map, about :data:`CENTER_M`.
        headway_s: (P,) mean time between arrivals on each path.
        rule: how people accept gaps.
        look_ahead_m: how far before their line they decide.
        half_extent_m: half the width and height of the picture.
        crossings: where people cross on foot: start and end, (2, 2) each, about :data:`CENTER_M`.
    """

    name: str
    network: Network
    road: RoadSketch
    headway_s: tuple[float, ...]
    rule: AcceptanceRule
    look_ahead_m: float
    half_extent_m: tuple[float, float]
    crossings: tuple[FloatArray, ...] = ()


SITES: dict[str, str] = {
    "DR_SYN_Intersection_A": "giveway.synth.interaction.junction:junction",
    "DR_SYN_Merging_A": "giveway.synth.interaction.merging:merging",
    "DR_SYN_Roundabout_A": "giveway.synth.interaction.roundabout:roundabout",
}
"""Site name to what builds it; a new site is one module and one line here."""

SiteBuilder = Callable[[str], Site]
