"""The comparison of methods: each over many seeds, in the same store and engine as every other run.

A cell is one campaign: a method against an ego with a seed. It is a pure function of its parameters and of the policy
file, whose fingerprint is part of its name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from giveway.core.errors import EmptySelectionError
from giveway.experiments import Cell, CellResult, Measurement, Store, collect
from giveway.experiments.engine import Context
from giveway.experiments.threads import limited_threads
from giveway.generate.campaign.campaign import CampaignSpec, Known, run_campaign
from giveway.generate.campaign.drivers import CarDriver, PolicyDriver, baseline
from giveway.generate.evaluation.comparison import Comparison, compare
from giveway.generate.evaluation.measures import all_measures
from giveway.generate.evaluation.methods import METHODS, Method
from giveway.generate.evaluation.results import TestResult
from giveway.generate.learning.policy import load_policy
from giveway.generate.worlds import WorldSettings

KIND = "generate_protocol"
FUNCTION = "giveway.generate.evaluation.protocol:evaluate"
VERSIONS = {"generate_protocol": 2}
HEADLINE = "avoidable_at_fault_rate"


def protocol_cells(
    methods: Sequence[Method],
    *,
    settings: WorldSettings,
    egos: Sequence[str],
    seeds: Sequence[int],
    budget: int,
    policies: Mapping[str, Sequence[Path]],
) -> list[Cell]:
    """One cell per method, ego and seed.

    Args:
        methods: what to compare.
        settings: of the worlds; each method may change some.
        egos: planners under test.
        seeds: of the campaigns.
        budget: tests per campaign.
        policies: training name, or ``name@ego``, to policy files; seed n takes the n-th in turn.
    """
    cells: list[Cell] = []
    for method in methods:
        for ego in egos:
            for n, seed in enumerate(seeds):
                files = policies.get(f"{method.policy_name}@{ego}") or policies.get(method.policy_name, ())
                policy = load_policy(files[n % len(files)]).fingerprint[:16] if files else ""
                cells.append(
                    Cell(
                        kind=KIND,
                        params={
                            "method": method.name,
                            "ego": ego,
                            "road": settings.road,
                            "seed": seed,
                            "budget": budget,
                            "policy": policy,
                            "world": method.world_of(settings, ego).as_dict(),
                        },
                        versions=VERSIONS,
                    )
                )
    return cells


def evaluate(cell: Cell, context: Context) -> CellResult:
    """Run one campaign; called by the engine."""
    params = cell.params
    method = METHODS[params["method"]]
    settings = settings_from(params["world"])
    driver: CarDriver
    if method.is_trained:
        driver = PolicyDriver(load_policy(Path(context.machine["policies"][params["policy"]])), method.name)
    else:
        driver = baseline(method.driver)
    # Where nothing is learned from one generation to the next, all tests are one generation: the same tests, faster.
    learns = method.perturb or method.search != "random"
    spec = CampaignSpec(
        search=method.search,
        perturb=method.perturb,
        budget=params["budget"],
        generation=10 if learns else params["budget"],
        seed=params["seed"],
    )
    with limited_threads(1):
        tests = list(run_campaign(settings, driver, spec))
    results = [test.result if isinstance(test, Known) else test.known.result for test in tests]
    return CellResult(
        measurements=tuple(
            Measurement(metric=name, value=value, num_samples=len(results))
            for name, value in all_measures(results).items()
        ),
        samples=_table(results),
    )


def settings_from(world: Mapping[str, Any]) -> WorldSettings:
    """World settings from plain values."""
    default = WorldSettings()
    values: dict[str, Any] = dict(world)
    values["weights"] = type(default.weights)(**world["weights"])
    values["legacy"] = type(default.legacy)(**world["legacy"])
    values["prior"] = None if world["prior"] is None else Path(world["prior"])
    return WorldSettings(**values)


def _table(results: Sequence[TestResult]) -> pl.DataFrame:
    plain = [{k: v for k, v in asdict(r).items() if k not in ("scene", "genes")} for r in results]
    return pl.DataFrame(plain).with_columns(pl.Series("sample_id", [str(r.number) for r in results]))


def measured(store: Path, cells: Sequence[Cell], metric: str = HEADLINE) -> dict[str, dict[str, list[float]]]:
    """Ego to method to one value per seed.

    Args:
        store: where the results are.
        cells: of the comparison; a store may hold others, with another budget or on another road.
        metric: measure of a campaign.

    Raises:
        EmptySelectionError: no such results.
    """
    keys = [cell.key for cell in cells]
    frame = collect(Store(store)).filter(pl.col("key").is_in(keys) & (pl.col("metric") == metric))
    if frame.height == 0:
        raise EmptySelectionError(
            "the store holds no result of this comparison", where=store, hint="giveway generate bench --out DIR"
        )
    found: dict[str, dict[str, list[float]]] = {}
    for row in frame.sort("method", "ego", "seed").iter_rows(named=True):
        value = math.nan if row["value"] is None else float(row["value"])
        found.setdefault(row["ego"], {}).setdefault(row["method"], []).append(value)
    return {ego: {name: by_method[name] for name in METHODS if name in by_method} for ego, by_method in found.items()}


def comparisons(
    store: Path, cells: Sequence[Cell], *, first: str, metric: str = HEADLINE
) -> dict[str, list[Comparison]]:
    """Ego to the comparison of one method with all others, corrected for their number; see :func:`measured`."""
    return {ego: compare(values, first) for ego, values in measured(store, cells, metric).items() if first in values}
