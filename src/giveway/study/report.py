"""The results as text for a terminal and as one HTML file that opens from disk and asks no host for anything."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from giveway import __version__
from giveway.core.origins import banner
from giveway.stats.agreement_interval import Interval
from giveway.stats.agreement_summary import AgreementSummary
from giveway.study.analysis import Analysis, ConditionSummary, Estimate, Results
from giveway.study.simulated import BANNER
from giveway.study.workspace import Study, utc_now

COLORS = ("#b35806", "#f1a340", "#c9ccd0", "#998ec3", "#542788")
"""From unrealistic (orange) to realistic (purple); told apart with every kind of color blindness."""
Rows = list[list[str]]

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1c1e21; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1rem; }
th, td { border-bottom: 1px solid #d5d7da; padding: 0.3rem 1rem 0.3rem 0; text-align: left; }
th { color: #4d5359; font-size: 0.85rem; }
td { font-variant-numeric: tabular-nums; }
.note { color: #4d5359; font-size: 0.9rem; }
.warn { background: #fff3d6; border-left: 4px solid #b27a00; padding: 0.5rem 0.75rem; }
.key span { margin-right: 1rem; white-space: nowrap; }
.key svg { display: inline; }
svg { display: block; max-width: 100%; }
.scroll { overflow-x: auto; }
"""
HEAD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)
METHODS = (
    "Intervals: 95 %, over raters and clips together: percentile cluster bootstrap; for kappa below 20 clips or 20 "
    "raters the two-way jackknife. "
    "Agreement is reported, but it is not evidence of realism. The kappa as printed counts every rater as agreeing "
    "with himself and is shown for comparison with published values only."
)

BAND_RULES = {"printed": "as printed, of the value rounded to two decimals", "half_open": "half-open"}


def text_report(analysis: Analysis) -> str:
    """The main tables for a terminal."""
    lines = [
        *said_first(analysis),
        "raters by step: " + ", ".join(f"{step} {n}" for step, n in analysis.by_step.items()),
    ]
    if analysis.design_changed:
        lines.append("warning: study.toml was changed after the study was opened")
    lines += ["", *_align(_exclusion_rows(analysis))]
    for title, results in _parts(analysis):
        lines += ["", f"{title}: {results.num_raters} raters, {results.num_ratings} ratings"]
        lines += _align(_condition_rows(results))
        if results.differences:
            lines += ["", *_align(_difference_rows(results))]
        lines += ["", *_align(_agreement_rows(results))]
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


def html_report(study: Study, analysis: Analysis) -> str:
    """A self-contained page."""
    design = study.design
    heading = f"{'Simulated raters: ' if analysis.simulated else ''}{design.title}"
    parts = [
        f"<h1>{html.escape(heading)}</h1>",
        *(f'<p class="warn">{html.escape(text)}</p>' for text in said_first(analysis)),
        f'<p class="note">Study {html.escape(design.id)}, declaration {design.fingerprint}, giveway {__version__}, '
        f"{utc_now()[:16].replace('T', ' ')} UTC. Question: {html.escape(design.question)}</p>",
    ]
    if analysis.design_changed:
        parts.append('<p class="warn">The study file was changed after the study was opened.</p>')
    parts += ["<h2>Raters</h2>", _table([["step", "raters"], *([s, str(n)] for s, n in analysis.by_step.items())])]
    parts += ["<h2>Exclusions, declared before data collection</h2>", _table(_exclusion_rows(analysis))]
    for title, results in _parts(analysis):
        parts.append(f"<h2>{title}: {results.num_raters} raters, {results.num_ratings} ratings</h2>")
        parts.append(_distributions(results.conditions, design.options))
        parts.append(_table(_condition_rows(results)))
        if results.differences:
            parts.append(_table(_difference_rows(results)))
        parts.append(f'<p class="note">{html.escape(_model_text(results))}</p>')
        parts.append(f"<h3>Agreement</h3>{_table(_agreement_rows(results))}")
        for summary in (results.agreement, results.agreement_without_anchors):
            if summary is not None:
                parts.append(f'<p class="note">{html.escape(agreement_notes(summary))}</p>')
    parts.append(f'<p class="note">{METHODS}</p>')
    title = f"<title>{html.escape(heading)}</title><style>{STYLE}</style></head>"
    return f"{HEAD}{title}<body>{''.join(parts)}</body></html>\n"


def _parts(analysis: Analysis) -> list[tuple[str, Results]]:
    parts = [("Without exclusions", analysis.everybody)]
    if analysis.kept is not None:
        parts.insert(0, ("After exclusions", analysis.kept))
    return parts


def _exclusion_rows(analysis: Analysis) -> Rows:
    rows = [["rule", "declared", "raters excluded"]]
    for rule in analysis.exclusions:
        declared = "off" if rule.threshold is None else f"{rule.threshold:g}"
        rows.append([rule.rule, declared, str(len(rule.raters))])
    return [*rows, ["any rule", "", str(analysis.num_excluded)]]


def _condition_rows(results: Results) -> Rows:
    rows = [["condition", "clips", "ratings", "mean rating", "share realistic"]]
    for c in results.conditions:
        rows.append([c.condition, str(c.num_clips), str(c.num_ratings), _format(c.mean), _format(c.share_realistic)])
    return rows


def _difference_rows(results: Results) -> Rows:
    rows = [["difference", "of means", "mixed model [logit]"]]
    for d in results.differences:
        effect = "–" if d.effect is None else _format(d.effect)
        rows.append([f"{d.condition} − {d.reference}", _format(d.mean), effect])
    return rows


def _agreement_rows(results: Results) -> Rows:
    """The main kappa first: corrected, or as printed for the printed form; the interval is of the corrected one."""
    is_printed = results.agreement is not None and results.agreement.profile == "printed"
    corrected, printed = ["kappa corrected", "its 95 % interval", "over what"], ["kappa as printed"]
    rows = [["agreement", *(printed + corrected if is_printed else corrected + printed), "AC2", "alpha"]]
    for title, summary in (("all clips", results.agreement), ("without broken", results.agreement_without_anchors)):
        if summary is None:
            continue
        others = [_number(summary.ac2), _number(summary.alpha)]
        for interval in summary.intervals or (None,):
            corrected, printed = (
                [_number(summary.kappa_corrected), *_interval(interval)],
                [_number(summary.kappa_as_printed)],
            )
            rows.append([title, *(printed + corrected if is_printed else corrected + printed), *others])
    if results.repeats:
        same = f"{results.repeat_same:.2f} the same, mean shift {results.repeat_mean_shift:+.2f}"
        rows.append([f"{results.repeats} repeats", same, "", "", "", "", ""])
    return rows


def _interval(interval: Interval | None) -> list[str]:
    """Ends, and what they speak about."""
    if interval is None:
        return ["–", ""]
    return [f"{_number(interval.low)} to {_number(interval.high)}", f"{interval.label} ({interval.how})"]


def agreement_notes(summary: AgreementSummary) -> str:
    """The band as a footnote, by which rule and of which kappa, and what a reader should know."""
    which = "as printed" if summary.profile == "printed" else "corrected"
    notes = "; ".join(summary.warnings) or "none"
    return (
        f"Landis and Koch would say “{summary.band}” of kappa {which} (bands {BAND_RULES[summary.band_rule]}). "
        f"Notes: {notes}."
    )


def _model_text(results: Results) -> str:
    model = results.model
    if model is None:
        return f"Cumulative-link mixed model: {results.model_note}."
    return (
        "Cumulative-link mixed model (logit, crossed random effects of raters and clips, Laplace approximation): "
        f"standard deviation of raters {model.rater_sd:.2f}, of clips {model.clip_sd:.2f}, "
        f"log-likelihood {model.log_likelihood:.1f}. {results.model_note}"
    )


def _distributions(conditions: Sequence[ConditionSummary], options: Sequence[str]) -> str:
    """Stacked bars, one per condition."""
    left, width, height = 150, 520, 26
    bars: list[str] = []
    for row, c in enumerate(conditions):
        x, y = float(left), row * height
        bars.append(f'<text x="0" y="{y + 16}" font-size="13">{html.escape(c.condition[:20])}</text>')
        for index, count in enumerate(c.counts):
            part = width * count / max(1, c.num_ratings)
            title = html.escape(f"{options[index]}: {count} of {c.num_ratings}")
            place = f'x="{x:.1f}" y="{y + 2}" width="{part:.1f}" height="{height - 6}"'
            bars.append(f'<rect {place} fill="{_color(index, len(options))}"><title>{title}</title></rect>')
            x += part
    total = max(height, len(conditions) * height)
    size = f'width="{left + width}" height="{total}" viewBox="0 0 {left + width} {total}"'
    picture = f'<svg role="img" aria-label="Distribution of ratings per condition" {size}>{"".join(bars)}</svg>'
    return f'{picture}<p class="key">{"".join(_key(i, options) for i in range(len(options)))}</p>'


def _key(index: int, options: Sequence[str]) -> str:
    box = f'<rect width="12" height="12" fill="{_color(index, len(options))}"/>'
    return f'<span><svg width="12" height="12">{box}</svg> {html.escape(options[index])}</span>'


def _color(index: int, count: int) -> str:
    return COLORS[round(index * (len(COLORS) - 1) / max(1, count - 1))]


def _number(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.3f}"


def _format(estimate: Estimate) -> str:
    return f"{_number(estimate.value)} ({_number(estimate.low)} to {_number(estimate.high)})"


def _table(rows: Rows) -> str:
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _align(rows: Rows) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
