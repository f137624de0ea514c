"""Who drives the ego: planners that exist in compiled code, and any other one in a process of its own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core.lanes import LaneMap
from giveway.core.seeds import seed_for
from giveway.generate.protocol import Outcome, Scenes
from giveway.planning import make_planner
from giveway.planning.idm import IdmParameters
from giveway.planning.impaired import Impaired
from giveway.planning.profiles import LATTICE_2, ProfileParameters
from giveway.sim.drivers.external import EpisodeFacts
from giveway.sim.drivers.hosts import Fault
from giveway.sim.situations import Names
from giveway.sim.state import DriverCode

COMPILED = {code.name: code for code in (DriverCode.IDM, DriverCode.PLANNER, DriverCode.CONSTANT_SPEED)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ego:
    """How the ego is driven.

    Attributes:
        driver: compiled, or outside.
        idm: parameters of an IDM ego.
        profiles: parameters of the lattice.
        sees: what is wrong with the sight of a compiled planner; its plans come from outside.
        decides: that planner.
    """

    driver: DriverCode
    idm: IdmParameters | None = None
    profiles: ProfileParameters = LATTICE_2
    sees: type[Impaired] | None = None
    decides: DriverCode = DriverCode.EXTERNAL

    @property
    def is_outside(self) -> bool:
        """Whether each plan is asked from Python."""
        return self.driver is DriverCode.EXTERNAL and self.sees is None


def resolve_ego(name: str) -> Ego:
    """The driver of a planner's name.

    Raises:
        UnknownNameError: nothing of that name.
        UsageError: something that is not a planner.
    """
    planner: Any = make_planner(name)
    inner = planner.planner if isinstance(planner, Impaired) else planner
    driver = COMPILED.get(inner.info.driver, DriverCode.EXTERNAL)
    sees = type(planner) if inner is not planner and driver is not DriverCode.EXTERNAL else None
    parameters = getattr(inner, "parameters", None)
    return Ego(
        driver=DriverCode.EXTERNAL if sees else driver,
        idm=parameters if isinstance(parameters, IdmParameters) else None,
        profiles=parameters if isinstance(parameters, ProfileParameters) else LATTICE_2,
        sees=sees,
        decides=driver,
    )


OUTCOMES = {
    Fault.RAISED: Outcome.PLANNER_RAISED,
    Fault.HUNG: Outcome.PLANNER_HUNG,
    Fault.INVALID: Outcome.PLANNER_INVALID,
}
"""How an episode ends in which a planner fails."""


def episode_facts(scenes: Scenes, row: int, road: LaneMap, num_cars: int, num_routes: int) -> EpisodeFacts:
    """What the planner of an episode is told beside its arrays.

    An episode is called by its road and the content of its scene, so that it has the same name and seed in any batch.
    """
    scene = scenes.select(slice(row, row + 1))
    digest = hashlib.sha256()
    for name in Scenes.__dataclass_fields__:
        value = getattr(scene, name)
        digest.update(value.encode() if isinstance(value, str) else np.ascontiguousarray(value).tobytes())
    name = f"{road.name}-{digest.hexdigest()[:12]}"
    cars = ("ego", *(f"car{i}" for i in range(1, num_cars)))
    return EpisodeFacts(
        names=Names(episode=name, cars=cars, map=road),
        seed=seed_for(0, "planner", name),
        routes=tuple(range(num_routes)),
    )
