"""Drives on disk, sorted into the runs they belong to, with the cases that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from giveway.core.errors import DataError
from giveway.drive.runs import log_folder, parameters_key, reference_origins
from giveway.experiments import Cell, FailedCell, Store
from giveway.experiments.store import STORE_FILE
from giveway.metrics import measure_log
from giveway.metrics.challenge import DEFAULT, ChallengeRules, ChallengeTerms, failed_terms
from giveway.metrics.challenge_logs import terms_of
from giveway.sim.log_files import logs_below, read_log


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class RunIdentity:
    """What all drives of a run have in common.

    Attributes:
        predictor: name.
        variant: tells apart predictors of the same name.
        planner: name.
        planner_version: as the planner says.
        planner_parameters: content key of its parameters.
        seed: root of all random streams.
    """

    predictor: str
    variant: str
    planner: str
    planner_version: str
    planner_parameters: str
    seed: int

    def names(self) -> tuple[str, str, str]:
        """From the shortest to one that no other run has."""
        variant = f"variant {self.variant}, " if self.variant else ""
        how = f"{variant}planner {self.planner}, seed {self.seed}"
        exactly = f"{how}, planner version {self.planner_version}, parameters {self.planner_parameters}"
        return self.predictor, f"{self.predictor} ({how})", f"{self.predictor} ({exactly})"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """One run as it is found on disk.

    Attributes:
        name: the predictor; with whatever else is needed to tell the runs of a folder apart.
        identity: what its drives have in common.
        terms: of the challenge metric, one per case; failed ones last.
        more: further scalars per case that finished.
        origins: of the recordings that its cases were made from.
    """

    name: str
    identity: RunIdentity
    terms: tuple[ChallengeTerms, ...]
    more: tuple[Mapping[str, float], ...]
    origins: tuple[str, ...] = ()


def stored_runs(folder: Path, rules: ChallengeRules = DEFAULT) -> list[StoredRun]:
    """All runs with logs or failed cases below a folder.

    Failures are those of the store the folder belongs to, or of stores below it. A failed case of which the same run
    also has a log was driven later and does not count.

    Raises:
        DataError: two logs of one case in one run.
        FileFormatError: a log that cannot be read.
    """
    scores: dict[RunIdentity, list[tuple[ChallengeTerms, dict[str, float]]]] = {}
    places: dict[tuple[RunIdentity, str], Path] = {}
    origins: dict[RunIdentity, dict[str, None]] = {}
    for place in logs_below(folder):
        log = read_log(place)
        run, case = _identity_of_log(log.meta), log.case.id
        if (run, case) in places:
            raise DataError(
                "two logs of one case belong to the same run",
                where=place,
                found=f"case {case}, also in {places[run, case]}",
                hint="remove the one that is out of date",
            )
        places[run, case] = place
        values = {name: value.value for name, value in measure_log(log).items()}
        scores.setdefault(run, []).append((terms_of(log)[rules.name], values))
        origins.setdefault(run, {}).update(dict.fromkeys(reference_origins([log])))
    failed: dict[RunIdentity, dict[str, str]] = {}
    for failure in _failures_below(folder.resolve()):
        run, case = _identity_of_cell(failure.cell), str(failure.cell.params["case"])
        if (run, case) not in places:
            failed.setdefault(run, {})[case] = failure.reason
    runs = sorted({*scores, *failed})
    counts = Counter(name for run in runs for name in run.names())
    return [
        StoredRun(
            name=next(name for name in run.names() if counts[name] == 1),
            identity=run,
            terms=(
                *(terms for terms, _ in scores.get(run, [])),
                *(failed_terms(case, reason) for case, reason in sorted(failed.get(run, {}).items())),
            ),
            more=tuple(values for _, values in scores.get(run, [])),
            origins=tuple(origins.get(run, {})),
        )
        for run in runs
    ]


def _identity_of_log(meta: Mapping[str, Any]) -> RunIdentity:
    return RunIdentity(
        predictor=str(meta.get("predictor") or "drive"),
        variant=str(meta.get("variant", "")),
        planner=str(meta.get("planner", "")),
        planner_version=str(meta.get("planner_version", "")),
        planner_parameters=parameters_key(meta.get("planner_parameters", {})),
        seed=int(meta.get("seed", 0)),
    )


def _identity_of_cell(cell: Cell) -> RunIdentity:
    return RunIdentity(
        predictor=str(cell.params["predictor"]),
        variant=str(cell.params["variant"]),
        planner=str(cell.params["planner"]),
        planner_version=str(cell.versions["planner"]),
        planner_parameters=str(cell.params["planner_parameters"]),
        seed=int(cell.params["seed"]),
    )


def _failures_below(folder: Path) -> list[FailedCell]:
    """Failed drives whose logs would be below the folder."""
    above = [place for place in (folder, *folder.parents) if (place / STORE_FILE).exists()]
    roots = sorted({*above[:1], *(file.parent for file in folder.rglob(STORE_FILE))})
    return [
        failure
        for root in roots
        for failure in Store(root).failures()
        if failure.cell.kind == "drive" and log_folder(root, failure.cell).is_relative_to(folder)
    ]
