"""Gaps of a dataset on disk, between enumeration and sampling: one ``.npz`` of plain arrays and a JSON file."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np

from giveway.core.checked import OWN as FOUND
from giveway.core.checked import read_arrays, read_json
from giveway.core.files import write_text
from giveway.core.samples import AcceptanceBoundary
from giveway.gaps.extract import FoundGaps
from giveway.gaps.order import Orders
from giveway.gaps.protocol import Extraction
from giveway.gaps.raw import Description, RawGaps
from giveway.gaps.times import GapTimes

ARRAYS, FACTS = "gaps.npz", "gaps.json"
_RAW = ("sample_id", "group", "location", "role_is_vulnerable", "offset", "time_s", "xy")
_WAYS = ("way_m", "truth_m")
_ORDERS = tuple(field.name for field in fields(Orders))
_BOUNDARY = ("normal", "offset_m", "radius_m")
_TIMES = tuple(field.name for field in fields(GapTimes))


def write_found(folder: Path, found: FoundGaps) -> None:
    """Write all arrays; :func:`read_found` needs the extraction again, which is code."""
    raw, description = found.raw, found.description
    arrays = {f"raw.{name}": getattr(raw, name) for name in _RAW}
    arrays |= {f"raw.{name}": value for name in _WAYS if (value := getattr(raw, name)) is not None}
    arrays |= {} if raw.orders is None else {f"orders.{name}": getattr(raw.orders, name) for name in _ORDERS}
    arrays |= {f"boundary.{name}": getattr(raw.boundary, name) for name in _BOUNDARY}
    arrays |= {f"constant.{name}": value for name, value in raw.constants.items()}
    arrays |= {f"times.{name}": getattr(found.times, name) for name in _TIMES}
    described = ("valid", "distance", "truth", "ego_in_place")
    arrays |= {f"description.{k}": value for k in described if (value := getattr(description, k)) is not None}
    with (folder / ARRAYS).open("wb") as file:
        np.savez(file, **arrays)
    facts = {
        "roles": raw.roles,
        "missing_m": description.missing_m,
        "num_role_conflicts": found.num_role_conflicts,
        "notes": found.notes,
    }
    write_text(folder / FACTS, json.dumps(facts))


def notes_of(folder: Path) -> tuple[str, ...]:
    """What people should know about gaps, without reading them."""
    return tuple(read_json(folder / FACTS, expect=FOUND)["notes"])


def read_found(folder: Path, extraction: Extraction) -> FoundGaps:
    """Read what :func:`write_found` wrote; the artifact that holds it has compared both files with their digests.

    Raises:
        StoreError: if they cannot be read.
    """
    facts = read_json(folder / FACTS, expect=FOUND)
    arrays = read_arrays(folder / ARRAYS, expect=FOUND)

    def part(prefix: str) -> dict[str, np.ndarray]:  # pyright: ignore[reportMissingTypeArgument]
        return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}

    return FoundGaps(
        extraction=extraction,
        raw=RawGaps(
            **part("raw."),
            roles=tuple(facts["roles"]),
            boundary=AcceptanceBoundary(**part("boundary.")),
            constants=part("constant."),
            orders=Orders(**orders) if (orders := part("orders.")) else None,
        ),
        description=Description(**part("description."), missing_m=float(facts["missing_m"])),
        times=GapTimes(**part("times.")),
        num_role_conflicts=int(facts["num_role_conflicts"]),
        notes=tuple(facts["notes"]),
    )
