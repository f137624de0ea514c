"""The summary of a store of drives in plain values: what tables, figures, reports and ``--json`` show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

from giveway.core.case import Role, fingerprint_of, set_id
from giveway.core.errors import EmptySelectionError, UsageError
from giveway.core.origins import banner
from giveway.drive.experiment import RECORDED
from giveway.drive.origins import HUMANS, reference_name
from giveway.drive.rows import DriveRow, RunIdentity, joined, measure_again, names_of, rows_of, rows_of_logs
from giveway.drive.summary import Scored, as_json, compare, draws_of, open_against_closed_loop, summarize
from giveway.experiments import Store
from giveway.experiments.store import STORE_FILE
from giveway.metrics.challenge import ChallengeRules, challenge_terms, rules_called
from giveway.reports.browsing import finite
from giveway.sim.legacy_logs import challenge_inputs_of_legacy, read_legacy_run
from giveway.sim.log_files import read_log
from giveway.stats.clusters import ClusterDraws

NOTE = "scores compare only within one planner version and one case list"


def document_of(store: Store, metric: str | None = None, *, partial: bool = False) -> dict[str, Any]:
    """All drives of a store: one entry per predictor, the recorded drivers, differences, rank agreement.

    Args:
        store: of ``giveway drive run``.
        metric: variant of the challenge metric; that of the last run by default.
        partial: also score rows of which more than a tenth of the cases failed; they are marked †.

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
    cases = {case: plain for row in rows for case, plain in row.cases.items()}
    recordings = {case: str(plain["recording"]) for case, plain in cases.items()}
    draws = draws_of(cases, recordings) if len(cases) > 1 else None
    names = names_of(driven)
    scored = [score(row, rules, recordings) for row in driven]
    first, origins = driven[0], () if human is None else tuple(human.origins)
    reference = None if human is None else _reference(human, rules, recordings)
    pairs = {
        f"{names[i]} - {names[k]}": _differences(scored[i], scored[k], recordings)
        for i in range(len(driven))
        for k in range(i + 1, len(driven))
        if _belong_together(driven[i].identity, driven[k].identity)
    }
    return finite(
        {
            "origin": list(origins),
            "banner": banner("the reference traffic", origins),
            "planner": {"name": first.identity.planner, "version": first.identity.planner_version, **first.parameters},
            "note": NOTE,
            "case_set": set_id(fingerprint_of(plain) for plain in cases.values()),
            "recordings": len(set(recordings.values())),
            "resampled": "" if draws is None else "recordings" if draws.unit == "clusters" else "cases",
            "speeds": speeds_of(cases.values(), rules),
            "predictors": [
                {
                    **_shown(one, partial),
                    "name": name,
                    "predictor": row.identity.predictor,
                    "variant": row.identity.variant,
                    "run": asdict(row.identity),
                    "against_humans": {} if reference is None else _differences(one, reference, recordings),
                    "failed_cases": row.failed,
                    "fallbacks": row.total("fallbacks"),
                    "predictions": row.total("predictions"),
                }
                for name, row, one in zip(names, driven, scored, strict=True)
            ],
            "humans": None if reference is None else {**_shown(reference, partial), "name": reference_name(origins)},
            "differences": {name: found for name, found in pairs.items() if found},
            "open_loop_agreement": [] if draws is None else agreements(driven, scored, draws),
        }
    )


def agreements(
    rows: Sequence[DriveRow],
    scored: Sequence[Scored],
    draws: ClusterDraws,
    errors: Sequence[Mapping[str, float]] | None = None,
) -> list[dict[str, Any]]:
    """Rank agreement of open-loop error and closed-loop score, once per planner that at least three predictors share.

    Args:
        rows: of one store.
        scored: the same, scored.
        draws: resamples of the recordings.
        errors: per row, case to open-loop error; without it that of the predictions made during the drives.
    """
    planners: dict[tuple[str, ...], list[int]] = {}
    for k, row in enumerate(rows):
        planners.setdefault((*_planner_of(row.identity), *row.identity.world), []).append(k)
    found: list[dict[str, Any]] = []
    for which in planners.values():
        mine = None if errors is None else [errors[k] for k in which]
        agreement = open_against_closed_loop([scored[k] for k in which], draws, mine)
        if agreement is not None:
            interval = agreement.interval
            found.append(
                {
                    "planner": rows[which[0]].identity.planner,
                    "spearman": agreement.coefficient,
                    "low": interval.low,
                    "high": interval.high,
                    "predictors": agreement.num_items,
                }
            )
    return found


def speeds_of(cases: Iterable[Mapping[str, Any]], rules: ChallengeRules) -> dict[str, dict[str, Any]]:
    """Site to number of cases, (smallest, median, largest) v_d of the metric and cruising speed of the ego [m/s]."""
    sites: dict[str, list[tuple[float, float]]] = {}
    for plain in cases:
        own = float(plain["desired_speed_mps"])
        ego = next(car for car in plain["cars"] if car["role"] == Role.EGO)
        v_d = own if rules.desired_speed_mps is None else rules.desired_speed_mps
        sites.setdefault(str(plain["site"]), []).append((v_d, float(ego.get("cruise_mps") or own)))
    return {
        site: {
            "cases": len(found),
            **{
                name: [float(f([pair[k] for pair in found])) for f in (min, median, max)]
                for k, name in enumerate(("v_d_mps", "cruise_mps"))
            },
        }
        for site, found in sorted(sites.items())
    }


def scored_again(folder: Path, rules: ChallengeRules, *, seed: int = 0, partial: bool = False) -> list[dict[str, Any]]:
    """Score the logs of a store, or those below any folder, by today's definitions; nothing is driven.

    Args:
        folder: store or folder of logs.
        rules: variant of the challenge metric.
        seed: of the resampling.
        partial: see :func:`document_of`.

    Raises:
        EmptySelectionError: no logs.
        StoreError, FileFormatError: a log that is damaged.
    """
    rows = _stored_logs(Store(folder)) if (folder / STORE_FILE).is_file() else rows_of_logs(folder)
    if not rows:
        raise EmptySelectionError("no drive logs below this folder", where=folder, hint="or try --format legacy")
    return [
        {
            **_shown(replace(score(row, rules, _recordings(row), seed=seed), name=name), partial),
            "run": asdict(row.identity),
            "origin": list(joined([row.origins])),
        }
        for name, row in zip(names_of(rows), rows, strict=True)
    ]


def scored_legacy(folder: Path, rules: ChallengeRules, *, seed: int = 0, partial: bool = False) -> list[dict[str, Any]]:
    """Score a published run of the 2020 challenge; arguments as above."""
    logs = read_legacy_run(folder)
    terms = [challenge_terms(challenge_inputs_of_legacy(log), rules) for log in logs]
    recordings = {log.case.id: log.case.recording for log in logs}
    return [_shown(summarize(folder.name, terms, rules, recordings=recordings, seed=seed), partial)]


def score(row: DriveRow, rules: ChallengeRules, recordings: Mapping[str, str], *, seed: int = 0) -> Scored:
    """Means and intervals of a row."""
    name, terms = row.identity.predictor, row.terms_under(rules.name)
    return summarize(name, terms, rules, recordings=recordings, more=row.measured(), seed=seed)


def _recordings(row: DriveRow) -> dict[str, str]:
    return {case: str(plain["recording"]) for case, plain in row.cases.items()}


def _reference(row: DriveRow, rules: ChallengeRules, recordings: Mapping[str, str]) -> Scored:
    """The recorded drivers; cases whose recording cannot be used are left out of the means."""
    return summarize(HUMANS, row.terms_under(rules.name), replace(rules, drop_failed=True), recordings=recordings)


def _shown(scored: Scored, partial: bool) -> dict[str, Any]:
    """Plain values; without Score and intervals if too many cases failed, unless asked for."""
    plain = as_json(scored)
    return {**plain, "score": math.nan, "intervals": {}} if scored.is_partial and not partial else plain


def _planner_of(identity: RunIdentity) -> tuple[str, ...]:
    return identity.planner, identity.planner_version, identity.planner_parameters, str(identity.seed)


def _belong_together(one: RunIdentity, two: RunIdentity) -> bool:
    """Rows that differ in one thing only: the predictor, the planner, or the traffic."""
    same_predictor = (one.predictor, one.variant) == (two.predictor, two.variant)
    return same_predictor + (_planner_of(one) == _planner_of(two)) + (one.world[1:] == two.world[1:]) >= 2


def _differences(first: Scored, second: Scored, recordings: Mapping[str, str]) -> dict[str, Any]:
    """Paired intervals of all terms; empty with fewer than two cases that both have finished."""
    try:
        found = compare(first, second, recordings=recordings)
    except UsageError:
        return {}
    return {
        term: {"estimate": i.estimate, "low": i.low, "high": i.high, "cases": found.cases}
        for term, i in found.intervals.items()
    }


def _stored_logs(store: Store) -> list[DriveRow]:
    """The rows of a store with everything measured anew from the logs."""
    rows = [row for row in rows_of(store) if row.identity.predictor != RECORDED]
    for row in rows:
        for key in row.keys.values():
            measure_again(row, read_log(store.attachments(key)))
    return rows
