"""A rating study as a section: distributions, differences, agreement, exclusions, and every clip with its replay.

Everything is taken from the plain values that ``giveway study analyze --json`` prints, so that this module knows
nothing of the study application.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from giveway.core.checked import Expect, read_bytes
from giveway.core.errors import StoreError
from giveway.core.seals import sha256_of_bytes
from giveway.reports.site.browsing import script, table_data
from giveway.reports.site.charts import stacked_bars
from giveway.reports.site.content import (
    Block,
    Browser,
    Chart,
    Entry,
    Facts,
    Page,
    Paragraph,
    Section,
    Table,
    number,
    origin_blocks,
    value_entry,
)

SIMULATED = "Simulated raters: these answers were drawn by a program and say nothing about anybody's opinion."
METHODS = (
    "Intervals: 95 %, over raters and clips together: percentile cluster bootstrap; for kappa below 20 clips or 20 "
    "raters the two-way jackknife. Agreement is reported, but it is not evidence of realism. The kappa as printed "
    "counts every rater as agreeing with himself; it is for comparison with published values only."
)

CLIP_BYTES = 64 << 20
CLIP = Expect(error=StoreError, what="a clip of the study", hint="restore the file, or create the study again")


def study_section(
    id: str,
    *,
    title: str,
    question: str,
    options: Sequence[str],
    analysis: Mapping[str, Any],
    clips: pl.DataFrame,
    documents: Mapping[str, Path],
) -> Section:
    """The pages of one study.

    Args:
        id: folder of the section.
        title: of the study.
        question: what raters were asked.
        options: what they could answer, lowest first.
        analysis: results as plain values.
        clips: one row per clip: ``clip``, ``condition``, ``scene``, ``mean``, then one count per option.
        documents: clip to its replay document on disk.
    """
    parts = [("After exclusions", analysis["kept"]), ("Without exclusions", analysis["everybody"])]
    blocks: list[Block] = [Paragraph(text=SIMULATED, warning=True)] if analysis.get("simulated") else []
    origins = analysis.get("origins") or {}
    blocks += origin_blocks("what raters saw", dict.fromkeys(o for found in origins.values() for o in found))
    if analysis["design_changed"]:
        blocks.append(Paragraph(text="The study file was changed after the study was opened.", warning=True))
    for heading, results in parts:
        if results is not None:
            blocks += _results(heading, results, options)
    blocks.append(Paragraph(text=METHODS))
    quality = Page(file="raters.html", title="Raters and exclusions", blocks=_raters(analysis))
    browse = Page(
        file="clips.html",
        title="Clips",
        lead=f"{clips.height} clips; click one to watch what the raters saw.",
        blocks=(Browser(title="", file="clips.js", caption="Click a heading to sort, a row for its replay."),),
    )
    title = f"Simulated raters: {title}" if analysis.get("simulated") else title
    first = Page(file="index.html", title=title, lead=question, blocks=tuple(blocks))
    shown = parts[0][1] or parts[1][1]
    agreement = shown.get("agreement") or {}
    which = "as printed" if agreement.get("profile") == "printed" else "corrected"
    kappa = agreement.get(f"kappa_{which.replace(' ', '_')}")

    def files() -> Iterator[tuple[str, str | bytes]]:
        data = table_data(clips)
        data["keys"] = clips["clip"].to_list()
        data["replays"] = [f"replays/{c}.js" if c in documents else None for c in data["keys"]]
        yield "clips.js", script("clips.js", data)
        for clip, path in documents.items():
            name = f"replays/{clip}.js"
            yield name, script(name, _drawing(path))

    return Section(
        id=id,
        title=title,
        kind="study",
        lead=f"{shown['num_raters']} raters, {shown['num_ratings']} ratings of {clips.height} clips",
        facts=(
            *(
                (f"{c['condition'].replace('_', ' ')}, mean rating", number(c["mean"]["value"], 2))
                for c in shown["conditions"]
            ),
            (f"kappa, {which}", number(kappa)),
        ),
        pages=(first, browse, quality),
        files=files,
    )


def _results(heading: str, results: Mapping[str, Any], options: Sequence[str]) -> list[Block]:
    conditions = results["conditions"]
    title = f"{heading}: {results['num_raters']} raters, {results['num_ratings']} ratings"
    names = [c["condition"] for c in conditions]
    bars = stacked_bars(
        names, list(options), [c["counts"] for c in conditions], what="Ratings per condition", ordered=True
    )
    blocks: list[Block] = [Chart(title=title, svg=bars)]
    columns = (
        "condition",
        "clips",
        "ratings",
        "mean rating",
        "95 % interval",
        "share realistic",
        "95 % interval of share",
    )
    rows = tuple(
        (
            Entry(text=c["condition"]),
            value_entry(c["num_clips"], 0),
            value_entry(c["num_ratings"], 0),
            value_entry(c["mean"]["value"], 2),
            _range(c["mean"]),
            value_entry(c["share_realistic"]["value"], 2),
            _range(c["share_realistic"]),
        )
        for c in conditions
    )
    blocks.append(Table(title="", columns=columns, rows=rows, numeric=frozenset({1, 2, 3, 4, 5, 6})))
    if results["differences"]:
        rows = tuple(
            (
                Entry(text=f"{d['condition']} − {d['reference']}"),
                _estimate(d["mean"]),
                Entry(text="–", order=math.nan) if d["effect"] is None else _estimate(d["effect"]),
            )
            for d in results["differences"]
        )
        heads = ("difference", "of means", "mixed model [logit]")
        blocks.append(
            Table(title="", columns=heads, rows=rows, numeric=frozenset({1, 2}), caption=results["model_note"])
        )
    blocks.append(_agreement(results))
    return blocks


def _agreement(results: Mapping[str, Any]) -> Table:
    rows: list[tuple[Entry, ...]] = []
    notes: list[str] = []
    is_printed = False
    for title, name in (("all clips", "agreement"), ("without broken clips", "agreement_without_anchors")):
        found = results.get(name)
        if found is None:
            continue
        interval = next(iter(found["intervals"]), None)
        ends = "–" if interval is None else f"{number(interval['low'])} to {number(interval['high'])}"
        label = "" if interval is None else f"{interval['label']} ({interval['method']})"
        corrected = (value_entry(found["kappa_corrected"]), Entry(text=ends), Entry(text=label))
        printed = (value_entry(found["kappa_as_printed"]),)
        others = [value_entry(found[name]) for name in ("ac2", "alpha")]
        is_printed = found["profile"] == "printed"
        rows.append((Entry(text=title), *(printed + corrected if is_printed else corrected + printed), *others))
        which = "as printed" if is_printed else "corrected"
        notes.append(f"{title}: “{found['band']}” by the printed bands of kappa {which}, two decimals.")
        notes += [f"{w}." for w in found["warnings"]]
    heads, head = ("kappa corrected", "its 95 % interval", "over what"), ("kappa as printed",)
    columns = ("agreement", *(head + heads if is_printed else heads + head), "AC2", "alpha")
    same = results.get("repeat_same")
    if results.get("repeats"):
        notes.append(f"{results['repeats']} repeats, {number(same, 2)} the same.")
    caption = " ".join(dict.fromkeys(note[0].upper() + note[1:] for note in notes))
    return Table(title="", columns=columns, rows=tuple(rows), numeric=frozenset({1, 5, 6}), caption=caption)


def _raters(analysis: Mapping[str, Any]) -> tuple[Block, ...]:
    steps = Facts(title="How far people came", rows=tuple((k, str(v)) for k, v in analysis["by_step"].items()))
    rows = tuple(
        (
            Entry(text=rule["rule"].replace("_", " ")),
            Entry(text="off" if rule["threshold"] is None else f"{rule['threshold']:g}"),
            value_entry(len(rule["raters"]), 0),
        )
        for rule in analysis["exclusions"]
    )
    total = (Entry(text="any rule"), Entry(text=""), value_entry(analysis["num_excluded"], 0))
    table = Table(
        title="Exclusions, declared before data collection",
        columns=("rule", "declared", "raters excluded"),
        rows=(*rows, total),
        numeric=frozenset({2}),
    )
    return steps, table


def _range(found: Mapping[str, float | None]) -> Entry:
    low = found["low"]
    return Entry(text=f"{number(low, 2)} to {number(found['high'], 2)}", order=math.nan if low is None else low)


def _estimate(found: Mapping[str, float | None]) -> Entry:
    value, low, high = found["value"], found["low"], found["high"]
    clear = low is not None and high is not None and (low > 0 or high < 0)
    text = f"{number(value, 2)} [{number(low, 2)}, {number(high, 2)}]"
    return Entry(text=text, order=math.nan if value is None else value, mark="best" if clear else "")


def _drawing(path: Path) -> Any:
    """The canvas document of a clip, compared with the digest that its file is named after."""
    data = read_bytes(path, limit=CLIP_BYTES, expect=CLIP)
    if not sha256_of_bytes(data).startswith(path.stem):
        CLIP.refuse(path, "is not what was written", f"SHA-256 {sha256_of_bytes(data)[:24]}…")
    return json.loads(data)
