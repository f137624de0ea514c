"""The methods that the protocol compares: who drives the cars, who picks the scenes, whether cars are perturbed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from giveway.core.errors import UnknownNameError
from giveway.generate.worlds import WorldSettings

SCORE = "net_rate"
"""Measure by which the best policy of a training is picked: failures of grade C or better, which the reward pays for,
minus all others."""


FULL = "full"
"""Name of the training with the default settings, whose policies come with the package."""


def _none() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One row of the comparison.

    Attributes:
        name: for tables.
        title: what it is.
        driver: baseline driver, or ``policy``.
        search: seed search.
        perturb: dangerous tests are driven again with a push.
        learning: settings of learning that differ from the default, for a policy.
        world: settings of the worlds that differ from the default.
        score: measure of the evaluation during training that picks the policy; its mean return if empty.
        trained: name of the training; from the settings if empty.
    """

    name: str
    title: str
    driver: str
    search: str = "random"
    perturb: bool = False
    learning: Mapping[str, Any] = field(default_factory=_none)
    world: Mapping[str, Any] = field(default_factory=_none)
    score: str = SCORE
    trained: str = ""

    @property
    def is_trained(self) -> bool:
        """Whether it needs a policy."""
        return self.driver == "policy"

    def world_of(self, settings: WorldSettings, ego: str) -> WorldSettings:
        """Worlds in which it drives, from those of the comparison."""
        return replace(settings, ego=ego, **self.world)

    @property
    def policy_name(self) -> str:
        """Name of the training it uses; methods with equal settings share one."""
        if not self.is_trained or self.trained:
            return self.trained
        parts = [f"{k}-{v}" for k, v in sorted({**self.learning, **self.world}.items())]
        return "-".join([FULL, *parts]).lower().replace("_", "")


METHODS = {
    m.name: m
    for m in (
        Method(
            name="sandwich",
            title="learned policy, genetic scenes, perturbation",
            driver="policy",
            search="nsga2",
            perturb=True,
        ),
        Method(name="policy", title="learned policy, random scenes", driver="policy"),
        Method(name="no_search", title="learned policy, random scenes, perturbation", driver="policy", perturb=True),
        Method(name="no_perturbation", title="learned policy, genetic scenes", driver="policy", search="nsga2"),
        Method(
            name="no_policy",
            title="ordinary drivers, genetic scenes, perturbation",
            driver="idm",
            search="nsga2",
            perturb=True,
        ),
        Method(name="no_attack", title="ordinary traffic, replayed", driver="no_attack"),
        Method(name="idm", title="ordinary traffic that reacts", driver="idm"),
        Method(name="random_actions", title="random actions", driver="random_actions"),
        Method(name="random_search", title="random scenes and manoeuvres", driver="program"),
        Method(name="cma_es", title="CMA-ES over scenes and manoeuvres", driver="program", search="cma_es"),
        Method(name="random_maneuvers", title="random scenes, maneuvers and parameters", driver="maneuver"),
        Method(
            name="map_elites",
            title="MAP-Elites over scenes, maneuvers and parameters",
            driver="maneuver",
            search="map_elites",
        ),
        Method(
            name="cma_maneuvers",
            title="CMA-ES over scenes, maneuvers and parameters",
            driver="maneuver",
            search="cma_es",
        ),
        Method(name="scripted", title="the scripted car that cuts in, random scenes", driver="cut_in"),
        Method(
            name="scripted_pushed",
            title="the scripted car, random scenes, perturbation",
            driver="cut_in",
            perturb=True,
        ),
        Method(
            name="map_elites_pushed",
            title="MAP-Elites over scenes, maneuvers and parameters, perturbation",
            driver="maneuver",
            search="map_elites",
            perturb=True,
        ),
        Method(
            name="independent",
            title="independent DDPG, random scenes",
            driver="policy",
            learning={"centralized": False},
        ),
        Method(
            name="single",
            title="one learning car among ordinary ones, random scenes",
            driver="policy",
            world={"cars": 1, "traffic": 2},
        ),
        Method(
            name="legacy",
            title="published reward, random scenes",
            driver="policy",
            world={"reward": "legacy"},
            score="",
        ),
    )
}
"""All methods by name."""

NAMED = "policy:"
"""What the names of policies in a comparison of several begin with."""

ARENA = (
    *("no_attack", "random_actions", "scripted", "scripted_pushed", "random_maneuvers", "cma_maneuvers", "map_elites"),
    *("map_elites_pushed", "policy", "no_search"),
)
"""Attackers of the arena."""

ARENA_PLANNERS = ("lattice", "idm", "delayed", "noisy", "short_sighted", "constant_speed")
"""Planners of the arena."""

SANITY = ("no_attack", "random_actions", "random_search", "policy")
"""Methods of the sanity bands."""


def methods_called(names: list[str] | None) -> list[Method]:
    """Methods by name; all of them if None. ``policy:NAME`` is the policy of that name on random scenes.

    Raises:
        UnknownNameError: no such method.
    """
    if names is None:
        return list(METHODS.values())
    return [_called(name) for name in names]


def _called(name: str) -> Method:
    own = name.removeprefix(NAMED)
    if own and own != name:
        return Method(name=name, title=f"policy {own}, random scenes", driver="policy", trained=own)
    if name not in METHODS:
        raise UnknownNameError("method", name, METHODS)
    return METHODS[name]
