"""The arena: attackers compared at equal budget, over planners and roads, with one table and one picture.

An attacker is a method of the protocol, or a policy by name; its campaigns on a road against a planner share their
seeds with those of all others, so differences are taken seed by seed. Policies that were trained against different
planners make the rows of a transfer matrix.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from giveway.core.origins import Origin, banner
from giveway.generate.evaluation.methods import ARENA, ARENA_PLANNERS
from giveway.generate.evaluation.results import archive_cell
from giveway.generate.failures import StoredCampaign
from giveway.reports.content import Picture
from giveway.reports.drawing import new_figure, svg_of
from giveway.reports.table import Entry, Table, entry, table_of
from giveway.stats.proportions import share_difference, wilson

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = (
    "Shares of driven tests, a pushed one counts like any other. C or better: failures of grade A, B or C, with their "
    "Wilson interval; avoidable: failures that a careful driver would have avoided, whatever their grade; c: "
    "unnaturalness of the cars; kinds: physical kinds among failures of grade C or better."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One attacker on one road against one planner.

    Attributes:
        road: name.
        planner: under test.
        attacker: method, or driver and search.
        tests: driven.
        seeds: campaigns.
        grades: share of tests by grade, A to D.
        found: share of grade C or better.
        low: lower end of its Wilson interval.
        high: upper end.
        avoidable: share of failures that a careful driver would have avoided.
        kinds: number of physical kinds among failures of grade C or better.
        unnaturalness: mean c.
        gain: difference of ``found`` to the attacker of reference, mean over seeds; NaN for itself.
        gain_low: lower end of its 95 % interval, paired by seed.
        gain_high: upper end.
    """

    road: str
    planner: str
    attacker: str
    tests: int
    seeds: int
    grades: dict[str, float]
    found: float
    low: float
    high: float
    avoidable: float
    kinds: int
    unnaturalness: float
    gain: float = math.nan
    gain_low: float = math.nan
    gain_high: float = math.nan


def attacker_of(campaign: StoredCampaign) -> str:
    """The method of a campaign, or its driver and search."""
    params = campaign.params
    pushes = ", pushes" if params["perturb"] else ""
    return str(params.get("method") or f"{params['driver']}, {params['search']}{pushes}")


def pooled(campaigns: Sequence[StoredCampaign]) -> list[StoredCampaign]:
    """One campaign per road, planner and attacker, with the tests of all seeds; in the order of the arena."""
    groups: dict[tuple[str, ...], list[StoredCampaign]] = {}
    order = {name: n for n, name in enumerate((*ARENA_PLANNERS, *ARENA))}
    roads = list(dict.fromkeys(one.params["road"] for one in campaigns))

    def place(one: StoredCampaign) -> list[int]:
        names = (str(one.params["planner"]), attacker_of(one))
        return [roads.index(one.params["road"]), *(order.get(name, len(order)) for name in names)]

    for one in sorted(campaigns, key=place):
        key = (str(one.params["road"]), str(one.params["planner"]), attacker_of(one))
        groups.setdefault(key, []).append(one)
    return [
        replace(
            group[0],
            results=tuple(itertools.chain.from_iterable(one.results for one in group)),
            keys=tuple(itertools.chain.from_iterable(one.keys for one in group)),
            label=f"{attacker} on {road}, ego {planner}",
        )
        for (road, planner, attacker), group in groups.items()
    ]


def standings(campaigns: Sequence[StoredCampaign], against: str = "") -> list[Standing]:
    """All attackers, in the order of the arena; differences to the attacker ``against``."""
    shares: dict[tuple[str, str, str], dict[int, tuple[int, int]]] = {}
    for one in campaigns:
        hits = sum(r.is_graded for r in one.results)
        key = (str(one.params["road"]), str(one.params["planner"]), attacker_of(one))
        shares.setdefault(key, {})[int(one.params["seed"])] = (hits, len(one.results))
    rows: list[Standing] = []
    for one in pooled(campaigns):
        key = road, planner, attacker = str(one.params["road"]), str(one.params["planner"]), attacker_of(one)
        results, tests = one.results, len(one.results)
        found = [r for r in results if r.is_graded]
        low, high = wilson(len(found), tests)
        other = shares.get((road, planner, against)) if attacker != against else None
        gain = (math.nan,) * 3 if other is None else paired_gain(shares[key], other)
        rows.append(
            Standing(
                road=road,
                planner=planner,
                attacker=attacker,
                tests=tests,
                seeds=len(shares[key]),
                grades={g: sum(r.failed and r.grade == g for r in results) / tests for g in "ABCD"},
                found=len(found) / tests,
                low=low,
                high=high,
                avoidable=sum(r.failed and r.avoidable for r in results) / tests,
                kinds=len({archive_cell(r) for r in found}),
                unnaturalness=float(np.mean([r.unnaturalness for r in results])),
                **dict(zip(("gain", "gain_low", "gain_high"), gain, strict=True)),
            )
        )
    return rows


def paired_gain(first: dict[int, tuple[int, int]], second: dict[int, tuple[int, int]]) -> tuple[float, float, float]:
    """Mean difference of shares over seeds that both have, with its 95 % t interval.

    Where all differences are equal, or one seed is shared, the interval is Newcombe's of the pooled shares.

    Args:
        first: seed to successes and tests.
        second: of the other.
    """
    both = [seed for seed in first if seed in second]
    if not both:
        return math.nan, math.nan, math.nan
    gaps = np.array([first[s][0] / first[s][1] - second[s][0] / second[s][1] for s in both])
    mean, spread = float(gaps.mean()), float(gaps.std(ddof=1)) if len(gaps) > 1 else 0.0
    if spread < 1e-12:
        sums = [(sum(x[s][0] for s in both), sum(x[s][1] for s in both)) for x in (first, second)]
        return mean, *share_difference(sums[0], sums[1])
    half = float(stats.t.ppf(0.975, len(gaps) - 1)) * spread / math.sqrt(len(gaps))
    return mean, mean - half, mean + half


def arena_table(rows: Sequence[Standing], against: str = "") -> Table:
    """One line per road, planner and attacker."""
    heads = ["road", "planner", "attacker", "tests", *"ABCD", "C or better", "95 %", "avoidable", "kinds", "c"]
    heads += [f"minus {against}", "95 %, by seed"] if against else []
    best = {(r.road, r.planner): max(o.found for o in rows if (o.road, o.planner) == (r.road, r.planner)) for r in rows}
    lines = [
        (
            *(entry(text) for text in (row.road, row.planner, row.attacker)),
            entry(row.tests),
            *(entry(row.grades[g]) for g in "ABCD"),
            entry(row.found, mark="best" if row.found == best[row.road, row.planner] > 0 else ""),
            entry(_ends(row.low, row.high)),
            entry(row.avoidable),
            entry(row.kinds),
            entry(row.unnaturalness, 2),
            *([_signed(row.gain), entry(_ends(row.gain_low, row.gain_high))] if against else ()),
        )
        for row in rows
    ]
    return table_of(
        "Attackers at equal budget",
        heads,
        lines,
        numeric=[n for n, head in enumerate(heads) if head not in ("road", "planner", "attacker")],
        filters=(0, 1, 2),
        caption=CAPTION,
        banner=banner("the traffic", [Origin.GENERATED]),
    )


def _signed(value: float) -> Entry:
    return entry(value, text=f"{value:+.3f}") if math.isfinite(value) else Entry()


def _ends(low: float, high: float) -> str:
    return f"[{low:.3f}, {high:.3f}]" if math.isfinite(low) else ""


def arena_figure(rows: Sequence[Standing]) -> Figure:
    """Attackers by planners, a panel per road: share of tests with a failure of grade C or better.

    Raises:
        MissingDependencyError: without matplotlib.
    """
    roads, planners, attackers = (
        list(dict.fromkeys(getattr(r, n) for r in rows)) for n in ("road", "planner", "attacker")
    )
    width = 1.6 + len(roads) * (0.5 + 0.62 * len(planners))
    figure = new_figure(max(width, 4.0), 1.5 + 0.34 * len(attackers))
    axes: Any = figure.subplots(1, len(roads), sharey=True, squeeze=False)[0]
    there = {(r.road, r.planner, r.attacker): r for r in rows}
    for axis, road in zip(axes, roads, strict=True):
        shown = np.array([[_found(there.get((road, p, a))) for p in planners] for a in attackers])
        axis.imshow(shown, cmap="Blues", vmin=0.0, vmax=max(0.5, *(row.found for row in rows)), aspect="auto")
        for (y, x), value in np.ndenumerate(shown):
            if math.isfinite(value):
                color = "white" if value > 0.3 else "black"
                axis.text(x, y, f"{100 * value:.1f}", ha="center", va="center", fontsize=8, color=color)
        axis.set_xticks(range(len(planners)), [p.replace("_", " ") for p in planners], rotation=35, ha="right")
        axis.set_title(road, fontsize=10)
    axes[0].set_yticks(range(len(attackers)), [a.replace("_", " ") for a in attackers])
    figure.suptitle("failures of grade C or better, % of tests", fontsize=10)
    return figure


def _found(row: Standing | None) -> float:
    return math.nan if row is None else row.found


def arena_picture(rows: Sequence[Standing]) -> Picture:
    """The figure for a page."""
    alt = f"Share of failures of grade C or better for {len({r.attacker for r in rows})} attackers by planner and road"
    return Picture(
        title="Attackers and planners", file="arena.svg", alt=alt, data=svg_of(arena_figure(rows)), caption=CAPTION
    )
