"""The three roundabouts: centers and radii of the protocol note (2.3), arms of our own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.roads.library.roundabout import roundabout_road
from giveway.synth.traffic import Place, place_of

LANE_WIDTH_M = 3.5
UPSTREAM_M = 70.0
ARM_OFFSET_M = 2.3
"""Lateral distance of entry and exit lane from the axis of an arm."""
MOUTH_M = 13.0
"""Arms begin to bend this far outside the middle of the ring's lane."""
LIMIT_MPS = 12.5


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
        entry_rad: angle on the ring between an arm and its entry.
        exit_rad: the same of its exit.
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
    entry_rad: float
    exit_rad: float
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
        entry_rad=0.47,
        exit_rad=0.62,
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
        entry_rad=0.57,
        exit_rad=0.7,
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
        entry_rad=0.57,
        exit_rad=0.7,
        lat_lon=(50.7800, 6.1200),
        utm=(297000.0, 5629300.0),
    ),
}


@cache
def site_place(site: Site) -> Place:
    """All ways through a roundabout, in the coordinates of the files."""
    road = roundabout_road(
        arms=site.arms_rad,
        radius_m=site.lane_radius_m,
        arm_m=site.lane_radius_m + UPSTREAM_M,
        mouth_m=site.lane_radius_m + MOUTH_M,
        entry_rad=site.entry_rad,
        exit_rad=site.exit_rad,
        lane_width_m=LANE_WIDTH_M,
        offset_m=ARM_OFFSET_M,
        limit_mps=LIMIT_MPS,
        center=site.center_m,
    )
    return place_of(road)


def inside_image(site: Site, xy: FloatArray) -> BoolArray:
    """Whether file coordinates (..., 2) lie within the orthophoto."""
    wide, high = 2 * site.center_m[0], 2 * site.center_m[1]
    x, y = xy[..., 0], xy[..., 1]
    return (x > 1.0) & (x < wide - 1.0) & (y < -1.0) & (y > high + 1.0)
