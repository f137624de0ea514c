"""Driving cases: batches in, logs out, in the order of the cases."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from giveway import __version__
from giveway.core.case import Case
from giveway.core.errors import GivewayError
from giveway.core.log import DriveLog, last_known
from giveway.core.origins import Origin
from giveway.drive.scenes import SceneSource, prepared_roads
from giveway.planning import default_planner
from giveway.planning.builtin import IdmPlanner, LatticePlanner
from giveway.planning.protocol import Planner
from giveway.predictors.acceptance import accept
from giveway.predictors.protocol import FittedPredictor
from giveway.roads.queries import PreparedMap
from giveway.sim.drivers.hosts import Finding
from giveway.sim.prepare import PreparedCase, prepare, with_drivers
from giveway.sim.recording import PredictionLog, drive_logs
from giveway.sim.responsibility import judged_contacts
from giveway.sim.simulation import Simulation
from giveway.sim.state import DriverCode

BATCH = 64
"""Cases stepped together; bounds memory, never changes a log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """One driven case.

    Attributes:
        log: what happened; failed ones have no states worth reading but say why.
        latency_ms: mean time per prediction call of its batch; not part of the log, because it is never the same twice.
    """

    log: DriveLog
    latency_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedDrive:
    """A case that could not be driven.

    Attributes:
        case: which one.
        reason: in one line.
    """

    case: Case
    reason: str


def run_meta(predictor: FittedPredictor | None, planner: Planner, seed: int) -> dict[str, Any]:
    """What a log says about how it was made."""
    info = planner.info
    return {
        "giveway": __version__,
        "seed": seed,
        "planner": info.name,
        "planner_version": info.version,
        "planner_parameters": dict(info.parameters),
        "predictor": "" if predictor is None else predictor.info.name,
    }


def drive_cases(
    cases: Sequence[Case],
    source: SceneSource,
    *,
    predictor: FittedPredictor | None,
    planner: Planner | None = None,
    seed: int = 0,
    threads: int = 1,
    batch: int = BATCH,
    everyone_replays: bool = False,
    traffic: str = "clean",
    on_done: Callable[[Case], None] | None = None,
    deadline_s: float | None = None,
    warm_up_s: float = 20.0,
) -> Iterator[Drive | FailedDrive]:
    """Drive every case.

    Args:
        cases: what to drive.
        source: their recordings.
        predictor: whom to ask; None for nobody.
        planner: drives the ego; the lattice if None (version 2 in traffic ``paper``).
        seed: root of all random streams.
        threads: for the compiled step.
        batch: cases stepped together.
        everyone_replays: put all cars on replay; the log then equals the recording.
        traffic: ``clean`` (cars give way, replay cars react) or ``paper``.
        on_done: told about each case as it is finished.
        deadline_s: for one answer of a planner in Python, which then has a process of its own; None: no deadline.
        warm_up_s: added to the deadline of its first answer.

    Yields:
        One result per case, in order. A case that cannot be prepared or whose predictor or planner fails is a
        :class:`FailedDrive`; the others go on.
    """
    chosen = planner or default_planner(traffic)
    roads: dict[tuple[str, str], PreparedMap | None] = {}
    for first in range(0, len(cases), batch):
        for result in _drive_batch(
            cases[first : first + batch],
            source,
            roads,
            predictor=predictor,
            make=partial(
                new_simulation, planner=chosen, seed=seed, threads=threads, deadline_s=deadline_s, warm_up_s=warm_up_s
            ),
            meta={**run_meta(predictor, chosen, seed), "traffic": traffic},
            driver=driver_of(chosen),
            everyone_replays=everyone_replays,
        ):
            if on_done is not None:
                on_done(result.log.case if isinstance(result, Drive) else result.case)
            yield result


def _drive_batch(
    cases: Sequence[Case],
    source: SceneSource,
    roads: dict[tuple[str, str], PreparedMap | None],
    *,
    predictor: FittedPredictor | None,
    make: Callable[[Sequence[PreparedCase]], Simulation],
    meta: dict[str, Any],
    driver: DriverCode,
    everyone_replays: bool,
) -> list[Drive | FailedDrive]:
    ready: dict[str, PreparedCase] = {}
    failed: dict[str, FailedDrive] = {}
    for case in cases:
        try:
            made = prepare(case, source.scene_of(case), reacts=_reacts(case, meta["traffic"]) and not everyone_replays)
            prepared_roads([case], source, roads)
            ready[case.id] = with_drivers(made, driver, everyone_replays=everyone_replays)
        except GivewayError as error:
            failed[case.id] = FailedDrive(case=case, reason=_one_line(error))
    driven = _simulate(list(ready.values()), roads, predictor, make, meta) if ready else {}
    results = {**failed, **driven}
    return [results[case.id] for case in cases]


def _reacts(case: Case, traffic: str) -> bool:
    """Whether traffic gives way and reacts; cars of a generated failure drive as they did, so that it happens again."""
    return traffic == "clean" and case.origin is not Origin.GENERATED


def _simulate(
    prepared: Sequence[PreparedCase],
    roads: dict[tuple[str, str], PreparedMap | None],
    predictor: FittedPredictor | None,
    make: Callable[[Sequence[PreparedCase]], Simulation],
    meta: dict[str, Any],
) -> dict[str, Drive | FailedDrive]:
    """Drive a batch; if the predictor raises, drive its cases one by one to find out which."""
    simulation = make(prepared)
    try:
        latency = run_to_end(simulation, log := PredictionLog(), predictor)
        findings = {} if simulation.egos is None else simulation.egos.findings
        logs = drive_logs(simulation, log, roads=roads, meta=meta)
        return {
            entry.case.id: FailedDrive(case=entry.case, reason=_found(findings[c], meta))
            if c in findings
            else Drive(log=entry, latency_ms=latency)
            for c, entry in enumerate(logs)
        }
    except Exception as error:
        if len(prepared) == 1:
            case = prepared[0].case
            return {case.id: FailedDrive(case=case, reason=_one_line(error))}
    finally:
        simulation.close()
    alone = [_simulate([case], roads, predictor, make, meta) for case in prepared]
    return {name: result for part in alone for name, result in part.items()}


def new_simulation(
    prepared: Sequence[PreparedCase],
    planner: Planner,
    *,
    seed: int = 0,
    threads: int = 1,
    deadline_s: float | None = None,
    warm_up_s: float = 20.0,
) -> Simulation:
    """A batch with this planner's parameters."""
    return Simulation(
        prepared,
        seed=seed,
        planner=planner,
        profiles=planner.parameters if isinstance(planner, LatticePlanner) else None,
        idm=planner.parameters if isinstance(planner, IdmPlanner) else None,
        threads=threads,
        deadline_s=deadline_s,
        warm_up_s=warm_up_s,
    )


def run_to_end(simulation: Simulation, log: PredictionLog, predictor: FittedPredictor | None) -> float:
    """Step a batch to its end; returns the mean time of a prediction call [ms]."""
    spent: list[float] = []
    while not simulation.done:
        if predictor is None:
            simulation.step()
            continue
        info = predictor.info
        inputs = simulation.requests(info.reads)
        if inputs.num_requests == 0:
            simulation.step()
            continue
        began = time.perf_counter()
        answer = predictor.predict(inputs, inputs.generator())
        spent.append(time.perf_counter() - began)
        accepted = accept(answer, inputs)
        log.add(simulation, accepted)
        simulation.step(accepted)
    return 1000.0 * float(np.mean(spent)) if spent else 0.0


def driver_of(planner: Planner) -> DriverCode:
    """The simulator's driver for a planner."""
    name = planner.info.driver
    return DriverCode[name] if name else DriverCode.EXTERNAL


def humans(log: DriveLog) -> DriveLog:
    """The same case as the recorded drivers drove it, from their own starts: they make their own progress, e = 1.

    Failed if the recording does not show the ego during the case. Who is to blame for a contact of recorded cars is
    judged without the map.
    """
    shows_ego = bool(log.recorded.observed[log.ego].any())
    ego = str(log.recorded.ids[log.ego])
    return replace(
        log,
        tracks=log.recorded,
        ego_s=log.recorded_ego_s,
        expected_progress_m=last_known(log.recorded_ego_s),
        outside_m=log.recorded_outside_m,
        ego_left=False,
        collisions=judged_contacts(log.recorded, ego=ego, right_of_way=log.case.right_of_way),
        predictions=None,
        events=(),
        origins=log.recorded_origins,
        failed="" if shows_ego else "the recording does not show the ego during this case",
    )


def _found(finding: Finding, meta: dict[str, Any]) -> str:
    where = f"planner {meta['planner']}, tick {finding.tick}"
    return f"PlannerError: {where}: {finding.fault}: {finding.sentence}"


def _one_line(error: Exception) -> str:
    text = error.what if isinstance(error, GivewayError) else str(error)
    detail = f" ({error.found})" if isinstance(error, GivewayError) and error.found else ""
    return f"{type(error).__name__}: {text}{detail}"
