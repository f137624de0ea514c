"""Figures about one trained model: how it learned, and whether its probabilities mean what they say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.errors import EmptySelectionError
from giveway.core.files import write_atomically
from giveway.reports.drawing import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#8a9097"


def learning_curves(
    loss: Sequence[Sequence[float]], validation_ade_m: Sequence[Sequence[float | None]], path: Path, *, title: str = ""
) -> None:
    """Draw training loss and validation error against epochs, a line per training.

    Args:
        loss: mean training loss of each epoch.
        validation_ade_m: error on validation samples after each epoch; None where it was not computed.
        path: PNG, SVG or PDF to write.
        title: heading.

    Raises:
        EmptySelectionError: without a single epoch.
    """
    if not any(loss):
        raise EmptySelectionError("no epoch to draw", where=path, hint="train for at least one epoch")
    figure = new_figure(5.5, 4.2)
    axes: Any = figure.add_subplot()
    faint = 1.0 if len(loss) == 1 else 0.4
    for values in loss:
        axes.plot(np.arange(1, len(values) + 1), values, color=BLUE, alpha=faint)
    axes.set_xlabel("epoch")
    axes.set_ylabel("training loss", color=BLUE)
    known = [[(e, v) for e, v in enumerate(values, 1) if v is not None] for values in validation_ade_m]
    if any(known):
        second = axes.twinx()
        for points in known:
            second.plot([e for e, _ in points], [v for _, v in points], color=ORANGE, linestyle="--", alpha=faint)
        second.set_ylabel("validation ADE [m]", color=ORANGE)
        second.set_ylim(bottom=0)
    axes.set_title(title)
    _save(figure, path)


def calibration_figure(accepted: BoolArray, p: FloatArray, *, num_bins: int = 10, title: str = "") -> Figure:
    """Observed against predicted acceptance in bins of equal width, with the number of samples.

    Args:
        accepted: (N,) what happened.
        p: (N,) predicted probability.
        num_bins: bins on [0, 1].
        title: heading.

    Raises:
        EmptySelectionError: without samples.
    """
    if p.size == 0:
        raise EmptySelectionError("no prediction to draw")
    which = np.minimum((p * num_bins).astype(np.int64), num_bins - 1)
    count = np.bincount(which, minlength=num_bins)
    filled = count > 0
    mean_p = np.bincount(which, weights=p, minlength=num_bins)[filled] / count[filled]
    share = np.bincount(which, weights=accepted.astype(np.float64), minlength=num_bins)[filled] / count[filled]
    error = np.sqrt(share * (1 - share) / count[filled])
    figure = new_figure(5.5, 4.2)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    top.plot([0, 1], [0, 1], color=GREY, linewidth=1)
    top.errorbar(mean_p, share, yerr=error, color=BLUE, marker="o", linestyle="none", capsize=2)
    top.set_ylabel("accepted gaps")
    top.set_ylim(-0.02, 1.02)
    top.set_title(title)
    bottom.bar((np.arange(num_bins) + 0.5) / num_bins, count, width=0.9 / num_bins, color=GREY)
    bottom.set_xlabel("predicted probability of acceptance")
    bottom.set_ylabel("samples")
    return figure


def _save(figure: Figure, path: Path) -> None:
    with write_atomically(path) as temporary:
        figure.savefig(temporary, dpi=150, format=path.suffix.lstrip(".") or "png")
