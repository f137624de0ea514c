"""A motion predictor on gap samples, and a model of gap acceptance in a drive."""

from __future__ import annotations

from dataclasses import replace

from giveway.core.errors import UsageError
from giveway.core.histories import FUTURE_STEPS, HISTORY_STEPS, STEP_S
from giveway.core.predictions import OutputKind
from giveway.predictors.gap_view import GapView
from giveway.predictors.motion_view import MotionView
from giveway.predictors.protocol import FittedPredictor


def as_gap(fitted: FittedPredictor) -> FittedPredictor:
    """The predictor for gap samples; one that takes them is returned as it is.

    The histories of a sample (0.2 s apart) are interpolated linearly to the grid of a drive (0.1 s), the oldest state
    repeated; velocities are backward differences. T is the car to predict, everyone else is among the others; there is
    no map. Predicted modes are resampled to 0.2 s, go on with constant velocity beyond the predictor's horizon, and are
    repeated in proportion to their weights (largest remainders) to 100 trajectories; a single mode stays single.

    Raises:
        UsageError: the predictor needs the true future.
    """
    info = fitted.info
    if "gaps" in info.takes:
        return fitted
    if "future" in info.reads:
        raise UsageError(
            f"{info.name} needs the true future, which a benchmark never shows", where=info.name, hint="drive with it"
        )
    return GapView(fitted=fitted, info=replace(info, takes=frozenset({"gaps"}), history_s=0.2, horizon_s=None))


def as_motion(fitted: FittedPredictor, fingerprint: str = "") -> FittedPredictor:
    """The predictor for drives; one that takes the states of cars is returned as it is.

    A model of gap acceptance says whether T, who has to give way, goes before E, who has the right of way. Where the
    route of the car to predict shares an area with that of another car (:class:`giveway.core.histories.Conflict`), the
    right of way decides which of the two is T. D_C and D_A are the distances along the two routes, L_E and L_T the
    lengths of the area, D_1 to D_3 are 500 m; the gap closes when E gets there at its speed. The car to predict goes
    first with probability q = p if it is T, q = 1 - p if it is E. Its modes lie on its route:

    * goes first, weight q: T reaches the area at the nine predicted deciles of t_A with constant acceleration; with a
      model that gives only p it keeps its speed, but is there before the gap closes; E keeps its speed;
    * stays behind, weight 1 - q: it keeps its speed and stops before the area with 2 m/s², harder if it must.

    What p says about E is what a human in the place of T would do, whoever drives T. A car without a conflict ahead, or
    past it, goes on along its route at its speed: about it the model says nothing, so this is counted as a fallback.

    Args:
        fitted: any fitted predictor.
        fingerprint: tells fitted models of the same name apart in result stores.

    Raises:
        UsageError: a model that reads positions in the coordinates of its dataset, which a drive cannot give.
    """
    info = fitted.info
    if "motion" in info.takes:
        return fitted
    if "distances" not in info.reads:
        raise UsageError(
            f"{info.name} reads positions in the coordinates of its dataset, so it cannot drive",
            where=info.name,
            hint="drive with a model that reads distances (LR_1D, DDM, CM_...), or one trained by giveway drive train",
        )
    seen = replace(
        info,
        title=info.name,  # drives print plain text, not LaTeX
        gives=OutputKind.TRAJECTORIES,
        reads=info.reads | {"positions", "others"},
        takes=frozenset({"motion"}),
        history_s=(HISTORY_STEPS - 1) * STEP_S,
        horizon_s=FUTURE_STEPS * STEP_S,
    )
    return MotionView(fitted=fitted, info=seen, fingerprint=fingerprint)
