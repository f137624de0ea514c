"""The objective checked before anybody learns from it: what doing nothing, chance, parking and success earn.

For the worlds at hand, on paired scenes, with discounted returns per car,

    mean R(script)   > mean R(ordinary) + 2 se            where it reaches grade C or better more often than they do
    mean R(ordinary) > mean R(random) + 0.3,  > mean R(parked) + 0.3      over scenes in which these cause no failure
    min  R(episodes of grade C or better) > 99 % quantile of R(episodes without a failure)

In the last line R is the mean over cars that still drive when the episode ends: a car that has left the road, or has
driven through to its end, has no share in what comes later, and says nothing about what success pays.

A reward that fails one of them teaches something else than to make the planner fail; margins, because a learner finds
an optimum that is better by 0.05 as surely as one that is better by 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.errors import UsageError
from giveway.core.seeds import seed_for
from giveway.generate.drivers.cars import CarDriver, NaturalDriver, RandomDriver
from giveway.generate.drivers.cutting_in import CutInDriver
from giveway.generate.driving import drive_scenes
from giveway.generate.protocol import EpisodeRecord, Scenes
from giveway.generate.worlds import Worlds, WorldSettings
from giveway.reports.table import Table, entry, table_of

SCENES = 256
MARGIN = 0.3
SUCCEEDS = 0.1
"""Share of failures of grade C or better, beyond that of ordinary drivers, from which on the script is an example of
success."""


class ParkedDriver:
    """Cars that brake to a standstill and stay."""

    name = "parked"
    genes_per_car = 0

    def begin(self, worlds: Worlds, scenes: Scenes, seeds: Sequence[int], genes: FloatArray) -> None:
        """Nothing to prepare."""

    def act(self, worlds: Worlds, observations: Any, step: int) -> FloatArray:
        """Full brake, straight on."""
        if worlds.n_actions:
            return np.zeros((worlds.n_worlds, worlds.n_cars))  # keep the lane and brake
        out = np.zeros((worlds.n_worlds, worlds.n_cars, 2))
        out[..., 0] = -1.0
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Earned:
    """What a kind of driver earns.

    Attributes:
        name: of the driver.
        returns: (N,) discounted return of each episode, mean over cars.
        at_end: (N,) the same over cars that still drive at its end; over all if none does.
        graded: (N,) failures of grade C or better.
        failed: (N,) failures of any grade, near misses not counted.
        unnatural: mean unnaturalness per step of a car.
    """

    name: str
    returns: FloatArray
    at_end: FloatArray
    graded: BoolArray
    failed: BoolArray
    unnatural: float

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.returns.mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One line of the invariant.

    Attributes:
        text: in words.
        value: of the left side minus the right one; NaN if the claim does not apply.
        holds: whether it does; one that does not apply holds.
    """

    text: str
    value: float
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveCheck:
    """Attributes:
    road: name.
    planner: name.
    earned: by kind of driver.
    claims: of the invariant.
    """

    road: str
    planner: str
    earned: tuple[Earned, ...]
    claims: tuple[Claim, ...]

    @property
    def holds(self) -> bool:
        """All claims do."""
        return all(claim.holds for claim in self.claims)

    def table(self) -> Table:
        """Returns by driver, the claims as a caption."""
        rows = [
            (
                entry(one.name),
                entry(one.mean, 2),
                entry(_standard_error(one.returns), 2),
                entry(float(one.graded.mean()), 3),
                entry(float(one.failed.mean()), 3),
                entry(one.unnatural, 3),
            )
            for one in self.earned
        ]
        header = ("cars driven by", "return", "se", "grade C or better", "failures", "unnaturalness")
        caption = "; ".join(
            f"{claim.text}: {'does not apply' if math.isnan(claim.value) else 'yes' if claim.holds else 'NO'}"
            for claim in self.claims
        )
        return table_of(f"What the reward pays, {self.road}, {self.planner}", header, rows, caption=caption)

    def require(self) -> None:
        """Refuse to train on an objective that does not mean success.

        Raises:
            UsageError: with what everybody earns.
        """
        broken = [claim.text for claim in self.claims if not claim.holds]
        if broken:
            earned = ", ".join(f"{one.name} {one.mean:.2f}" for one in self.earned)
            raise UsageError(
                "the reward does not rank success above doing nothing",
                where=f"{self.road}, {self.planner}",
                found=f"not true: {'; '.join(broken)} (mean returns: {earned})",
                hint="change the weights (--set reward.NAME=VALUE) or the prior, or train all the same with --force",
            )


def check_objective(settings: WorldSettings, *, scenes: int = SCENES, seed: int = 0) -> ObjectiveCheck:
    """Drive paired scenes with ordinary, random, parked and, with lateral actions, scripted cars."""
    worlds = Worlds(settings, n_worlds=scenes)
    try:
        drivers: list[CarDriver] = [NaturalDriver(), RandomDriver(), ParkedDriver()]
        if settings.actions == "lateral":
            drivers.append(CutInDriver())
        starts, _ = worlds.space.sample(scenes, seed=seed_for(seed, "objective") % 2**31)
        seeds = [seed_for(seed, "objective", n) for n in range(scenes)]
        earned = tuple(
            _earned(driver.name, [d.record for d in drive_scenes(worlds, starts, driver, seeds=seeds)], settings)
            for driver in drivers
        )
    finally:
        worlds.close()
    ordinary = replace(earned[0], name="ordinary")
    earned = (ordinary, replace(earned[1], name="random"), *earned[2:])
    return ObjectiveCheck(road=settings.road, planner=settings.ego, earned=earned, claims=_claims(earned))


def _earned(name: str, records: Sequence[EpisodeRecord], settings: WorldSettings) -> Earned:
    discount = settings.weights.discount
    returns = [(r.rewards * discount ** np.arange(len(r.rewards))[:, None]).sum(axis=0) for r in records]
    driving = [np.isfinite(r.actions[-1]).all(axis=-1) for r in records]
    return Earned(
        name=name,
        returns=np.array([one.mean() for one in returns]),
        at_end=np.array([one[on if on.any() else ~on].mean() for one, on in zip(returns, driving, strict=True)]),
        graded=np.array([r.is_graded for r in records]),
        failed=np.array([r.outcome.is_failure for r in records]),
        unnatural=float(np.mean([r.unnaturalness for r in records])),
    )


def _claims(earned: Sequence[Earned]) -> tuple[Claim, ...]:
    ordinary, random, parked, *script = earned
    claims: list[Claim] = []
    for one in script:
        applies = float(one.graded.mean() - ordinary.graded.mean()) >= SUCCEEDS
        gain = one.returns - ordinary.returns
        value = float(gain.mean()) - 2.0 * _standard_error(gain) if applies else math.nan
        claims.append(Claim(text="the script earns more than ordinary drivers", value=value, holds=not value <= 0.0))
    for one in (random, parked):
        idle = ~one.failed
        value = float((ordinary.returns - one.returns)[idle].mean()) - MARGIN if idle.any() else math.nan
        text = f"ordinary drivers earn {MARGIN:g} more than {one.name} cars that cause nothing"
        claims.append(Claim(text=text, value=value, holds=not value <= 0.0))
    graded = np.concatenate([one.at_end[one.graded] for one in earned])
    free = np.concatenate([one.at_end[~one.failed] for one in earned])
    value = float(graded.min() - np.quantile(free, 0.99)) if graded.size and free.size else math.nan
    text = "every failure of grade C or better earns more than 99 % of episodes without one"
    return (*claims, Claim(text=text, value=value, holds=not value <= 0.0))


def _standard_error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan
