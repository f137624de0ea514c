"""What became of the candidates of an extraction: counts, examples, the order check, warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from giveway.core.arrays import IntArray, StrArray
from giveway.core.errors import DataError
from giveway.core.samples import GapSamples
from giveway.gaps.admission import REASON_CODES, WHY_UNDECIDED, Admission
from giveway.gaps.order import MAX_REVERSED, VERDICTS, counts_of, too_many_reversed
from giveway.gaps.raw import RawGaps
from giveway.gaps.times import GapTimes

NUM_EXAMPLES = 5
"""Samples that are named per reason."""

PLAUSIBLE_DELTA_T_S = (0.8, 8.0)
MAX_CAPPED, MAX_PER_TARGET = 0.01, 0.10
MIN_CLASS = 20
PLAUSIBLE_SHARE = (0.05, 0.95)
SECTOR_DEG = (0.0, 30.0)
MAX_OFF_CIRCLE_M = 2.0
"""Beyond these an extraction warns; they are ours, not published."""


def _no_counts() -> Mapping[str, int]:
    return {}


def _no_examples() -> Mapping[str, tuple[str, ...]]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionReport:
    """What became of the candidates.

    Attributes:
        dataset: name of the extraction.
        choice: prediction time.
        num_input: n_I.
        num_candidates: gaps found, before any rule.
        num_accepted, num_rejected: samples kept.
        dropped: reason to count, in the order of the rules.
        delta_t_s: gap size of constant prediction times; None for the others.
        num_capped: samples whose horizon was cut.
        notes: what people should know.
        why_undecided: sub-reason to count, of ``no_decision``.
        order: verdict of the order check to count, of the samples kept.
        examples: reason, sub-reason or verdict to ids of up to five samples.
        warnings: what makes the samples doubtful.
    """

    dataset: str
    choice: str
    num_input: int
    num_candidates: int
    num_accepted: int
    num_rejected: int
    dropped: Mapping[str, int]
    delta_t_s: float | None
    num_capped: int
    notes: tuple[str, ...] = ()
    why_undecided: Mapping[str, int] = field(default_factory=_no_counts)
    order: Mapping[str, int] = field(default_factory=_no_counts)
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=_no_examples)
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {
            k: dict(v) if isinstance(v, Mapping) else list(v) if isinstance(v, tuple) else v for k, v in values.items()
        }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return list(value) if isinstance(value, tuple) else value


def drop_report(
    raw: RawGaps, times: GapTimes, admission: Admission, why: IntArray
) -> tuple[dict[str, int], dict[str, int], dict[str, int], dict[str, tuple[str, ...]]]:
    """Counts of drop reasons, of sub-reasons and of verdicts, and examples of all of them."""
    dropped = {r: int((admission.reason == c).sum()) for r, c in REASON_CODES.items() if c}
    undecided = admission.reason == REASON_CODES["no_decision"]
    examples = {r: _named(raw.sample_id, admission.reason == c) for r, c in REASON_CODES.items() if c}
    sub: dict[str, int] = {}
    for code, name in enumerate(WHY_UNDECIDED):
        sub[name] = int((undecided & (why == code)).sum())
        examples[name] = _named(raw.sample_id, undecided & (why == code))
    order: dict[str, int] = {}
    if raw.orders is not None:
        verdicts = np.where(admission.reason == 0, raw.orders.verdicts(times.is_accepted), -1)
        order = dict(counts_of(verdicts))
        examples |= {v: _named(raw.sample_id, verdicts == c) for c, v in enumerate(VERDICTS) if v != "agrees"}
    return dropped, sub, order, {name: ids for name, ids in examples.items() if ids}


def _named(ids: StrArray, where: IntArray) -> tuple[str, ...]:
    return tuple(str(name) for name in ids[np.flatnonzero(where)[:NUM_EXAMPLES]])


def warnings_of(
    samples: GapSamples, raw: RawGaps, kept: IntArray, *, delta_t_s: float | None, num_capped: int
) -> tuple[str, ...]:
    """What makes samples doubtful, one sentence each."""
    total = samples.num_samples
    said: list[str] = []
    low, high = PLAUSIBLE_DELTA_T_S
    if delta_t_s is not None and not low <= delta_t_s <= high:
        said.append(f"Delta_t = {delta_t_s:.2f} s is outside {low} to {high} s: look at what is taken for a gap")
    if total == 0:
        return tuple(said)
    if num_capped > MAX_CAPPED * total:
        said.append(f"{num_capped} of {total} horizons are cut to the cap: many E stand or drive away")
    accepted = int(samples.truth.accepted.sum())
    if min(accepted, total - accepted) < MIN_CLASS:
        said.append(f"only {accepted} accepted and {total - accepted} rejected gaps, fewer than {MIN_CLASS} of a class")
    share = accepted / total
    if not PLAUSIBLE_SHARE[0] <= share <= PLAUSIBLE_SHARE[1]:
        said.append(f"{share:.1%} of the gaps are accepted: a model that always says the same is hard to beat")
    names, counts = np.unique(samples.group, return_counts=True)
    if counts.max() > MAX_PER_TARGET * total:
        who, share = names[int(counts.argmax())], counts.max() / total
        said.append(f"T {who} gives {share:.0%} of the samples")
    return (*said, *_circle_warnings(raw, kept))


def _circle_warnings(raw: RawGaps, kept: IntArray) -> list[str]:
    """Where the published sector, around the angle of T's approach, misses the points at which T really enters."""
    if "entry_rad" not in raw.constants:
        return []
    known = kept[np.isfinite(raw.constants["entry_rad"][kept])]
    if len(known) == 0:
        return []
    said: list[str] = []
    angle = np.degrees(raw.constants["entry_rad"][known])
    low, high = np.quantile(angle, (0.1, 0.9))
    if low < SECTOR_DEG[0] or high > SECTOR_DEG[1]:
        said.append(
            f"T enters at {np.median(angle):.0f} degrees ({low:.0f} to {high:.0f}), the published sector is "
            f"{SECTOR_DEG[0]:.0f} to {SECTOR_DEG[1]:.0f}: use contested_place=paths"
        )
    off = abs(float(np.median((raw.constants["entry_radius_m"] - raw.constants["radius_m"])[known])))
    if off > MAX_OFF_CIRCLE_M:
        said.append(f"T enters {off:.1f} m off the fitted circle in the median: use contested_place=paths")
    return said


def report_line(report: ExtractionReport) -> str:
    """The order check in words, and why candidates have no decision."""
    order = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in report.order.items() if n) or "nothing to compare"
    why = ", ".join(f"{n} {name}" for name, n in report.why_undecided.items() if n)
    return f"order of passage: {order}" + (f"; no_decision: {why}" if why else "")


def check_order(report: ExtractionReport) -> None:
    """Refuse samples whose labels contradict the tracks.

    Raises:
        DataError: if more than 1 % of the observed labels are reversed.
    """
    if not report.order or not too_many_reversed(report.order):
        return
    observed = report.order["agrees"] + report.order["reversed"]
    names = report.examples["reversed"][:3]
    raise DataError(
        f"{report.order['reversed']} of {observed} labels contradict the order in which T and E passed "
        f"(at most {MAX_REVERSED:.0%} may)",
        where=f"{report.dataset}, {report.choice} gaps",
        found="; ".join(names),
        hint=f"look at them: giveway gaps show {names[0]}; places from the paths: --set contested_place=paths; only "
        "count: --set order_check=report",
    )
