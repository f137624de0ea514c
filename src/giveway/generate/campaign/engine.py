"""Campaigns on the workers of an engine: every campaign is a cell, every test is kept as always.

A campaign decides after each generation what to try next, so its tests cannot be spread over workers; several campaigns
can. Workers write tests into the folder of the store, which they must therefore share. Tests are those that a campaign
in one process writes; which campaigns are finished or failed is kept in a store of its own beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from giveway.core.errors import ClusterError, UsageError
from giveway.experiments import Cell, CellResult, Context, Executor, Measurement, Progress, RunSummary, Store, compute
from giveway.experiments.threads import limited_threads
from giveway.generate.campaign.campaign import CampaignSpec
from giveway.generate.campaign.drivers import CarDriver, PolicyDriver, baseline
from giveway.generate.campaign.kept import (
    VERSIONS,
    CampaignRun,
    campaign_params,
    cell_of,
    drive_into,
    known_results,
    planned_cells,
)
from giveway.generate.evaluation.measures import all_measures
from giveway.generate.evaluation.protocol import settings_from
from giveway.generate.evaluation.results import TestResult
from giveway.generate.policies import open_policy
from giveway.generate.worlds import WorldSettings

KIND = "generate_campaign"
FUNCTION = "giveway.generate.campaign.engine:evaluate"
FOLDER = "campaigns"
"""Store of finished and failed campaigns, inside the store of their tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOrder:
    """What a worker needs to run a campaign.

    Attributes:
        settings: of the worlds.
        driver: ``"policy"``, or the name of a driver without learning.
        policy: file or folder; None for the shipped one.
        out: folder of the store.
    """

    settings: WorldSettings
    driver: str
    policy: Path | None
    out: Path

    def car_driver(self) -> CarDriver:
        """The driver of the surrounding cars."""
        if self.driver == "policy":
            return PolicyDriver(open_policy(self.policy, ego=self.settings.ego))
        return baseline(self.driver)


def campaigns_on(
    executor: Executor,
    order: CampaignOrder,
    specs: Sequence[CampaignSpec],
    *,
    max_hours: float | None = None,
    progress: Progress | None = None,
) -> tuple[RunSummary, list[CampaignRun]]:
    """Run campaigns on an engine; tests that are there already are not driven again.

    Raises:
        ClusterError: see the engine.
        StoreError: the folder is something else, or another run is active in it.
    """
    store, driver = Store(order.out, create=True), order.car_driver()
    books = Store(order.out / FOLDER, create=True)
    with store.lock():
        tests = [planned_cells(store, order.settings, driver, spec) for spec in specs]
        cells = [_campaign_cell(order, driver, spec) for spec in specs]
        before = [len(known_results(store, members)) for members in tests]
        for cell, members, count in zip(cells, tests, before, strict=True):
            if count < len(members):
                books.record_path(cell.key).unlink(missing_ok=True)  # a campaign that lacks tests is not finished
        summary = compute(
            cells,
            experiment=FUNCTION,
            store=books,
            engine=executor,
            spec={"command": "generate run", "world": order.settings.as_dict(), "driver": order.driver},
            machine={
                "out": str(order.out.resolve()),
                "driver": order.driver,
                "policy": None if order.policy is None else str(order.policy.resolve()),
            },
            rerun="failed",
            max_hours=max_hours,
            progress=progress,
        )
        found = [known_results(store, members) for members in tests]
    runs = [
        CampaignRun(results=results, driven=len(results) - count, skipped=count)
        for results, count in zip(found, before, strict=True)
    ]
    return summary, runs


def evaluate(cell: Cell, context: Context) -> CellResult:
    """Run one campaign into the store of its tests; what it measured is the result.

    Raises:
        ClusterError: if the worker cannot see the store.
        UsageError: if the policy there is another one.
    """
    out, params = Path(context.machine["out"]), cell.params
    if not (out / "store.json").exists():
        raise ClusterError(
            "this worker cannot see the store, so the tests of the campaign would be lost",
            where=out,
            hint="use --out in a folder that all workers share",
        )
    policy = context.machine["policy"]
    order = CampaignOrder(
        settings=settings_from(params["world"]),
        driver=context.machine["driver"],
        policy=None if policy is None else Path(policy),
        out=out,
    )
    spec = CampaignSpec(**params["campaign"])
    driver = order.car_driver()
    named = campaign_params(order.settings, driver, spec)
    if named != dict(params["named"]):
        raise UsageError("the policy on this worker is another one", where=policy or "the shipped policy")
    tests = [cell_of(named, n) for n in range(spec.budget)]

    def tell(result: TestResult, driven: int) -> bool:
        context.message(f"{cell.label()}: test {result.number + 1} of {spec.budget}")
        return True

    with limited_threads(1):
        done = drive_into(Store(out), tests, order.settings, driver, spec, tell)
    measures: Mapping[str, float] = all_measures(done.results)
    return CellResult(
        measurements=tuple(
            Measurement(metric=name, value=value, num_samples=len(done.results)) for name, value in measures.items()
        )
    )


def _campaign_cell(order: CampaignOrder, driver: CarDriver, spec: CampaignSpec) -> Cell:
    params: dict[str, Any] = {
        "seed": spec.seed,
        "campaign": {name: getattr(spec, name) for name in spec.__slots__},
        "named": campaign_params(order.settings, driver, spec),
        "world": order.settings.as_dict(),
    }
    return Cell(kind=KIND, params=params, versions=VERSIONS)
