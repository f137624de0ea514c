"""Methods compared over seeds: what each campaign measured, and which method is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from giveway.core.errors import EmptySelectionError
from giveway.generate.evaluation.comparison import Comparison, compare
from giveway.generate.evaluation.methods import METHODS
from giveway.generate.failures import StoredCampaign, campaigns_of
from giveway.generate.spec import CampaignSpec
from giveway.metrics import measure_campaign

HEADLINE = "avoidable_rate"
"""Measure by which methods are compared unless another is asked for."""

Measured = Mapping[str, Mapping[str, Sequence[float]]]
"""Planner to method to one value per seed."""


def finished_campaigns(spec: CampaignSpec, out: Path) -> list[StoredCampaign]:
    """Campaigns of a comparison all of whose tests are driven.

    Raises:
        EmptySelectionError: there are none.
    """
    found = [campaign for campaign in campaigns_of(spec, out) if len(campaign.results) == spec.budget]
    if not found:
        raise EmptySelectionError(
            "the store holds no result of this comparison", where=out, hint="giveway generate bench --out DIR"
        )
    return found


def measured(campaigns: Sequence[StoredCampaign], metric: str = HEADLINE) -> Measured:
    """One value per campaign, methods in the order of :data:`~giveway.generate.evaluation.methods.METHODS`."""
    found: dict[str, dict[str, list[float]]] = {}
    order = {name: n for n, name in enumerate(METHODS)}
    for campaign in sorted(campaigns, key=lambda c: (order.get(c.params["method"], len(order)), c.params["seed"])):
        value = measure_campaign(campaign.results)[metric]
        found.setdefault(campaign.params["planner"], {}).setdefault(campaign.params["method"], []).append(value)
    return found


def comparisons(values: Measured, first: str) -> dict[str, list[Comparison]]:
    """Planner to the comparison of one method with all others, corrected for their number."""
    return {planner: compare(runs, first) for planner, runs in values.items() if first in runs}
