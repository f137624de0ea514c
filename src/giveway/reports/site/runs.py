"""From a folder with a run store to a section: what its kind of cells needs, put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from giveway.core.errors import GivewayError, StoreError
from giveway.core.origins import Origin
from giveway.experiments.index import collect, status
from giveway.experiments.store import Store
from giveway.reports.citations import citations_for
from giveway.reports.site import benchmarks, drives, stores
from giveway.reports.site.browsing import KEY_DIGITS, script, table_data
from giveway.reports.site.content import Block, Limits, Page, Paragraph, Reference, Section, Sources, origin_blocks
from giveway.reports.site.generated import generated_blocks, generated_facts
from giveway.sim.log_files import logs_below

Files = Iterator[tuple[str, str | bytes]]
Replay = Callable[[], Mapping[str, Any]]
TITLES = {"gaps": "Gap acceptance", "drive": "Closed loop", "generate": "Generated traffic"}
CELL_NAMES = {"drive": "Cases", "generate": "Tests"}
SHORT_KEY = 8
"""Digits of a cell's key at the end of the name of its log folder."""


@dataclass(slots=True, kw_only=True)
class _Parts:
    """What is collected while a section is put together."""

    overview: list[Block] = field(default_factory=list[Block])
    pages: list[Page] = field(default_factory=list[Page])
    pictures: dict[str, bytes] = field(default_factory=dict[str, bytes])
    replays: dict[str, Replay] = field(default_factory=dict[str, Replay])
    components: list[str] = field(default_factory=list[str])
    facts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def run_section(root: Path, *, id: str, title: str, sources: Sources, limits: Limits) -> Section:
    """The pages of one run store.

    Args:
        root: folder of the store.
        id: folder of the section.
        title: what tells this store apart from others of its kind; may be empty.
        sources: what only applications can tell.
        limits: how much detail.

    Raises:
        StoreError: if there is no store, or it cannot be read.
    """
    store = Store(root)
    tidy, state = collect(store), status(store)
    cells = stores.cells_of(tidy)
    kind = str(tidy["kind"][0]) if tidy.height else _planned_kind(store)
    parts = _Parts(components=[f"command:{kind}"])
    sampled = [] if kind == "generate" else stores.sample_tables(store, cells, limits)
    whole = [key for key in sampled if _is_whole(store, key)]
    if len(whole) < len(sampled):
        sampled, state = whole, status(store)  # the others are among the damaged ones now
    if kind == "gaps":
        _gaps(parts, store, tidy, sampled, sources)
    elif kind == "drive":
        _drive(parts, root, tidy, cells.keys, sources, limits)
    elif kind == "generate" and sources.generated is not None:
        parts.overview += generated_blocks(sources.generated)
        parts.facts += generated_facts(sources.generated)
    else:
        parts.overview.append(Paragraph(text=f"Cells of kind {kind!r}; every one of them is on the page of cells."))
    _cell_replays(parts, sources, limits)
    failures = stores.failures_page(state.failures, state)
    pages = [*parts.pages, stores.cells_page(cells, title=CELL_NAMES.get(kind, "Cells"))]
    pages += [*([failures] if failures else []), stores.provenance_page(store)]
    heading = TITLES.get(kind, kind.capitalize()) + (f" ({title})" if title else "")
    facts = stores.status_facts(state, cells)
    lead = ", ".join(f"{value} {name}" for name, value in facts)
    first = Page(file="index.html", title=heading, lead=lead, blocks=tuple(parts.overview))

    def details(key: str) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        if key in parts.replays:
            found["replay"] = f"replays/{key[:KEY_DIGITS]}.js"
        if key in chosen:
            found["samples"] = f"samples/{key[:KEY_DIGITS]}.js"
        return found

    chosen = set(sampled)

    def files() -> Files:
        yield from parts.pictures.items()
        yield from stores.cell_files(store, cells, details)
        for key, replay in parts.replays.items():
            name = f"replays/{key[:KEY_DIGITS]}.js"
            yield name, script(name, replay())
        yield from _samples(store, sampled, tidy, sources, limits)

    return Section(
        id=id,
        title=heading,
        kind=kind,
        lead=lead,
        facts=(*parts.facts, *facts),
        pages=(first, *pages),
        files=files,
        references=_references(parts.components),
    )


def _is_whole(store: Store, key: str) -> bool:
    """Whether the per-sample values of a cell can be read; reading damaged ones makes the store count them as such."""
    try:
        store.read_samples(key)
    except StoreError:
        return False
    return True


def _planned_kind(store: Store) -> str:
    planned = {kind for plan in store.plans() for kind in plan.kinds}
    return next((k for k in TITLES if k in planned), "run")


def _gaps(parts: _Parts, store: Store, tidy: pl.DataFrame, sampled: list[str], sources: Sources) -> None:
    if tidy.is_empty():
        parts.overview.append(Paragraph(text="No cell is finished yet."))
        return
    real = benchmarks.real_datasets(tidy)
    if "synthetic" in tidy.columns and (not real or tidy["synthetic"].drop_nulls().any()):
        origins = [*([Origin.RECORDED] if real else []), Origin.SYNTHETIC]
        parts.overview += origin_blocks("the traffic behind these numbers", origins)
    pages, notes = benchmarks.board_pages(tidy, real_datasets=real)
    overview = benchmarks.overview_blocks(tidy, pages, real)
    parts.overview += overview
    parts.facts += benchmarks.leading_facts(overview)
    parts.overview += notes
    figure, picture = benchmarks.paper_figure(tidy)
    parts.overview.append(figure)
    if picture is not None:
        parts.pictures[benchmarks.FIGURE] = picture
    parts.pages += pages
    parts.pages.append(
        Page(
            file="drops.html",
            title="Drop reasons",
            lead="What became of the candidate gaps.",
            blocks=tuple(benchmarks.drop_blocks(sources.drops)),
        )
    )
    trainings = _trainings(store, tidy)
    if curves := benchmarks.curve_blocks(trainings):
        parts.pages.append(Page(file="learning.html", title="Learning curves", blocks=tuple(curves)))
    for name, kind in (("dataset", "dataset"), ("model", "model"), ("metric", "metric")):
        if name in tidy.columns:
            parts.components += [f"{kind}:{v}" for v in tidy[name].drop_nulls().unique().sort()]


def _trainings(store: Store, tidy: pl.DataFrame) -> dict[str, list[Mapping[str, float | None]]]:
    """Learning curves that cells of trained models keep; one cell per dataset, time and model is looked at."""
    names = [c for c in ("dataset", "t0", "n_input", "model") if c in tidy.columns]
    if "model" not in names:
        return {}
    firsts = tidy.unique(names, keep="first", maintain_order=True)
    found: dict[str, list[Mapping[str, float | None]]] = {}
    for row in firsts.iter_rows(named=True):
        try:
            training = store.read_record(row["key"])["info"].get("learning_curve")
        except GivewayError:
            continue
        if training:
            found[", ".join(str(row[n]) for n in names)] = training
    return found


def _drive(parts: _Parts, root: Path, tidy: pl.DataFrame, keys: list[str], sources: Sources, limits: Limits) -> None:
    summary = drives.read_summary(root)
    if summary is None:
        parts.overview.append(Paragraph(text="No summary beside this store yet; run giveway drive run again."))
    else:
        parts.overview += drives.summary_blocks(summary)
        parts.facts += drives.summary_facts(summary)
        parts.components.append(f"planner:{(summary.get('planner') or {}).get('name', '')}")
    if "predictor" in tidy.columns:
        parts.components += [f"model:{v}" for v in tidy["predictor"].drop_nulls().unique().sort()]
    make = sources.drive_replay
    if make is None:
        return
    by_short = {key[:SHORT_KEY]: key for key in keys}
    order = _worst_first(tidy)
    logs = [
        (by_short[log.name[-SHORT_KEY:]], log) for log in logs_below(root / "logs") if log.name[-SHORT_KEY:] in by_short
    ]
    logs.sort(key=lambda pair: order.get(pair[0], 0.0))
    for key, log in logs[: limits.replays]:
        parts.replays[key] = _replay(make, log)
    if len(logs) > limits.replays:
        parts.overview.append(
            Paragraph(
                text=f"{limits.replays} of {len(logs)} drives can be watched here, collisions first; see --replays."
            )
        )


def _cell_replays(parts: _Parts, sources: Sources, limits: Limits) -> None:
    for key, replay in list(sources.cell_replays.items())[: limits.replays]:
        parts.replays[key] = replay
    if len(sources.cell_replays) > limits.replays:
        text = f"{limits.replays} of {len(sources.cell_replays)} failures can be watched here, those that count first."
        parts.overview.append(Paragraph(text=f"{text} See --replays."))


def _replay(make: Callable[[Any], Mapping[str, Any] | None], log: Path) -> Replay:
    return lambda: make(log) or {}


def _worst_first(tidy: pl.DataFrame) -> dict[str, float]:
    """Cells with collisions before others."""
    names = [m for m in tidy["metric"].drop_nulls().unique() if "collision" in m] if "metric" in tidy.columns else []
    bad = tidy.filter(pl.col("metric").is_in(names)).group_by("key").agg(pl.col("value").sum())
    return {key: -float(value or 0.0) for key, value in bad.iter_rows()}


def _samples(store: Store, sampled: list[str], tidy: pl.DataFrame, sources: Sources, limits: Limits) -> Files:
    """Per-sample tables, and the replays of the samples that were predicted worst."""
    datasets = dict(tidy.unique("key").select("key", "dataset").iter_rows()) if "dataset" in tidy.columns else {}
    wanted = _sample_replays(store, sampled, datasets, sources, limits)
    written: set[str] = set()
    for key in sampled:
        frame = store.read_samples(key)
        if frame is None:
            continue
        dataset = datasets.get(key, "")
        data = table_data(frame)
        if "sample_id" in frame.columns:
            places = wanted.get(dataset, {})
            data["replays"] = [places.get(i) for i in frame["sample_id"]]
            for sample, place in places.items():
                if place not in written:
                    written.add(place)
                    yield place, script(place, sources.sample_replays[dataset][sample]())
        name = f"samples/{key[:KEY_DIGITS]}.js"
        yield name, script(name, data)


def _sample_replays(
    store: Store, sampled: list[str], datasets: Mapping[str, str], sources: Sources, limits: Limits
) -> dict[str, dict[str, str]]:
    """Dataset to sample id to file, for the samples whose outcome surprised the models most."""
    errors: dict[tuple[str, str], list[float]] = {}
    for key in sampled:
        dataset = datasets.get(key, "")
        if dataset not in sources.sample_replays:
            continue
        frame = store.read_samples(key)
        if frame is None or not {"sample_id", "accepted", "p"} <= set(frame.columns):
            continue
        for sample, accepted, p in frame.select("sample_id", "accepted", "p").iter_rows():
            if sample in sources.sample_replays[dataset] and p is not None:
                errors.setdefault((dataset, sample), []).append(abs(p - accepted))
    ranked = sorted(errors, key=lambda k: (-sum(errors[k]) / len(errors[k]), k))[: limits.replays]
    found: dict[str, dict[str, str]] = {}
    for n, (dataset, sample) in enumerate(ranked):
        found.setdefault(dataset, {})[sample] = f"replays/sample-{n:04d}.js"
    return found


def _references(components: list[str]) -> tuple[Reference, ...]:
    return tuple(Reference(key=c.key, text=c.text, cites=c.used_for) for c in citations_for(components))
