"""Pages of a rating study: distributions, differences, agreement, exclusions, and every clip with its replay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from giveway import __version__
from giveway.core.checked import Expect, read_bytes
from giveway.core.errors import StoreError
from giveway.core.seals import sha256_of_bytes
from giveway.reports.browsing import script, table_data
from giveway.reports.charts import stacked_bars
from giveway.reports.content import Block, Browser, Chart, Facts, Files, Page, Paragraph
from giveway.reports.rendering import single_page
from giveway.reports.table import entry, table_of
from giveway.study.analysis import Analysis
from giveway.study.answer import study_answer
from giveway.study.export import count_table, long_answers
from giveway.study.manifest import CLIP_FOLDER
from giveway.study.monitor import Overview
from giveway.study.report import (
    agreement_table,
    conditions_table,
    differences_table,
    exclusions_table,
    kappa_table,
    parts_of,
    said_first,
)
from giveway.study.workspace import Study, utc_now

METHODS = (
    "Intervals: 95 %, over raters and clips together: percentile cluster bootstrap; for kappa below 20 clips or 20 "
    "raters the two-way jackknife. Agreement is reported, but it is not evidence of realism. The kappa as printed "
    "counts every rater as agreeing with himself; it is for comparison with published values only."
)
CLIP_BYTES = 64 << 20
CLIP = Expect(error=StoreError, what="a clip of the study", hint="restore the file, or create the study again")


def html_report(study: Study, analysis: Analysis) -> str:
    """The whole analysis as one HTML file that opens from disk and asks no host for anything."""
    design = study.design
    made = f"giveway {__version__}, {utc_now()[:16].replace('T', ' ')} UTC"
    lead = f"Study {design.id}, declaration {design.fingerprint}, {made}. Question: {design.question}"
    blocks = (*analysis_blocks(study, analysis), *rater_blocks(analysis))
    return single_page(Page(title=title_of(study, analysis), lead=lead, blocks=blocks))


def study_pages(study: Study, analysis: Analysis) -> Iterator[Page]:
    """Results, clips and raters as pages of a site; everything is read from the database now."""
    main = [clip for clip in study.clips if clip.role == "main"]
    clips = clip_frame(study)
    shown = analysis.kept or analysis.everybody
    counts = f"{shown.num_raters} raters, {shown.num_ratings} ratings of {len(main)} clips"
    yield Page(
        title=title_of(study, analysis),
        lead=f"{counts}. {study.design.question}",
        blocks=tuple(analysis_blocks(study, analysis)),
        answer=study_answer(analysis, study.design.options),
    )
    documents = {c.clip: path for c in main if (path := study.folder / CLIP_FOLDER / f"{c.clip}.json").exists()}

    def files() -> Files:
        data = table_data(clips)
        data["keys"] = clips["clip"].to_list()
        data["replays"] = [f"replays/{clip}.js" if clip in documents else None for clip in data["keys"]]
        yield "clips.js", script("clips.js", data)
        for clip, path in documents.items():
            yield f"replays/{clip}.js", script(f"replays/{clip}.js", clip_document(path))

    caption = "Click a heading to sort, a row for its replay."
    yield Page(
        file="clips.html",
        title="Clips",
        lead=f"{len(main)} clips; click one to watch what the raters saw.",
        blocks=(Browser(title="", file="clips.js", files=files, caption=caption),),
    )
    yield Page(file="raters.html", title="Raters and exclusions", blocks=tuple(rater_blocks(analysis)))


def title_of(study: Study, analysis: Analysis) -> str:
    """Title of the study; one whose raters are simulated says so first."""
    return f"{'Simulated raters: ' if analysis.simulated else ''}{study.design.title}"


def analysis_blocks(study: Study, analysis: Analysis) -> list[Block]:
    """What has to be known first, then distributions, means, differences and agreement."""
    blocks: list[Block] = [Paragraph(text=text, warning=True) for text in said_first(analysis)]
    if analysis.design_changed:
        blocks.append(Paragraph(text="The study file was changed after the study was opened.", warning=True))
    for heading, results in parts_of(analysis):
        names = [c.condition for c in results.conditions]
        counts = [c.counts for c in results.conditions]
        bars = stacked_bars(names, list(study.design.options), counts, what="Ratings per condition", ordered=True)
        title = f"{heading}: {results.num_raters} raters, {results.num_ratings} ratings"
        blocks += [Chart(title=title, svg=bars), replace(conditions_table(results), title="")]
        if results.differences:
            blocks.append(replace(differences_table(results), title=""))
        blocks.append(replace(agreement_table(results), title=""))
    return [*blocks, Paragraph(text=METHODS)]


def live_blocks(study: Study, seen: Overview) -> dict[str, list[Block]]:
    """Progress, agreement and ratings per clip while a study runs, for the researcher's page."""
    options = list(study.design.options)
    steps = table_of("", (*seen.by_step, "answers"), [[*map(entry, seen.by_step.values()), entry(seen.answers)]])
    progress: list[Block] = [steps]
    if seen.unfinished:
        given = ", ".join(f"{people} after {count}" for count, people in seen.unfinished)
        progress.append(Paragraph(text=f"Started and not finished, by answers given: {given}."))
    agreement: list[Block] = [Paragraph(text="No clip has two ratings yet.")]
    if seen.agreement is not None:
        note = "Agreement is not evidence of realism. All raters so far, before exclusions."
        agreement = [replace(kappa_table([("all clips", seen.agreement)]), title=""), Paragraph(text=note)]
    names = [f"{d.clip[:8]} {d.condition}" for d in seen.distributions]
    rows = ([entry(n), *map(entry, d.counts)] for n, d in zip(names, seen.distributions, strict=True))
    bars = stacked_bars(names, options, [d.counts for d in seen.distributions], what="Ratings per clip", ordered=True)
    return {
        "progress": progress,
        "agreement": agreement,
        "clips": [Chart(title="", svg=bars), table_of("", ("clip", *options), rows)],
    }


def rater_blocks(analysis: Analysis) -> tuple[Block, ...]:
    """How far raters came, and whom the declared rules exclude."""
    steps = Facts(title="How far people came", rows=tuple((k, str(v)) for k, v in analysis.by_step.items()))
    return steps, replace(exclusions_table(analysis), title="Exclusions, declared before data collection")


def clip_frame(study: Study) -> pl.DataFrame:
    """One row per main clip: condition, scene, mean, number of ratings, how often each option was chosen."""
    main, options = [clip for clip in study.clips if clip.role == "main"], list(study.design.options)
    counts = count_table(long_answers(study), [clip.clip for clip in main], len(options))
    numbers = counts.drop("clip").to_numpy()
    total = numbers.sum(axis=1)
    rating = np.arange(1, len(options) + 1)
    mean = np.divide(numbers @ rating, total, out=np.full(len(total), np.nan), where=total > 0)
    named = {f"{n + 1} {option}": numbers[:, n].astype(np.float64) for n, option in enumerate(options)}
    facts = {name: [getattr(clip, name) for clip in main] for name in ("clip", "condition", "scene")}
    return pl.DataFrame({**facts, "mean": mean, "ratings": total.astype(np.float64), **named})


def clip_document(path: Path) -> Any:
    """The canvas document of a clip, compared with the digest that its file is named after."""
    data = read_bytes(path, limit=CLIP_BYTES, expect=CLIP)
    if not sha256_of_bytes(data).startswith(path.stem):
        CLIP.refuse(path, "is not what was written", f"SHA-256 {sha256_of_bytes(data)[:24]}…")
    return json.loads(data)
