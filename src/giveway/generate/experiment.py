"""Campaigns as an experiment: one cell per test; the tests of a campaign are a chain.

A campaign decides after each generation what to try next, so its tests are driven in order by one worker. Several
methods, planners and seeds are several chains, which is how methods are compared.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from giveway.core.errors import UsageError
from giveway.experiments import Artifacts, Cell, CellResult, Context, Inputs, Measurement, content_key
from giveway.generate.campaign import Campaign, Test, run_campaign
from giveway.generate.drivers.cars import CarDriver, PolicyDriver, baseline
from giveway.generate.evaluation.methods import FULL, Method, methods_called
from giveway.generate.evaluation.results import result_from
from giveway.generate.export.frames import frame_of
from giveway.generate.learning.policy import Policy, load_policy
from giveway.generate.perturbation import Moment, Push
from giveway.generate.policies import check_world, policy_called, settings_for, shipped_file
from giveway.generate.search import SEARCHES, generation_of
from giveway.generate.spec import CampaignSpec
from giveway.generate.world_files import files_digest, map_file, planner_facts, world_facts, world_files, world_of_cell
from giveway.generate.worlds import WorldSettings

KIND = "campaign"
VERSIONS = {"generate": 3}
PERTURBATION = {"perturbation": 2}
"""Version of the layer, in keys of campaigns that have it; the first one replaced actions."""
TOGETHER = 50
"""Tests driven together where no test depends on another."""
MEASURED = (
    "failed",
    "at_fault",
    "avoidable",
    "avoidable_plus",
    "counts",
    "near_miss",
    "steps",
    "min_ttc_s",
    "min_escape_ratio",
    "impact_speed_mps",
    "infeasible_share",
    "off_road_share",
    "responsibility_per_100_s",
    "triggers",
)
"""What of a test is a measurement of its cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCampaign:
    """What names a campaign: everything that may change its tests.

    Attributes:
        params: in tables.
        settings: of the worlds and the search.
        data: digest of the map and the prior, if they are files.
        versions: of tests and of the planner.
    """

    params: Mapping[str, Any]
    settings: Mapping[str, Any]
    data: str
    versions: Mapping[str, int | str]

    def cell(self, number: int) -> Cell:
        """The cell of one test."""
        params = {**self.params, "test": number}
        return Cell(
            kind=KIND,
            params=params,
            settings=self.settings,
            data=self.data,
            versions=self.versions,
            chain=self.identity,
        )

    @property
    def identity(self) -> str:
        """Digest; equal to that of the campaign in a store."""
        return campaign_identity(asdict(self))


def campaign_identity(facts: Mapping[str, Any]) -> str:
    """Digest of what all cells of a campaign have in common: ``params``, ``settings``, ``data``, ``versions``."""
    params = {name: value for name, value in facts["params"].items() if name != "test"}
    return content_key({**{name: facts[name] for name in ("settings", "data", "versions")}, "params": params})


def planned_campaigns(spec: CampaignSpec) -> tuple[tuple[PlannedCampaign, ...], dict[Path, str], dict[str, str]]:
    """The campaigns of a specification, fingerprints of the policies that they use, and paths of files of the worlds.

    Raises:
        UnknownNameError: a road, planner, search, driver or method that is not registered.
        UsageError: worlds that cannot be made, or a policy that was not trained for them.
    """
    SEARCHES.get(spec.search)
    opened: dict[Path, Policy] = {}
    found: list[PlannedCampaign] = []
    files: dict[str, str] = {}
    given = Method(name="", title="", driver=spec.driver, search=spec.search, perturb=spec.perturb)
    methods = methods_called(list(spec.method)) if spec.method else [given]
    for method, planner in itertools.product(methods, spec.planner):
        trained = _policy_files(spec, method, planner) if method.is_trained else ()
        opened |= {path: load_policy(path) for path in trained if path not in opened}
        policies = [opened[path] for path in trained]
        if not method.is_trained:
            baseline(method.driver)
        world = _world(spec, method, planner, policies)
        for policy in policies or [None]:
            check_world(world, policy)
        files |= world_files(world)
        for n in range(spec.campaigns):
            policy = policies[n % len(policies)] if policies else None
            found.append(_planned(spec, method, world, policy, spec.seed + n))
    return tuple(found), {path: policy.fingerprint for path, policy in opened.items()}, files


class CampaignExperiment:
    """Tests of one or several campaigns."""

    name = KIND
    Spec = CampaignSpec

    def resolve(self, spec: CampaignSpec, roots: Mapping[str, Path | str], artifacts: Artifacts) -> Inputs:
        """See :func:`planned_campaigns`; workers are told where policies and files are."""
        campaigns, policies, files = planned_campaigns(spec)
        return Inputs(
            fingerprints={str(path): digest for path, digest in policies.items()},
            machine={
                "policies": {digest: str(path.resolve()) for path, digest in policies.items()},
                "files": files,
            },
            found=campaigns,
        )

    def cells(self, spec: CampaignSpec, inputs: Inputs) -> Sequence[Cell]:
        """One cell per test."""
        campaigns: Sequence[PlannedCampaign] = inputs.found
        return [campaign.cell(number) for campaign in campaigns for number in range(spec.budget)]

    def evaluate(self, batch: Sequence[Cell], context: Context) -> Iterator[tuple[Cell, CellResult]]:
        """Drive the tests of a campaign that have no result; the others are told to the search.

        Raises:
            UsageError: the policy on this machine is another one.
            DataError: the map or the prior is another one.
        """
        params, settings = batch[0].params, batch[0].settings
        world = world_of_cell(batch[0], context.machine)
        campaign = Campaign(
            search=params["search"],
            perturb=params["perturb"],
            budget=len(batch),
            generation=settings.get("generation") or min(TOGETHER, len(batch)),
            seed=params["seed"],
        )
        driver = _driver(params["driver"], settings["policy"], context.machine["policies"])
        lanes = map_file(world)

        def known(number: int) -> Test | None:
            result = context.known(batch[number])
            return None if result is None else known_test(result.info)

        with closing(run_campaign(world, driver, campaign, known=known)) as tests:
            for cell, test in zip(batch, tests, strict=True):
                if test.record is not None:
                    result = result_cell(test, tracks=settings["tracks"])
                    yield cell, result if lanes is None else replace(result, shared=(lanes,))


def _policy_files(spec: CampaignSpec, method: Method, planner: str) -> Sequence[Path]:
    """Policies of a learned method, one per training."""
    name = method.policy_name
    given = spec.policies.get(f"{name}@{planner}") or spec.policies.get(name)
    if given:
        return given
    if name != FULL:
        raise UsageError(
            "this method needs a training of its own",
            where="method",
            found=method.name,
            hint=f"policies={{{name!r}: [TRAINING]}}, or giveway generate bench --trainings FOLDER",
        )
    return (shipped_file(planner) if spec.policy is None else spec.policy,)


def _world(spec: CampaignSpec, method: Method, planner: str, policies: Sequence[Policy]) -> WorldSettings:
    """Worlds of a campaign: those of the method, or else those that the policy was trained for."""
    if method.name:
        world = method.world_of(WorldSettings(road=spec.road, actions="lateral"), planner)
    elif policies:
        world = settings_for(policies[0], road=spec.road, ego=planner, cars=spec.cars)
    else:
        cars = 3 if spec.cars is None else spec.cars
        world = WorldSettings(road=spec.road, ego=planner, cars=cars, actions="lateral")
    return replace(world, deadline_s=spec.deadline_s, steps=spec.ticks or world.steps, prior=spec.prior)


def _planned(
    spec: CampaignSpec, method: Method, world: WorldSettings, policy: Policy | None, seed: int
) -> PlannedCampaign:
    version, parameters = planner_facts(world.ego)
    facts = world_facts(world)
    learns = Campaign(search=method.search, perturb=method.perturb).learns
    return PlannedCampaign(
        params={
            **({"method": method.name} if method.name else {}),
            "road": facts["road"],
            "planner": world.ego,
            "driver": method.driver,
            "search": method.search,
            "perturb": method.perturb,
            "seed": seed,
        },
        settings={
            "world": facts,
            "planner_parameters": parameters,
            "policy": "" if policy is None else policy.fingerprint,
            "tracks": spec.tracks,
            **({"generation": generation_of(method.search)} if learns else {}),
        },
        data=files_digest(world),
        versions={**VERSIONS, **(PERTURBATION if method.perturb else {}), "planner_version": version},
    )


def _driver(name: str, fingerprint: str, places: Mapping[str, str]) -> CarDriver:
    if name != "policy":
        return baseline(name)
    return PolicyDriver(policy_called(fingerprint, places))


def result_cell(test: Test, *, tracks: bool) -> CellResult:
    """The result of a test, with the motion of all cars as samples if asked for."""
    result = test.result
    return CellResult(
        measurements=tuple(
            Measurement(metric=name, value=float(getattr(result, name)), num_samples=1) for name in MEASURED
        ),
        samples=frame_of(test.record.tracks) if tracks and test.record is not None else None,
        info={
            "result": asdict(result),
            **({} if test.moment is None else {"moment": asdict(test.moment)}),
            **({} if test.push is None else {"push": asdict(test.push)}),
        },
    )


def known_test(info: Mapping[str, Any]) -> Test:
    """The test that a result describes, without its episode."""
    push = info.get("push")
    if push is not None:
        push = Push(twin=push["twin"], moment=_moment(push["moment"]), delta=_pairs(push["delta"]))
    return Test(
        result=result_from(info["result"]),
        moment=_moment(info["moment"]) if "moment" in info else None,
        push=push,
    )


def _moment(values: Mapping[str, Any]) -> Moment:
    return Moment(begin=int(values["begin"]), cars=tuple(values["cars"]), places=_pairs(values["places"]))


def _pairs(values: Sequence[Sequence[float]]) -> tuple[tuple[float, float], ...]:
    return tuple((float(a), float(b)) for a, b in values)


CAMPAIGN = CampaignExperiment()
