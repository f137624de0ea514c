"""The difference of two things that were measured, with an interval."""

from __future__ import annotations

import html
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A minus B with a 95 % interval.

    Attributes:
        first: A.
        second: B.
        metric: what was measured.
        estimate: of A minus B; NaN if undefined.
        low, high: ends of the interval.
        note: how the interval was made.
    """

    first: str
    second: str
    metric: str
    estimate: float
    low: float
    high: float
    note: str = ""

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval lies on one side of zero."""
        return self.low > 0 or self.high < 0

    def text(self) -> str:
        """One line."""
        note = f" ({self.note})" if self.note else ""
        numbers = f"{self.estimate:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"
        return f"{self.first} - {self.second}, {self.metric}: {numbers}{note}\n"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.text())}</p>"
