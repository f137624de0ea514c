"""How a training went, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from giveway.generate.learning.rounds import RoundReport
from giveway.reports.drawing import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def curves_figure(history: Sequence[RoundReport]) -> Figure:
    """Return, evaluation, terms of the reward, grades, critics and exploration over the steps.

    Raises:
        MissingDependencyError: without matplotlib.
    """
    figure = new_figure(10, 9.5)
    axes: Any = figure.subplots(3, 2, sharex=True)
    steps = [report.steps / 1000 for report in history]
    axes[0, 0].plot(steps, [r.mean_return for r in history], marker=".", color="#0072b2")
    axes[0, 0].set_title("return per episode, with noise")
    for name in dict.fromkeys(n for r in history for n in r.evaluation):
        if name.endswith("rate"):
            axes[0, 1].plot(steps, [r.evaluation.get(name, float("nan")) for r in history], marker=".", label=name)
    axes[0, 1].set_title("evaluation, without noise")
    axes[0, 1].set_ylim(-0.02, 1.02)
    if axes[0, 1].lines:
        axes[0, 1].legend(fontsize=8)
    for axis, title, found in (
        (axes[1, 0], "terms of the reward, per episode", [r.terms for r in history]),
        (axes[1, 1], "episodes by grade", [r.grades for r in history]),
    ):
        for name in dict.fromkeys(n for one in found for n in one):
            axis.plot(steps, [one.get(name, 0.0) for one in found], marker=".", label=name)
        axis.set_title(title)
        if axis.lines:
            axis.legend(fontsize=8)
    axes[2, 0].plot(steps, [r.critic_loss for r in history], marker=".", color="#d55e00", label="critic loss")
    axes[2, 0].plot(steps, [r.value for r in history], marker=".", color="#009e73", label="value of the actors")
    axes[2, 0].set_title("critics")
    axes[2, 1].plot(steps, [r.noise for r in history], marker=".", color="#666666", label="scale of the noise")
    axes[2, 1].plot(steps, [r.saturation for r in history], marker=".", color="#cc79a7", label="saturated actions")
    axes[2, 1].set_title("exploration")
    for ax in axes[2]:
        ax.legend(fontsize=8)
    for ax in axes[2]:
        ax.set_xlabel("thousand environment steps")
    for ax in axes.flat:
        ax.grid(alpha=0.3)
    return figure
