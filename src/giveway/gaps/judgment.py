"""How differences are judged: switches of the protocol that act on finished results.

``ddof`` and ``critical_bound`` are kept with every cell, so a table follows the switches its results were run
with, whether they came from a profile or were set alone; a report may also be asked to judge otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from giveway.core.arrays import FloatArray
from giveway.core.errors import UnknownNameError, UsageError
from giveway.metrics import PAPER_FORMS, profile_metric
from giveway.stats.paired import PairedTest, Profile, critical_bound, critical_split_test, paired_t_test

BOUNDS: dict[float, Profile] = {2.92: "paper", 1.92: "clean"}
"""Values of the switch that stand for a rule; any other value is the bound itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """Attributes:
    profile: ``paper`` uses the paired t-test for marks, ``clean`` the corrected resampled one.
    ddof: divisor of deviations over splits: 0 divides by their number R, 1 by R - 1.
    critical_bound: deviations by which a difference on the critical split must exceed zero.
    """

    profile: str
    ddof: int
    critical_bound: float

    def deviation(self, values: FloatArray) -> float:
        """Over splits; NaN with too few of them."""
        return float(values.std(ddof=self.ddof)) if values.size > self.ddof else float("nan")

    def bound(self, num_splits: int) -> float:
        """On the critical split, for this number of random ones; NaN with fewer than two."""
        if num_splits < 2:
            return float("nan")
        rule = BOUNDS.get(self.critical_bound)
        return self.critical_bound if rule is None else critical_bound(rule, num_splits)

    def t_test(self, difference: FloatArray) -> PairedTest:
        """Published paired t-test; the divisor changes statistic and bound alike."""
        return paired_t_test(difference, ddof=self.ddof)

    def critical_test(self, gap: float, difference: FloatArray) -> PairedTest:
        """Difference on the critical split against the deviation over random splits."""
        rule = BOUNDS.get(self.critical_bound)
        if rule is not None:
            return critical_split_test(gap, difference, profile=rule)
        test = critical_split_test(gap, difference)
        return replace(
            test,
            name=f"critical-split bound ({self.critical_bound:g})",
            bound=self.critical_bound,
            significant=test.statistic > self.critical_bound,
            p_value=float(np.nan),
        )


DEFAULTS = {
    "paper": Judgment(profile="paper", ddof=0, critical_bound=2.92),
    "clean": Judgment(profile="clean", ddof=1, critical_bound=1.92),
}


def judgment_of(frame: pl.DataFrame, profile: str, changes: Mapping[str, Any] | None = None) -> Judgment:
    """The switches these results were run with.

    Args:
        frame: rows of one profile; their column ``switches`` (JSON) decides, else the profile's name.
        profile: of the rows.
        changes: ``ddof`` or ``critical_bound`` to use instead.

    Raises:
        UsageError: if the rows disagree, or a change makes no sense.
    """
    judgment = DEFAULTS.get(profile, DEFAULTS["clean"])
    found: set[tuple[int, float]] = set()
    if "switches" in frame.columns:
        for text in frame["switches"].drop_nulls().unique():
            switches: dict[str, Any] = json.loads(text)
            if {"ddof", "critical_bound"} <= switches.keys():
                found.add((int(switches["ddof"]), float(switches["critical_bound"])))
    changes = dict(changes or {})
    if len(found) > 1 and not {"ddof", "critical_bound"} <= changes.keys():
        raise UsageError(
            "the results were run with different switches",
            where="ddof, critical_bound",
            found="; ".join(f"{d}, {b:g}" for d, b in sorted(found)),
            hint="choose with --set ddof=1 --set critical_bound=1.92",
        )
    if found:
        ddof, bound = min(found)
        judgment = replace(judgment, profile=profile, ddof=ddof, critical_bound=bound)
    return replace(judgment, **_checked(changes))


def metric_form(frame: pl.DataFrame, name: str, profile: str) -> str:
    """The form of a metric that the results hold: that of the profile, or the other one if only that was computed."""
    wanted = profile_metric(name, profile)
    if "metric" not in frame.columns:
        return wanted
    held = set(frame["metric"].drop_nulls().unique())
    other = PAPER_FORMS.get(name) if wanted == name else name
    return other if wanted not in held and other in held and other is not None else wanted


def _checked(changes: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in changes.items():
        if name not in ("ddof", "critical_bound"):
            raise UnknownNameError("switch of a finished run", name, ("ddof", "critical_bound"), where="--set")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or (name == "ddof" and value not in (0, 1)) or not 0 <= value < 1e6:
            raise UsageError(
                f"{name} cannot be {value!r}",
                where="--set",
                found=value,
                hint="ddof is 0 or 1, critical_bound a positive number",
            )
    return {name: int(value) if name == "ddof" else float(value) for name, value in changes.items()}
