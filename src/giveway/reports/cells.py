"""Pages that every store of cells gets: overview, every cell with its details, failures, provenance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from giveway.core.errors import StoreError
from giveway.experiments.index import Status
from giveway.experiments.records import FailedCell
from giveway.experiments.store import Store
from giveway.reports.browsing import KEY_DIGITS, chunks, detail_digits, finite, script, table_data
from giveway.reports.content import Answer, Block, Browser, Document, Facts, Files, Log, Page, PageLimits, Paragraph
from giveway.reports.leaderboard import Board
from giveway.reports.sample_files import cells_with_samples, sample_files
from giveway.reports.table import entry, table_of

if TYPE_CHECKING:
    from giveway.reports.results import Results

RESULT = ("metric", "value", "num_samples", "metric_version", "note")
HIDDEN = ("data",)
"""Fingerprints: part of the details, not of the table."""
MAX_TRACEBACKS = 200
LONG_TEXT = 80

Details = Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What an application says about a store of its cells.

    Attributes:
        blocks: of the first page.
        pages: further ones, before those of cells, failures and provenance.
        answer: for the first page of a site and of these results.
        cells: what the page of cells is called.
        replays: keys of cells that can be watched, most interesting first.
        rivals: key of a cell to its group and its name in it; what can be watched of one group can be compared.
        order: what these are and how they are ordered, e.g. ``"drives, collisions first"``.
        samples: whether cells show their per-sample values.
        sample_replays: dataset to (sample id to the function that makes its replay).
    """

    blocks: Sequence[Block] = ()
    pages: Sequence[Page] = ()
    answer: Answer | None = None
    cells: str = "Cells"
    replays: Sequence[str] = ()
    rivals: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    order: str = "cells"
    samples: bool = True
    sample_replays: Mapping[str, Mapping[str, Document]] = field(default_factory=dict[str, Mapping[str, Document]])


def store_pages(
    results: Results,
    overview: Overview,
    limits: PageLimits,
    *,
    title: str,
    replay: Callable[[str], Mapping[str, Any] | None],
) -> Iterator[Page]:
    """All pages of a store.

    Args:
        results: of the store.
        overview: what the application says.
        limits: how much detail.
        title: heading of the first page.
        replay: key of a cell to its replay document.
    """
    store, tidy = results.store, results.frame()
    cells = cells_of(tidy)
    sampled = cells_with_samples(store, cells.frame, limits) if overview.samples else []
    state = results.status  # after reading the samples: damaged ones are counted now
    watched = overview.replays[: limits.replays]
    facts = status_facts(state, cells)
    blocks = list(overview.blocks)
    if len(watched) < len(overview.replays):
        count = f"{len(watched)} of {len(overview.replays)}"
        blocks.append(Paragraph(text=f"{count} {overview.order}, can be watched here; see --replays."))
    yield Page(
        title=title,
        lead=", ".join(f"{value} {name}" for name, value in facts),
        blocks=tuple(blocks),
        answer=overview.answer,
    )
    short = frozenset(key[:KEY_DIGITS] for key in sampled)
    for page in overview.pages:
        blocks = tuple(b.with_samples_of(short) if isinstance(b, Board) else b for b in page.blocks)
        yield replace(page, blocks=blocks)

    def files() -> Files:
        places = {key: f"replays/{key[:KEY_DIGITS]}.js" for key in watched}
        tables = {key: f"samples/{key[:KEY_DIGITS]}.js" for key in sampled}
        rivals = _rivals(places, overview.rivals)

        def details(key: str) -> Mapping[str, Any]:
            found = {"replay": places.get(key), "samples": tables.get(key), "rivals": rivals.get(key)}
            return {name: value for name, value in found.items() if value}

        yield from cell_files(store, cells, details)
        for key, place in places.items():
            yield place, script(place, replay(key) or {})
        yield from sample_files(store, tables, tidy, overview.sample_replays, limits)

    yield cells_page(cells, files, title=overview.cells)
    failures = failures_page(state.failures, state)
    yield from [failures] if failures else []
    yield provenance_page(store)


def _rivals(places: Mapping[str, str], groups: Mapping[str, tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Key to names and replays of the other cells of its group."""
    members: dict[str, list[str]] = {}
    for key in places:
        if key in groups:
            members.setdefault(groups[key][0], []).append(key)
    return {
        key: sorted((groups[other][1], places[other]) for other in keys if other != key)
        for keys in members.values()
        for key in keys
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """All finished cells of a store, one row each.

    Attributes:
        frame: ``key``, parameters that differ between cells, then one column per metric; sorted by parameters.
        common: parameters that all cells share.
    """

    frame: pl.DataFrame
    common: tuple[tuple[str, str], ...]

    @property
    def keys(self) -> list[str]:
        """Content keys."""
        return self.frame["key"].to_list()


def cells_of(tidy: pl.DataFrame) -> Cells:
    """One row per cell from the tidy table of :func:`giveway.experiments.collect`."""
    names = [c for c in tidy.columns if c not in RESULT]
    params = tidy.select(names).unique("key", keep="first", maintain_order=True)
    measured = tidy.filter(pl.col("metric").is_not_null())
    common: list[tuple[str, str]] = []
    shown: list[str] = ["key"]
    for name in names[1:]:
        if name in HIDDEN:
            continue
        column = params[name]
        if column.n_unique() == 1:
            common.append((name, str(column[0])))
        elif column.dtype != pl.String or (column.str.len_chars().max() or 0) <= LONG_TEXT:  # type: ignore[operator]
            shown.append(name)
    frame = params.select(shown)
    if measured.height:
        wide = measured.pivot(on="metric", index="key", values="value", aggregate_function="first")
        frame = frame.join(wide, on="key", how="left", maintain_order="left")
    return Cells(frame=frame.sort(*shown[1:], "key", nulls_last=True), common=tuple(common))


def cells_page(cells: Cells, files: Callable[[], Files], *, title: str = "Cells") -> Page:
    """The page on which one looks through all cells."""
    caption = (
        "Click a heading to sort, choose values to filter, click a row for its parameters, measurements, samples and "
        "replay."
    )
    browser = Browser(title="", file="cells.js", files=files, caption=caption)
    same = Facts(title="The same for all cells", rows=tuple((k, v[:300]) for k, v in cells.common))
    blocks: tuple[Block, ...] = (browser, same) if cells.common else (browser,)
    return Page(file="cells.html", title=title, lead=f"{cells.frame.height:,} cells", blocks=blocks)


def cell_files(store: Store, cells: Cells, details: Details) -> Files:
    """The table of all cells, and their details in chunks."""
    keys = cells.keys
    digits = detail_digits(len(keys))
    data = table_data(cells.frame.drop("key"))
    data |= {"keys": [key[:KEY_DIGITS] for key in keys], "details": {"folder": "details", "digits": digits}}
    yield "cells.js", script("cells.js", data)
    for prefix, members in chunks(keys, digits):
        name = f"details/{prefix}.js"
        yield name, script(name, {key[:KEY_DIGITS]: _details(store, key, details) for key in members})


def _details(store: Store, key: str, details: Details) -> dict[str, Any]:
    try:
        record = store.read_record(key)
    except StoreError as error:
        return {"key": key, "problem": str(error)}
    cell = record["cell"]
    return {
        "key": key,
        "kind": cell["kind"],
        "parameters": finite(cell["params"]),
        "data": cell["data"],
        "versions": finite(cell["versions"]),
        "measurements": finite(record["measurements"]),
        "info": finite(record["info"]),
        **details(key),
    }


def failures_page(failures: tuple[FailedCell, ...], status: Status) -> Page | None:
    """Why cells have no result, most frequent reason first; None if all have one."""
    if not failures and not status.damaged:
        return None
    reasons = Counter((f.error, _first_line(f.message)) for f in failures)
    rows = ((entry(error), entry(message), entry(count)) for (error, message), count in reasons.most_common())
    table = table_of("Reasons", ("error", "message", "cells"), rows, numeric={2})
    logs = [
        Log(
            title=f"{failure.error}: {failure.cell.label()}",
            lead=f"{failure.attempts} attempts" if failure.attempts > 1 else "",
            text=failure.traceback or failure.message,
        )
        for failure in failures[:MAX_TRACEBACKS]
    ]
    blocks: list[Block] = [table, *logs] if failures else []
    if len(failures) > MAX_TRACEBACKS:
        blocks.append(Paragraph(text=f"{len(failures) - MAX_TRACEBACKS} further failures are in the store."))
    if status.damaged:
        text = "\n".join(f"{d.key}: {d.reason}" for d in status.damaged)
        blocks.append(Log(title=f"{len(status.damaged)} damaged records, to be computed again", text=text))
    return Page(file="failures.html", title="Failures", lead=f"{len(failures)} cells failed", blocks=tuple(blocks))


def provenance_page(store: Store) -> Page:
    """What was asked for, and who computed it when, with which code on which machine."""
    blocks: list[Block] = []
    for plan in store.plans():
        text = json.dumps(plan.spec, indent=1, ensure_ascii=False, default=str)
        blocks.append(
            Log(title=f"Specification {plan.name[:12]}: {len(plan.keys)} cells, {plan.experiment}", text=text)
        )
    starts = store.provenance()
    for start in reversed(starts):
        blocks.append(Facts(title=f"Started {_text(start.get('started'))}", rows=tuple(_flat(start))))
    lost = store.damaged_documents()
    if lost:
        text = "\n".join(f"{entry.key}: {entry.reason}" for entry in lost)
        blocks.insert(0, Log(title=f"Provenance incomplete: {len(lost)} documents cannot be read", text=text))
    if not starts and not lost:
        blocks.append(Paragraph(text="This store keeps no record of when and where it was computed."))
    return Page(
        file="provenance.html",
        title="Provenance",
        lead="started once" if len(starts) == 1 else f"started {len(starts)} times",
        blocks=tuple(blocks),
    )


def status_facts(status: Status, cells: Cells) -> tuple[tuple[str, str], ...]:
    """Counts for the overview."""
    facts = [("cells done", f"{cells.frame.height:,}")]
    if status.total > cells.frame.height or status.failed:
        facts += [
            ("asked for", f"{status.total:,}"),
            ("failed", f"{status.failed:,}"),
            ("missing", f"{status.missing:,}"),
        ]
    if status.running:
        facts.append(("state", "a run is active"))
    return tuple(facts)


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flat({str(k): v for k, v in inner.items()}, f"{prefix}{name}: ")  # pyright: ignore
        elif inner is not None and name != "started":
            yield f"{prefix}{name}", _text(inner)[:500]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _first_line(message: str) -> str:
    return message.strip().splitlines()[0][:200] if message.strip() else ""
