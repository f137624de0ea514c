"""Specifications of campaigns and trainings: the same fields in TOML files, options and Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from giveway.generate.evaluation.methods import SCORE
from giveway.generate.protocol import JOINT, egos_of

ALIASES = {"default": "lattice"}
"""Other names of planners; one planner has one key."""


def planner_name(name: Any) -> Any:
    """The name of a planner in keys and tables."""
    return ALIASES.get(name, name) if isinstance(name, str) else name


def _joint(value: Any) -> Any:
    """Planners of a training as one name."""
    names = egos_of(value) if isinstance(value, str) else value
    return JOINT.join(dict.fromkeys(map(planner_name, names))) if isinstance(names, list | tuple) else names


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _planners(value: Any) -> Any:
    several = _several(value)
    return tuple(dict.fromkeys(map(planner_name, several))) if isinstance(several, list | tuple) else several


Names = Annotated[tuple[str, ...], BeforeValidator(_several)]
"""One name or several."""
Planners = Annotated[tuple[str, ...], BeforeValidator(_planners)]
"""One planner or several, each once."""


class CampaignSpec(BaseModel):
    """What to search for: one campaign per method, planner and seed.

    Attributes:
        planner: planners under test: ``lattice``, ``idm``, ``constant_speed`` or an import path.
        road: ``straight``, ``merge``, ``roundabout``, ``four_way`` or a lanelet2 map.
        budget: tests of a campaign.
        method: methods of :data:`giveway.generate.evaluation.methods.METHODS`, which replace ``driver``, ``search`` and
            ``perturb``; none for the one that these three make.
        driver: ``policy``, or without learning: ``no_attack``, ``idm``, ``random_actions``, ``program``, ``cut_in``,
            ``maneuver``.
        search: ``nsga2``, ``cma_es``, ``map_elites`` or ``random``.
        policy: policy file or training folder; the shipped one if None.
        policies: further policies of methods: name of the training, or ``name@planner``, to files or training folders;
            the n-th seed takes the n-th of them in turn. Method ``policy:NAME`` drives the policy ``NAME``.
        perturb: drive dangerous tests again with a push to the cars near the ego.
        cars: learning cars; must be those of the policy.
        deadline_s: longest time for one plan of the planner [s].
        ticks: longest test, 0.1 s each; that of the training if None.
        seed: root of all random streams.
        campaigns: number of campaigns with consecutive seeds.
        tracks: keep the motion of every test, so that it can be shown, exported and compared with recordings.
        prior: file that says how people drive, for the unnaturalness of the cars; bounds of comfort without one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    planner: Planners = Field(default=("lattice",), min_length=1)
    road: str = "straight"
    budget: int = Field(default=400, ge=1, le=1_000_000)
    method: Names = ()
    driver: str = "policy"
    search: str = "nsga2"
    policy: Path | None = None
    policies: Mapping[str, tuple[Path, ...]] = Field(default_factory=dict)
    perturb: bool = False
    cars: int | None = None
    deadline_s: float = 1.0
    ticks: int | None = Field(default=None, ge=10, le=2000)
    seed: int = 0
    campaigns: int = Field(default=1, ge=1, le=10_000)
    tracks: bool = True
    prior: Path | None = None


class TrainingSpec(BaseModel):
    """What to learn.

    Attributes:
        planner: planner that the cars learn against; several, as a list or joined by ``+``, drive a share of the worlds
            each.
        road: name, or a lanelet2 map.
        cars: learning cars, 1 to 4.
        traffic: bystanders, 0 to 12.
        env_steps: environment steps.
        algorithm: ``maddpg``, ``maddpg_discrete`` (six maneuvers), ``matd3`` or ``mappo``.
        reward: ``graded``, ``v1`` for that of release 0.1, or ``legacy`` for the published one.
        actions: ``lateral`` (pedal, lateral speed) or ``steering``.
        observation: ``relative``, or ``artefact`` for the published one.
        ticks: longest episode, 0.1 s each.
        worlds: stepped together.
        round_steps: environment steps of a round, after which the policy is evaluated and kept.
        learning: settings of learning that differ from their defaults, e.g. ``gamma``.
        weights: weights of the reward that differ from their defaults.
        prior: file that says how people drive (``giveway generate prior``); bounds of comfort without one.
        policy: policy file or training folder whose actors the training begins with; ``hidden`` and ``shared_actor``
            are then those of the policy.
        score: measure of the evaluation by which the best policy is picked; the mean return if empty.
        method: name of the training in a comparison; noted in the policy.
        seed: root of all random streams.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    planner: Annotated[str, BeforeValidator(_joint)] = "lattice"
    road: str = "straight"
    cars: int = 3
    traffic: int = 0
    env_steps: int = Field(default=500_000, ge=1, le=1_000_000_000)
    algorithm: str = "maddpg"
    reward: str = "graded"
    actions: str = "lateral"
    observation: str = "relative"
    ticks: int = Field(default=150, ge=10, le=2000)
    worlds: int = Field(default=32, ge=1, le=4096)
    round_steps: int = Field(default=25_000, ge=100)
    learning: Mapping[str, Any] = Field(default_factory=dict)
    weights: Mapping[str, float] = Field(default_factory=dict)
    prior: Path | None = None
    policy: Path | None = None
    score: str = SCORE
    method: str = ""
    seed: int = 0
