"""An explanation as one self-contained HTML page: the figure, and a slider through the steps."""

from __future__ import annotations

import base64
import html
import io
import json
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.files import write_text
from giveway.predictors.commotions.explain import Explanation, Head
from giveway.predictors.commotions.parameters import PARAMETERS
from giveway.predictors.commotions.picture import explanation_figure

TEMPLATE = "explain.html"


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
    heading = f"{title} · {explanation.config.name}" if title else explanation.config.name
    pieces = {
        "{{title}}": html.escape(heading),
        "{{summary}}": html.escape(summary_of(explanation, observed)),
        "{{theta}}": "".join(
            f"<tr><th>{html.escape(p.symbol)}</th>"
            f"<td>{getattr(explanation.theta, p.name):.4g} {html.escape(p.unit)}</td>"
            f"<td>{html.escape(p.meaning)}</td></tr>"
            for p in PARAMETERS
        ),
        "{{picture}}": base64.b64encode(picture.getvalue()).decode(),
        # "<" cannot appear in the JSON, so no text of a sample can close the script
        "{{data}}": json.dumps(document_of(explanation)).replace("<", "\\u003c"),
    }
    text = resources.files("giveway.predictors.commotions").joinpath(TEMPLATE).read_text(encoding="utf-8")
    for mark, piece in pieces.items():
        text = text.replace(mark, piece)
    write_text(path, text)


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
