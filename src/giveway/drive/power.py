"""Which differences between predictors a run can show, how many cases the others take, and when to stop."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.errors import EmptySelectionError, UsageError
from giveway.drive.document import score
from giveway.drive.experiment import RECORDED
from giveway.drive.rows import DriveRow, names_of, rows_of
from giveway.drive.run import drive_all
from giveway.drive.spec import PlannedDrives
from giveway.drive.summary import compare
from giveway.experiments import Executor, Progress, Store
from giveway.metrics.challenge import rules_called
from giveway.reports.browsing import finite
from giveway.stats.clusters import within_cluster_correlation
from giveway.stats.power import POWER, design_effect, half_width, power_of, samples_for_half_width, samples_needed
from giveway.stats.sequential import Look, looks_at

LOOKS = 4
"""Looks of a run that stops when it has decided."""


def power_document(
    store: Store,
    *,
    effect: float = 0.5,
    power: float = POWER,
    metric: str = "challenge",
    pairs: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """Number of cases that a difference of Score takes, from the spread of the paired differences of a run.

    Args:
        store: of ``giveway drive run`` with at least two predictors.
        effect: difference of interest, in points of Score.
        power: wanted probability to detect it at the 5 % level.
        metric: variant of the challenge metric.
        pairs: names of predictors; all pairs with one planner by default.

    Raises:
        EmptySelectionError: no pair of predictors with at least two cases in common.
        UsageError: an effect of 0 or a power outside (0, 1).
    """
    rows = [row for row in rows_of(store) if row.identity.predictor != RECORDED]
    every: list[dict[str, Any]] = [
        {"pair": f"{name} - {other}", **pair_power(rows[i], rows[k], effect=effect, power=power, metric=metric)}
        for (i, name), (k, other) in _pairs(rows, pairs)
    ]
    found = [one for one in every if one["cases"] >= 2]
    if not found:
        raise EmptySelectionError(
            "power needs two predictors on at least two cases that both finished",
            where=store.root,
            hint="giveway drive run -p A -p B -o R",
        )
    return finite({"effect": effect, "power": power, "metric": metric, "pairs": found})


def pair_power(
    first: DriveRow, second: DriveRow, *, effect: float, power: float = POWER, metric: str = "challenge"
) -> dict[str, Any]:
    """Spread of the differences of two rows, and what follows from it."""
    rules = rules_called(metric)
    try:
        paired = compare(*(score(row, rules, {}) for row in (first, second)))
    except UsageError:
        return {"cases": 0}
    known = {case: value for case, value in paired.differences.items() if math.isfinite(value)}
    if len(known) < 2:
        return {"cases": len(known)}
    values = np.array(list(known.values()))
    recordings = [str(first.cases[case]["recording"]) for case in known]
    sd, clusters = float(values.std(ddof=1)), len(set(recordings))
    per = values.size / clusters
    rho = within_cluster_correlation(values, recordings)
    inflation = design_effect(per, 0.0 if math.isnan(rho) else rho)
    return {
        "cases": values.size,
        "recordings": clusters,
        "difference": float(values.mean()),
        "sd": sd,
        "rho": rho,
        "design_effect": inflation,
        "half_width": half_width(sd, values.size / inflation),
        "power_here": power_of(sd, effect, values.size / inflation),
        "needed_independent": samples_needed(sd, effect, power=power),
        "needed": math.ceil(samples_needed(sd, effect, power=power) * inflation),
        "for_half_width": math.ceil(samples_for_half_width(sd, effect) * inflation),
    }


def look_order(recordings: Sequence[str]) -> list[str]:
    """Recordings in the order in which looks see them: by hash, so that no site comes first."""
    return sorted(set(recordings), key=lambda name: hashlib.sha256(f"giveway-look-1:{name}".encode()).hexdigest())


def drive_until_decided(
    plan: PlannedDrives,
    out: Path | str,
    pair: tuple[str, str],
    *,
    looks: int = LOOKS,
    engine: Executor | None = None,
    progress: Progress | None = None,
    on_look: Callable[[Look], None] = lambda look: None,
) -> dict[str, Any]:
    """Drive recordings in blocks and stop as soon as it is decided which of two predictors has the higher Score.

    All looks together keep the level of 5 %, see :mod:`giveway.stats.sequential`. A run that was stopped goes on if
    it is started again without the rule; its looks are made again from the results.

    Args:
        plan: what to drive; both predictors are in it.
        out: store.
        pair: names of the two.
        looks: planned looks after equal parts of the recordings.
        engine: see :func:`~giveway.drive.run.drive_all`.
        progress: likewise.
        on_look: told about every look.

    Returns:
        ``decided`` (name of the better one, or empty), the looks, and how many cases of how many were driven.

    Raises:
        UsageError: a predictor that is not in the plan, or too few recordings for the looks.
    """
    known = {p.model.info.name for p in plan.predictors}
    if not set(pair) <= known or pair[0] == pair[1]:
        raise UsageError("both predictors must be among those driven", found=", ".join(pair), hint="-p A -p B")
    order = look_order([case.recording for case in plan.cases])
    fractions = [(k + 1) / looks for k in range(looks)]
    parts = [order[: max(round(f * len(order)), 1)] for f in fractions]
    if len(parts[0]) < 3:
        raise UsageError(
            "a look needs at least three recordings",
            found=f"{len(order)} recordings, {looks} looks",
            hint=f"--looks {max(len(order) // 3, 1)}",
        )
    seen: list[Look] = []
    for count, part in enumerate(parts, 1):
        cases = [case for case in plan.cases if case.recording in set(part)]
        drive_all(replace(plan, cases=cases), out, engine, progress)
        differences = _differences(Store(out), pair, plan, [case.id for case in cases])
        ordered = sorted(differences, key=lambda one: order.index(one[1]))
        values = np.array([value for value, _ in ordered])
        seen = looks_at(values, [r for _, r in ordered], fractions[:count], planned=len(order))
        on_look(seen[-1])
        if seen[-1].decides:
            break
    last = seen[-1]
    better = "" if not last.decides else pair[0] if last.estimate > 0 else pair[1]
    return {
        "pair": list(pair),
        "decided": better,
        "difference": last.estimate,
        "cases": last.samples,
        "of": len(plan.cases),
        "looks": [{**asdict(look), "decides": look.decides} for look in seen],
    }


def _differences(
    store: Store, pair: tuple[str, str], plan: PlannedDrives, cases: Sequence[str]
) -> list[tuple[float, str]]:
    """(difference of Score, recording) of the cases that both finished."""
    world = (plan.planner.info.name, plan.spec.traffic, plan.spec.driver)
    named = {row.identity.predictor: row for row in rows_of(store) if row.identity.world == world}
    rules = rules_called(plan.spec.metric)
    found = compare(*(score(named[name], rules, {}) for name in pair)).differences
    where = named[pair[0]].cases
    return [(found[case], str(where[case]["recording"])) for case in cases if math.isfinite(found.get(case, math.nan))]


def _pairs(
    rows: Sequence[DriveRow], wanted: Sequence[tuple[str, str]]
) -> list[tuple[tuple[int, str], tuple[int, str]]]:
    names = names_of(rows)
    both: list[tuple[tuple[int, str], tuple[int, str]]] = []
    for i, one in enumerate(rows):
        for k in range(i + 1, len(rows)):
            if one.identity.world != rows[k].identity.world:
                continue
            own = {one.identity.predictor, rows[k].identity.predictor}
            if not wanted or any(own == set(pair) for pair in wanted):
                both.append(((i, names[i]), (k, names[k])))
    return both


def power_lines(document: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Heads and rows of the table of powers."""
    effect, power = document["effect"], document["power"]
    heads = (
        "pair",
        "cases",
        "recordings",
        "difference",
        "sd",
        "rho",
        "half-width",
        f"power for {effect:g} here",
        f"cases for {effect:g} at {power:.0%}",
        "if independent",
    )
    keys = ("pair", "cases", "recordings", "difference", "sd", "rho", "half_width", "power_here", "needed")
    return heads, [tuple(one[key] for key in (*keys, "needed_independent")) for one in document["pairs"]]
