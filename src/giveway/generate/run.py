"""Critical traffic in one call: search, drive, keep every failure as a case."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from giveway.core.errors import EmptySelectionError, UsageError
from giveway.experiments import Executor, FailedCell, Progress
from giveway.experiments.specs import validated
from giveway.experiments.threads import limited_threads
from giveway.generate.campaign import CampaignSpec
from giveway.generate.drivers.cars import baseline
from giveway.generate.engine import CampaignOrder, campaigns_on
from giveway.generate.export.cases import write_failures
from giveway.generate.kept import CampaignRun, run_into_store, stored_campaigns, stored_failures
from giveway.generate.policies import check_world, open_policy, settings_for
from giveway.generate.search import SEARCHES
from giveway.generate.section import CASES
from giveway.generate.worlds import WorldSettings
from giveway.reports.results import Results


class FailureSpec(BaseModel):
    """What to search for.

    Attributes:
        planner: planner under test: ``lattice``, ``idm``, ``constant_speed`` or an import path.
        road: ``straight``, ``merge``, ``roundabout``, ``four_way`` or a lanelet2 map.
        budget: tests of a campaign.
        driver: ``policy``, or without learning: ``no_attack``, ``idm``, ``random_actions``, ``program``, ``cut_in``.
        search: ``nsga2``, ``cma_es`` or ``random``.
        policy: policy file or training folder; the shipped one if None.
        perturb: perturb cars that are close to the ego.
        cars: learning cars; must be those of the policy.
        deadline_s: longest time for one plan of the planner [s].
        ticks: longest test, 0.1 s each; that of the training if None.
        seed: root of all random streams.
        campaigns: number of campaigns with consecutive seeds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    planner: str = "lattice"
    road: str = "straight"
    budget: int = Field(default=400, ge=1, le=1_000_000)
    driver: str = "policy"
    search: str = "nsga2"
    policy: Path | None = None
    perturb: bool = True
    cars: int | None = None
    deadline_s: float = 1.0
    ticks: int | None = Field(default=None, ge=10, le=2000)
    seed: int = 0
    campaigns: int = Field(default=1, ge=1, le=10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCampaigns:
    """Attributes:
    spec: validated.
    settings: of the worlds.
    campaigns: one per seed.
    """

    spec: FailureSpec
    settings: WorldSettings
    campaigns: tuple[CampaignSpec, ...]


def find_failures(
    out: Path | str,
    *,
    planner: str = "lattice",
    road: str = "straight",
    budget: int = 400,
    driver: str = "policy",
    search: str = "nsga2",
    engine: Executor | None = None,
    max_hours: float | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Results:
    """Search traffic that makes a planner fail although it could have coped.

    Called again with the same store, only tests that are missing are driven. Every failure is kept as a case, see
    ``Results.cases``.

    Args:
        out: result store; created if new.
        planner: planner under test: ``lattice``, ``idm``, ``constant_speed`` or ``package.module:Class``.
        road: ``straight``, ``merge``, ``roundabout``, ``four_way`` or the path of a lanelet2 map.
        budget: tests of a campaign.
        driver: who drives the other cars: ``policy`` (learned), ``no_attack``, ``idm``, ``random_actions``,
            ``program`` or ``cut_in``.
        search: which initial scenes to try next: ``nsga2``, ``cma_es`` or ``random``.
        engine: where campaigns are driven; one after the other in this process by default.
        max_hours: drive no further test after this time.
        progress: where to report; nowhere by default.
        settings: other fields of :class:`FailureSpec`, e.g. ``seed=1, perturb=False``.

    Raises:
        ConfigError: a setting that does not exist or a value that is not allowed.
        UnknownNameError: a road, search or driver that is not registered.
        EmptySelectionError: not a single test was driven.
    """
    if not isinstance(planner, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers need not check types
        raise UsageError(
            "generated traffic drives a planner by name",
            where="planner",
            found=type(planner).__name__,
            hint="put it into a module and give its import path, planner='package.module:Class'",
        )
    values = {"planner": planner, "road": road, "budget": budget, "driver": driver, "search": search, **settings}
    plan = planned(validated(FailureSpec, values, where="find_failures"))
    runs, failures = run_campaigns(plan, Path(out), engine=engine, max_hours=max_hours, progress=progress)
    require_tests(runs, failures, Path(out))
    write_cases(Path(out))
    return Results.open(out, kind="generate")


def planned(spec: FailureSpec) -> PlannedCampaigns:
    """Worlds and campaigns of a specification; nothing is driven.

    Raises:
        UnknownNameError: a road, search or driver that is not registered.
        UsageError: worlds that cannot be made, or a policy that was not trained for them.
    """
    SEARCHES.get(spec.search)
    learned = open_policy(spec.policy, ego=spec.planner) if spec.driver == "policy" else None
    if learned is not None:
        settings = settings_for(learned, road=spec.road, ego=spec.planner, cars=spec.cars)
    else:
        baseline(spec.driver)
        cars = 3 if spec.cars is None else spec.cars
        settings = WorldSettings(road=spec.road, ego=spec.planner, cars=cars, actions="lateral")
    settings = replace(settings, deadline_s=spec.deadline_s, steps=spec.ticks or settings.steps)
    campaigns = tuple(
        CampaignSpec(search=spec.search, perturb=spec.perturb, budget=spec.budget, seed=spec.seed + n)
        for n in range(spec.campaigns)
    )
    check_world(settings, learned)
    return PlannedCampaigns(spec=spec, settings=settings, campaigns=campaigns)


def run_campaigns(
    plan: PlannedCampaigns,
    out: Path,
    *,
    engine: Executor | None = None,
    max_hours: float | None = None,
    progress: Progress | None = None,
) -> tuple[list[CampaignRun], list[FailedCell]]:
    """Drive the tests that a store lacks; on an engine every campaign is a cell.

    Returns:
        What each campaign did, and the campaigns that failed.
    """
    order = CampaignOrder(settings=plan.settings, driver=plan.spec.driver, policy=plan.spec.policy, out=out)
    if engine is not None and engine.name != "serial":
        summary, runs = campaigns_on(engine, order, plan.campaigns, max_hours=max_hours, progress=progress)
        return runs, list(summary.failures)
    began = time.monotonic()
    runs: list[CampaignRun] = []
    for spec in plan.campaigns:
        left = None if max_hours is None else max_hours - (time.monotonic() - began) / 3600
        if left is not None and left < 0 and runs:
            break
        with limited_threads(1):
            runs.append(
                run_into_store(order.settings, order.car_driver(), spec, out, progress=progress, max_hours=left)
            )
    return runs, []


def require_tests(runs: Sequence[CampaignRun], failures: Sequence[FailedCell], out: Path) -> None:
    """Refuse a run without a single test.

    Raises:
        EmptySelectionError: saying why.
    """
    if not any(run.results for run in runs):
        found = failures[0].message if failures else "the time was over before the first test"
        raise EmptySelectionError("no test was driven", where=out, found=found, hint="start the same command again")


def write_cases(store: Path) -> int:
    """Export all failures of a store into its folder ``cases``; returns how many."""
    failures = [f for campaign in stored_campaigns(store) for f in stored_failures(store, campaign)]
    write_failures(store / CASES, failures)
    return len(failures)
