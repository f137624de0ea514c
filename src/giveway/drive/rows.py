"""The rows of a leaderboard: drives of one predictor, planner and seed, from the cells of a store or from logs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from giveway.core.case import case_dict
from giveway.core.errors import DataError
from giveway.core.log import DriveLog
from giveway.drive.experiment import RECORDED, parameters_key
from giveway.drive.origins import reference_origins
from giveway.drive.spec import NamedPredictor
from giveway.experiments import Cell, Store, read_index
from giveway.metrics import measure_log
from giveway.metrics.challenge import ChallengeTerms, failed_terms
from giveway.metrics.challenge_logs import terms_of
from giveway.planning.protocol import Planner
from giveway.sim.log_files import logs_below, read_log

COUNTS = ("fallbacks", "predictions")
"""Metrics that a row adds up; means are taken of all others."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class RunIdentity:
    """What all drives of a row have in common.

    Attributes:
        predictor: name.
        variant: tells apart predictors of the same name.
        planner: name.
        planner_version: as the planner says.
        planner_parameters: content key of its parameters.
        seed: root of all random streams.
        traffic: profile of the traffic; empty where a log does not say.
        driver: of the other driven cars, where the run named one.
    """

    predictor: str
    variant: str
    planner: str
    planner_version: str
    planner_parameters: str
    seed: int
    traffic: str = ""
    driver: str = ""

    @property
    def world(self) -> tuple[str, str, str]:
        """Planner, traffic and driver: where predictors are compared."""
        return self.planner, self.traffic, self.driver

    def names(self, title: str) -> tuple[str, ...]:
        """From the shortest to one that no other row has."""
        variant = f"variant {self.variant}, " if self.variant else ""
        among = f"traffic {self.traffic}, driver {self.driver or 'of the cases'}"
        how = f"{variant}planner {self.planner}, seed {self.seed}"
        exactly = f"{how}, planner version {self.planner_version}, parameters {self.planner_parameters}"
        return tuple(f"{title} ({words})" if words else title for words in ("", among, how, f"{exactly}, {among}"))


@dataclass(slots=True, kw_only=True)
class DriveRow:
    """Drives of one predictor, planner and seed.

    Attributes:
        identity: what they have in common.
        title: how tables call the predictor.
        parameters: of the planner.
        terms: case to terms of the challenge metric in all variants, in the order of the cases; failed ones included.
        values: case to the values of all other metrics; of finished ones.
        failed: case to reason.
        keys: case to key of its cell, of finished ones; empty for logs that are in no store.
        origins: of the recordings that the cases were made from.
        cases: case to what it says: recording, site, tags, speeds.
    """

    identity: RunIdentity
    title: str
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    terms: dict[str, Mapping[str, ChallengeTerms]] = field(default_factory=dict[str, Mapping[str, ChallengeTerms]])
    values: dict[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    keys: dict[str, str] = field(default_factory=dict[str, str])
    origins: dict[str, None] = field(default_factory=dict[str, None])
    cases: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def terms_under(self, rules: str) -> list[ChallengeTerms]:
        """One per case."""
        found = [(case, terms.get(rules)) for case, terms in self.terms.items()]
        return [terms or failed_terms(case, self.failed.get(case, "")) for case, terms in found]

    def total(self, metric: str) -> int:
        """Sum over the cases that finished."""
        return sum(int(values.get(metric, 0)) for values in self.values.values())

    def measured(self) -> dict[str, dict[str, float]]:
        """Case that finished to all metrics but those that are added up."""
        return {case: {n: v for n, v in values.items() if n not in COUNTS} for case, values in self.values.items()}


def identity_of(predictor: NamedPredictor, planner: Planner, seed: int, traffic: str) -> RunIdentity:
    """That of the drives of a predictor and planner among cars driven as the cases say."""
    return RunIdentity(
        predictor=predictor.model.info.name,
        variant=predictor.variant,
        planner=planner.info.name,
        planner_version=str(planner.info.version),
        planner_parameters=parameters_key(dict(planner.info.parameters)),
        seed=seed,
        traffic=traffic,
    )


def rows_of(store: Store) -> list[DriveRow]:
    """All drives of a store in the order in which they were asked for; the recorded drivers are the last row.

    Of several cells of one case in one row (another version of a metric, a changed case of the same name) the one that
    was asked for last counts.
    """
    done = read_index(store).keys()
    failures = {failure.key: failure for failure in store.failures()}
    asked = [key for plan in store.plans() if "drive" in plan.kinds for key in plan.keys]
    # Cells that no plan names any more come first: the same specification was run again with other weights.
    older = sorted((done | failures.keys()) - set(asked))
    known: dict[str, tuple[Cell, dict[str, Any]]] = {}
    for key in dict.fromkeys([*older, *asked]):
        if key in done:
            record = store.read_record(key)
            known[key] = Cell.from_json(record["cell"]), record
        elif key in failures:
            known[key] = failures[key].cell, {"reason": failures[key].reason}
    found: dict[tuple[RunIdentity, str], tuple[Cell, dict[str, Any]]] = {}
    for cell, record in (known[key] for key in [*older, *asked] if key in known):
        if cell.kind == "drive":
            found[_identity(cell), str(cell.params["case"])] = cell, record
    rows: dict[RunIdentity, DriveRow] = {}
    for (identity, case), (cell, record) in found.items():
        info = record.get("info", {})
        row = rows.setdefault(identity, DriveRow(identity=identity, title=identity.predictor))
        row.cases[case] = cell.settings["case"]
        if not info:
            row.failed[case], row.terms[case] = str(record["reason"]), {}
            continue
        row.title, row.parameters = str(info["title"]), info.get("planner", {})
        row.keys[case] = str(record["key"])
        row.terms[case] = {name: _terms(plain) for name, plain in info["challenge"].items()}
        row.values[case] = {m["metric"]: math.nan if m["value"] is None else m["value"] for m in record["measurements"]}
        row.origins.update(dict.fromkeys(info["origins"]))
    return sorted(rows.values(), key=lambda row: row.identity.predictor == RECORDED)


def rows_of_logs(folder: Path) -> list[DriveRow]:
    """All logs below a folder, measured anew and sorted into rows.

    Raises:
        DataError: two logs of one case in one row.
        FileFormatError: a log that cannot be read.
    """
    rows: dict[RunIdentity, DriveRow] = {}
    for place in logs_below(folder):
        log = read_log(place)
        identity = _identity_of_log(log)
        row = rows.setdefault(identity, DriveRow(identity=identity, title=identity.predictor))
        if log.case.id in row.terms:
            raise DataError(
                "two logs of one case belong to the same run",
                where=place,
                found=f"case {log.case.id}",
                hint="remove the one that is out of date",
            )
        measure_again(row, log)
    return [rows[identity] for identity in sorted(rows)]


def measure_again(row: DriveRow, log: DriveLog) -> None:
    """Put what a log says by today's definitions into a row."""
    row.cases[log.case.id] = case_dict(log.case)
    row.terms[log.case.id] = terms_of(log)
    row.values[log.case.id] = {name: value.value for name, value in measure_log(log).items()}
    row.origins.update(dict.fromkeys(reference_origins([log])))


def names_of(rows: Sequence[DriveRow]) -> list[str]:
    """Names of rows, each with what is needed to tell it from the others."""
    choices = [row.identity.names(row.title) for row in rows]
    counts = Counter(name for names in choices for name in names)
    return [next((name for name in names if counts[name] == 1), names[-1]) for names in choices]


def joined(origins: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """All origins, each once."""
    return tuple(dict.fromkeys(origin for some in origins for origin in some))


def _terms(plain: Mapping[str, Any]) -> ChallengeTerms:
    """Terms as a record holds them; null stands for NaN, except where nobody assessed a fault."""
    values: dict[str, Any] = {}
    for name in (f.name for f in fields(ChallengeTerms)):
        found = plain[name]
        is_unknown = found is None and name != "ego_at_fault"
        values[name] = math.nan if is_unknown else tuple(found) if isinstance(found, list) else found
    return ChallengeTerms(**values)


def _identity(cell: Cell) -> RunIdentity:
    return RunIdentity(
        predictor=str(cell.params["predictor"]),
        variant=str(cell.params["variant"]),
        planner=str(cell.params["planner"]),
        planner_version=str(cell.versions.get("planner", "")),
        planner_parameters=str(cell.params["planner_parameters"]),
        seed=int(cell.params["seed"]),
        traffic=str(cell.settings.get("traffic", "" if cell.params["predictor"] == RECORDED else "paper")),
        driver=str(cell.params.get("driver", "")),
    )


def _identity_of_log(log: DriveLog) -> RunIdentity:
    meta = log.meta
    return RunIdentity(
        predictor=str(meta.get("predictor") or "drive"),
        variant=str(meta.get("variant", "")),
        planner=str(meta.get("planner", "")),
        planner_version=str(meta.get("planner_version", "")),
        planner_parameters=parameters_key(meta.get("planner_parameters", {})),
        seed=int(meta.get("seed", 0)),
    )
