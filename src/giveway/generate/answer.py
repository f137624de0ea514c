"""The answer of generated traffic: how often a planner failed although it could have coped."""

from __future__ import annotations

import math
from collections.abc import Sequence

from giveway.core.origins import Origin
from giveway.generate.failures import StoredCampaign
from giveway.generate.pages import labels_apart
from giveway.reports.content import Answer, origin_badges
from giveway.reports.live_charts import Forest, Mark, Row
from giveway.stats.proportions import share_difference, wilson

QUESTION = "Which traffic makes a planner fail although it could have coped?"
NAMED = 3
BUMP_MPS = 3.0
"""Impacts below this are said to be bumps."""


def generate_answer(campaigns: Sequence[StoredCampaign]) -> Answer:
    """Share of tests with a failure that counts, per campaign, with score intervals."""
    names, shared = labels_apart([campaign.label for campaign in campaigns])
    counts = [sum(r.counts for r in campaign.results) for campaign in campaigns]
    order = sorted(range(len(campaigns)), key=lambda k: -counts[k] / max(1, len(campaigns[k].results)))
    best = (counts[order[0]], len(campaigns[order[0]].results)) if order else (0, 0)
    rows: list[Row] = []
    for k in order:
        results = campaigns[k].results
        low, high = wilson(counts[k], len(results))
        tied = not share_difference(best, (counts[k], len(results)))[0] > 0
        rows.append(
            Row(
                label=names[k],
                note=f"{sum(r.failed for r in results)} failures, {counts[k]} count",
                marks=(
                    Mark(value=counts[k] / max(1, len(results)), low=low, high=high, tied=tied,
                         text=f"{counts[k]} / {len(results)}"),
                ),
                strong=k == order[0],
            )
        )  # fmt: skip
    impacts = [
        r.impact_speed_mps for c in campaigns for r in c.results if r.counts and math.isfinite(r.impact_speed_mps)
    ]
    foot = shared
    if impacts:
        foot += f"{'; ' if foot else ''}impacts at {min(impacts):.1f} to {max(impacts):.1f} m/s"
    slow = f"All failures that count are bumps below {BUMP_MPS:g} m/s." if impacts and max(impacts) < BUMP_MPS else ""
    return Answer(
        question=QUESTION,
        sentence=_sentence([(names[k], counts[k], len(campaigns[k].results)) for k in order]),
        chart=Forest(
            rows=rows,
            label="share of tests with a failure that counts: grade A, B or C, and avoidable",
            alt=f"Share of tests with a failure that counts in {len(rows)} campaigns, with intervals",
            start=0.0,
            percent=True,
        ),
        foot=foot,
        badges=origin_badges([Origin.GENERATED]),
        warnings=(slow,) if slow else (),
    )


def _sentence(campaigns: Sequence[tuple[str, int, int]]) -> str:
    """Campaigns that found something, most first; then those that found nothing, together."""
    found = [
        f"{name}: {count} such failure{'' if count == 1 else 's'} in {number} tests"
        for name, count, number in campaigns
        if count
    ][:NAMED]
    nothing = [name for name, count, _ in campaigns if not count]
    if nothing:
        found.append(f"{' and '.join(nothing) if len(nothing) < NAMED else f'{len(nothing)} others'}: none")
    return "".join(f"{text[:1].upper()}{text[1:]}. " for text in found).strip()
