"""How human is simulated traffic? Likelihood of the recording over seeded roll-outs, as an experiment.

A cell is one case with one driver for its traffic, or with one planner for its ego. Deterministic drivers are run once
and repeated, so that all rows of a table rest on the same number of roll-outs; scores from different numbers are never
compared. Cases that alter a start have no recording to be compared with: their cells say so and have no score.

Reference:
    Montali et al. (2023), The Waymo Open Sim Agents Challenge; weights in :mod:`giveway.metrics.realism`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, field_serializer

from giveway.core.case import Case, case_dict
from giveway.core.errors import UsageError
from giveway.drive.case_sets import CaseScenes
from giveway.drive.experiment import DRIVE_VERSION
from giveway.drive.realism_rollouts import Judged, crowd, judge_ego, judge_traffic, traffic_called
from giveway.drive.scenes import SceneSource, data_of
from giveway.drive.spec import cases_and_folders, plain_cases, planner_of
from giveway.experiments import (
    Artifacts,
    Cell,
    CellFailure,
    CellResult,
    Context,
    Executor,
    Inputs,
    Measurement,
    Progress,
    Rerun,
    SerialExecutor,
    content_key,
    run,
)
from giveway.experiments.specs import SpecLike, validated, values_of
from giveway.metrics.courtesy import ALTERED
from giveway.metrics.realism import PATH_FIXED, mean_realism, meta_score
from giveway.reports.results import Results
from giveway.sim.case_files import case_from
from giveway.sim.case_sets import CaseSet
from giveway.sim.drivers import DRIVERS
from giveway.sim.prepare import prepare

REALISM_VERSION = 1
"""Counts up when the same roll-outs are judged in another way, or other cars are."""
SCORE = "realism_rollouts"
"""Name of the score in tables; ``realism`` is the metric of a single drive."""
LIKELIHOOD = "likelihood_"
"""Before the name of a feature."""
TRAFFIC, EGO = "traffic", "ego"
"""Who is judged."""
ROLL_OUTS = 32
DRIVERS_JUDGED = ("replay", "cognitive", "idm", "idm_spread", "idm_paper", "planner", "constant_speed")


class RealismSpec(BaseModel):
    """What to judge.

    Attributes:
        drivers: of the traffic: registered names, ``idm_paper`` for IDM with the constants of the challenge, or
            ``idm_spread`` for cars that differ; ``replay`` is the recording itself, the ceiling.
        planners: of the ego, among replayed traffic.
        cases: case file or folder, or a :class:`giveway.sim.case_sets.CaseSet`; the bundled set if None.
        data: folder with the recordings of the cases.
        roll_outs: per case.
        cast: drive ``all`` motor vehicles of the recording that are not parked, or only those ``listed`` in the case.
        max_cases: at most this many cases, in file order.
        seed: root of all random streams.
        threads: of the simulator; never changes a result.
        max_hours: start no further case after this time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    drivers: tuple[str, ...] = DRIVERS_JUDGED
    planners: tuple[str, ...] = ("lattice",)
    cases: Path | CaseSet | None = None
    data: Path | None = None
    roll_outs: int = Field(default=ROLL_OUTS, ge=1, le=1000)
    cast: Literal["all", "listed"] = "all"
    max_cases: int | None = Field(default=None, ge=1)
    seed: int = 0
    threads: int = Field(default=1, ge=1, exclude=True)
    max_hours: float | None = Field(default=None, ge=0, exclude=True)

    @field_serializer("cases", when_used="json")
    def _plain_cases(self, given: Path | CaseSet | None) -> str | None:
        return plain_cases(given)


class RealismExperiment:
    """See the module."""

    name = "realism"
    Spec = RealismSpec

    def resolve(self, spec: RealismSpec, roots: Mapping[str, Path | str], artifacts: Artifacts) -> Inputs:
        """Read the cases, digest their recordings and maps."""
        if not spec.drivers and not spec.planners:
            raise UsageError("there is nobody to judge", where="drivers, planners", hint="drivers=['idm']")
        cases, folders = cases_and_folders(spec.cases, spec.data, spec.max_cases, roots)
        source = CaseScenes(folders)
        data = {f"{case.dataset}/{case.recording}": data_of(case, source) for case in cases}
        return Inputs(
            fingerprints={"cases": content_key([case.fingerprint for case in cases]), **data},
            machine={"roots": {n: str(f.resolve()) for n, f in folders.items()}, "threads": spec.threads},
            found=cases,
        )

    def cells(self, spec: RealismSpec, inputs: Inputs) -> Sequence[Cell]:
        """Every case with every driver, then with every planner."""
        rows = [(TRAFFIC, name, _driver_version(name)) for name in dict.fromkeys(spec.drivers)]
        rows += [(EGO, name, str(planner_of(name).info.version)) for name in dict.fromkeys(spec.planners)]
        return [
            Cell(
                kind=self.name,
                params={
                    "case": case.id,
                    "site": case.site,
                    "recording": case.recording,
                    "judged": judged,
                    "driver": name,
                    "cast": spec.cast if judged == TRAFFIC else "",
                    "roll_outs": spec.roll_outs,
                    "seed": spec.seed,
                },
                settings={"case": case_dict(case)},
                data=inputs.fingerprints[f"{case.dataset}/{case.recording}"],
                versions={"realism": REALISM_VERSION, "drive": DRIVE_VERSION, "driver": version},
                group=f"{judged} {name}",
            )
            for judged, name, version in rows
            for case in inputs.found
        ]

    def evaluate(self, batch: Sequence[Cell], context: Context) -> Iterator[tuple[Cell, CellResult | CellFailure]]:
        """Judge a batch of one group, all cases of a roll-out in one call of the simulator."""
        first = batch[0]
        source = _source(tuple(sorted(context.machine["roots"].items())))
        cases = {cell.key: _case_of(cell, source) for cell in batch}
        recorded = [cell for cell in batch if not cases[cell.key].is_altered]
        judge = judge_traffic if first.params["judged"] == TRAFFIC else judge_ego
        found: dict[str, Judged] = {}
        if recorded:
            judged = judge(
                [prepare(cases[cell.key], source.scene_of(cases[cell.key]), reacts=True) for cell in recorded],
                first.params["driver"],
                roll_outs=int(first.params["roll_outs"]),
                seed=int(first.params["seed"]),
                threads=int(context.machine["threads"]),
            )
            found = {cell.key: one for cell, one in zip(recorded, judged, strict=True)}
        for cell in batch:
            yield cell, result_of(found.get(cell.key), int(cell.params["roll_outs"]))


def result_of(judged: Judged | None, roll_outs: int) -> CellResult:
    """Score of a case, mean likelihoods and counts; per car its likelihoods. None: an altered case, without a score."""
    if judged is None:
        return CellResult(measurements=(Measurement(metric=SCORE, value=math.nan, note=ALTERED),))
    means = mean_realism(list(judged.cars.values()), judged.features, num_roll_outs=roll_outs)
    counts = {
        "cars": len(judged.cars),
        "left_out": len(judged.left_out),
        "areas": judged.num_areas,
        "deterministic": int(judged.deterministic),
        "steers": int(judged.features is not PATH_FIXED),
    }
    note = "" if judged.cars else "no car is driven and present for 1 s"
    cars = means.num_cars
    numbers = {SCORE: means.score, **{f"{LIKELIHOOD}{name}": value for name, value in means.likelihood.items()}}
    rows = [
        {"sample_id": car, SCORE: meta_score(found, judged.features), **found} for car, found in judged.cars.items()
    ]
    return CellResult(
        measurements=(
            *(Measurement(metric=name, value=value, num_samples=cars, note=note) for name, value in numbers.items()),
            *(Measurement(metric=name, value=float(value), num_samples=cars) for name, value in counts.items()),
        ),
        samples=pl.DataFrame(rows, infer_schema_length=None) if rows else None,
        info={"left_out": list(judged.left_out), "origins": list(judged.origins)},
    )


def run_realism(
    spec: SpecLike | None = None,
    out: Path | str | None = None,
    *,
    drivers: Sequence[str] | None = None,
    planners: Sequence[str] | None = None,
    cases: Path | str | CaseSet | None = None,
    data: Path | str | None = None,
    engine: Executor | None = None,
    rerun: Rerun = "failed",
    progress: Progress | None = None,
    **settings: Any,
) -> Results:
    """Judge drivers of traffic, and planners of the ego, by the likelihood of recorded cases under their roll-outs.

    Called again with the same folder, only cases without a result are driven, and tables show the drivers of all calls.

    Args:
        spec: a :class:`RealismSpec`, a mapping or a TOML file; single fields may be given below instead.
        out: result store, a folder or an ``s3://`` address; created if new.
        drivers: of the traffic.
        planners: of the ego.
        cases: case file or folder, or a case set; the bundled 48 cases by default.
        data: folder with the recordings that the cases were made from.
        engine: where cases are driven; by default in this process, in batches.
        rerun: ``failed`` drives cases without a result, ``missing`` leaves failed ones alone, ``all`` drives all again.
        progress: where to report; nowhere by default.
        settings: other fields of :class:`RealismSpec`, e.g. ``roll_outs=8, seed=1``.

    Raises:
        ConfigError: a field that does not exist or a value that is not allowed.
        UnknownNameError: a driver or planner that is not registered.
        UsageError: no folder.
    """
    if out is None:
        raise UsageError("a run needs a folder for its results", where="out", hint="run_realism(out='R', ...)")
    given = {"drivers": drivers, "planners": planners, "cases": cases, "data": data}
    values = {**values_of(spec), **{n: v for n, v in given.items() if v is not None}, **settings}
    made = validated(RealismSpec, values, where="run_realism")
    run(REALISM, made, out, engine=engine or SerialExecutor(), rerun=rerun, max_hours=made.max_hours, progress=progress)
    return Results.open(out, kind="realism")


def _case_of(cell: Cell, source: SceneSource) -> Case:
    case = case_from(cell.settings["case"], cell.label())
    everybody = cell.params["cast"] == "all" and not case.is_altered
    return crowd(case, source.scene_of(case)) if everybody else case


def _driver_version(name: str) -> str:
    return str(DRIVERS.get(traffic_called(name).driver)().info.version)


@lru_cache(maxsize=2)
def _source(roots: tuple[tuple[str, str], ...]) -> SceneSource:
    return CaseScenes({name: Path(root) for name, root in roots})


REALISM = RealismExperiment()
