"""The methods that the protocol compares: who drives the cars, who picks the scenes, whether cars are perturbed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from giveway.core.errors import UnknownNameError
from giveway.generate.worlds import WorldSettings

SCORE = "net_rate"
"""Measure by which the best policy of a training is picked: failures that count minus all other failures."""


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
        perturb: adaptive random testing near the ego.
        learning: settings of learning that differ from the default, for a policy.
        world: settings of the worlds that differ from the default.
        score: measure of the evaluation during training that picks the policy; its mean return if empty.
    """

    name: str
    title: str
    driver: str
    search: str = "random"
    perturb: bool = False
    learning: Mapping[str, Any] = field(default_factory=_none)
    world: Mapping[str, Any] = field(default_factory=_none)
    score: str = SCORE

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
        if not self.is_trained:
            return ""
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
        Method(name="scripted", title="the scripted car that cuts in, random scenes", driver="cut_in"),
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

SANITY = ("no_attack", "random_actions", "random_search", "policy")
"""Methods of the sanity bands."""


def methods_called(names: list[str] | None) -> list[Method]:
    """Methods by name; all of them if None.

    Raises:
        UnknownNameError: no such method.
    """
    if names is None:
        return list(METHODS.values())
    for name in names:
        if name not in METHODS:
            raise UnknownNameError("method", name, METHODS)
    return [METHODS[name] for name in names]
