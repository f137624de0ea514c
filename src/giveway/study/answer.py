"""The answer of a rating study: how real conditions look, and how far raters agree."""

from __future__ import annotations

from collections.abc import Sequence

from giveway.reports.content import Answer
from giveway.reports.live_charts import Rated, Ratings
from giveway.study.analysis import Analysis

QUESTION = "Do people find the traffic realistic?"


def study_answer(analysis: Analysis, options: Sequence[str]) -> Answer:
    """Ratings of every condition around the middle answer; differences to the reference in words."""
    shown = analysis.kept or analysis.everybody
    rows = [
        Rated(name=c.condition.replace("_", " "), counts=tuple(map(int, c.counts)), mean=c.mean.value, low=c.mean.low,
              high=c.mean.high, note=f"{c.num_clips} clip{'' if c.num_clips == 1 else 's'}")
        for c in shown.conditions
    ]  # fmt: skip
    chosen = next((d for d in shown.differences if "broken" not in d.condition), next(iter(shown.differences), None))
    foot = [f"{shown.num_raters} raters, {shown.num_ratings} ratings"]
    sentence = f"{rows[0].name.capitalize()} is rated {rows[0].mean:.2f}." if rows else "No ratings yet."
    if chosen is not None:
        d, what = chosen.mean, chosen.condition.replace("_", " ").capitalize()
        against = analysis.reference.replace("_", " ")
        way = "below" if d.value < 0 else "above"
        zero = "includes" if d.low <= 0 <= d.high else "excludes"
        sentence = f"{what} traffic is rated {abs(d.value):.2f} {way} {against}; the interval {zero} zero."
        foot.append(f"difference [{d.low:+.2f}, {d.high:+.2f}]")
    if (agreement := shown.agreement) is not None:
        kappa = agreement.kappa_as_printed if agreement.profile == "printed" else agreement.kappa_corrected
        interval = agreement.main_interval
        ends = f" [{interval.low:.2f}, {interval.high:.2f}]" if interval else ""
        foot.append(f"agreement κ {kappa:.2f}{ends}")
    return Answer(
        question=QUESTION,
        sentence=sentence,
        chart=Ratings(rows=rows, options=list(options), alt="Distribution of ratings per condition") if rows else None,
        foot="; ".join(foot),
        badges=("simulated raters",) if analysis.simulated else (),
    )
