"""The summary of a store of drives in plain values: what tables, figures, reports and ``--json`` show."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from giveway.core.errors import EmptySelectionError, UsageError
from giveway.core.origins import banner
from giveway.drive.experiment import RECORDED
from giveway.drive.origins import HUMANS, reference_name
from giveway.drive.rows import DriveRow, joined, measure_again, names_of, rows_of, rows_of_logs
from giveway.drive.summary import Scored, as_json, compare, open_against_closed_loop, summarize
from giveway.experiments import Store
from giveway.experiments.store import STORE_FILE
from giveway.metrics.challenge import ChallengeRules, challenge_terms, rules_called
from giveway.reports.browsing import finite
from giveway.sim.legacy_logs import challenge_inputs_of_legacy, read_legacy_run
from giveway.sim.log_files import read_log

NOTE = "scores compare only within one planner version and one case list"


def document_of(store: Store, metric: str | None = None) -> dict[str, Any]:
    """All drives of a store: one entry per predictor, the recorded drivers, differences, rank agreement.

    Args:
        store: of ``giveway drive run``.
        metric: variant of the challenge metric; that of the last run by default.

    Raises:
        EmptySelectionError: nothing has been driven yet.
    """
    plans = [plan for plan in store.plans() if "drive" in plan.kinds]
    rules = rules_called(metric or str(plans[-1].spec.get("metric", "challenge") if plans else "challenge"))
    rows = rows_of(store)
    human = next((row for row in rows if row.identity.predictor == RECORDED), None)
    driven = [row for row in rows if row is not human]
    if not driven:
        raise EmptySelectionError(
            "no case was driven into this folder yet", where=store.root, hint="start the same run again to go on"
        )
    names = names_of(driven)
    scored = [score(row, rules) for row in driven]
    first, origins = driven[0], () if human is None else tuple(human.origins)
    reference = None if human is None else _reference(human, rules, first.identity.seed)
    pairs = {
        f"{names[i]} - {names[k]}": _differences(scored[i], scored[k], 0)
        for i in range(len(driven))
        for k in range(i + 1, len(driven))
    }
    agreement = open_against_closed_loop(scored)
    return finite(
        {
            "origin": list(origins),
            "banner": banner("the reference traffic", origins),
            "planner": {"name": first.identity.planner, "version": first.identity.planner_version, **first.parameters},
            "note": NOTE,
            "predictors": [
                {
                    **as_json(one),
                    "name": name,
                    "predictor": row.identity.predictor,
                    "variant": row.identity.variant,
                    "run": asdict(row.identity),
                    "against_humans": {} if reference is None else _differences(one, reference, row.identity.seed),
                    "failed_cases": row.failed,
                    "fallbacks": row.total("fallbacks"),
                    "predictions": row.total("predictions"),
                }
                for name, row, one in zip(names, driven, scored, strict=True)
            ],
            "humans": None if reference is None else {**as_json(reference), "name": reference_name(origins)},
            "differences": {name: found for name, found in pairs.items() if found},
            "open_loop_agreement": None
            if agreement is None
            else {"spearman": agreement.coefficient, "predictors": agreement.num_items},
        }
    )


def scored_again(folder: Path, rules: ChallengeRules, *, seed: int = 0) -> list[dict[str, Any]]:
    """Score the logs of a store, or those below any folder, by today's definitions; nothing is driven.

    Args:
        folder: store or folder of logs.
        rules: variant of the challenge metric.
        seed: of the resampling.

    Raises:
        EmptySelectionError: no logs.
        StoreError, FileFormatError: a log that is damaged.
    """
    rows = _stored_logs(Store(folder)) if (folder / STORE_FILE).is_file() else rows_of_logs(folder)
    if not rows:
        raise EmptySelectionError("no drive logs below this folder", where=folder, hint="or try --format legacy")
    return [
        {
            **as_json(replace(score(row, rules, seed=seed), name=name)),
            "run": asdict(row.identity),
            "origin": list(joined([row.origins])),
        }
        for name, row in zip(names_of(rows), rows, strict=True)
    ]


def scored_legacy(folder: Path, rules: ChallengeRules, *, seed: int = 0) -> list[dict[str, Any]]:
    """Score a published run of the 2020 challenge; arguments as above."""
    terms = [challenge_terms(challenge_inputs_of_legacy(log), rules) for log in read_legacy_run(folder)]
    return [as_json(summarize(folder.name, terms, rules, seed=seed))]


def score(row: DriveRow, rules: ChallengeRules, *, seed: int | None = None) -> Scored:
    """Means and intervals of a row; random streams are named after the predictor, so that a new title moves nothing."""
    chosen = row.identity.seed if seed is None else seed
    return summarize(row.identity.predictor, row.terms_under(rules.name), rules, more=row.measured(), seed=chosen)


def _reference(row: DriveRow, rules: ChallengeRules, seed: int) -> Scored:
    """The recorded drivers; cases whose recording cannot be used are left out of the means."""
    return summarize(HUMANS, row.terms_under(rules.name), replace(rules, drop_failed=True), seed=seed)


def _differences(first: Scored, second: Scored, seed: int) -> dict[str, Any]:
    """Paired intervals of all terms; empty with fewer than two cases that both have driven."""
    try:
        found = compare(first, second, seed=seed)
    except UsageError:
        return {}
    return {term: {"estimate": i.estimate, "low": i.low, "high": i.high} for term, i in found.items()}


def _stored_logs(store: Store) -> list[DriveRow]:
    """The rows of a store with everything measured anew from the logs."""
    rows = [row for row in rows_of(store) if row.identity.predictor != RECORDED]
    for row in rows:
        for key in row.keys.values():
            measure_again(row, read_log(store.attachments(key)))
    return rows
