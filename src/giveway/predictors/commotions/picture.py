"""An explanation as a figure: where the cars are, what T saw, believed, valued and did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from giveway.core.errors import MissingDependencyError
from giveway.core.files import write_atomically
from giveway.predictors.commotions.explain import Explanation, Head

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EGO_COLOR, TARGET_COLOR, SPACE_COLOR, GRAY = "#b3541e", "#1f5fa8", "#d9d4c7", "#6b6f76"


def draw_explanation(explanation: Explanation, path: Path, *, title: str = "", observed: str = "") -> None:
    """Write the figure (PNG, SVG or PDF by the suffix).

    Args:
        explanation: what to draw.
        path: file to write; replaced only when the picture is complete.
        title: e.g. the sample.
        observed: what really happened, in words.

    Raises:
        MissingDependencyError: without matplotlib.
    """
    figure = explanation_figure(explanation, title=title, observed=observed)
    with write_atomically(path) as temporary:
        figure.savefig(temporary, dpi=140, format=path.suffix.lstrip(".") or "png")


def explanation_figure(explanation: Explanation, *, title: str = "", observed: str = "") -> Figure:
    """Five panels over time; see :func:`draw_explanation`."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError("matplotlib", extra="plot", purpose="drawing an explanation") from error
    figure = Figure(figsize=(9.5, 12.5), layout="constrained")
    grid: Any = figure.subplots(5, 1, sharex=True, gridspec_kw={"height_ratios": [3, 2, 1.6, 2.2, 1.6]})
    _positions(grid[0], explanation)
    _speeds(grid[1], explanation)
    _beliefs(grid[2], explanation)
    _values(grid[3], explanation)
    _actions(grid[4], explanation)
    last = explanation.time_s[-1]
    for axes in grid:
        axes.grid(True, color="#eceae4", linewidth=0.8)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if explanation.accepted:
            axes.axvline(explanation.t_accept_s, color=TARGET_COLOR, linewidth=1, linestyle=":")
        axes.axvline(explanation.horizon_s, color=EGO_COLOR, linewidth=1, linestyle=":")
        axes.set_xlim(-0.1, max(explanation.horizon_s, last) + 0.15)
    grid[-1].set_xlabel("time since t₀ [s]")
    outcome = f"accepts after {explanation.t_accept_s:.2f} s" if explanation.accepted else "rejects"
    share = f"{explanation.probability:.0%} of {explanation.num_paths} paths accept"
    lines = [
        f"{title}   {explanation.config.name} ({explanation.config.label})".strip(),
        f"path {explanation.path}: T {outcome};  {share}" + (f";  observed: {observed}" if observed else ""),
    ]
    figure.suptitle("\n".join(lines), fontsize=11, x=0.02, ha="left")
    return figure


def _positions(axes: Any, e: Explanation) -> None:
    """Distances of both fronts to the contested space, and how T sees E."""
    c_e, c_t = e.half_extent
    axes.axhspan(-2 * c_e, 0, color=SPACE_COLOR, alpha=0.5, linewidth=0)
    axes.text(
        *(0.995, -0.02 * (float(e.chi[:, 0].max()) + 5)),
        "in the contested space",
        ha="right",
        va="top",
        fontsize=8,
        color=GRAY,
        transform=axes.get_yaxis_transform(),
    )
    head = e.target
    low, high = (head.estimate[:, 0] - c_e + sign * head.deviation[:, 0] for sign in (-1, 1))
    axes.fill_between(e.time_s, low, high, color=EGO_COLOR, alpha=0.12, linewidth=0, label="T's estimate of E ± 1 σ")
    axes.plot(e.time_s, e.chi[:, 0] - c_e, color=EGO_COLOR, linewidth=2.2, label="E")
    axes.plot(e.time_s, head.estimate[:, 0] - c_e, color=EGO_COLOR, linewidth=1.2, linestyle="--", label="T's estimate")
    axes.plot(e.time_s, head.observed - c_e, ".", color=GRAY, markersize=5, label="what T sees (noisy)")
    axes.plot(e.time_s, head.percept[:, 0] - c_e, "x", color=EGO_COLOR, markersize=5, label="what T acts on")
    axes.plot(e.time_s, e.chi[:, 1] - c_t, color=TARGET_COLOR, linewidth=2.2, label="T")
    shown = np.concatenate([e.chi[:, 0] - c_e, e.chi[:, 1] - c_t, head.estimate[:, 0] - c_e])
    far = float(shown.max()) - min(float(shown.min()), 0.0)
    axes.set_ylim(min(-3.0, float(shown.min()) - 0.05 * far), max(1.35 * far, 6.0))
    axes.set_ylabel("front to contested\nspace [m]")
    axes.legend(fontsize=8, ncols=3, frameon=False, loc="upper right")


def _speeds(axes: Any, e: Explanation) -> None:
    """True speeds, and what T believes of E's."""
    head = e.target
    low, high = (head.estimate[:, 1] + sign * head.deviation[:, 1] for sign in (-1, 1))
    axes.fill_between(e.time_s, np.maximum(low, 0), high, color=EGO_COLOR, alpha=0.12, linewidth=0)
    axes.plot(e.time_s, e.v[:, 0], color=EGO_COLOR, linewidth=2.2, label="E")
    axes.plot(e.time_s, head.estimate[:, 1], color=EGO_COLOR, linewidth=1.2, linestyle="--", label="T's estimate")
    axes.plot(e.time_s, head.percept[:, 1], "x", color=EGO_COLOR, markersize=5, label="what T acts on")
    axes.plot(e.time_s, e.v[:, 1], color=TARGET_COLOR, linewidth=2.2, label="T")
    axes.set_ylim(0, max(1.15 * float(e.v.max()), 1.1 * float(head.estimate[:, 1].max()), 2.0))
    for time, label in ((e.t_accept_s, " T enters"), (e.horizon_s, "gap closes ")):
        if np.isfinite(time):
            side = "left" if label[0] == " " else "right"
            axes.text(time, 0.94, label, fontsize=8, color=GRAY, ha=side, transform=axes.get_xaxis_transform())
    axes.set_ylabel("speed [m/s]")


def _beliefs(axes: Any, e: Explanation) -> None:
    """P(other passes first) if one does nothing, and its range over all own actions."""
    zero = e.config.action_set.index(0.0)
    heads: list[tuple[str, str, Head]] = [("T thinks E goes first", TARGET_COLOR, e.target)]
    if e.ego is not None:
        heads.append(("E thinks T goes first", EGO_COLOR, e.ego))
    for label, color, head in heads:
        known = ~np.isnan(head.p_first).all(axis=1)
        if known.any():
            time, p = e.time_s[known], head.p_first[known]
            axes.fill_between(time, p.min(axis=1), p.max(axis=1), color=color, alpha=0.12, linewidth=0)
            axes.plot(time, p[:, zero], color=color, linewidth=1.6, marker=".", markersize=4, label=label)
    axes.set_ylim(-0.05, 1.05)
    axes.set_ylabel("P(first | u = 0)\nrange over all u")
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _values(axes: Any, e: Explanation) -> None:
    """Accumulated advantage of every action of T over doing nothing, and the threshold."""
    from matplotlib import colormaps

    actions = e.config.action_set
    colors: Any = colormaps["coolwarm"](np.linspace(0.02, 0.98, len(actions)))
    unit = "m/s²" if e.config.jerk else "m/s"
    for number, (action, color) in enumerate(zip(actions, colors, strict=True)):
        if action != 0.0:
            axes.plot(e.time_s, e.target.advantage[:, number], color=color, linewidth=1.4, label=f"{action:+g} {unit}")
    axes.axhline(0, color=GRAY, linewidth=0.8)
    axes.axhline(e.threshold, color="#333333", linewidth=1, linestyle="--", label="threshold")
    acts = e.target.act
    axes.plot(e.time_s[acts], e.target.advantage[acts].max(axis=1), "o", color="#333333", markersize=4, label="T acts")
    axes.set_yscale("symlog", linthresh=max(e.threshold, 1e-6))
    axes.set_ylabel("advantage of T's\nactions, V(u) − V(0)")
    axes.legend(fontsize=8, ncols=1, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _actions(axes: Any, e: Explanation) -> None:
    """What was done: accelerations, and the actions that led to them."""
    for vehicle, color, label in ((0, EGO_COLOR, "E"), (1, TARGET_COLOR, "T")):
        axes.step(e.time_s, e.a[:, vehicle], where="post", color=color, linewidth=1.6, label=label)
    for head, vehicle, color in ((e.ego, 0, EGO_COLOR), (e.target, 1, TARGET_COLOR)):
        if head is not None:
            for sign, marker in ((1, "^"), (-1, "v")):
                done = head.act & (sign * head.action > 0)
                axes.plot(e.time_s[done], e.a[done, vehicle], marker, color=color, markersize=6)
    axes.set_ylabel("acceleration [m/s²]\n▲▼ actions")
    axes.legend(fontsize=8, ncols=2, frameon=False, loc="best")
