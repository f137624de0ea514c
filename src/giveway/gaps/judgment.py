"""How differences are judged: switches of the protocol that act on finished results.

``ddof`` and ``critical_bound`` change no cell. The plan of a run keeps them, so a table follows what was asked for
last, whether it came from a profile or was set alone; a report may also be asked to judge otherwise.
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
from giveway.metrics import PAPER_FORMS, PRINTED_FORMS, profile_metric
from giveway.stats.paired import PairedTest, Profile, critical_bound, critical_split_test, paired_t_test

RULES: tuple[Profile, ...] = ("paper", "clean")
"""Values of ``critical_bound`` that stand for a rule; a number is the bound itself."""


def is_published_test(profile: str) -> bool:
    """Whether a profile judges by the paired t-test of the publications instead of the corrected one."""
    return profile in ("paper", "printed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """Attributes:
    profile: ``paper`` and ``printed`` use the paired t-test for marks (eq. 26), ``clean`` the corrected resampled one.
    ddof: divisor of deviations over splits: 0 divides by their number R, 1 by R - 1.
    critical_bound: deviations by which a difference on the critical split must exceed zero, or the rule for it.
    """

    profile: str
    ddof: int
    critical_bound: Profile | float

    def deviation(self, values: FloatArray) -> float:
        """Over splits; NaN with too few of them."""
        return float(values.std(ddof=self.ddof)) if values.size > self.ddof else float("nan")

    def bound(self, num_splits: int) -> float:
        """On the critical split, for this number of random ones; NaN with fewer than two."""
        if num_splits < 2:
            return float("nan")
        given = self.critical_bound
        return critical_bound(given, num_splits) if isinstance(given, str) else given

    def t_test(self, difference: FloatArray) -> PairedTest:
        """Published paired t-test; the divisor changes statistic and bound alike."""
        return paired_t_test(difference, ddof=self.ddof)

    def critical_test(self, gap: float, difference: FloatArray) -> PairedTest:
        """Difference on the critical split against the deviation over random splits."""
        bound = self.critical_bound
        if isinstance(bound, str):
            return critical_split_test(gap, difference, profile=bound)
        test = critical_split_test(gap, difference)
        return replace(
            test,
            name=f"critical-split bound ({bound:g})",
            bound=bound,
            significant=test.statistic > bound,
            p_value=float(np.nan),
        )


DEFAULTS = {
    "paper": Judgment(profile="paper", ddof=0, critical_bound="paper"),
    "printed": Judgment(profile="printed", ddof=0, critical_bound="paper"),
    "clean": Judgment(profile="clean", ddof=1, critical_bound="clean"),
}


def judgment_of(frame: pl.DataFrame, profile: str, changes: Mapping[str, Any] | None = None) -> Judgment:
    """The switches that were asked for with these results.

    Args:
        frame: rows of one profile; their column ``switches`` (JSON), if there is one, decides, else the profile's name;
            see :func:`giveway.gaps.frame.gap_frame`.
        profile: of the rows.
        changes: ``ddof`` or ``critical_bound`` to use instead.

    Raises:
        UsageError: if the rows disagree, or a change makes no sense.
    """
    judgment = DEFAULTS.get(profile, DEFAULTS["clean"])
    found: set[tuple[int, Profile | float]] = set()
    if "switches" in frame.columns:
        for text in frame["switches"].drop_nulls().unique():
            switches: dict[str, Any] = json.loads(text)
            if {"ddof", "critical_bound"} <= switches.keys():
                found.add((int(switches["ddof"]), _bound(switches["critical_bound"])))
    changes = dict(changes or {})
    if len(found) > 1 and not {"ddof", "critical_bound"} <= changes.keys():
        raise UsageError(
            "the results were run with different switches",
            where="ddof, critical_bound",
            found="; ".join(sorted(f"{d}, {b}" for d, b in found)),
            hint="choose with --set ddof=1 --set critical_bound=clean",
        )
    if found:
        (ddof, bound), *_ = found
        judgment = replace(judgment, profile=profile, ddof=ddof, critical_bound=bound)
    return replace(judgment, **_checked(changes))


def metric_form(frame: pl.DataFrame, name: str, profile: str) -> str:
    """The form of a metric that the results hold: that of the profile, or the other one if only that was computed."""
    wanted = profile_metric(name, profile)
    if "metric" not in frame.columns:
        return wanted
    held = set(frame["metric"].drop_nulls().unique())
    others = (name, *(forms[name] for forms in (PAPER_FORMS, PRINTED_FORMS) if name in forms))
    return wanted if wanted in held else next((other for other in others if other in held), wanted)


def _checked(changes: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in changes.items():
        if name not in ("ddof", "critical_bound"):
            raise UnknownNameError("switch of a finished run", name, ("ddof", "critical_bound"), where="--set")
        if name == "critical_bound" and value in RULES:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or (name == "ddof" and value not in (0, 1)) or not 0 <= value < 1e6:
            raise UsageError(
                f"{name} cannot be {value!r}",
                where="--set",
                found=value,
                hint="ddof is 0 or 1, critical_bound is paper, clean or a positive number",
            )
    return {name: int(value) if name == "ddof" else _bound(value) for name, value in changes.items()}


def _bound(value: Any) -> Profile | float:
    return value if value in RULES else float(value)
