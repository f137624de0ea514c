"""UTM: from latitude and longitude to meters and back, without a projection library.

Transverse Mercator by Krueger's series in the third flattening, to sixth order: errors below a nanometer in the zone.
Maps in the lanelet2 form subtract the projection of an origin; the INTERACTION maps use (0, 0), which is in zone 31 and
166 021.443 m east of its false origin.

Reference:
    Karney, Transverse Mercator with an accuracy of a few nanometers, Journal of Geodesy 85 (2011), eq. 7-12, 35, 36.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

import numpy as np
from numpy.typing import ArrayLike

from giveway.core import elementary
from giveway.core.arrays import FloatArray

SEMI_MAJOR_M = 6_378_137.0  # WGS 84
FLATTENING = 1.0 / 298.257223563  # WGS 84
SCALE = 0.9996  # UTM on the central meridian
FALSE_EASTING_M = 500_000.0
FALSE_NORTHING_M = 10_000_000.0
"""Added by UTM south of the equator; not by us, whose northings are negative there."""

_N = FLATTENING / (2.0 - FLATTENING)
_E2 = FLATTENING * (2.0 - FLATTENING)
_E = _E2**0.5
_RECTIFYING_M = SEMI_MAJOR_M / (1 + _N) * (1 + _N**2 / 4 + _N**4 / 64 + _N**6 / 256)
_FORWARD = (
    _N / 2 - 2 * _N**2 / 3 + 5 * _N**3 / 16 + 41 * _N**4 / 180 - 127 * _N**5 / 288 + 7891 * _N**6 / 37800,
    13 * _N**2 / 48 - 3 * _N**3 / 5 + 557 * _N**4 / 1440 + 281 * _N**5 / 630 - 1983433 * _N**6 / 1935360,
    61 * _N**3 / 240 - 103 * _N**4 / 140 + 15061 * _N**5 / 26880 + 167603 * _N**6 / 181440,
    49561 * _N**4 / 161280 - 179 * _N**5 / 168 + 6601661 * _N**6 / 7257600,
    34729 * _N**5 / 80640 - 3418889 * _N**6 / 1995840,
    212378941 * _N**6 / 319334400,
)
_INVERSE = (
    _N / 2 - 2 * _N**2 / 3 + 37 * _N**3 / 96 - _N**4 / 360 - 81 * _N**5 / 512 + 96199 * _N**6 / 604800,
    _N**2 / 48 + _N**3 / 15 - 437 * _N**4 / 1440 + 46 * _N**5 / 105 - 1118711 * _N**6 / 3870720,
    17 * _N**3 / 480 - 37 * _N**4 / 840 - 209 * _N**5 / 4480 + 5569 * _N**6 / 90720,
    4397 * _N**4 / 161280 - 11 * _N**5 / 504 - 830251 * _N**6 / 7257600,
    4583 * _N**5 / 161280 - 108847 * _N**6 / 3991680,
    20648693 * _N**6 / 638668800,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UtmProjection:
    """UTM in the zone of an origin, which becomes (0, 0).

    Attributes:
        origin_lat_deg: latitude of the origin.
        origin_lon_deg: longitude of the origin; decides the zone.
        grid_origin_m: easting and northing that become (0, 0) instead; (0, 0) leaves UTM coordinates as they are.
    """

    origin_lat_deg: float = 0.0
    origin_lon_deg: float = 0.0
    grid_origin_m: tuple[float, float] | None = None

    @classmethod
    def of_epsg(cls, code: int, origin_m: tuple[float, float] = (0.0, 0.0)) -> UtmProjection:
        """WGS 84 in the UTM zone of an EPSG code, 32601 .. 32660 (north) or 32701 .. 32760 (south).

        Args:
            code: of EPSG.
            origin_m: easting and northing that become (0, 0).

        Raises:
            ValueError: another code.
        """
        zone = code % 100
        if code // 100 not in (326, 327) or not 1 <= zone <= 60:
            raise ValueError(f"EPSG {code} is not WGS 84 / UTM: 32601 to 32660 (north) or 32701 to 32760 (south)")
        south_m = FALSE_NORTHING_M if code // 100 == 327 else 0.0
        return cls(origin_lon_deg=zone * 6.0 - 183.0, grid_origin_m=(origin_m[0], origin_m[1] - south_m))

    @property
    def zone(self) -> int:
        """1 .. 60; without the exceptions of Norway and Svalbard, as lanelet2 maps are made."""
        return floor((self.origin_lon_deg + 180.0) / 6.0) % 60 + 1

    @property
    def origin_m(self) -> FloatArray:
        """(2,) easting and northing of the origin, before subtraction [m]."""
        if self.grid_origin_m is not None:
            return np.array(self.grid_origin_m, dtype=np.float64)
        east, north = _forward(np.array(self.origin_lat_deg), np.array(self.origin_lon_deg), self._meridian)
        return np.array([float(east), float(north)])

    def to_xy(self, lat_deg: ArrayLike, lon_deg: ArrayLike) -> FloatArray:
        """(..., 2) meters east and north of the origin."""
        lat, lon = np.asarray(lat_deg, dtype=np.float64), np.asarray(lon_deg, dtype=np.float64)
        return np.stack(_forward(lat, lon, self._meridian), axis=-1) - self.origin_m

    def to_latlon(self, xy: FloatArray) -> FloatArray:
        """(..., 2) latitude and longitude [degrees]."""
        east_north = np.asarray(xy, dtype=np.float64) + self.origin_m
        return np.stack(_inverse(east_north[..., 0], east_north[..., 1], self._meridian), axis=-1)

    @property
    def _meridian(self) -> float:
        return self.zone * 6.0 - 183.0


def _forward(lat: FloatArray, lon: FloatArray, meridian: float) -> tuple[FloatArray, FloatArray]:
    phi, lam = np.radians(lat), np.radians(lon - meridian)
    sin = np.sin(phi)
    conformal = elementary.sinh(elementary.arctanh(sin) - _E * elementary.arctanh(_E * sin))
    xi0 = elementary.arctan2(conformal, np.cos(lam))
    eta0 = elementary.arcsinh(np.sin(lam) / np.hypot(conformal, np.cos(lam)))
    xi, eta = xi0, eta0
    for j, alpha in enumerate(_FORWARD, start=1):
        xi = xi + alpha * np.sin(2 * j * xi0) * elementary.cosh(2 * j * eta0)
        eta = eta + alpha * np.cos(2 * j * xi0) * elementary.sinh(2 * j * eta0)
    return FALSE_EASTING_M + SCALE * _RECTIFYING_M * eta, SCALE * _RECTIFYING_M * xi


def _inverse(east: FloatArray, north: FloatArray, meridian: float) -> tuple[FloatArray, FloatArray]:
    xi = north / (SCALE * _RECTIFYING_M)
    eta = (east - FALSE_EASTING_M) / (SCALE * _RECTIFYING_M)
    xi0, eta0 = xi, eta
    for j, beta in enumerate(_INVERSE, start=1):
        xi0 = xi0 - beta * np.sin(2 * j * xi) * elementary.cosh(2 * j * eta)
        eta0 = eta0 - beta * np.cos(2 * j * xi) * elementary.sinh(2 * j * eta)
    conformal = np.sin(xi0) / np.hypot(elementary.sinh(eta0), np.cos(xi0))
    lam = elementary.arctan2(elementary.sinh(eta0), np.cos(xi0))
    tau = conformal
    for _ in range(5):  # Newton; converges to rounding in three steps
        root = np.sqrt(1.0 + tau**2)
        sigma = elementary.sinh(_E * elementary.arctanh(_E * tau / root))
        guess = tau * np.sqrt(1.0 + sigma**2) - sigma * root
        slope = (1.0 + (1.0 - _E2) * tau**2) / ((1.0 - _E2) * root * np.sqrt(1.0 + guess**2))
        tau = tau + (conformal - guess) * slope
    return np.degrees(elementary.arctan(tau)), np.degrees(lam) + meridian
