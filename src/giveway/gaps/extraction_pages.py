"""Pages that explain an extraction: what became of candidates, how samples are spread, replays of labels and drops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.origins import Origin
from giveway.gaps.admission import REASONS, WHY_UNDECIDED
from giveway.gaps.extractions.declared import UNCONFIRMED
from giveway.gaps.naming import DATASETS, dataset_title
from giveway.gaps.prediction_time import CHOICES, choice_named
from giveway.gaps.replays import SampleSet
from giveway.reports.charts import histogram, stacked_bars
from giveway.reports.content import (
    Block,
    Chart,
    Gallery,
    Heading,
    Page,
    PageLimits,
    Paragraph,
    Part,
    Replay,
    origin_blocks,
)
from giveway.reports.table import Entry, entry, table_of
from giveway.reports.writing import write_site

REPLAYS = 3
"""Of every reason."""

LONGEST_GAP_S = 30.0
"""Longer gaps, those of an E that hardly moves, are told beside the picture."""


def write_extraction(out: Path, sets: Sequence[SampleSet]) -> int:
    """Pages of their own that explain an extraction; how many files they are."""
    dataset = sets[0].extracted.report.dataset
    first, *examples = extraction_pages(sets, PageLimits())
    said = origin_blocks(
        "the traffic behind these numbers", [Origin.SYNTHETIC if sets[0].is_synthetic else Origin.RECORDED]
    )
    title = f"Gaps of {dataset_title(dataset)}"
    first = replace(first, file="index.html", title=title, blocks=(*said, *first.blocks))
    part = Part(id="extraction", kind="gaps", pages=(first, *examples), cites=(dataset,))
    return write_site(out, [part], title=first.title)


def extraction_pages(sets: Sequence[SampleSet], limits: PageLimits) -> list[Page]:
    """The page of drop reasons, and one per dataset and reason with replays."""
    sets = sorted(sets, key=_place)
    examples = dict(_example_pages(sets, limits))
    blocks = tuple(_drop_blocks(sets, {key: page.file for key, page in examples.items()}))
    lead = "What became of the candidate gaps, and how those that were kept are spread."
    return [Page(file="drops.html", title="Drop reasons", lead=lead, blocks=blocks), *examples.values()]


def _place(one: SampleSet) -> tuple[str, int, str, int, int]:
    """Profiles apart, datasets and times in the order of the papers."""
    report = one.extracted.report
    known = list(DATASETS).index(report.dataset) if report.dataset in DATASETS else len(DATASETS)
    return one.profile, known, report.dataset, CHOICES.index(choice_named(report.choice)), report.num_input


def spreads(one: SampleSet) -> dict[str, dict[str, FloatArray]]:
    """Quantity to values of accepted and rejected samples.

    Gap size D_C / -Ddot_C at t_0 [s], t_A - t_0 of accepted samples [s], and the angle at which T enters [degrees]:
    between the paths of T and E where the place comes from paths, along the circle where it is a sector.
    """
    samples, raw = one.extracted.samples, one.found.raw
    accepted = samples.truth.accepted
    last = samples.inputs.distance[:, 0, -2:]
    speed = (last[:, 0] - last[:, 1]) / samples.inputs.dt_s
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(speed > 0, last[:, 1] / speed, np.inf)
    found = {"gap size at t₀ [s]": _by_label(size, accepted)}
    found["t_A − t₀ [s]"] = {"accepted": samples.truth.t_accept_s[accepted]}
    for constant, title in (("angle_rad", "angle of the paths [°]"), ("entry_rad", "angle of entry [°]")):
        if constant in raw.constants:
            place = {str(name): k for k, name in enumerate(raw.sample_id)}
            rows = [place[str(name)] for name in samples.inputs.sample_id]
            found[title] = _by_label(np.degrees(raw.constants[constant][rows]), accepted)
    return found


def label_examples(one: SampleSet) -> dict[str, tuple[str, ...]]:
    """Label to ids of up to three samples that have it, evenly spread."""
    ids, accepted = one.extracted.samples.inputs.sample_id, one.extracted.samples.truth.accepted
    found: dict[str, tuple[str, ...]] = {}
    for label, there in (("accepted", accepted), ("rejected", ~accepted)):
        named = ids[there]
        at = np.unique(np.linspace(0, len(named) - 1, min(len(named), REPLAYS)).astype(int))
        found[label] = tuple(str(named[k]) for k in at)
    return {label: named for label, named in found.items() if named}


def _by_label(values: FloatArray, accepted: np.ndarray) -> dict[str, FloatArray]:
    return {"accepted": values[accepted], "rejected": values[~accepted]}


def _names(sets: Sequence[SampleSet]) -> list[str]:
    """Dataset and prediction time; profile and number of inputs too where there are several."""
    profiles, inputs = {one.profile for one in sets}, {one.extracted.report.num_input for one in sets}
    return [
        (f"{one.profile}: " if len(profiles) > 1 else "")
        + f"{dataset_title(one.extracted.report.dataset)}, {one.extracted.report.choice}"
        + (f", n_I {one.extracted.report.num_input}" if len(inputs) > 1 else "")
        for one in sets
    ]


def _drop_blocks(sets: Sequence[SampleSet], links: Mapping[tuple[str, str, str], str]) -> list[Block]:
    if not sets:
        return [Paragraph(text="This store keeps no counts of dropped candidates.")]
    names, reports = _names(sets), [one.extracted.report for one in sets]
    reasons = [
        r for r in dict.fromkeys(r for d in reports for r in d.dropped) if any(d.dropped.get(r) for d in reports)
    ]
    counts = [[d.num_accepted, d.num_rejected, *(d.dropped.get(r, 0) for r in reasons)] for d in reports]
    parts = ["accepted", "rejected", *(r.replace("_", " ") for r in reasons)]
    rows = (
        (entry(name), entry(d.num_candidates), *map(entry, values), entry(d.delta_t_s, 2))
        for name, d, values in zip(names, reports, counts, strict=True)
    )
    guesses = dict.fromkeys(note for d in reports for note in d.notes if UNCONFIRMED in note)
    warned = [Paragraph(text=note, warning=True) for note in guesses]
    warned += [Paragraph(text=f"{names[n]}: {w}", warning=True) for n, d in enumerate(reports) for w in d.warnings]
    notes = [Paragraph(text=f"{names[n]}: {o}") for n, d in enumerate(reports) for o in d.notes if o not in guesses]
    return [
        *warned,
        Chart(title="", svg=stacked_bars(names, parts, counts, what="What became of the candidate gaps")),
        table_of("", ("samples of", "candidates", *parts, "Δt [s]"), rows),
        *_why_tables(names, sets, links),
        *_spread_blocks(names, sets),
        *notes,
    ]


def _why_tables(
    names: Sequence[str], sets: Sequence[SampleSet], links: Mapping[tuple[str, str, str], str]
) -> Iterator[Block]:
    """Labels, reasons, sub-reasons of candidates without a decision, and verdicts of the order check, with replays."""
    for field, title in (
        ("labels", "Labels"),
        ("dropped", "Why candidates were dropped"),
        ("why_undecided", "Why nothing is decided"),
        ("order", "Labels and the order of passage"),
    ):
        rows: list[tuple[Entry, ...]] = []
        for name, one in zip(names, sets, strict=True):
            report = one.extracted.report
            labels = {"accepted": report.num_accepted, "rejected": report.num_rejected}
            examples = {**report.examples, **label_examples(one)}
            for why, count in (labels if field == "labels" else getattr(report, field)).items():
                if count:
                    ids = ", ".join(examples.get(why, ())[:REPLAYS])
                    link = links.get((report.dataset, one.profile, why), "")
                    watch = entry("watch", link=link) if link and ids else Entry()
                    rows.append((entry(name), entry(why.replace("_", " ")), entry(count), watch, entry(ids)))
        if rows:
            yield table_of(title, ("samples of", "what", "count", "replays", "examples"), rows, numeric={2})


def _spread_blocks(names: Sequence[str], sets: Sequence[SampleSet]) -> Iterator[Block]:
    yield Heading(text="How the samples are spread")
    for name, one in zip(names, sets, strict=True):
        charts: list[Chart] = []
        for title, values in spreads(one).items():
            longest = LONGEST_GAP_S if title.endswith("[s]") else np.inf
            shown = {label: v[np.isfinite(v) & (v <= longest)].tolist() for label, v in values.items()}
            beyond = sum(v.size for v in values.values()) - sum(map(len, shown.values()))
            if any(shown.values()):
                beside = f"; {beyond} beyond {longest:g} s" if beyond else ""
                svg = histogram(shown, x_title=title, y_title="samples")
                charts.append(Chart(title=f"{name}: {title}{beside}", svg=svg))
        if charts:
            yield Gallery(items=tuple(charts))


def _example_pages(sets: Sequence[SampleSet], limits: PageLimits) -> Iterator[tuple[tuple[str, str, str], Page]]:
    """Dataset, profile and reason to the page with three replays; the first prediction time that has any is shown."""
    left, known = limits.replays, set[tuple[str, str, str]]()
    several = len({one.profile for one in sets}) > 1
    for one in sets:
        report = one.extracted.report
        for why, ids in {**label_examples(one), **report.examples}.items():
            key = (report.dataset, one.profile, why)
            replays = [(name, one.replay(name)) for name in ids[:REPLAYS]]
            if key in known or len(replays) > left:
                continue
            known.add(key)
            left -= len(replays)
            stem = f"why-{report.dataset}-{one.profile}-{why}"
            whose = f" ({one.profile})" if several else ""
            said, is_label = {**REASONS, **WHY_UNDECIDED}.get(why, ""), why in ("accepted", "rejected")
            players = tuple(
                Replay(title="", file=f"{stem}-{k}.js", document=document)
                for k, (_, document) in enumerate(replays)
                if document is not None
            )
            yield (
                key,
                Page(
                    file=f"{stem}.html",
                    title=f"{dataset_title(report.dataset)}: {why.replace('_', ' ')}{whose}",
                    lead=f"{'Samples' if is_label else 'Candidates'} of {report.choice} gaps as they were recorded"
                    + (f": {said}." if said else "."),
                    blocks=players,
                    group="Labels" if is_label else "Why dropped",
                ),
            )
