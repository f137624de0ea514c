"""Runs on disk: drive what is missing, keep every log, score everything."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.origins import Origin, RowOrigin, banner, sorted_origins
from giveway.core.sealed_files import write_document
from giveway.drive.driving import BATCH, Drive, FailedDrive, drive_cases, humans, run_meta
from giveway.drive.results import Scored, as_json, compare, open_against_closed_loop, summarize
from giveway.drive.scenes import SceneSource
from giveway.drive.scoring import DriveScore, challenge_inputs, details, failed_inputs, score_log
from giveway.experiments import Cell, CellResult, FailedCell, Measurement, Progress, SilentProgress, Store, content_key
from giveway.experiments.records import DamagedRecordError
from giveway.metrics.driving_challenge import DEFAULT, ChallengeInputs, ChallengeRules
from giveway.planning.protocol import Planner
from giveway.predictors.protocol import FittedPredictor
from giveway.sim.cases import Case
from giveway.sim.log_files import is_whole_log, read_log, write_log
from giveway.sim.logs import DriveLog

FUNCTION = "giveway.drive.runs:run_predictor"
VERSIONS = {"drive": 2, "driving_metrics": 1}
ALTERED_VERSIONS = {"altered_starts": 1}
"""Only in the keys of cases with altered starts, whose logs held another recording before."""
SUMMARY = "drive.json"
"""Summary of the last run, beside the store."""
HUMANS = "recorded humans"
UNKNOWN = "unknown"
"""Origin of the rows of logs that earlier releases wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveRun:
    """One predictor driven over a case set.

    Attributes:
        scored: means, intervals and per-case terms.
        human: the same cases as the recorded drivers drove them, whether or not the predictor failed; cases whose
            recording cannot be used are left out of the means.
        against_humans: paired intervals of the difference to the humans; empty with fewer than two cases.
        driven: cases driven now.
        skipped: cases that had been driven before.
        failed: case to reason.
        fallbacks: predictions that had to be replaced.
        predictions: predictions asked for.
        latency_ms: mean time per prediction call of this run; NaN if nothing was driven in this process.
        variant: tells apart predictors of the same name.
        origins: of all rows of the recordings that ``human`` was computed from, the most real first.
        predictor: registered name, as cells and logs have it.
    """

    scored: Scored
    human: Scored
    against_humans: Mapping[str, Any]
    driven: int
    skipped: int
    failed: Mapping[str, str]
    fallbacks: int
    predictions: int
    latency_ms: float
    variant: str = ""
    origins: tuple[str, ...] = ()
    predictor: str = ""


def reference_name(origins: Sequence[str]) -> str:
    """How tables call the recorded drivers: humans only if every row of them was recorded."""
    return HUMANS if list(origins) == [Origin.RECORDED] else f"reference traffic ({', '.join(origins) or UNKNOWN})"


def reference_origins(logs: Iterable[DriveLog]) -> tuple[str, ...]:
    """Origins of all rows that the recordings of some logs show, the most real first; unknown ones last."""
    rows: set[RowOrigin] = set()
    unknown = False
    for log in logs:
        seen = np.flatnonzero(log.recorded.observed.any(axis=1))
        unknown |= not log.recorded_origins and seen.size > 0
        rows |= {log.recorded_origins[row] for row in seen.tolist()} if log.recorded_origins else set()
    return (*sorted_origins(rows), *((UNKNOWN,) if unknown else ()))


def cell_of(case: Case, predictor: FittedPredictor, planner: Planner, seed: int, variant: str) -> Cell:
    """The name of one drive: everything that may change its log."""
    meta = run_meta(predictor, planner, seed)
    return Cell(
        kind="drive",
        params={
            "case": case.id,
            "site": case.site,
            "predictor": predictor.info.name,
            "variant": variant,
            "planner": meta["planner"],
            "planner_parameters": parameters_key(meta["planner_parameters"]),
            "seed": seed,
        },
        data=case.fingerprint,
        versions={
            **VERSIONS,
            **(ALTERED_VERSIONS if case.is_altered else {}),
            "planner": str(meta["planner_version"]),
        },
    )


def parameters_key(parameters: Mapping[str, Any]) -> str:
    """The parameters of a planner as short text."""
    return content_key(parameters)[:12]


def log_folder(out: Path, cell: Cell) -> Path:
    """Where the log of a drive is kept."""
    return out / "logs" / str(cell.params["predictor"]) / f"{cell.params['case']}-{cell.key[:8]}"


def run_predictor(
    cases: Sequence[Case],
    source: SceneSource,
    *,
    predictor: FittedPredictor,
    planner: Planner,
    out: Path,
    rules: ChallengeRules = DEFAULT,
    seed: int = 0,
    threads: int = 1,
    variant: str = "",
    keep_predictions: bool = True,
    batch: int = BATCH,
    progress: Progress | None = None,
) -> DriveRun:
    """Drive every case that has no log yet and score all of them.

    Killed at any point, the next call goes on where this one stopped. Failed cases are tried again.

    Args:
        cases: what to drive.
        source: their recordings.
        predictor: whom to ask.
        planner: drives the ego.
        out: result store; created if new.
        rules: variant of the challenge metric for the summary.
        seed: root of all random streams.
        threads: for the compiled step.
        variant: tells apart predictors of the same name, e.g. by the hash of a checkpoint.
        keep_predictions: whether logs keep what was predicted; without, they cannot show fans.
        batch: cases stepped together; 1 for a predictor that must be asked about one case after the other.
        progress: where to report.
    """
    store = Store(out, create=True)
    cells = {case.id: cell_of(case, predictor, planner, seed, variant) for case in cases}
    done = {case.id for case in cases if is_done(out, store, cells[case.id])}
    missing = [case for case in cases if case.id not in done]
    failed: dict[str, str] = {}
    latency: list[float] = []
    with store.lock(), progress or SilentProgress() as report:
        spec = {"command": "drive run", **run_meta(predictor, planner, seed), "cases": [c.fingerprint for c in cases]}
        store.write_plan(spec, FUNCTION, list(cells.values()))
        report.start(total=len(cases), skipped=len(done), workers=threads)
        drives = drive_cases(
            missing, source, predictor=predictor, planner=planner, seed=seed, threads=threads, batch=batch
        )
        for count, drive in enumerate(drives, 1):
            if isinstance(drive, FailedDrive):
                failed[drive.case.id] = drive.reason
                cell = cells[drive.case.id]
                kind, _, text = drive.reason.partition(": ")
                store.write_failure(FailedCell(key=cell.key, cell=cell, error=kind, message=text))
                report.update(done=count - len(failed), failed=len(failed), current=drive.case.id, problem=drive.reason)
                continue
            _keep(out, store, cells[drive.log.case.id], drive, keep_predictions=keep_predictions)
            latency.append(drive.latency_ms)
            report.update(done=count - len(failed), failed=len(failed), current=drive.log.case.id)
    return score_drives(
        cases,
        source,
        predictor=predictor,
        planner=planner,
        out=out,
        failed=failed,
        driven=len(missing) - len(failed),
        rules=rules,
        seed=seed,
        variant=variant,
        latency_ms=sum(latency) / len(latency) if latency else float("nan"),
    )


def is_done(out: Path, store: Store, cell: Cell) -> bool:
    """Whether a drive has both its record and its log, as they were written; otherwise it is driven again."""
    try:
        store.open_record(cell.key)
    except (FileNotFoundError, DamagedRecordError):
        return False
    return is_whole_log(log_folder(out, cell))


def _keep(out: Path, store: Store, cell: Cell, drive: Drive, *, keep_predictions: bool) -> None:
    keep_log(out, cell, drive.log, keep_predictions=keep_predictions)
    store.write(cell, result_of(drive.log))


def keep_log(out: Path, cell: Cell, log: DriveLog, *, keep_predictions: bool) -> None:
    """Write the log of a drive where scoring and replays look for it."""
    told = replace(log, meta={**log.meta, "variant": cell.params["variant"]})
    write_log(log_folder(out, cell), told if keep_predictions else replace(told, predictions=None))


def result_of(log: DriveLog) -> CellResult:
    """What the record of a drive keeps."""
    score = score_log(log)
    return CellResult(
        measurements=tuple(
            Measurement(metric=name, value=value, num_samples=1) for name, value in score.measurements().items()
        ),
        info={"digest": log.digest, **details(score)},
    )


def score_drives(
    cases: Sequence[Case],
    source: SceneSource,
    *,
    predictor: FittedPredictor,
    planner: Planner,
    out: Path,
    failed: Mapping[str, str],
    driven: int = 0,
    rules: ChallengeRules = DEFAULT,
    seed: int = 0,
    variant: str = "",
    latency_ms: float = float("nan"),
) -> DriveRun:
    """Score cases that were driven before; the predictor is not asked for anything.

    Args:
        cases: all of them.
        source: their recordings.
        predictor: who was asked.
        planner: who drove the ego.
        out: result store with the logs.
        failed: case to reason, for those without a log.
        driven: how many were driven just now.
        rules: variant of the challenge metric.
        seed: of the drives, and of the resampling.
        variant: see :func:`run_predictor`.
        latency_ms: mean time per prediction call.

    Raises:
        DataError: a case that is not in ``failed`` has no log.
    """
    store = Store(out)
    cells = {case.id: cell_of(case, predictor, planner, seed, variant) for case in cases}
    inputs: list[ChallengeInputs] = []
    human_inputs: list[ChallengeInputs] = []
    more: list[dict[str, float]] = []
    fallbacks = predictions = 0
    replayed = _replayed([case for case in cases if case.id in failed], source)
    origins: list[str] = []
    for case in cases:
        if case.id in failed:
            drive = replayed[case.id]
            inputs.append(failed_inputs(case.id, failed[case.id]))
            if isinstance(drive, FailedDrive):
                human_inputs.append(failed_inputs(case.id, drive.reason))
            else:
                human_inputs.append(challenge_inputs(humans(drive.log)))
                origins += reference_origins([drive.log])
            continue
        log = read_log(log_folder(out, cells[case.id]))
        origins += reference_origins([log])
        inputs.append(challenge_inputs(log))
        human_inputs.append(challenge_inputs(humans(log)))
        values = {m.metric: m.value for m in store.read(cells[case.id].key).measurements}
        fallbacks += int(values.pop("fallbacks"))
        predictions += int(values.pop("predictions"))
        more.append(values)
    scored = summarize(predictor.info.title, inputs, rules, more=more, seed=seed)
    human = summarize(HUMANS, human_inputs, replace(rules, drop_failed=True), seed=seed)
    enough = len(cases) - len(failed) >= 2
    return DriveRun(
        scored=scored,
        human=human,
        against_humans=compare(scored, human, seed=seed) if enough else {},
        driven=driven,
        skipped=len(cases) - len(failed) - driven,
        failed=failed,
        fallbacks=fallbacks,
        predictions=predictions,
        latency_ms=latency_ms,
        variant=variant,
        origins=tuple(dict.fromkeys(origins)),
        predictor=predictor.info.name,
    )


def _replayed(cases: Sequence[Case], source: SceneSource) -> dict[str, Drive | FailedDrive]:
    """How the recorded drivers drove cases that have no log; failed where the recording cannot be used."""
    drives = drive_cases(cases, source, predictor=None, everyone_replays=True)
    return {case.id: drive for case, drive in zip(cases, drives, strict=True)}


def write_summary(out: Path, runs: Sequence[DriveRun], planner: Planner) -> dict[str, Any]:
    """The summary of all predictors of a run, as a document beside the store."""
    document = summary_document(runs, planner)
    write_document(out / SUMMARY, document, indent=1)
    return document


def summary_document(runs: Sequence[DriveRun], planner: Planner) -> dict[str, Any]:
    """Plain values: planner, one entry per predictor, differences between predictors, rank agreement."""
    pairs: dict[str, Any] = {}
    names = _names(runs)
    for i, first in enumerate(runs):
        for k, second in enumerate(runs[i + 1 :], i + 1):
            with contextlib.suppress(Exception):
                pairs[f"{names[i]} - {names[k]}"] = _intervals(compare(first.scored, second.scored))
    agreement = open_against_closed_loop([run.scored for run in runs])
    origins = tuple(dict.fromkeys(origin for run in runs for origin in run.origins))
    return _finite(
        {
            "origin": list(origins),
            "banner": banner("the reference traffic", origins),
            "planner": {"name": planner.info.name, "version": planner.info.version, **dict(planner.info.parameters)},
            "note": "scores compare only within one planner version and one case list",
            "predictors": [
                {
                    **as_json(run.scored),
                    "name": name,
                    "predictor": run.predictor,
                    "variant": run.variant,
                    "against_humans": _intervals(run.against_humans),
                    "failed_cases": dict(run.failed),
                    "fallbacks": run.fallbacks,
                    "predictions": run.predictions,
                    "latency_ms": run.latency_ms,
                }
                for name, run in zip(names, runs, strict=True)
            ],
            "humans": {**as_json(runs[0].human), "name": reference_name(origins)} if runs else None,
            "differences": pairs,
            "open_loop_agreement": None
            if agreement is None
            else {"spearman": agreement.coefficient, "predictors": agreement.num_items},
        }
    )


def _names(runs: Sequence[DriveRun]) -> list[str]:
    """Titles; where several runs have the same one, with the variant, and a number if that is the same as well."""
    titles = Counter(run.scored.name for run in runs)
    seen: Counter[str] = Counter()
    names: list[str] = []
    for run in runs:
        title = run.scored.name
        name = f"{title} {run.variant}" if titles[title] > 1 and run.variant else title
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _intervals(found: Mapping[str, Any]) -> dict[str, Any]:
    return {term: {"estimate": i.estimate, "low": i.low, "high": i.high} for term, i in found.items()}


def _finite(value: Any) -> Any:
    """NaN and infinities become null."""
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return value


def scores_of(logs: Iterator[Path]) -> Iterator[DriveScore]:
    """Scores of logs on disk."""
    for folder in logs:
        yield score_log(read_log(folder))
