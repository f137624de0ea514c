"""The numbers of a study as tables, and all of them as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from giveway.core.origins import banner
from giveway.reports.table import Block, Column, Entry, Table, entry
from giveway.stats.agreement_interval import Interval
from giveway.stats.agreement_summary import AgreementSummary
from giveway.study.analysis import Analysis, Estimate, Results
from giveway.study.simulated import BANNER

COLORS = ("#b35806", "#f1a340", "#c9ccd0", "#998ec3", "#542788")
"""From unrealistic (orange) to realistic (purple); distinct with every kind of color blindness."""
BAND_RULES = {"printed": "as printed, of the value rounded to two decimals", "half_open": "half-open"}


def text_report(analysis: Analysis) -> str:
    """The main tables for a terminal."""
    lines = [
        *said_first(analysis),
        "raters by step: " + ", ".join(f"{step} {n}" for step, n in analysis.by_step.items()),
    ]
    if analysis.design_changed:
        lines.append("warning: study.toml was changed after the study was opened")
    lines += ["", _text(exclusions_table(analysis))]
    for title, results in parts_of(analysis):
        lines += ["", f"{title}: {results.num_raters} raters, {results.num_ratings} ratings"]
        lines.append(_text(conditions_table(results)))
        if results.differences:
            lines += ["", _text(differences_table(results))]
        lines += ["", _text(agreement_table(results))]
        if results.agreement is not None:
            lines += ["", "  " + agreement_notes(results.agreement)]
    lines += [
        "",
        "agreement is not evidence of realism; the value as printed counts each rater as agreeing with himself",
    ]
    return "\n".join(lines)


def said_first(analysis: Analysis) -> list[str]:
    """What has to be known before any number: who rated, and what was shown where it was not recorded traffic."""
    shown = dict.fromkeys(origin for origins in analysis.origins.values() for origin in origins)
    said = banner("what raters saw", shown) if analysis.origins else ""
    by_condition = "; ".join(f"{name}: {', '.join(origins)}" for name, origins in analysis.origins.items())
    return [
        *([BANNER] if analysis.simulated else []),
        *([f"{said} Origin of the rated vehicle by condition: {by_condition}."] if said else []),
    ]


def parts_of(analysis: Analysis) -> list[tuple[str, Results]]:
    """Results after exclusions, if anybody is left, and without them."""
    parts = [("Without exclusions", analysis.everybody)]
    if analysis.kept is not None:
        parts.insert(0, ("After exclusions", analysis.kept))
    return parts


def exclusions_table(analysis: Analysis) -> Table:
    """How many raters each declared rule excludes."""
    rows = [
        (entry(rule.rule), entry("off" if rule.threshold is None else f"{rule.threshold:g}"), entry(len(rule.raters)))
        for rule in analysis.exclusions
    ]
    total = (entry("any rule"), entry(""), entry(analysis.num_excluded))
    return _table("exclusions", ("rule", "declared", "raters excluded"), [*rows, total])


def conditions_table(results: Results) -> Table:
    """Ratings of every condition."""
    rows = (
        (entry(c.condition), entry(c.num_clips), entry(c.num_ratings), _estimate(c.mean), _estimate(c.share_realistic))
        for c in results.conditions
    )
    return _table("conditions", ("condition", "clips", "ratings", "mean rating", "share realistic"), rows)


def differences_table(results: Results) -> Table:
    """Every condition minus the reference."""
    rows = ((entry(f"{d.condition} − {d.reference}"), _clear(d.mean), _clear(d.effect)) for d in results.differences)
    return _table("differences", ("difference", "of means", "mixed model [logit]"), rows, notes=(model_text(results),))


def agreement_table(results: Results) -> Table:
    """Agreement over all clips and without those whose motion is broken, and of raters with themselves."""
    found = (("all clips", results.agreement), ("without broken", results.agreement_without_anchors))
    table = kappa_table([(title, summary) for title, summary in found if summary is not None])
    if not results.repeats:
        return table
    same = f"{results.repeat_same:.2f} the same, mean shift {results.repeat_mean_shift:+.2f}"
    row = (entry(f"{results.repeats} repeats"), entry(same), *[entry("")] * 5)
    return replace(table, blocks=(replace(table.blocks[0], rows=(*table.blocks[0].rows, row)),))


def kappa_table(found: Sequence[tuple[str, AgreementSummary]]) -> Table:
    """The main kappa first: corrected, or as printed for the printed form; the interval is of the corrected one."""
    is_printed = bool(found) and found[0][1].profile == "printed"

    def ordered(corrected: Iterable[str], printed: str) -> list[str]:
        return [printed, *corrected] if is_printed else [*corrected, printed]

    rows: list[list[Entry]] = []
    for title, summary in found:
        for interval in summary.intervals or (None,):
            corrected = (_number(summary.kappa_corrected), *_interval(interval))
            kappas = ordered(corrected, _number(summary.kappa_as_printed))
            rows.append([entry(text) for text in (title, *kappas, _number(summary.ac2), _number(summary.alpha))])
    heads = ordered(("kappa corrected", "its 95 % interval", "over what"), "kappa as printed")
    notes = tuple(f"{title}: {agreement_notes(summary)}" for title, summary in found)
    return _table("agreement", ("agreement", *heads, "AC2", "alpha"), rows, notes=notes)


def agreement_notes(summary: AgreementSummary) -> str:
    """The band as a footnote, by which rule and of which kappa, and what a reader should know."""
    which = "as printed" if summary.profile == "printed" else "corrected"
    notes = "; ".join(summary.warnings) or "none"
    return (
        f"Landis and Koch would say “{summary.band}” of kappa {which} (bands {BAND_RULES[summary.band_rule]}). "
        f"Notes: {notes}."
    )


def model_text(results: Results) -> str:
    """What the mixed model is and how it fits, or why there is none."""
    model = results.model
    if model is None:
        return f"Cumulative-link mixed model: {results.model_note}."
    return (
        "Cumulative-link mixed model (logit, crossed random effects of raters and clips, Laplace approximation): "
        f"standard deviation of raters {model.rater_sd:.2f}, of clips {model.clip_sd:.2f}, "
        f"log-likelihood {model.log_likelihood:.1f}. {results.model_note}"
    )


def _table(name: str, heads: Sequence[str], rows: Iterable[Sequence[Entry]], *, notes: tuple[str, ...] = ()) -> Table:
    columns = tuple(Column(head=head, left=True) for head in heads)
    block = Block(columns=columns, rows=tuple(tuple(row) for row in rows), indent=2)
    return Table(title=f"Study: {name}", blocks=(block,), notes=notes)


def _text(table: Table) -> str:
    """Without the notes, which a terminal shows once."""
    return Table(title="", blocks=table.blocks).text().rstrip("\n")


def _interval(interval: Interval | None) -> tuple[str, str]:
    """Ends, and what they speak about."""
    if interval is None:
        return "–", ""
    return f"{_number(interval.low)} to {_number(interval.high)}", f"{interval.label} ({interval.how})"


def _number(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.3f}"


def _clear(found: Estimate | None) -> Entry:
    """A difference, marked where its interval excludes zero."""
    if found is None:
        return Entry()
    return replace(_estimate(found), mark="best" if found.low > 0 or found.high < 0 else "")


def _estimate(found: Estimate) -> Entry:
    text = f"{_number(found.value)} ({_number(found.low)} to {_number(found.high)})"
    return entry(found.value, text=text)
