"""Generated traffic as a section: what every campaign found, how real its cars moved, which kinds of failures.

Taken from plain values, one mapping per campaign: ``label``, ``measures``, ``realism``, ``kinds`` (kind to failures and
failures that count).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from giveway.core.origins import Origin
from giveway.reports.site.charts import SERIES, stacked_bars
from giveway.reports.site.content import Block, Chart, Entry, Paragraph, Table, origin_blocks, value_entry

HEADLINE = "avoidable_at_fault_rate"
NOTE = "Only failures that are the ego's fault and that a careful driver would have avoided count."


def generated_blocks(document: Mapping[str, Any]) -> list[Block]:
    """Numbers of all campaigns side by side.

    Args:
        document: ``campaigns``; ``titles`` and ``realism_titles``, name to heading; ``reference``, what the motion was
            compared with, or None.
    """
    campaigns, shared = _told_apart(document["campaigns"])
    blocks: list[Block] = origin_blocks("the traffic", [Origin.GENERATED])
    blocks += [Paragraph(text=f"{NOTE} All campaigns {shared}." if shared else NOTE)]
    blocks.append(_table("Effect, plausibility and diversity", campaigns, "measures", document["titles"]))
    kinds = list(dict.fromkeys(kind for c in campaigns for kind in c["kinds"]))
    if kinds:
        names = [c["label"] for c in campaigns]
        shown, counts = _most_frequent(campaigns, kinds)
        chart = stacked_bars(names, [k.replace("_", " ") for k in shown], counts, what="Kinds of failures")
        blocks.append(Chart(title="Kinds of failures", svg=chart))
        blocks.append(_kinds(campaigns, kinds))
    if document.get("reference"):
        table = _table("Realism", campaigns, "realism", document["realism_titles"])
        blocks += [table, Paragraph(text=f"Compared with {document['reference']}; a smaller distance is closer.")]
    return blocks


def _told_apart(campaigns: Sequence[Mapping[str, Any]]) -> tuple[Sequence[Mapping[str, Any]], str]:
    """Campaigns under the part of their labels that differs, and what all of them share."""
    split = [str(c["label"]).partition(" on ") for c in campaigns]
    if len({end for _, _, end in split}) != 1 or len({name for name, _, _ in split}) < len(split) or not split[0][2]:
        return campaigns, ""
    named = [{**c, "label": name.replace("_", " ")} for c, (name, _, _) in zip(campaigns, split, strict=True)]
    return named, f"on {split[0][2]}"


def _most_frequent(campaigns: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """As many kinds as there are colors, the last one for all the rest; and failures per campaign and kind."""
    counts = {kind: [int(c["kinds"].get(kind, (0, 0))[0]) for c in campaigns] for kind in kinds}
    if len(kinds) > SERIES:
        order = sorted(kinds, key=lambda kind: -sum(counts[kind]))
        rest = order[SERIES - 1 :]
        counts = {kind: counts[kind] for kind in order[: SERIES - 1]} | {
            f"{len(rest)} others": [sum(per) for per in zip(*(counts[kind] for kind in rest), strict=True)]
        }
    return list(counts), [list(per) for per in zip(*counts.values(), strict=True)]


def _table(title: str, campaigns: Sequence[Mapping[str, Any]], part: str, titles: Mapping[str, str]) -> Table:
    columns = ("measure", *(c["label"] for c in campaigns))
    rows = tuple(
        (
            Entry(text=heading, mark="best" if name == HEADLINE else ""),
            *_numbers([c[part].get(name) for c in campaigns]),
        )
        for name, heading in titles.items()
    )
    return Table(title=title, columns=columns, rows=rows, numeric=frozenset(range(1, len(columns))))


def _kinds(campaigns: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> Table:
    columns = ("kind", *(f"{c['label']}: failures / that count" for c in campaigns))
    rows = tuple(
        (Entry(text=kind.replace("_", " ")), *(_pair(c["kinds"].get(kind, (0, 0))) for c in campaigns))
        for kind in kinds
    )
    return Table(title="", columns=columns, rows=rows, numeric=frozenset(range(1, len(columns))))


def _pair(counts: Sequence[int]) -> Entry:
    return Entry(text=f"{counts[0]} / {counts[1]}", order=float(counts[0]))


def _numbers(values: Sequence[float | None]) -> list[Entry]:
    """One row; counts, that is whole numbers not all of which could be rates, without decimals."""
    known = [v for v in values if v is not None and math.isfinite(v)]
    whole = all(v == int(v) for v in known) and any(abs(v) >= 2 for v in known)
    return [value_entry(v, 0 if whole else 3) for v in values]


def generated_facts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The rate that counts of every campaign, for the first page of the site."""
    campaigns, _ = _told_apart(document["campaigns"])
    rates = [(str(c["label"]), c["measures"].get(HEADLINE)) for c in campaigns]
    known = [(label, rate) for label, rate in rates if rate is not None and math.isfinite(rate)]
    return [(label, f"{rate:.3f} avoidable and at fault") for label, rate in known]
