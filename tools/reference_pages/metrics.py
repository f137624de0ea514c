"""The fact sheets of all metrics as a page of the documentation.

``python tools/reference_pages/metrics.py > docs/reference/metrics.md`` writes it; a test says when it is out of date.
"""

from __future__ import annotations

import sys

from giveway.metrics import PAPER_FORMS, Metric, metrics_of
from giveway.metrics.metric import Of

HEAD = """# Metrics

Made from the fact sheets in the code (`python tools/reference_pages/metrics.py`). A metric that is undefined (one class
only, no observed step, nobody to meet) is recorded as missing with the reason, never as a number. A metric of your own
is a function with the decorator `giveway.metric`, registered as [other components](../how-to/add-a-model.md) are:

```py
import giveway as gw

@gw.metric(name="top_speed", title="Top speed", formula="max of |v| of the ego", unit="m/s", better="neither",
           range=(0.0, 100.0), of="drive", version=1, reference="own")
def top_speed(log: gw.DriveLog) -> float:
    return float(log.tracks.speed[log.ego].max())

gw.register("metric", "top_speed", top_speed)
```

It is then a column of the leaderboard, and a line of `Results.frame()`, reports and this page.
"""
PARTS: dict[Of, str] = {
    "gaps": """Of gaps: what was predicted against what happened. Symbols: a = 1 for an accepted gap, p the predicted
probability of acceptance, N_A accepted and N_R rejected samples, x the driven and x_hat a predicted position of the
target, n_p paths per sample, T_O the observed steps after the prediction time.""",
    "drive": """Of drives: one log of one case. Tables show means over the cases in which a metric is defined; for the
terms of the challenge and for failed cases see [the metrics of drives](../drive/metrics.md).""",
    "campaign": """Of campaigns: the results of all tests of a search, as `giveway generate table` prints them.
*Better* is meant for the search: what it finds more of is worse for the planner. A failure counts if it is the ego's
fault and a careful driver would have avoided it.""",
    "clips": "Of clips.",
}
COLUMNS = "| metric | unit | better | range | needs | version | kept besides |\n|---|---|---|---|---|---|---|\n"


def render_sheets() -> str:
    """The whole page."""
    found: dict[Of, list[Metric]] = {of: metrics_of(of) for of in PARTS}
    tables = [f"{PARTS[of]}\n\n{COLUMNS}{''.join(map(_row, metrics))}" for of, metrics in found.items() if metrics]
    return "\n".join([HEAD, *tables, *(_sheet(metric) for metrics in found.values() for metric in metrics)])


def _row(metric: Metric) -> str:
    info = metric.info
    low, high = (f"{bound:.4g}".replace("inf", "∞") for bound in info.range)
    kept = "labels and p" if metric.score is not None else info.items or "–"
    link = f"[`{info.name}`](#{info.name})"
    facts = (info.unit or "–", info.better, f"{low} … {high}", info.needs or "–", str(info.version), kept)
    return f"| {link} | {' | '.join(facts)} |\n"


def _sheet(metric: Metric) -> str:
    info = metric.info
    title = info.title[:1].upper() + info.title[1:] if info.of == "campaign" else info.title.replace("$", "")
    text = [f"## {info.name}", "", f"{title}.", "", "```text", info.formula, "```", ""]
    if info.prediction_times:
        text += [f"Reported in the papers at: {', '.join(info.prediction_times)} gaps.", ""]
    if info.name in PAPER_FORMS:
        text += [f"In profile `paper`: `{PAPER_FORMS[info.name]}`.", ""]
    return "\n".join([*text, f"Source: {info.reference}", ""])


if __name__ == "__main__":
    sys.stdout.write(render_sheets())
