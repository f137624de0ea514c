"""Policies that can be used without training."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from giveway.core.errors import UsageError
from giveway.generate.learning.policy import CHOICES, Policy, load_policy
from giveway.generate.learning.rounds import POLICY_FILE
from giveway.generate.several import worlds_of
from giveway.generate.worlds import WorldSettings

TRAINED_AGAINST = {"idm": "policy-idm.safetensors"}
"""Shipped policies trained against other planners than the default; docs/generate/train.md has the commands."""


OBSERVATIONS = {"relative": 2, "artefact": 1}
"""Versions of what cars see; the second of ``relative`` ends with the grade reached so far."""


def shipped_file(ego: str) -> Path:
    """The policy that comes with the package for a planner; the one for the default planner if it has none.

    Raises:
        UsageError: the installation lacks it.
    """
    path = Path(str(files("giveway.generate").joinpath(TRAINED_AGAINST.get(ego, POLICY_FILE))))
    if not path.is_file():
        raise UsageError("this installation has no trained policy", where=path, hint="giveway generate train --out P")
    return path


def policy_called(fingerprint: str, places: Mapping[str, str]) -> Policy:
    """The policy of a cell, from where this machine has it.

    Args:
        fingerprint: of the policy.
        places: from fingerprints to files or training folders.

    Raises:
        UsageError: there is none, or another one.
    """
    path = Path(places.get(fingerprint, ""))
    policy = load_policy(path)
    if policy.fingerprint != fingerprint:
        raise UsageError("the policy on this machine is another one", where=path)
    return policy


def world_name(settings: WorldSettings) -> str:
    """What the numbers of observation and action mean; policies drive only in worlds of the same name."""
    version = OBSERVATIONS[settings.observation]
    return f"{settings.observation} observation {version}, {settings.actions} actions, {settings.traffic} bystanders"


def check_world(settings: WorldSettings, policy: Policy | None = None) -> None:
    """Refuse worlds that cannot be made, and a policy that was not trained for them.

    Raises:
        UsageError: naming what is wrong.
        MapError: a map that cannot be read or has no way through.
    """
    worlds = worlds_of(settings, settings.ego.count("+") + 1)
    try:
        if policy is not None:
            policy.check(
                cars=worlds.n_cars,
                observation=worlds.observation_size,
                action=len(CHOICES) if worlds.n_actions else worlds.action_size,
                world=world_name(settings),
            )
    finally:
        worlds.close()


def settings_for(policy: Policy, *, road: str, ego: str, cars: int | None = None) -> WorldSettings:
    """Worlds in which a policy drives.

    Args:
        policy: which.
        road: any road.
        ego: any planner.
        cars: number of learning cars, if the user insists.

    Raises:
        UsageError: the policy was trained for another number of cars.
    """
    made = dict(policy.info.made.get("world") or {})
    known = {name: made[name] for name in ("actions", "observation", "traffic", "steps") if name in made}
    settings = WorldSettings(road=road, ego=ego, cars=cars if cars is not None else policy.info.cars, **known)
    if settings.cars != policy.info.cars:
        policy.check(
            cars=settings.cars, observation=policy.info.observation, action=policy.info.action, world=policy.info.world
        )
    return settings
