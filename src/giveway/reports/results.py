"""What a run, a training or a study has produced, as one object."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from giveway.core.checked import DOCUMENT_BYTES, OWN, read_bytes
from giveway.core.errors import EmptySelectionError, GivewayError, StoreError, UsageError
from giveway.core.urls import is_url
from giveway.experiments.index import Status, read_index
from giveway.experiments.places import readable_store
from giveway.experiments.store import STORE_FILE, Store
from giveway.reports.content import Page, PageLimits
from giveway.reports.section import SECTIONS, Compared, Section, selected
from giveway.reports.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from giveway.core.log import DriveLog
    from giveway.core.scene import Scene
    from giveway.sim.case_sets import CaseSet

FOLDERS = {"study.toml": "study"}
"""File that marks a folder of results which is no store of cells, and the kind of these results."""


class Results:
    """Results on disk: numbers, tables, figures, comparisons, logs, and where they come from.

    Opened with :meth:`open`, or returned by the functions that run something. It reads and never writes, the index that
    a store caches aside, and shows what is on disk now: results of a run that goes on appear as they are finished.

    Attributes:
        place: folder of the results; for an address in an object store the copy on this machine.
        kind: ``gaps``, ``drive``, ``campaign``, ``training`` or ``study``.
    """

    def __init__(self, place: Path, kind: str, *, store: Store | None = None, options: Mapping[str, Any] | None = None):
        self.place = place
        self.kind = kind
        self.options: Mapping[str, Any] = dict(options or {})
        self._store = store
        self._is_frozen = False
        self._read: pl.DataFrame | None = None
        self._section: Section = SECTIONS.get(kind)

    @staticmethod
    def open(path: Path | str, *, kind: str | None = None, **options: Any) -> Results:
        """The results in a folder.

        Args:
            path: store of a run command, folder of a training or of a study, or the ``s3://`` address of a store.
            kind: needed only if a store holds several kinds.
            options: ``draws`` and ``database`` of a study; ``data`` and ``recorded``: recordings for the maps in
                replays of drives, and for the comparison of generated motion.

        Raises:
            StoreError: the folder holds no results, or a newer version wrote them.
        """
        if is_url(path):
            return _of_store(readable_store(path), kind, options)
        place = Path(path)
        for file, found in FOLDERS.items():
            if (place / file).is_file():
                return Results(place, found, options=options)
        if (place / "training.json").is_file():
            raise StoreError(
                "this training was written by release 0.1",
                where=place,
                hint="its policy can be used as before, with --policy; for curves and rounds train into a new folder",
            )
        if not (place / STORE_FILE).is_file():
            raise StoreError(
                "there is no result store, training or study in this folder",
                where=place,
                found="no such folder" if not place.is_dir() else f"no {STORE_FILE}, {' or '.join(FOLDERS)}",
                hint="give the folder that a run command wrote with --out, or a study folder",
            )
        if b'"written_by"' not in read_bytes(place / STORE_FILE, limit=DOCUMENT_BYTES, expect=OWN):
            raise StoreError(
                "this folder holds converted recordings, not results",
                where=place,
                hint="giveway.open_dataset('store', FOLDER) reads recordings",
            )
        return _of_store(Store(place), kind, options)

    @property
    def store(self) -> Store:
        """The store of cells.

        Raises:
            UsageError: results of a training or study, which have none.
        """
        if self._store is None:
            raise UsageError(f"results of kind {self.kind!r} are not in a store of cells", where=self.place)
        return self._store

    @property
    def spec(self) -> Mapping[str, Any]:
        """What was asked for, as plain values; of several runs the last one."""
        return self._section.spec(self)

    @property
    def runs(self) -> Sequence[Mapping[str, Any]]:
        """Provenance of each start, oldest first: configuration, code version, machine, counts."""
        return self._section.runs(self)

    @property
    def status(self) -> Status:
        """How much was asked for, and what of it is done, failed, missing or damaged."""
        return self._section.status(self)

    def frame(self, **filters: Any) -> pl.DataFrame:
        """All measurements, one row per cell and metric.

        Args:
            filters: column to value, or to a list of values, e.g. ``metric="auc", model=["CV", "CA"]``.

        Raises:
            EmptySelectionError: naming the filter that left nothing, and the values there are.
        """
        if self._is_frozen and self._read is None:
            self._read = self._section.frame(self)
        return selected(self._section.frame(self) if self._read is None else self._read, filters)

    def frozen(self) -> Results:
        """The same results, whose measurements are read once: cells that are finished later do not appear in them."""
        copy = Results(self.place, self.kind, store=self._store, options=self.options)
        copy._is_frozen = True
        return copy

    def samples(self, **filters: Any) -> pl.DataFrame:
        """Values per sample, per track point or per rating, with the parameters of their cell; filters as above."""
        return self._section.samples(self, filters)

    def table(self, name: str = "", **choices: Any) -> Table:
        """A table with ``text()``, ``markdown()``, ``latex()``, ``csv()`` and ``html()``.

        Args:
            name: one of :attr:`tables`; the leaderboard by default.
            choices: depend on the table, e.g. ``metric="auc", t0="constant"``.
        """
        return self._section.table(self, name, **choices)

    def figure(self, name: str = "", **choices: Any) -> Figure:
        """A matplotlib figure: one of :attr:`figures`, the first by default."""
        return self._section.figure(self, name, **choices)

    def compare(self, a: str, b: str, **choices: Any) -> Compared:
        """Is A better than B? Tests or intervals of the paired difference, by the rules of the application."""
        if a == b:
            raise UsageError("nothing can be compared with itself", where="compare", found=a)
        return self._section.compare(self, a, b, **choices)

    def log(self, **which: Any) -> DriveLog | Scene:
        """What happened in one drive or generated test; shown as a replay in a notebook.

        Args:
            which: filters that leave exactly one, e.g. ``case="merge-00", predictor="oracle"``; with ``first=True``
                the first of several is taken.

        Raises:
            EmptySelectionError: none of these.
            UsageError: more than one.
        """
        return self._section.log(self, **which)

    def cases(self, **filters: Any) -> CaseSet:
        """Cases that were driven, or failures as cases that can be driven again."""
        return self._section.cases(self, **filters)

    def pages(self, limits: PageLimits | None = None) -> Iterator[Page]:
        """Pages of a report about these results, see :mod:`giveway.reports.content`."""
        return self._section.pages(self if self._is_frozen else self.frozen(), limits or PageLimits())

    def cites(self) -> Iterable[str]:
        """Components to cite, as ``kind:name``."""
        return self._section.cites(self)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names for :meth:`table`."""
        return self._section.tables

    @property
    def figures(self) -> tuple[str, ...]:
        """Names for :meth:`figure`."""
        return self._section.figures

    def __repr__(self) -> str:
        return f"Results({self.kind}, {self._counts()}, {str(self.place)!r})"

    def _repr_html_(self) -> str:
        said = self._section.origin(self)
        origin = f"<p><strong>{html.escape(said)}</strong></p>" if said else ""
        title = f"<p><b>{html.escape(self._section.title)}</b> {html.escape(self._counts())}</p>"
        return f"<div>{origin}{title}{self._shown()}<p><small>{html.escape(self._provenance())}</small></p></div>"

    def _counts(self) -> str:
        try:
            state = self.status
        except GivewayError as error:
            return error.what
        parts = [f"{state.done} of {state.total} done"]
        parts += [f"{n} {word}" for word in ("failed", "missing") if (n := getattr(state, word))]
        return ", ".join([*parts, *([f"{len(state.damaged)} damaged"] if state.damaged else [])])

    def _shown(self) -> str:
        try:
            return self.table().html()
        except GivewayError as error:
            return f"<p>{html.escape(error.what)}</p>"

    def _provenance(self) -> str:
        starts = self.runs
        last = starts[-1] if starts else {}
        code = last.get("code") or {}
        version = " ".join(str(part) for part in (code.get("giveway"), (code.get("commit") or "")[:10]) if part)
        parts = [f"{len(starts)} runs recorded" if starts else "no run recorded", str(self.place)]
        return ", ".join([*parts, *([f"giveway {version}"] if version else [])])


def _of_store(store: Store, kind: str | None, options: Mapping[str, Any]) -> Results:
    """Results of the kind that the cells of a store have; of a store without cells, the kind that was planned."""
    kinds = [str(k) for k in read_index(store).frame["kind"].unique().sort()]
    planned = sorted({kind for plan in store.plans() for kind in plan.kinds})
    found = kinds or [name for name in planned if name in SECTIONS]
    if kind is not None and kind not in found:
        raise EmptySelectionError(
            f"the store holds no results of kind {kind!r}", where=store.root, found=", ".join(found) or "nothing yet"
        )
    if kind is None and len(found) > 1:
        raise UsageError(
            "the store holds results of several kinds",
            where=store.root,
            found=", ".join(found),
            hint=f"choose one: Results.open(..., kind={found[0]!r})",
        )
    if not found:
        raise StoreError(
            "the store is empty", where=store.root, found="no cells and no plan", hint="run something into it first"
        )
    chosen = kind or found[0]
    if chosen not in SECTIONS:
        raise StoreError(
            f"these are results of an unknown kind, {chosen!r}",
            where=store.root,
            found=f"known: {', '.join(SECTIONS)}",
            hint="results of a plug-in need the plug-in; it registers a section under this kind",
        )
    return Results(store.root, chosen, store=store, options=options)
