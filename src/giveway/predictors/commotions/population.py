"""Files of drivers (``drivers.json``): parameter sets with weights, where they come from and how well they drive.

::

    {"format": "giveway-drivers", "version": 1, "model": "commotions", "config": "CM_AIJ11",
     "bounds_mps2": [-8, 3], "names": [14 names], "theta": [[14 numbers], ...], "weight": [...],
     "source": {"dataset": ..., "split": ..., "samples": ..., "loss": ..., "content_id": ..., "code": ...},
     "gates": {...}}

One decision per recorded driver cannot tell people from noise: a file of bootstrap fits holds the *uncertainty* of one
fit, not the variety of people.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.checked import MIB, Expect, read_sealed
from giveway.core.errors import FileFormatError, GivewayError
from giveway.core.sealed_files import write_document
from giveway.core.seeds import stream
from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.parameters import PARAMETER_NAMES, Theta

FORMAT, VERSION, MODEL = "giveway-drivers", 1, "commotions"
LIMIT_BYTES = 64 * MIB
DEFAULT_FILE = Path(__file__).with_name("drivers.json")
"""One driver, fitted to decisions of pedestrians and cars. It does not pass the gates; its file says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Drivers to draw from.

    Attributes:
        config: variant of the model.
        bounds_mps2: lowest and highest acceleration the parameters were fitted with.
        theta: the parameter sets.
        weight: (T,) chances, not necessarily of sum 1.
        source: dataset, split, samples, loss, content id and code of the fit.
        gates: how well they drive; empty if nobody looked.
    """

    config: Configuration
    bounds_mps2: tuple[float, float]
    theta: tuple[Theta, ...]
    weight: FloatArray
    source: Mapping[str, Any] = field(default_factory=dict[str, Any])
    gates: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def draw(self, seed: int, case: str, rollout: int, car: str) -> int:
        """Row of θ of one car: one draw by weight from the stream ("theta", case, roll-out, car)."""
        total = np.cumsum(self.weight)
        point = stream(seed, "theta", case, rollout, car).random() * total[-1]
        return int(min(np.searchsorted(total, point, side="right"), len(self.theta) - 1))

    def document(self) -> dict[str, Any]:
        """What is written."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "model": MODEL,
            "config": self.config.name,
            "bounds_mps2": list(self.bounds_mps2),
            "names": list(PARAMETER_NAMES),
            "theta": [theta.as_array().tolist() for theta in self.theta],
            "weight": self.weight.tolist(),
            "source": dict(self.source),
            "gates": dict(self.gates),
        }


def write_population(path: Path, population: Population) -> None:
    """Write a file of drivers, with a seal against damage."""
    write_document(path, population.document(), indent=1)


def read_population(path: Path = DEFAULT_FILE) -> Population:
    """A file of drivers; written by hand it needs no seal.

    Raises:
        FileFormatError: if it is damaged, of another format, or a number does not make sense, saying which.
    """
    expect = Expect(error=FileFormatError, what="the file of drivers")
    document = read_sealed(path, limit=LIMIT_BYTES, expect=expect).document
    for name, value in (("format", FORMAT), ("version", VERSION), ("model", MODEL)):
        if document.get(name) != value:
            expect.refuse(path, f"is of another {name}", f"{document.get(name)!r} instead of {value!r}"[:200])
    names, rows = document.get("names"), document.get("theta")
    if not isinstance(names, list) or not isinstance(rows, list) or not rows:
        expect.refuse(path, "lacks names or parameters", where=f"{path}: names, theta")
    try:
        config = Configuration.from_name(str(document.get("config")))
        thetas = tuple(_theta(cast("list[object]", names), row) for row in cast("list[object]", rows))
    except GivewayError as error:
        expect.refuse(path, "holds a driver that is none", str(error).splitlines()[0])
    weight = _numbers(document.get("weight", [1.0] * len(thetas)))
    if weight is None or len(weight) != len(thetas) or min(weight) < 0 or sum(weight) <= 0:
        expect.refuse(path, "needs one weight per driver, not negative and not all 0", where=f"{path}: weight")
    bounds = _numbers(document.get("bounds_mps2"))
    if bounds is None or len(bounds) != 2 or not bounds[0] < 0 < bounds[1]:
        expect.refuse(path, "needs a lowest and a highest acceleration", where=f"{path}: bounds_mps2")
    parts = [document.get(name, {}) for name in ("source", "gates")]
    if not all(isinstance(part, dict) for part in parts):
        expect.refuse(path, "has a source or gates that are no objects", where=f"{path}: source, gates")
    return Population(
        config=config,
        bounds_mps2=(bounds[0], bounds[1]),
        theta=thetas,
        weight=np.array(weight),
        source=parts[0],
        gates=parts[1],
    )


def _theta(names: Sequence[object], row: object) -> Theta:
    numbers = _numbers(row)
    if numbers is None or len(numbers) != len(names):
        raise FileFormatError("a parameter set has another length than the names, or no numbers", found=str(row)[:80])
    return Theta.checked(dict(zip(map(str, names), numbers, strict=True)))


def _numbers(value: object) -> list[float] | None:
    """A list of finite numbers, or None."""
    if not isinstance(value, list):
        return None
    numbers = [float(x) for x in cast("list[object]", value) if isinstance(x, int | float) and not isinstance(x, bool)]
    return numbers if len(numbers) == len(cast("list[object]", value)) and all(map(math.isfinite, numbers)) else None
