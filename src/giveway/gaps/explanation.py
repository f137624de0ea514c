"""An explanation of the cognitive driver model as one page: the figure, and a slider through the steps."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.files import write_text
from giveway.predictors.commotions.explain import Explanation, Head
from giveway.predictors.commotions.parameters import PARAMETERS
from giveway.predictors.commotions.picture import explanation_figure
from giveway.reports.content import Explained, Page, Picture
from giveway.reports.rendering import single_page
from giveway.reports.table import entry, table_of


def write_page(explanation: Explanation, path: Path, *, title: str = "", observed: str = "") -> None:
    """Write the page; it needs no network and no other file.

    Args:
        explanation: what to show.
        path: file to write, atomically.
        title: e.g. the sample.
        observed: what really happened, in words.
    """
    picture = io.BytesIO()
    explanation_figure(explanation, title=title, observed=observed).savefig(picture, dpi=140, format="png")
    alt = "Positions, speeds, beliefs, values and actions over time"
    theta = (
        (entry(p.symbol), entry(f"{getattr(explanation.theta, p.name):.4g} {p.unit}"), entry(p.meaning))
        for p in PARAMETERS
    )
    page = Page(
        title=f"{title} · {explanation.config.name}" if title else explanation.config.name,
        lead=summary_of(explanation, observed),
        blocks=(
            Explained(document=document_of(explanation)),
            Picture(title="", file=f"{path.stem}.png", alt=alt, data=picture.getvalue()),
            table_of("Parameters", ("parameter", "value", "meaning"), theta, numeric={1}),
        ),
    )
    write_text(path, single_page(page))


def summary_of(explanation: Explanation, observed: str = "") -> str:
    """One sentence."""
    outcome = f"accepts after {explanation.t_accept_s:.2f} s" if explanation.accepted else "rejects"
    share = f"{explanation.probability:.0%} of {explanation.num_paths} paths accept."
    return f"On path {explanation.path} T {outcome}; {share}" + (f" Observed: {observed}." if observed else "")


def document_of(explanation: Explanation) -> dict[str, Any]:
    """The numbers of an explanation in JSON's types; NaN becomes null."""
    e = explanation
    return {
        "model": e.config.name,
        "label": e.config.label,
        "actions": list(e.config.action_set),
        "action_unit": "m/s²" if e.config.jerk else "m/s",
        "path": e.path,
        "seed": e.seed,
        "time_s": _plain(e.time_s),
        "chi_m": _plain(e.chi),
        "v_mps": _plain(e.v),
        "a_mps2": _plain(e.a),
        "half_extent_m": _plain(e.half_extent),
        "horizon_s": e.horizon_s,
        "accepted": e.accepted,
        "t_accept_s": _plain(np.array(e.t_accept_s)),
        "threshold": e.threshold,
        "probability": e.probability,
        "quantile_s": _plain(e.quantile_s),
        "num_paths": e.num_paths,
        "theta": e.theta.as_dict(),
        "target": _head(e.target),
        "ego": None if e.ego is None else _head(e.ego),
    }


def _head(head: Head) -> dict[str, Any]:
    return {
        "observed_m": _plain(head.observed),
        "estimate": _plain(head.estimate),
        "deviation": _plain(head.deviation),
        "percept": _plain(head.percept),
        "p_first": _plain(head.p_first),
        "advantage": _plain(head.advantage),
        "action": _plain(head.action),
        "act": head.act.tolist(),
    }


def _plain(array: Any) -> Any:
    rounded = np.round(np.asarray(array, dtype=np.float64), 9)
    return np.where(np.isfinite(rounded), rounded.astype(object), np.array(None, dtype=object)).tolist()
