"""Tables of realism: likelihoods with intervals by recording, drivers compared on the same cases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from giveway.core.arrays import FloatArray
from giveway.core.errors import EmptySelectionError, UnknownNameError, UsageError
from giveway.core.origins import banner
from giveway.core.seeds import stream
from giveway.drive.realism import EGO, LIKELIHOOD, SCORE, TRAFFIC
from giveway.metrics.realism import FEATURES, PATH_FIXED
from giveway.reports.cells import Overview
from giveway.reports.content import PageLimits
from giveway.reports.difference import Difference
from giveway.reports.section import Section, checked_name, with_choices
from giveway.reports.table import Block, Column, Table, entry
from giveway.stats.bootstrap import NUM_RESAMPLES, bootstrap

if TYPE_CHECKING:
    from giveway.reports.results import Results

TITLES = {TRAFFIC: "traffic", EGO: "ego among replayed traffic"}
HEADS = {"collision": "contact", "accel": "accel."}
REFERENCE = "the reference traffic"
BASELINE = "idm"
"""Driver that the others are compared with, where it was judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One driver over all cases of a number of roll-outs.

    Attributes:
        judged: who is judged, traffic or ego.
        driver: registered name.
        cast: which cars are driven: all, or those listed in the case.
        roll_outs: per case.
        seed: root of the random streams.
        case: (N,) identifiers of the cases with a score.
        recording: (N,) their recordings.
        score: (N,).
        likelihood: feature to mean over the cases in which it is defined.
        total: counts summed over cases: cars, left_out, areas, deterministic, steers.
        altered: cases without a score, because a start is altered or nobody can be judged.
    """

    judged: str
    driver: str
    cast: str
    roll_outs: int
    seed: int
    case: list[str]
    recording: list[str]
    score: FloatArray
    likelihood: dict[str, float]
    total: dict[str, int]
    altered: int

    @property
    def basis(self) -> tuple[str, str, int, int]:
        """What must be equal for two rows to be compared."""
        return self.judged, self.cast, self.roll_outs, int(self.total.get("steers", 0) > 0)

    def ends(self) -> tuple[float, float]:
        """95 % interval of the mean, whole recordings resampled; NaN with fewer than two recordings."""
        return _interval(self.score, self.recording, f"{self.judged} {self.driver}")


def rows_of(frame: pl.DataFrame) -> list[Row]:
    """Rows of a tidy frame, in the order of the cells."""
    names = ["judged", "driver", "cast", "roll_outs", "seed"]
    found: list[Row] = []
    if frame.is_empty():
        return found
    for (judged, driver, cast, roll_outs, seed), part in frame.group_by(names, maintain_order=True):
        scores = part.filter(pl.col("metric") == SCORE)
        known = scores.filter(pl.col("value").is_not_nan() & pl.col("value").is_not_null())
        means = (
            part.filter(pl.col("value").is_finite())
            .group_by("metric")
            .agg(pl.col("value").mean(), pl.sum("value").alias("sum"))
        )
        mean, total = (dict(zip(means["metric"], means[c], strict=True)) for c in ("value", "sum"))
        found.append(
            Row(
                judged=str(judged),
                driver=str(driver),
                cast=str(cast),
                roll_outs=int(str(roll_outs)),
                seed=int(str(seed)),
                case=known["case"].to_list(),
                recording=known["recording"].to_list(),
                score=known["value"].to_numpy(),
                likelihood={n: mean[f"{LIKELIHOOD}{n}"] for n in _FEATURES if f"{LIKELIHOOD}{n}" in mean},
                total={n: round(v) for n, v in total.items() if n != SCORE and not n.startswith(LIKELIHOOD)},
                altered=scores.height - known.height,
            )
        )
    return found


_FEATURES = tuple(dict.fromkeys((*PATH_FIXED, *FEATURES)))


def difference_of(a: Row, b: Row) -> Difference:
    """A minus B over the cases that both have, resampled by recording.

    Raises:
        UsageError: different numbers of roll-outs, or different weights.
        EmptySelectionError: no common case.
    """
    if a.basis != b.basis:
        raise UsageError(
            "realism from different numbers of roll-outs, casts or sets of features cannot be compared",
            where=f"{a.driver}, {b.driver}",
            found="; ".join(_basis_text(row) for row in (a, b)),
            hint="run both with the same --roll-outs",
        )
    first, second = dict(zip(a.case, a.score, strict=True)), dict(zip(b.case, b.score, strict=True))
    shared = [n for n, case in enumerate(a.case) if case in second]
    if not shared:
        raise EmptySelectionError("no case was judged with both drivers", where=f"{a.driver}, {b.driver}", found="none")
    gaps = np.array([first[a.case[n]] - second[a.case[n]] for n in shared])
    low, high = _interval(gaps, [a.recording[n] for n in shared], f"{a.judged} {a.driver} {b.driver}")
    return Difference(
        first=a.driver,
        second=b.driver,
        metric=SCORE,
        estimate=float(gaps.mean()),
        low=low,
        high=high,
        note=f"95 %, {len(shared)} cases, paired bootstrap by recording",
    )


def _interval(values: FloatArray, groups: Sequence[str], name: str) -> tuple[float, float]:
    if len(set(groups)) < 2:
        return math.nan, math.nan
    found = bootstrap(
        lambda index: float(values[index].mean()),
        values.size,
        rng=stream(0, "bootstrap", name),
        group=np.array(groups),
        num_resamples=NUM_RESAMPLES,
        method="percentile",
    )
    return found.low, found.high


def leaderboard(results: Results) -> Table:
    """Mean likelihoods of all drivers, best first; numbers of roll-outs stand in blocks of their own."""
    rows = rows_of(results.frame())
    origins = _origins(results)
    bases = sorted({row.basis for row in rows}, key=lambda basis: (basis[0] != TRAFFIC, basis[1], -basis[2], basis[3]))
    blocks = tuple(_block([row for row in rows if row.basis == basis]) for basis in bases)
    missing = results.status.missing
    notes = [
        *_notes(rows),
        *([] if rows else ["no case has been judged"]),
        *([f"{missing} cells are missing: start the same run again to go on"] if missing else []),
    ]
    title = "Realism: likelihood of the recording"
    return Table(title=title, blocks=blocks, banner=banner(REFERENCE, origins), notes=tuple(notes))


def _origins(results: Results) -> list[str]:
    """Origins of the recorded rows of all cases."""
    keys = results.frame()["key"].unique(maintain_order=True)
    found = [results.store.read_record(key).get("info", {}).get("origins", ()) for key in keys]
    return list(dict.fromkeys(name for names in found for name in names))


def _block(rows: Sequence[Row]) -> Block:
    names = [name for name in _FEATURES if any(name in row.likelihood for row in rows)]
    heads = ["realism", "95 % interval", *(HEADS.get(name, name) for name in names), "cars", "areas", "cases"]
    ordered = sorted(rows, key=lambda row: -_mean(row))
    return Block(
        title=_basis_text(rows[0]),
        columns=(Column(head=""), *(Column(head=head, left=head.startswith("95")) for head in heads)),
        rows=tuple(
            (
                entry(row.driver + (" *" if row.total.get("deterministic", 0) == len(row.case) else "")),
                entry(_mean(row)),
                entry(_ends(row.ends())),
                *(entry(row.likelihood.get(name)) for name in names),
                *(entry(row.total.get(name, 0)) for name in ("cars", "areas")),
                entry(len(row.case)),
            )
            for row in ordered
        ),
    )


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    if any(row.total.get("deterministic", 0) == len(row.case) for row in rows):
        yield "* deterministic: driven once, repeated"
    for row in rows:
        if row.altered:
            yield f"{row.driver}: {row.altered} cases left out, altered starts or nobody to judge"
        if row.total.get("left_out", 0):
            yield f"{row.driver}: {row.total['left_out']} cars left out, not present for 1 s in every roll-out"
    for row in rows:
        base = next((r for r in rows if r.driver == BASELINE and r.basis == row.basis and r.seed == row.seed), None)
        if base is not None and base is not row and set(base.case) & set(row.case):
            found = difference_of(row, base)
            yield f"{row.driver} - {base.driver}: {found.estimate:+.3f} {_ends((found.low, found.high), '+')}"


def _basis_text(row: Row) -> str:
    """What all rows of a block have in common."""
    cast = ", listed cars only" * (row.cast == "listed")
    weights = ", weights of cars that steer" * (row.basis[-1] > 0)
    return f"{TITLES[row.judged]}{cast}, {row.roll_outs} roll-outs{weights}"


def _mean(row: Row) -> float:
    return float(row.score.mean()) if row.score.size else math.nan


def _ends(ends: tuple[float, float], sign: str = "") -> str:
    return "" if math.isnan(ends[0]) else f"[{ends[0]:{sign}.3f}, {ends[1]:{sign}.3f}]"


def difference(results: Results, a: str, b: str, *, judged: str = TRAFFIC, roll_outs: int | None = None) -> Difference:
    """A minus B, see :func:`difference_of`.

    Args:
        results: of a realism run.
        a: driver.
        b: driver.
        judged: ``traffic`` or ``ego``.
        roll_outs: only rows of this number of roll-outs.
    """
    rows = [row for row in rows_of(results.frame()) if row.judged == judged and roll_outs in (None, row.roll_outs)]
    return difference_of(*(_called(rows, name) for name in (a, b)))


def _called(rows: Sequence[Row], name: str) -> Row:
    found = [row for row in rows if row.driver == name]
    if not found:
        raise UnknownNameError("driver of these results", name, [row.driver for row in rows])
    if len(found) > 1:
        raise UsageError(
            f"{name} was judged more than once",
            where=name,
            found=", ".join(f"{row.roll_outs} roll-outs, seed {row.seed}" for row in found),
            hint="roll_outs=...",
        )
    return found[0]


class RealismSection(Section):
    """Table ``leaderboard``."""

    kind = "realism"
    title = "Realism"
    tables = ("leaderboard",)

    def table(self, results: Results, name: str, **choices: Any) -> Table:
        """See :func:`leaderboard`."""
        checked_name("table", name, self.tables)
        return with_choices(leaderboard, choices, results)

    def frame(self, results: Results) -> pl.DataFrame:
        """All measurements; of several cells of one case and driver only those that were asked for last."""
        frame = super().frame(results)
        if frame.is_empty():
            return frame
        asked = [key for plan in results.store.plans() if self.kind in plan.kinds for key in plan.keys]
        place = pl.col("key").replace_strict({key: n for n, key in enumerate(asked)}, default=-1)
        last = frame.with_columns(place.alias("_place")).sort("_place", maintain_order=True)
        names = ["judged", "driver", "cast", "roll_outs", "seed", "case"]
        return last.filter(pl.col("_place") == pl.col("_place").max().over(names)).drop("_place")

    def origin(self, results: Results) -> str:
        """Whether the reference traffic was recorded."""
        return banner(REFERENCE, _origins(results))

    def compare(self, results: Results, a: str, b: str, **choices: Any) -> Difference:
        """See :func:`difference`."""
        return with_choices(difference, choices, results, a, b)

    def overview(self, results: Results, limits: PageLimits) -> Overview:
        """The table, and every case with every driver."""
        return Overview(blocks=(self.table(results, ""),), cells="Cases")


REALISM = RealismSection()
