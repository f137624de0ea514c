"""One HTML file: the numbers of every campaign and a gallery of replays that opens from disk."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from giveway.core.files import write_text
from giveway.core.origins import Origin, banner
from giveway.core.scene import Provenance, Scene
from giveway.generate.export.cases import EGO, Failure
from giveway.generate.failures import stored_failures
from giveway.generate.report.summary import CampaignSummary, Reference
from giveway.reports.player.document import Event, replay_document
from giveway.reports.player.page import embed_json, static_text

BANNER = banner("the traffic", [Origin.GENERATED])
MEASURES = (
    ("tests", "tests", "{:.0f}"),
    ("violation_rate", "violation rate", "{:.3f}"),
    ("at_fault_rate", "ego at fault", "{:.3f}"),
    ("avoidable_at_fault_rate", "avoidable and at fault (headline)", "{:.3f}"),
    ("avoidable_at_fault_share", "share of failures that count", "{:.3f}"),
    ("top_10", "TOP-10: tests until the tenth that counts", "{:.0f}"),
    ("top_10_any", "tests until the tenth failure", "{:.0f}"),
    ("steps_per_failure", "steps per failure that counts", "{:.0f}"),
    ("near_miss_rate", "near misses", "{:.3f}"),
    ("min_ttc_s", "median of the smallest time to collision [s]", "{:.2f}"),
    ("impact_speed_mps", "mean impact speed [m/s]", "{:.1f}"),
    ("archive_cells", "diversity: occupied archive cells", "{:.0f}"),
    ("parameter_distance", "diversity: mean distance of the scenes", "{:.3f}"),
    ("infeasible_share", "infeasible steps of the cars", "{:.4f}"),
    ("off_road_share", "steps off the road", "{:.4f}"),
    ("responsibility_per_100_s", "unsafe seconds caused per 100 s", "{:.2f}"),
    ("findings", "planner raised, hung or gave no plan", "{:.0f}"),
)
REALISM = (
    ("wasserstein_speed", "speed [m/s]"),
    ("wasserstein_acceleration", "acceleration [m/s²]"),
    ("wasserstein_jerk", "jerk [m/s³]"),
    ("wasserstein_yaw_rate", "yaw rate [rad/s]"),
    ("wasserstein_headway", "headway [s]"),
    ("likelihood", "likelihood relative to recorded (1 is best)"),
)
STYLE = """
body { font: 15px system-ui, sans-serif; margin: 1.5rem auto; max-width: 76rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; }
th, td { padding: 0.25rem 0.8rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
.headline td { font-weight: 700; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(26rem, 1fr)); gap: 1rem; }
.card { border: 1px solid #ccc; border-radius: 6px; overflow: hidden; }
.card .giveway-player { height: 20rem; }
.card p { margin: 0.4rem 0.7rem; font-size: 13px; }
.counts { color: #9a3412; font-weight: 600; }
"""


def write_report(
    path: Path, store: Path, summaries: Sequence[CampaignSummary], reference: Reference | None, *, limit: int = 12
) -> int:
    """Write the page.

    Args:
        path: ``.html`` file.
        store: result store of the campaigns.
        summaries: numbers.
        reference: recorded motion they were compared with.
        limit: replays per campaign; failures that count come first.

    Returns:
        Number of replays shown.
    """
    cards: list[str] = []
    replays: list[dict[str, Any]] = []
    for summary in summaries:
        for n, failure in enumerate(stored_failures(store, summary.campaign)):
            if n >= limit:
                break
            cards.append(_card(failure, len(replays)))
            replays.append(failure_document(failure))
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    shown = f"{len(replays)} replays; failures that count come first" if replays else "no failures"
    text = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>Generated traffic</title>
<style>{static_text("player.css")}{STYLE}</style>
</head>
<body>
<h1>Generated traffic</h1>
<p><strong>{html.escape(BANNER)}</strong></p>
<p>Only failures that are the ego's fault <em>and</em> avoidable by a careful driver count.</p>
{_table(summaries, MEASURES, "measure")}
{_realism(summaries, reference)}
{_kinds(summaries)}
<h2>Gallery</h2>
<p>{shown}. Blue: the ego. Orange: the car it met.</p>
<div class="gallery">
{"".join(cards)}
</div>
<script type="application/json" id="replays">{embed_json(replays)}</script>
<script type="module">
{static_text("player.js")}
const replays = JSON.parse(document.getElementById("replays").textContent);
window.givewayPlayers = replays.map((replay, n) =>
  mountPlayer(document.getElementById(`replay-${{n}}`), replay, {{ frame: "ego" }}));
</script>
</body>
</html>
"""
    write_text(path, text)
    return len(replays)


def _table(summaries: Sequence[CampaignSummary], rows: Sequence[tuple[str, str, str]], head: str) -> str:
    titles = "".join(f"<th>{html.escape(s.campaign.label)}</th>" for s in summaries)
    body = ""
    for name, title, form in rows:
        cells = "".join(f"<td>{_number(s.measures.get(name, math.nan), form)}</td>" for s in summaries)
        mark = ' class="headline"' if "headline" in title else ""
        body += f"<tr{mark}><td>{html.escape(title)}</td>{cells}</tr>\n"
    return f"<table><thead><tr><th>{head}</th>{titles}</tr></thead><tbody>\n{body}</tbody></table>"


def _realism(summaries: Sequence[CampaignSummary], reference: Reference | None) -> str:
    if reference is None:
        return ""
    titles = "".join(f"<th>{html.escape(s.campaign.label)}</th>" for s in summaries)
    body = "".join(
        f"<tr><td>{html.escape(title)}</td>"
        + "".join(f"<td>{_number(s.realism.get(name, math.nan), '{:.3f}')}</td>" for s in summaries)
        + "</tr>\n"
        for name, title in REALISM
    )
    source = f"{html.escape(reference.name)}, {reference.vehicles} road users"
    return (
        f"<h2>Realism</h2><p>Wasserstein distance of the cars' motion to {source}; smaller is closer.</p>"
        f"<table><thead><tr><th>quantity</th>{titles}</tr></thead><tbody>{body}</tbody></table>"
    )


def _kinds(summaries: Sequence[CampaignSummary]) -> str:
    out = "<h2>Kinds of failures</h2>"
    for summary in summaries:
        rows = "".join(
            f"<tr><td>{html.escape(kind)}</td><td>{failures}</td><td>{counting}</td></tr>"
            for kind, (failures, counting) in summary.kinds.items()
        )
        if rows:
            out += (
                f"<table><thead><tr><th>{html.escape(summary.campaign.label)}</th><th>failures</th><th>count</th></tr>"
                f"</thead><tbody>{rows}</tbody></table>"
            )
    return out


def _card(failure: Failure, number: int) -> str:
    result = failure.result
    verdict = (
        "avoidable and at fault"
        if result.counts
        else ("at fault, not avoidable" if result.at_fault else "not at fault")
    )
    style = ' class="counts"' if result.counts else ""
    text = f"{result.kind or result.outcome}, {result.fault}, {0.1 * result.steps:.1f} s"
    if math.isfinite(result.impact_speed_mps):
        text += f", impact {result.impact_speed_mps:.1f} m/s"
    if result.finding:
        text += f"; {result.finding[:160]}"
    return (
        f'<div class="card"><div class="giveway-player" id="replay-{number}"></div>'
        f"<p><b>{html.escape(failure.id)}</b> <span{style}>{verdict}</span><br>{html.escape(text)}</p></div>\n"
    )


def failure_document(failure: Failure) -> dict[str, Any]:
    """The replay of a failure: ego, the car it met, and how it ended."""
    tracks, result = failure.tracks, failure.result
    source = Provenance(dataset="generated", recording=failure.id, origin=Origin.GENERATED, declared_by="file")
    scene = Scene(tracks=tracks, road=failure.road, provenance=source, rows=failure.origins)
    roles = {str(i): "other" for i in tracks.ids}
    if result.culprit:
        roles[result.culprit] = "rated"
    roles[EGO] = "ego"
    end = Event(time_s=float(tracks.time_s[-1]), label=result.outcome.replace("_", " "), kind="collision")
    return replay_document(scene, ego=EGO, roles=roles, labels={EGO: "ego"}, events=(end,))


def _number(value: float, form: str) -> str:
    return form.format(value) if math.isfinite(value) else "–"
