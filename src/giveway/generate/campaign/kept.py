"""Campaigns in a result store: one cell per test, resumable, with every episode as a table beside it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from giveway.core.errors import EmptySelectionError, StoreError
from giveway.generate.campaign.campaign import CampaignSpec, Known, Tested, run_campaign
from giveway.generate.campaign.drivers import CarDriver, PolicyDriver
from giveway.generate.evaluation.results import TestResult
from giveway.generate.export.cases import Failure, failure_id
from giveway.generate.export.frames import frame_of, tracks_of
from giveway.generate.perturbation.adaptive import Filed
from giveway.generate.worlds import WorldSettings
from giveway.runs import Cell, CellResult, Measurement, Progress, SilentProgress, Store, content_key, read_index

KIND = "generate"
FUNCTION = "giveway.generate.campaign.kept:run_into_store"
VERSIONS = {"generate": 2}
MEASURED = (
    "failed",
    "at_fault",
    "avoidable",
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
class CampaignRun:
    """What a run did.

    Attributes:
        results: all tests, in order.
        driven: driven now.
        skipped: known from before.
    """

    results: tuple[TestResult, ...]
    driven: int
    skipped: int


def campaign_params(settings: WorldSettings, driver: CarDriver, spec: CampaignSpec) -> dict[str, Any]:
    """What names a campaign: everything that may change its results."""
    policy = driver.policy.fingerprint[:12] if isinstance(driver, PolicyDriver) else ""
    return {
        "road": settings.road,
        "ego": settings.ego,
        "driver": driver.name,
        "policy": policy,
        "cars": settings.cars,
        "search": spec.search,
        "perturb": spec.perturb,
        "generation": spec.generation,
        "seed": spec.seed,
        "settings": content_key(settings.as_dict())[:12],
    }


def cell_of(params: Mapping[str, Any], number: int) -> Cell:
    """The cell of one test."""
    return Cell(kind=KIND, params={**params, "test": number}, versions=VERSIONS)


def run_into_store(
    settings: WorldSettings,
    driver: CarDriver,
    spec: CampaignSpec,
    out: Path,
    *,
    progress: Progress | None = None,
    max_hours: float | None = None,
) -> CampaignRun:
    """Run a campaign into a result store; tests that are there already are not driven again.

    Args:
        settings: of the worlds.
        driver: of the surrounding cars.
        spec: search, perturbation, budget.
        out: folder of the store.
        progress: where to report; nowhere by default.
        max_hours: drive no further test after this time.

    Raises:
        StoreError: the folder is something else, or another run is active in it.
    """
    store = Store(out, create=True)
    until = math.inf if max_hours is None else time.monotonic() + 3600 * max_hours
    failed = counting = 0
    with store.lock(), progress or SilentProgress() as report:
        cells = planned_cells(store, settings, driver, spec)
        done = sum(store.record_path(cell.key).exists() for cell in cells)
        report.start(total=len(cells), skipped=done, workers=1)

        def tell(result: TestResult, driven: int) -> bool:
            nonlocal failed, counting
            failed, counting = failed + result.failed, counting + result.counts
            report.update(done=driven, failed=0, current=f"{failed} failures, {counting} avoidable and at fault")
            return time.monotonic() < until

        return drive_into(store, cells, settings, driver, spec, tell)


def planned_cells(store: Store, settings: WorldSettings, driver: CarDriver, spec: CampaignSpec) -> list[Cell]:
    """The cells of a campaign, after writing down that they are wanted."""
    params = campaign_params(settings, driver, spec)
    cells = [cell_of(params, n) for n in range(spec.budget)]
    plan = {"command": "generate run", **params, "budget": spec.budget, "world": settings.as_dict()}
    store.write_plan(plan, FUNCTION, cells)
    return cells


def drive_into(
    store: Store,
    cells: Sequence[Cell],
    settings: WorldSettings,
    driver: CarDriver,
    spec: CampaignSpec,
    after: Callable[[TestResult, int], bool],
) -> CampaignRun:
    """Drive the tests that the store lacks and keep them.

    Args:
        store: where to.
        cells: one per test.
        settings: of the worlds.
        driver: of the surrounding cars.
        spec: search, perturbation, budget.
        after: called with every test and how many were driven so far; the campaign ends when it says False.
    """
    results: list[TestResult] = []
    driven = 0
    tests = run_campaign(settings, driver, spec, recall=lambda n: _recall(store, cells, n))
    with closing(tests):
        for test in tests:
            known = test if isinstance(test, Known) else test.known
            if isinstance(test, Tested):
                store.write(cells[known.result.number], cell_result(test))
                driven += 1
            results.append(known.result)
            if not after(known.result, driven):
                break
    return CampaignRun(results=tuple(results), driven=driven, skipped=len(results) - driven)


def known_results(store: Store, cells: Sequence[Cell]) -> tuple[TestResult, ...]:
    """Results of the tests that are in the store, in order."""
    found = (_recall(store, cells, n) for n in range(len(cells)))
    return tuple(one.result for one in found if one is not None)


def cell_result(test: Tested) -> CellResult:
    """What is kept of a test."""
    result = test.known.result
    return CellResult(
        measurements=tuple(
            Measurement(metric=name, value=float(getattr(result, name)), num_samples=1) for name in MEASURED
        ),
        samples=frame_of(test.record.tracks),
        info={
            "result": asdict(result),
            "filed": [[list(entry.feature), entry.risky] for entry in test.known.filed],
        },
    )


def _recall(store: Store, cells: Sequence[Cell], number: int) -> Known | None:
    if number >= len(cells) or not store.record_path(cells[number].key).exists():
        return None
    try:
        info = store.read(cells[number].key).info
    except StoreError:  # damaged: driven again
        return None
    return Known(
        result=result_from(info["result"]),
        filed=tuple(Filed(feature=tuple(feature), risky=bool(risky)) for feature, risky in info["filed"]),
    )


def result_from(values: Mapping[str, Any]) -> TestResult:
    """A result from the plain values of a record; null stands for no contact, and for never closing in."""
    missing = {"min_ttc_s": math.inf}
    plain: dict[str, Any] = {n: missing.get(n, math.nan) if v is None else v for n, v in values.items()}
    plain["genes"] = tuple(values["genes"])
    return TestResult(**plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCampaign:
    """One campaign of a store.

    Attributes:
        params: what names it.
        results: its tests, in order.
        keys: their cells.
    """

    params: Mapping[str, Any]
    results: tuple[TestResult, ...]
    keys: tuple[str, ...]

    @property
    def label(self) -> str:
        """For tables."""
        return f"{self.params['driver']} on {self.params['road']}, ego {self.params['ego']}, seed {self.params['seed']}"


def stored_campaigns(out: Path) -> list[StoredCampaign]:
    """All campaigns of a store.

    Raises:
        StoreError: no store there.
        EmptySelectionError: a store without generated tests.
    """
    store = Store(out)
    grouped: dict[str, list[tuple[dict[str, Any], TestResult, str]]] = {}
    for key in read_index(store).frame.filter(kind=KIND)["key"]:
        cell, result = _read(store, key)
        params = {name: value for name, value in cell.params.items() if name != "test"}
        grouped.setdefault(content_key(params), []).append((params, result, key))
    if not grouped:
        raise EmptySelectionError(
            "the store holds no generated tests", where=out, hint="giveway generate run --out DIR writes them"
        )
    campaigns: list[StoredCampaign] = []
    for entries in grouped.values():
        entries.sort(key=lambda entry: entry[1].number)
        campaigns.append(
            StoredCampaign(
                params=entries[0][0],
                results=tuple(result for _, result, _ in entries),
                keys=tuple(key for _, _, key in entries),
            )
        )
    return sorted(campaigns, key=lambda campaign: campaign.label)


def stored_failures(out: Path, campaign: StoredCampaign, *, everything: bool = False) -> Iterator[Failure]:
    """The failures of a campaign with their tracks, those that count first; all tests with ``everything``."""
    store = Store(out)
    prefix = f"{_word(campaign.params['road'])}-{_word(campaign.params['ego'])}-s{campaign.params['seed']}"
    pairs = [(r, k) for r, k in zip(campaign.results, campaign.keys, strict=True) if r.failed or everything]
    for result, key in sorted(pairs, key=lambda pair: (not pair[0].counts, pair[0].number)):
        frame = store.read_samples(key)
        if frame is not None:
            yield Failure(id=failure_id(result, prefix), result=result, tracks=tracks_of(frame))


def settings_of(out: Path, campaign: StoredCampaign) -> Mapping[str, Any]:
    """World settings of a campaign, from the plan that asked for it."""
    for plan in Store(out).plans():
        if campaign.keys[0] in plan.keys:
            return plan.spec["world"]
    return {}


def _read(store: Store, key: str) -> tuple[Cell, TestResult]:
    document = store.read_record(key)
    return Cell.from_json(document["cell"]), result_from(document["info"]["result"])


def _word(text: object) -> str:
    name = Path(str(text)).stem.replace(":", "-")
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name) or "x"
