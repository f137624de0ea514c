"""Speed limits as people write them on signs and in map tags."""

from __future__ import annotations

import re

MPH = 0.44704
"""One mile per hour [m/s]."""

KMH = 1.0 / 3.6
"""One kilometer per hour [m/s]."""

_UNITS = {"mph": MPH, "mi/h": MPH, "kmh": KMH, "km/h": KMH, "kph": KMH, "": KMH, "mps": 1.0, "m/s": 1.0}
_SPEED = re.compile(r"\s*(\d{1,4}(?:\.\d{1,12})?)\s*([a-z/]{0,4})\s*", re.IGNORECASE)


def parse_speed(text: str) -> float | None:
    """``"25mph"``, ``"50kmh"``, ``"30 km/h"`` or ``"50"`` (km/h, as OpenStreetMap means it) in m/s.

    Returns:
        None for anything else, and for zero.
    """
    match = _SPEED.fullmatch(text)
    if match is None or match[2].lower() not in _UNITS:
        return None
    return float(match[1]) * _UNITS[match[2].lower()] or None
