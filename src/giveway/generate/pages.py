"""Blocks of a report about generated traffic: what every campaign found, how real its cars moved, kinds of failures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from giveway.core.origins import Origin, banner
from giveway.core.scene import Provenance, Scene
from giveway.generate.export.cases import EGO, Failure
from giveway.generate.summary import CampaignSummary, Reference
from giveway.metrics import metrics_of
from giveway.reports.charts import SERIES, stacked_bars
from giveway.reports.content import Block, Chart, Paragraph, Replay, origin_blocks
from giveway.reports.player.document import Event, Story, Verdict, replay_document
from giveway.reports.player.encounter import Encounter
from giveway.reports.table import Entry, Table, entry, table_of

HEADLINE = "avoidable_rate"
NOTE = (
    "A: the ego is at fault; B: another car caused it and UN R157 obliges the ego to cope; C: another car caused it, "
    "and a careful driver would have avoided it; D: not the ego's. A, B and C count where a careful driver would have "
    "avoided them."
)
WATCH = "Failures that count come first. Blue: the ego. Orange: the car it met."
FORMATS = {
    "tests": "{:.0f}",
    "violation_rate": "{:.3f}",
    "at_fault_rate": "{:.3f}",
    "grade_a_avoidable_rate": "{:.3f}",
    "grade_b_rate": "{:.3f}",
    "grade_c_rate": "{:.3f}",
    "grade_d_rate": "{:.3f}",
    "avoidable_rate": "{:.3f}",
    "avoidable_share": "{:.3f}",
    "top_10": "{:.0f}",
    "top_10_any": "{:.0f}",
    "steps_per_failure": "{:.0f}",
    "near_miss_rate": "{:.3f}",
    "min_ttc_s": "{:.2f}",
    "impact_speed_mps": "{:.1f}",
    "archive_cells": "{:.0f}",
    "parameter_distance": "{:.3f}",
    "infeasible_share": "{:.4f}",
    "off_road_share": "{:.4f}",
    "responsibility_per_100_s": "{:.2f}",
    "findings": "{:.0f}",
    "failure_kinds": "",
}
"""Measures in the order of tables; those with an empty format are not shown, metrics of others come last."""

REALISM = (
    ("wasserstein_speed", "speed [m/s]"),
    ("wasserstein_acceleration", "acceleration [m/s²]"),
    ("wasserstein_jerk", "jerk [m/s³]"),
    ("wasserstein_yaw_rate", "yaw rate [rad/s]"),
    ("wasserstein_headway", "headway [s]"),
    ("likelihood", "likelihood relative to recorded (1 is best)"),
)


def shown_measures() -> list[tuple[str, str, str]]:
    """Heading, title with unit and format of the measures that tables show."""
    infos = {found.info.heading: found.info for found in metrics_of("campaign")}
    forms = {name: FORMATS.get(name, "{:.3f}") for name in [*FORMATS, *infos]}
    titles = {name: f"{info.title} [{info.unit}]" if info.unit else info.title for name, info in infos.items()}
    return [(name, titles[name], form) for name, form in forms.items() if form]


def generated_blocks(document: Mapping[str, Any]) -> list[Block]:
    """Numbers of all campaigns side by side.

    Args:
        document: ``campaigns``; ``titles`` and ``realism_titles``, name to heading; ``reference``, what the motion was
            compared with, or None.
    """
    campaigns, shared = _distinct(document["campaigns"])
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


def labels_apart(labels: Sequence[str]) -> tuple[list[str], str]:
    """Labels of campaigns, ``driver on road, ...``, without what all of them share behind `` on ``, and that."""
    split = [label.partition(" on ")[::2] for label in labels]
    tails = [tail.split(", ") for _, tail in split]
    shared = [part for part in tails[0] if part and all(part in tail for tail in tails)] if tails else []
    names = [
        ", ".join([name.replace("_", " "), *(part.replace("_", " ") for part in tail if part not in shared)])
        for (name, _), tail in zip(split, tails, strict=True)
    ]
    on_one_road = all(tail[0] in shared for tail in tails)
    return (names, f"on {', '.join(shared)}") if on_one_road and len(set(names)) == len(names) else (list(labels), "")


def _distinct(campaigns: Sequence[Mapping[str, Any]]) -> tuple[Sequence[Mapping[str, Any]], str]:
    names, shared = labels_apart([str(c["label"]) for c in campaigns])
    return [{**c, "label": name} for c, name in zip(campaigns, names, strict=True)], shared


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
    rows = (
        (
            entry(heading, mark="best" if name == HEADLINE else ""),
            *_numbers([c[part].get(name) for c in campaigns]),
        )
        for name, heading in titles.items()
    )
    return table_of(title, columns, rows)


def _kinds(campaigns: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> Table:
    columns = ("kind", *(f"{c['label']}: failures / that count" for c in campaigns))
    rows = (
        (entry(kind.replace("_", " ")), *(_pair(c["kinds"].get(kind, (0, 0))) for c in campaigns)) for kind in kinds
    )
    return table_of("", columns, rows)


def _pair(counts: Sequence[int]) -> Entry:
    return entry(counts[0], text=f"{counts[0]} / {counts[1]}")


def _numbers(values: Sequence[float | None]) -> list[Entry]:
    """One row; counts, that is whole numbers not all of which could be rates, without decimals."""
    known = [v for v in values if v is not None and math.isfinite(v)]
    whole = all(v == int(v) for v in known) and any(abs(v) >= 2 for v in known)
    return [entry(None if v is None else float(v), 0 if whole else 3) for v in values]


def pages_document(summaries: Sequence[CampaignSummary], reference: Reference | None) -> dict[str, Any]:
    """Campaigns as :func:`generated_blocks` takes them."""
    return {
        "campaigns": [
            {"label": s.campaign.label, "measures": s.measures, "realism": s.realism, "kinds": s.kinds}
            for s in summaries
        ],
        "titles": {name: title for name, title, _ in shown_measures()},
        "realism_titles": dict(REALISM),
        "reference": None if reference is None else f"{reference.name}, {reference.vehicles} road users",
    }


def failure_document(failure: Failure) -> dict[str, Any]:
    """The replay of a failure: ego, the car it met, and how it ended."""
    tracks, result = failure.tracks, failure.result
    source = Provenance(dataset="generated", recording=failure.id, origin=Origin.GENERATED, declared_by="file")
    scene = Scene(tracks=tracks, road=failure.road, provenance=source, rows=failure.origins)
    roles = {result.other: "prio"} if result.other else {}
    is_contact = result.outcome == "collision"
    ended = float(tracks.time_s[-1])
    end = Event(time_s=ended, label=result.outcome.replace("_", " "), kind="contact" if is_contact else "note")
    story = Story(
        encounter=Encounter(time_s=ended, kind="contact" if is_contact else "end", partner=result.other or ""),
        verdict=Verdict(text=result.outcome.replace("_", " "), bad=result.counts),
        role_names={"prio": "car it met"},
        notice=banner("the traffic", [Origin.GENERATED]),
    )
    return replay_document(scene, ego=EGO, roles=roles, labels={EGO: "ego"}, events=(end,), story=story)


def failure_block(failure: Failure, file: str) -> Replay:
    """A failure to watch, with what is known of it below."""
    return Replay(
        title=failure.id,
        file=file,
        document=partial(failure_document, failure),
        caption=verdict_of(failure),
        strip=True,
    )


def verdict_of(failure: Failure) -> str:
    """How a failure ended and what the law says about it."""
    result = failure.result
    words = [result.sentence or "not graded", f"{result.kind or result.outcome}, {0.1 * result.steps:.1f} s"]
    if math.isfinite(result.impact_speed_mps):
        words.append(f"impact {result.impact_speed_mps:.1f} m/s")
    return "; ".join([*words, *([result.finding[:160]] if result.finding else [])])
