"""Critical traffic in one call: search, drive, keep every failure as a case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from giveway.core.errors import EmptySelectionError, UsageError
from giveway.core.urls import local_path
from giveway.experiments import Executor, Progress, Rerun, RunSummary, SerialExecutor, run
from giveway.experiments.specs import validated
from giveway.generate.experiment import CAMPAIGN, KIND, planned_campaigns
from giveway.generate.failures import write_cases
from giveway.generate.spec import CampaignSpec
from giveway.reports.results import Results


def find_failures(
    out: Path | str,
    *,
    planner: str | Sequence[str] = "lattice",
    road: str = "straight",
    budget: int = 400,
    driver: str = "policy",
    search: str = "nsga2",
    engine: Executor | None = None,
    rerun: Rerun = "failed",
    limit: int | None = None,
    max_hours: float | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Results:
    """Search traffic that makes a planner fail although it could have coped.

    Called again with the same store, only tests that are missing are driven. Every failure is kept as a case, see
    ``Results.cases``.

    Args:
        out: result store; created if new.
        planner: planner under test: ``lattice``, ``idm``, ``constant_speed`` or ``package.module:Class``; several get a
            campaign each.
        road: ``straight``, ``merge``, ``roundabout``, ``four_way`` or the path of a lanelet2 map.
        budget: tests of a campaign.
        driver: who drives the other cars: ``policy`` (learned), ``no_attack``, ``idm``, ``random_actions``,
            ``program`` or ``cut_in``.
        search: which initial scenes to try next: ``nsga2``, ``cma_es`` or ``random``.
        engine: where campaigns are driven; one after the other in this process by default.
        rerun: ``failed`` drives tests without a result, ``missing`` leaves failed ones alone, ``all`` drives all again.
        limit: drive at most this many tests now.
        max_hours: drive no further test after this time.
        progress: where to report; nowhere by default.
        settings: other fields of :class:`~giveway.generate.spec.CampaignSpec`, e.g. ``seed=1, perturb=False``.

    Raises:
        ConfigError: a setting that does not exist or a value that is not allowed.
        UnknownNameError: a road, search or driver that is not registered.
        EmptySelectionError: not a single test was driven.
    """
    names = [planner] if isinstance(planner, str) else planner
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):  # pyright: ignore[reportUnnecessaryIsInstance] - callers need not check types
        raise UsageError(
            "generated traffic drives a planner by name",
            where="planner",
            found=type(planner).__name__,
            hint="put it into a module and give its import path, planner='package.module:Class'",
        )
    values = {"planner": planner, "road": road, "budget": budget, "driver": driver, "search": search, **settings}
    spec = validated(CampaignSpec, values, where="find_failures")
    options: dict[str, Any] = {"rerun": rerun, "limit": limit, "max_hours": max_hours, "progress": progress}
    run_campaigns(spec, local_path(out, where="out"), engine=engine, **options)
    write_cases(Path(out))
    return Results.open(out, kind=KIND)


def run_campaigns(
    spec: CampaignSpec,
    out: Path,
    *,
    engine: Executor | None = None,
    rerun: Rerun = "failed",
    **options: Any,
) -> RunSummary:
    """Drive the tests that a store lacks, one campaign after the other in this process unless an engine is given.

    Args:
        spec: what to drive.
        out: store.
        engine: where.
        rerun: see :func:`find_failures`.
        options: see :func:`giveway.experiments.run`.

    Raises:
        EmptySelectionError: there is not a single test, saying why.
    """
    planned_campaigns(spec)  # what is wrong with it is said before a folder is made
    engine = engine or SerialExecutor()
    summary = run(CAMPAIGN, spec, out, engine=engine, rerun=rerun, **options)
    if summary.done + summary.skipped == 0:
        found = summary.failures[0].message if summary.failures else "the time was over before the first test"
        raise EmptySelectionError("no test was driven", where=out, found=found, hint="start the same command again")
    return summary
