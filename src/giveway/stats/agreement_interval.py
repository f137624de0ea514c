"""An interval of kappa and the words that belong to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["clips", "raters", "both"]
Method = Literal["bootstrap", "jackknife"]

LABELS: dict[Unit, str] = {
    "both": "over clips and raters",
    "clips": "over clips, for these raters only",
    "raters": "over raters, for these clips only",
}
"""What an interval speaks about: both are samples, so an interval over one of them holds the other fixed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval of kappa.

    Attributes:
        low: lower end; NaN if it is not defined.
        high: upper end.
        level: nominal coverage, e.g. 0.95.
        over: what is taken as a sample.
        label: the same in words, with what it is conditional on.
        method: percentile bootstrap, or jackknife with a t quantile.
        draws: bootstrap draws made; 0 for the jackknife.
        undefined: draws (jackknife: values with one unit left out) without a kappa. Draws are left out; one such value
            makes the jackknife undefined.
        standard_error: of the jackknife; NaN for the bootstrap.
        note: what a reader should know of this interval, else empty.
    """

    low: float
    high: float
    level: float
    over: Unit
    label: str
    method: Method
    draws: int
    undefined: int
    standard_error: float = float("nan")
    note: str = ""

    @property
    def how(self) -> str:
        """The method in words."""
        ways = "two-way " if self.over == "both" else ""
        return f"{ways}jackknife" if self.method == "jackknife" else f"{ways}bootstrap, {self.draws} draws"
