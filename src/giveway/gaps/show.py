"""One candidate gap to look at: a replay, and a picture of the place, the corridors, the distances and the times."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import UnknownNameError, UsageError
from giveway.core.files import write_bytes, write_text
from giveway.data import DATASETS
from giveway.gaps.admission import WHY_UNDECIDED
from giveway.gaps.extract import FoundGaps, find_gaps
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.order import VERDICTS
from giveway.gaps.profile import Profile
from giveway.gaps.replays import replay_of
from giveway.gaps.times import why_undecided
from giveway.reports.content import Page, Picture, Replay
from giveway.reports.rendering import single_page
from giveway.reports.table import entry, table_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PREFIXES = {"lanes": "interaction_lanes"}
"""First parts of ids that are not the name of their extraction."""

CORRIDOR_M = 2.1
"""Width of the corridors drawn: that of a car and the margin of a conflict."""

NAMES = {"t_S": "t_open_s", "t_A": "t_accept_s", "t_C": "t_close_s", "t_crit": "t_crit_s"}
COLORS = {"E": "#b45309", "T": "#1d4ed8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Attributes:
    files: page and picture.
    facts: everything that decides the sample, as plain values.
    """

    files: Mapping[str, Path]
    facts: Mapping[str, Any]


def gaps_around(sample: str, root: Path, profile: Profile, dataset: str | None = None) -> FoundGaps:
    """Gaps of the recordings at the site of a sample; of all recordings where its id does not name one.

    Args:
        sample: id, e.g. ``interaction/DR_USA_Roundabout_FT/000/T70/E66@1100``.
        root: folder with the recordings.
        profile: switches.
        dataset: name of the extraction; told by the id if left out.

    Raises:
        UsageError: the id is not one of a sample.
    """
    first, _, rest = sample.partition("/")
    name = dataset or PREFIXES.get(first, first)
    if name not in EXTRACTIONS.names() or not rest:
        raise UsageError(
            "this is not the id of a sample",
            where=sample,
            found=f"it begins with {first!r}",
            hint="ids are in the column sample_id of giveway gaps extract --out, and in its examples",
        )
    extraction = EXTRACTIONS.get(name)
    adapter = DATASETS.get(extraction.info.dataset)
    recordings = adapter.recordings(root)
    here = [r for r in recordings if rest.startswith(f"{r.location}/")] or recordings
    return find_gaps(extraction, (scene for r in here for scene in adapter.scenes(r)), profile)


def show_sample(sample: str, root: Path, out: Path, profile: Profile, dataset: str | None = None) -> Shown:
    """Write page and picture of one candidate gap.

    Raises:
        UnknownNameError: there is no such candidate.
    """
    return write_shown(gaps_around(sample, root, profile, dataset), sample, out)


def write_shown(found: FoundGaps, sample: str, out: Path) -> Shown:
    """The same of gaps that have been found."""
    ids = found.raw.sample_id.tolist()
    if sample not in ids:
        raise UnknownNameError("sample", sample, ids, where="giveway gaps show")
    index = ids.index(sample)
    facts = facts_of(found, index)
    stem = sample.replace("/", "_").replace("@", "_at_")
    files = {"page": out / f"{stem}.html", "picture": out / f"{stem}.png"}
    data = io.BytesIO()
    gap_figure(found, index).savefig(data, dpi=140, format="png", metadata={"Software": None})
    write_bytes(files["picture"], data.getvalue())
    rows = ((entry(name), entry(value if isinstance(value, str) else f"{value:.2f}")) for name, value in facts.items())
    page = Page(
        title=sample,
        lead=f"{facts['label']}; order check: {facts['order']}",
        blocks=(
            Replay(title="", file=f"{stem}.js", document=lambda: replay_of(found, index)),
            Picture(title="", file=files["picture"].name, alt="Place, corridors and distances", data=data.getvalue()),
            table_of("", ("fact", "value"), rows, numeric={1}),
        ),
    )
    write_text(files["page"], single_page(page))
    return Shown(files=files, facts=facts)


def facts_of(found: FoundGaps, index: int) -> dict[str, Any]:
    """Label, verdict and times of a candidate; times in seconds of the recording."""
    raw, times = found.raw, found.times
    if raw.yielded is not None and raw.yielded[index]:
        label = "yielded"
    elif times.is_decided[index]:
        label = "accepted" if times.is_accepted[index] else "rejected"
    else:
        code = int(why_undecided(offset=raw.offset, description=found.description)[index])
        label = f"no decision: {list(WHY_UNDECIDED)[code]}"
    facts: dict[str, Any] = {"label": label, "order": "unobserved"}
    if raw.orders is not None:
        facts["order"] = VERDICTS[int(raw.orders.verdicts(times.is_accepted)[index])]
        facts |= {"t_T [s]": float(raw.orders.t_target_s[index]), "t_E [s]": float(raw.orders.t_other_s[index])}
    facts |= {f"{name} [s]": float(getattr(times, field)[index]) for name, field in NAMES.items()}
    known = {"angle_rad": "angle [deg]", "shared_E": "L_E [m]", "shared_T": "L_T [m]", "entry": "entry"}
    for constant, name in known.items():
        if constant in raw.constants:
            value = float(raw.constants[constant][index])
            facts[name] = np.degrees(value) if name.endswith("[deg]") else value
    return facts


def gap_figure(found: FoundGaps, index: int) -> Figure:
    """Seen from above, with corridors and place, and D_A and D_C over time with the times that decide."""
    from matplotlib.figure import Figure

    raw = found.raw
    rows = slice(int(raw.offset[index]), int(raw.offset[index + 1]))
    figure = Figure(figsize=(11, 5), layout="constrained")
    above, beside = figure.subplots(1, 2, width_ratios=(1.0, 1.2))
    _from_above(above, raw.xy[rows], raw.roles)
    if "radius_m" in raw.constants:
        _sector(above, float(raw.constants["radius_m"][index]))
    else:
        above.plot(0.0, 0.0, "x", color="#dc2626", markersize=10, label="contested place")
    above.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title=str(raw.sample_id[index]))
    above.legend(loc="upper right", fontsize=8)
    seen = found.description.distance if found.description.truth is None else found.description.truth
    for name, column, agent in (("D_C", 0, "E"), ("D_A", 1, "T")):
        beside.plot(raw.time_s[rows], seen[rows, column], color=COLORS[agent], label=f"{name} ({agent})")
        if found.description.truth is not None:
            inputs = found.description.distance[rows, column]
            beside.plot(raw.time_s[rows], inputs, "--", linewidth=1, color=COLORS[agent], label=f"{name}, reference")
    beside.axhline(0.0, color="0.6", linewidth=0.8)
    for name, field in NAMES.items():
        at = float(getattr(found.times, field)[index])
        if np.isfinite(at) and raw.time_s[rows][0] <= at <= raw.time_s[rows][-1]:
            beside.axvline(at, color="0.4", linestyle=":", linewidth=1)
            beside.annotate(name, (at, 1.0), xycoords=("data", "axes fraction"), fontsize=8, va="bottom", ha="center")
    beside.set(xlabel="time [s]", ylabel="way of the front to the place [m]")
    beside.legend(loc="lower left", fontsize=8)
    return figure


def _from_above(axes: Axes, xy: FloatArray, roles: tuple[str, ...]) -> None:
    for k, role in enumerate(roles):
        points = xy[np.isfinite(xy[:, k, 0]), k]
        if len(points) < 2:
            continue
        color = COLORS.get(role, "0.6")
        axes.plot(*points.T, color=color, linewidth=1, label=role)
        axes.plot(*points[-1], marker=">", color=color, markersize=4)
        if role in COLORS:
            step = np.gradient(points, axis=0)
            length = np.maximum(np.hypot(*step.T), 1e-9)
            normal = np.column_stack([-step[:, 1], step[:, 0]]) / length[:, None]
            moving = length > 0.02
            edges = [(points + side * CORRIDOR_M / 2 * normal)[moving] for side in (1.0, -1.0)]
            axes.fill(*np.concatenate([edges[0], edges[1][::-1]]).T, color=color, alpha=0.15, linewidth=0)


def _sector(axes: Axes, radius_m: float) -> None:
    angle = np.linspace(-np.pi, np.pi, 181)
    axes.plot(radius_m * np.cos(angle), radius_m * np.sin(angle), color="0.8", linewidth=0.8)
    wedge = np.linspace(0.0, np.pi / 6, 31)
    x, y = radius_m * np.cos(wedge), radius_m * np.sin(wedge)
    axes.fill([0.0, *x], [0.0, *y], color="#dc2626", alpha=0.12, linewidth=0, label="contested sector")
