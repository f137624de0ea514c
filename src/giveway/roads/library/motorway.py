"""One carriageway of a motorway."""

from __future__ import annotations

from giveway.roads.library.straight import straight_road
from giveway.roads.road import Road


def motorway_road(
    lanes: int = 3, *, length_m: float = 1000.0, lane_width_m: float = 3.75, limit_mps: float = 130 / 3.6
) -> Road:
    """Lanes numbered from the right, along +x, with a hard shoulder of 2.5 m on both sides."""
    return straight_road(
        lanes,
        length_m=length_m,
        lane_width_m=lane_width_m,
        limit_mps=limit_mps,
        ego_start_m=(150.0, 300.0),
        shoulder_m=2.5,
        name="motorway",
    )
