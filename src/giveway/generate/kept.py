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
from giveway.experiments import Cell, CellResult, Measurement, Progress, SilentProgress, Store, content_key, read_index
from giveway.generate.campaign import CampaignSpec, Known, Tested, run_campaign
from giveway.generate.drivers.cars import CarDriver, PolicyDriver
from giveway.generate.evaluation.results import TestResult
from giveway.generate.export.cases import Failure, failure_id
from giveway.generate.export.frames import frame_of, tracks_of
from giveway.generate.perturbation.adaptive import Filed
from giveway.generate.roads import make_road
from giveway.generate.worlds import WorldSettings

KIND = "generate"
FUNCTION = "giveway.generate.kept:run_into_store"
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
        versions: of the code that drove it.
        label: for tables; no other campaign of the store has it.
    """

    params: Mapping[str, Any]
    results: tuple[TestResult, ...]
    keys: tuple[str, ...]
    versions: Mapping[str, int | str]
    label: str

    @property
    def prefix(self) -> str:
        """Of the names of its cases: readable, and different for any two campaigns."""
        words = f"{_word(self.params['road'])}-{_word(self.params['ego'])}-s{self.params['seed']}"
        return f"{words}-{_identity(self.params, self.versions)[:8]}"


def stored_campaigns(out: Path) -> list[StoredCampaign]:
    """All campaigns of a store.

    Raises:
        StoreError: no store there.
        EmptySelectionError: a store without generated tests.
    """
    store = Store(out)
    grouped: dict[str, list[tuple[Cell, TestResult, str]]] = {}
    for key in read_index(store).frame.filter(kind=KIND)["key"]:
        cell, result = _read(store, key)
        grouped.setdefault(_identity(_params_of(cell), cell.versions), []).append((cell, result, key))
    if not grouped:
        raise EmptySelectionError(
            "the store holds no generated tests", where=out, hint="giveway generate run --out DIR writes them"
        )
    first = [entries[0][0] for entries in grouped.values()]
    campaigns: list[StoredCampaign] = []
    for cell, label, entries in zip(first, _labels(first), grouped.values(), strict=True):
        entries.sort(key=lambda entry: entry[1].number)
        campaigns.append(
            StoredCampaign(
                params=_params_of(cell),
                results=tuple(result for _, result, _ in entries),
                keys=tuple(key for _, _, key in entries),
                versions=cell.versions,
                label=label,
            )
        )
    return sorted(campaigns, key=lambda campaign: campaign.label)


def _params_of(cell: Cell) -> dict[str, Any]:
    """What names the campaign of a test."""
    return {name: value for name, value in cell.params.items() if name != "test"}


def _identity(params: Mapping[str, Any], versions: Mapping[str, int | str]) -> str:
    return content_key({"params": params, "versions": versions})


def _labels(cells: Sequence[Cell]) -> list[str]:
    """One label per campaign; what else they differ in is added where they would look the same."""
    plain = [f"{p['driver']} on {p['road']}, ego {p['ego']}, seed {p['seed']}" for p in (cell.params for cell in cells)]
    facts = [{**_params_of(cell), "version": cell.versions[KIND]} for cell in cells]
    labels: list[str] = []
    for text, mine in zip(plain, facts, strict=True):
        alike = [other for label, other in zip(plain, facts, strict=True) if label == text]
        odd = [name for name in mine if any(other[name] != mine[name] for other in alike)]
        labels.append(", ".join([text, *(f"{name} {mine[name]}" for name in odd)]))
    return labels


def stored_failures(out: Path, campaign: StoredCampaign, *, everything: bool = False) -> Iterator[Failure]:
    """The failures of a campaign with their tracks, those that count first; all tests with ``everything``."""
    store, road = Store(out), make_road(str(campaign.params["road"]))
    lanes = road.map()
    pairs = [(r, k) for r, k in zip(campaign.results, campaign.keys, strict=True) if r.failed or everything]
    for result, key in sorted(pairs, key=lambda pair: (not pair[0].counts, pair[0].number)):
        frame = store.read_samples(key)
        if frame is not None:
            name = failure_id(result, campaign.prefix)
            tracks = tracks_of(frame)
            yield Failure(id=name, result=result, tracks=tracks, road=lanes, site=road.name, method=campaign.label)


def _read(store: Store, key: str) -> tuple[Cell, TestResult]:
    document = store.read_record(key)
    return Cell.from_json(document["cell"]), result_from(document["info"]["result"])


def _word(text: object) -> str:
    name = Path(str(text)).stem.replace(":", "-")
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name) or "x"
