"""The three roundabouts: centers and radii of the protocol note (2.3), arms of our own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray
from giveway.synth.network import Network, build_network
from giveway.synth.paths import Path, arc, line, rotated, smooth_path

LANE_WIDTH_M = 3.5
ARM_OFFSET_M = 2.3
"""Lateral distance of entry and exit lane from the axis of an arm."""
LINE_M = 1.2
"""Waiting cars stay this far outside R."""
UPSTREAM_M = 70.0
LIMIT_MPS = 12.5
ENTRY_ZONE_M = 8.0
"""Who meets another path within this distance of its own line is entering, later it is in the ring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One roundabout.

    Attributes:
        location: locationId of the dataset.
        name: what its authors call it.
        center_px: center in the ten times reduced background image.
        outer_px: radius R there.
        inner_px: radius r there.
        meter_per_px: orthoPxToMeter.
        arms_rad: direction of each arm.
        entry_radius_m: how tight the entries are.
        exit_radius_m: how wide the exits are.
        lat_lon: where it is, rounded.
        utm: its UTM origin.
    """

    location: int
    name: str
    center_px: tuple[float, float]
    outer_px: float
    inner_px: float
    meter_per_px: float
    arms_rad: tuple[float, ...]
    entry_radius_m: float
    exit_radius_m: float
    lat_lon: tuple[float, float]
    utm: tuple[float, float]

    @property
    def scale(self) -> float:
        """Meters per pixel of the reduced image."""
        return 10 * self.meter_per_px

    @property
    def center_m(self) -> tuple[float, float]:
        """Center in the coordinates of the files."""
        return self.center_px[0] * self.scale, self.center_px[1] * self.scale

    @property
    def radius_m(self) -> float:
        """R."""
        return self.outer_px * self.scale

    @property
    def lane_radius_m(self) -> float:
        """Where people drive."""
        return self.radius_m - LANE_WIDTH_M / 2


SITES = {
    0: Site(
        location=0,
        name="Neuweiler",
        center_px=(801.0, -465.0),
        outer_px=247.5,
        inner_px=154.0,
        meter_per_px=0.0101601,
        arms_rad=tuple(np.radians([40.0, 141.0, 222.0, 320.0])),
        entry_radius_m=15.0,
        exit_radius_m=40.0,
        lat_lon=(50.8913, 6.1717),
        utm=(300000.0, 5641000.0),
    ),
    1: Site(
        location=1,
        name="Kackertstrasse",
        center_px=(781.0, -481.0),
        outer_px=98.1,
        inner_px=45.1,
        meter_per_px=0.01480983298809042,
        arms_rad=tuple(np.radians([8.0, 97.0, 187.0, 276.0])),
        entry_radius_m=10.0,
        exit_radius_m=25.0,
        lat_lon=(50.7906, 6.0599),
        utm=(292669.4681, 5630731.7040),
    ),
    2: Site(
        location=2,
        name="Thiergarten",
        center_px=(1011.0, -449.0),
        outer_px=100.0,
        inner_px=48.0,
        meter_per_px=0.0136334,
        arms_rad=tuple(np.radians([20.0, 112.0, 205.0, 292.0])),
        entry_radius_m=10.0,
        exit_radius_m=25.0,
        lat_lon=(50.7800, 6.1200),
        utm=(297000.0, 5629300.0),
    ),
}


def roundabout_paths(
    *,
    lane_radius_m: float,
    entry_radius_m: float,
    exit_radius_m: float,
    arm_offset_m: float,
    arms_rad: tuple[float, ...],
    upstream_m: float,
) -> list[tuple[int, int, Path]]:
    """All ways in and out except U-turns, as (entry, exit, path) about the origin, counter-clockwise.

    An entry is an arc tangent to its lane and, from outside, to the ring; an exit is the mirror image of an entry
    with a radius of its own. Wide exits leave the ring early, as drivers do.
    """
    enters_at, inward = _approach(lane_radius_m, entry_radius_m, arm_offset_m, upstream_m)
    leaves_at, mirrored = _approach(lane_radius_m, exit_radius_m, arm_offset_m, upstream_m)
    outward = (mirrored * [1.0, -1.0])[::-1]
    found: list[tuple[int, int, Path]] = []
    for entry, start in enumerate(arms_rad):
        for leave, end in enumerate(arms_rad):
            if leave == entry:
                continue
            travel = (end - start) % (2 * np.pi)
            ring = arc((0.0, 0.0), lane_radius_m, start + enters_at, start + travel - leaves_at)
            pieces = [rotated(inward, start), ring, rotated(outward, end)]
            found.append((entry, leave, smooth_path(*pieces, sigma_m=1.2)))
    return found


def _approach(lane_m: float, radius_m: float, offset_m: float, upstream_m: float) -> tuple[float, FloatArray]:
    """Polar angle at which an entry along +x meets the ring, and its points."""
    across, away = offset_m + radius_m, lane_m + radius_m
    meets_at = float(elementary.arcsin(across / away))
    corner = float(away * np.cos(meets_at))
    turn = arc((corner, across), radius_m, -np.pi / 2, -np.pi + meets_at)
    return meets_at, np.concatenate([line((lane_m + upstream_m, offset_m), (corner, offset_m)), turn])


def line_position(path: Path, radius_m: float) -> float:
    """Arc length at which a path first comes closer than ``radius_m`` to the origin."""
    inside = np.hypot(path.xy[:, 0], path.xy[:, 1]) < radius_m
    return float(np.argmax(inside)) * 0.1


@cache
def site_network(site: Site) -> tuple[Network, list[tuple[int, int]]]:
    """The network about the origin, and (entry arm, exit arm) of each path."""
    found = roundabout_paths(
        lane_radius_m=site.lane_radius_m,
        entry_radius_m=site.entry_radius_m,
        exit_radius_m=site.exit_radius_m,
        arm_offset_m=ARM_OFFSET_M,
        arms_rad=site.arms_rad,
        upstream_m=UPSTREAM_M,
    )
    paths = [path for _, _, path in found]
    lines = [line_position(path, site.radius_m + LINE_M) for path in paths]
    network = build_network(
        paths,
        origin=[entry for entry, _, _ in found],
        rank=[0] * len(paths),
        line_m=lines,
        limit_mps=[LIMIT_MPS] * len(paths),
    )
    return with_ring_priority(network), [(entry, leave) for entry, leave, _ in found]


def with_ring_priority(network: Network) -> Network:
    """Whoever enters gives way to whoever is in the ring already."""
    entering = network.zone_in < network.line[:, None] + ENTRY_ZONE_M
    in_ring = network.other_in > network.line[None, :] + ENTRY_ZONE_M
    return replace(network, gives_way=entering & in_ring)


def inside_image(site: Site, xy: FloatArray) -> BoolArray:
    """Whether file coordinates (..., 2) lie within the orthophoto."""
    wide, high = 2 * site.center_m[0], 2 * site.center_m[1]
    x, y = xy[..., 0], xy[..., 1]
    return (x > 1.0) & (x < wide - 1.0) & (y < -1.0) & (y > high + 1.0)
