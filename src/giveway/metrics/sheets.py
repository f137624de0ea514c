"""The fact sheets of all metrics as a page of the documentation.

``python -m giveway.metrics.sheets > docs/reference/metrics.md`` writes it; a test says when it is out of date.
"""

from __future__ import annotations

import sys

from giveway.metrics import METRICS, PAPER_FORMS, Metric

HEAD = """# Metrics

Made from the fact sheets in the code (`python -m giveway.metrics.sheets`). Symbols: a = 1 for an accepted gap, p the
predicted probability of acceptance, N_A accepted and N_R rejected samples, x the driven and x_hat a predicted position
of the target, n_p paths per sample, T_O the observed steps after the prediction time. A metric that is undefined for a
test set (one class only, no observed step) is recorded as missing with the reason, never as a number.

| metric | unit | better | range | needs | version | kept per sample |
|---|---|---|---|---|---|---|
"""


def render_sheets() -> str:
    """The whole page."""
    metrics = [METRICS.get(name) for name in METRICS.names()]
    table = "".join(_row(metric) for metric in metrics)
    return HEAD + table + "\n" + "\n".join(_sheet(metric) for metric in metrics)


def _row(metric: Metric) -> str:
    info = metric.info
    low, high = (f"{bound:.4g}".replace("inf", "∞") for bound in info.range)
    kept = "labels and p" if metric.score is not None else "its values"
    unit = info.unit or "–"
    link = f"[`{info.name}`](#{info.name})"
    return f"| {link} | {unit} | {info.better} | {low} … {high} | {info.needs} | {info.version} | {kept} |\n"


def _sheet(metric: Metric) -> str:
    info = metric.info
    text = [f"## {info.name}", "", f"{info.title.replace('$', '')}.", "", "```text", info.formula, "```", ""]
    if info.prediction_times:
        text += [f"Reported in the papers at: {', '.join(info.prediction_times)} gaps.", ""]
    if info.name in PAPER_FORMS:
        text += [f"In profile `paper`: `{PAPER_FORMS[info.name]}`.", ""]
    return "\n".join([*text, f"Source: {info.reference}", ""])


if __name__ == "__main__":
    sys.stdout.write(render_sheets())
