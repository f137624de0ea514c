"""Campaigns of a store and their failures, read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from giveway.core.errors import EmptySelectionError
from giveway.experiments import Store, read_index
from giveway.generate.evaluation.results import TestResult, result_from
from giveway.generate.experiment import KIND, campaign_identity, planned_campaigns
from giveway.generate.export.cases import Failure, failure_id, write_failures
from giveway.generate.export.frames import tracks_of
from giveway.generate.spec import CampaignSpec
from giveway.generate.world_files import stored_road

CASES = "cases"
"""Folder of the exported failures inside a store."""
UNSAID = ("test", "generation", "perturbation")
"""In which cells differ without a difference between campaigns that is worth a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCampaign:
    """One campaign of a store.

    Attributes:
        params: what names it.
        results: its tests, in order.
        keys: their cells.
        identity: digest of everything that may change its tests.
        data: digest of its map and prior, if they are files.
        label: for tables; no other campaign of the store has it.
    """

    params: Mapping[str, Any]
    results: tuple[TestResult, ...]
    keys: tuple[str, ...]
    identity: str
    data: str
    label: str

    @property
    def prefix(self) -> str:
        """Of the names of its cases: readable, and different for any two campaigns."""
        words = f"{_word(self.params['road'])}-{_word(self.params['planner'])}-s{self.params['seed']}"
        return f"{words}-{self.identity[:8]}"


def stored_campaigns(out: Path) -> list[StoredCampaign]:
    """All campaigns of a store.

    Raises:
        StoreError: no store there.
        EmptySelectionError: a store without generated tests.
    """
    store = Store(out)
    grouped: dict[str, list[tuple[TestResult, str]]] = {}
    facts: dict[str, Mapping[str, Any]] = {}
    for key in read_index(store).frame.filter(kind=KIND)["key"]:
        document = store.read_record(key)
        identity = campaign_identity(document["cell"])
        facts.setdefault(identity, document["cell"])
        grouped.setdefault(identity, []).append((result_from(document["info"]["result"]), key))
    if not grouped:
        raise EmptySelectionError(
            "the store holds no generated tests", where=out, hint="giveway generate run --out DIR writes them"
        )
    campaigns: list[StoredCampaign] = []
    for (identity, entries), label in zip(grouped.items(), _labels(list(facts.values())), strict=True):
        entries.sort(key=lambda entry: entry[0].number)
        campaigns.append(
            StoredCampaign(
                params={name: value for name, value in facts[identity]["params"].items() if name != "test"},
                results=tuple(result for result, _ in entries),
                keys=tuple(key for _, key in entries),
                identity=identity,
                data=facts[identity]["data"],
                label=label,
            )
        )
    return sorted(campaigns, key=lambda campaign: campaign.label)


def campaigns_of(spec: CampaignSpec, out: Path) -> list[StoredCampaign]:
    """The campaigns of a specification in a store that may hold others, in the order of the specification.

    Only tests within the budget are given. Campaigns without a finished test are left out.
    """
    there = {campaign.identity: campaign for campaign in stored_campaigns(out)}
    found = [there[one.identity] for one in planned_campaigns(spec)[0] if one.identity in there]
    return [_within(campaign, spec.budget) for campaign in found]


def _within(campaign: StoredCampaign, budget: int) -> StoredCampaign:
    kept = [(r, k) for r, k in zip(campaign.results, campaign.keys, strict=True) if r.number < budget]
    return replace(campaign, results=tuple(result for result, _ in kept), keys=tuple(key for _, key in kept))


def stored_failures(out: Path, campaign: StoredCampaign, *, everything: bool = False) -> Iterator[Failure]:
    """The failures of a campaign with their tracks, those that count first; all tests with ``everything``.

    Campaigns that keep no tracks have none.
    """
    store = Store(out)
    kept = store.read_record(campaign.keys[0]).get("shared", ()) if campaign.keys else ()
    road = stored_road(store, str(campaign.params["road"]), campaign.data, kept)
    lanes = road.map()
    pairs = [(r, k) for r, k in zip(campaign.results, campaign.keys, strict=True) if r.failed or everything]
    for result, key in sorted(pairs, key=lambda pair: (not pair[0].counts, pair[0].number)):
        frame = store.read_samples(key)
        if frame is not None:
            name = failure_id(result, campaign.prefix)
            tracks = tracks_of(frame)
            yield Failure(
                id=name,
                result=result,
                tracks=tracks,
                road=lanes,
                site=road.name,
                method=campaign.label,
                route=road.ways[int(result.scene["ego_lane"])],
            )


def write_cases(store: Path) -> int:
    """Export all failures of a store into its folder ``cases``; returns how many."""
    failures = [f for campaign in stored_campaigns(store) for f in stored_failures(store, campaign)]
    write_failures(store / CASES, failures)
    return len(failures)


def _labels(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """One label per campaign; what else they differ in is added where they would look the same."""
    plain = [_label(cell["params"]) for cell in cells]
    facts = [dict(_leaves({**cell["settings"], **cell["params"], **cell["versions"]})) for cell in cells]
    labels: list[str] = []
    for text, mine in zip(plain, facts, strict=True):
        alike = [other for label, other in zip(plain, facts, strict=True) if label == text]
        odd = [n for n in mine if n not in UNSAID and any(other.get(n) != mine[n] for other in alike)]
        labels.append(", ".join([text, *(f"{name} {mine[name]}" for name in odd)]))
    return labels


def _label(params: Mapping[str, Any]) -> str:
    who = params.get("method") or params["driver"]
    return f"{who} on {params['road']}, ego {params['planner']}, seed {params['seed']}"


def _leaves(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Names such as ``world.weights.escape`` and their values; digests are shortened."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value[:12] if name == "policy" else value


def _word(text: object) -> str:
    name = Path(str(text)).stem.replace(":", "-")
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name) or "x"
