"""Ready-made specifications: a quick one on synthetic data, and the published experiments."""

from __future__ import annotations

from typing import Any

from giveway.core.errors import UnknownNameError
from giveway.gaps.spec import RunSpec, spec_from

LGAP_INITIAL = {"dataset": "lgap", "t0": "initial", "n_input": 2, "n_input_max": 2}
"""Tracks of L-GAP begin as the gap opens: initial predictions exist in relaxed mode with two inputs only."""


def cognitive_models(loss: int) -> list[str]:
    """The sixteen configurations of the cognitive model with this loss, in the order of the published tables."""
    return [f"CM_{a}{b}{c}{d}{loss}" for c in "JA" for a in "IA" for d in "12" for b in "IN"]


PRESETS: dict[str, dict[str, Any]] = {
    "quick": {
        "datasets": ["lgap", "round_2v", "leeds_2v"],
        "t0": ["initial", "constant", "critical"],
        "n_input": [2],
        "n_input_max": 2,
        "splits": {"random": 4, "critical": 1},
        "models": ["LR_1D", "LR_2D", "DDM", "CV"],
        "relaxed": [LGAP_INITIAL],
        "missing": [{"dataset": "round_2v", "t0": "critical"}, {"dataset": "leeds_2v", "t0": "critical"}],
        "min_samples": 40,
        "min_class": 5,
        "synthetic": {"lgap": {"count": 300}, "round": {"count": 2, "minutes": 8}, "leeds": {"count": 12}},
    },
    "demo": {
        "datasets": ["lgap", "round_2v"],
        "t0": ["constant"],
        "n_input": [2],
        "n_input_max": 2,
        "splits": {"random": 5, "critical": 1},
        "models": ["LR_1D", "DDM", "CV", "CM_AIJ11", "TPP_small"],
        "min_samples": 40,
        "min_class": 5,
        "switches": {"commotions_evaluations": 80},
        "training": {"updates": 60},
        "synthetic": {"lgap": {"count": 300}, "round": {"count": 2, "minutes": 8}},
    },
    "experiment-1": {
        "datasets": ["lgap", "round_2v", "leeds_2v"],
        "n_input": [2],
        "models": ["T++", "LR_1D", *cognitive_models(1)],
        "conditional_paths": "T++",
        "relaxed": [LGAP_INITIAL],
        "missing": [{"dataset": "leeds_2v", "t0": "critical"}],
    },
    "experiment-2": {
        "datasets": ["lgap", "round", "round_2v", "leeds", "leeds_2v"],
        "n_input": [2, 3, 8],
        "models": ["T++", "LR_2D", "LR_1D"],
        "conditional_paths": "T++",
        "missing": [
            {"dataset": "lgap", "t0": "initial"},
            {"dataset": "leeds", "t0": "critical"},
            {"dataset": "leeds_2v", "t0": "critical"},
        ],
    },
    "experiment-3": {
        "datasets": ["lgap", "round_2v", "leeds_2v"],
        "n_input": [2],
        "models": cognitive_models(2),
        "conditional_paths": "T++",
        "relaxed": [LGAP_INITIAL],
        "missing": [{"dataset": "leeds_2v", "t0": "critical"}],
    },
}
"""Presets by name; the experiments hold the published grids and need real data roots."""


def preset(name: str, **changes: Any) -> RunSpec:
    """A preset with some fields replaced.

    Raises:
        UnknownNameError: naming the known ones.
    """
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    return spec_from({**PRESETS[name], **changes}, where=f"preset {name}")
