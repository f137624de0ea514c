"""Parameter recovery: does a fit find the θ that made the decisions?

Two questions: what do decisions tell about each parameter if the others are known (:func:`replicate_alone`), and what
is left of that if all are fitted at once (:func:`replicate`). Losses 1 and 2 compare every simulated path with the one
decision that was made, so a θ with less noise than the truth has a smaller loss than the truth: noise is pulled down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import UsageError
from giveway.core.seeds import seed_for
from giveway.predictors.commotions.config import Configuration, Switches
from giveway.predictors.commotions.encounter import Encounters
from giveway.predictors.commotions.fitting.fit import FitOptions, fit_parameters, objective_of
from giveway.predictors.commotions.losses import TrainingSet
from giveway.predictors.commotions.parameters import PARAMETERS, Box, Theta
from giveway.predictors.commotions.simulation import simulate_encounters

NOISE_PARAMETERS = ("sigma_v", "sigma_speed", "sigma_r0_pos_rel", "sigma_r0_speed_rel")
"""What the losses pull to less (or steadier) noise than there is, however many decisions there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicate:
    """One made-up dataset and what was fitted to it.

    Attributes:
        unit: (14,) the estimate in the unit cube of the searched ranges.
        loss: of the estimate.
        loss_at_truth: of the θ that made the decisions, under the same noise.
        accepted: share of accepted gaps.
    """

    unit: tuple[float, ...]
    loss: float
    loss_at_truth: float
    accepted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """One parameter over the replicates, in the search coordinate as a part of the searched range.

    Attributes:
        name: key of the parameter.
        scatter: standard deviation of the estimates; 0.29 is that of a blind guess.
        truth: what the decisions were made with.
        mean: of the estimates.
        low: lower end of the interval.
        high: upper end.
    """

    name: str
    scatter: float
    truth: float
    mean: float
    low: float
    high: float

    @property
    def is_inside(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.truth <= self.high


def replicate(
    truth: Theta,
    config: Configuration,
    encounters: Encounters,
    *,
    seed: int,
    switches: Switches | None = None,
    options: FitOptions | None = None,
) -> Replicate:
    """Decide every encounter once with a known θ, then fit without knowing it.

    Args:
        truth: θ of the decisions.
        config: variant.
        encounters: where they are made.
        seed: of the decisions; that of the fit is in ``options``.
        switches: of the fit.
        options: of the fit.
    """
    switches, options = switches or Switches(), options or FitOptions()
    training = decisions(truth, config, encounters, seed=seed)
    fitted = fit_parameters(training, config, switches=switches, options=options)
    return Replicate(
        unit=tuple(float(x) for x in Box.full().encode(fitted.theta)),
        loss=fitted.loss,
        loss_at_truth=objective_of(training, config, switches, options)(truth).mean,
        accepted=float(training.accepted.mean()),
    )


def replicate_alone(
    truth: Theta,
    config: Configuration,
    encounters: Encounters,
    *,
    seed: int,
    num_points: int = 64,
    options: FitOptions | None = None,
) -> Replicate:
    """Decide every encounter once, then find every parameter alone, the others being known, on an even grid.

    Args:
        truth: θ of the decisions.
        config: variant.
        encounters: where they are made.
        seed: of the decisions; that of the fit is in ``options``.
        num_points: of the grid over the searched range.
        options: paths, seed, precision and threads of the fit.
    """
    options = options or FitOptions()
    training = decisions(truth, config, encounters, seed=seed)
    objective = objective_of(training, config, Switches(), options)
    box, center = Box.full(), Box.full().encode(truth)
    grid = (np.arange(num_points) + 0.5) / num_points
    found, smallest = center.copy(), np.inf
    for i in range(len(PARAMETERS)):
        losses: list[float] = []
        for value in grid:
            point = center.copy()
            point[i] = value
            losses.append(objective(box.decode(point)).mean)
        found[i], smallest = grid[int(np.argmin(losses))], min(smallest, *losses)
    return Replicate(
        unit=tuple(float(x) for x in found),
        loss=float(smallest),
        loss_at_truth=objective(truth).mean,
        accepted=float(training.accepted.mean()),
    )


def decisions(truth: Theta, config: Configuration, encounters: Encounters, *, seed: int) -> TrainingSet:
    """One decision of a driver with a known θ in every encounter."""
    outcome = simulate_encounters(encounters, truth, config, num_paths=1, seed=seed_for(seed, "decisions"))
    return TrainingSet(encounters=encounters, accepted=outcome.accepted[:, 0], t_accept_s=outcome.t_accept_s[:, 0])


def summarize(
    truth: Theta, replicates: Sequence[Replicate], *, level: float = 0.95, resolution: float = 0.0
) -> list[Recovered]:
    """Parameters, the best identified first.

    The interval is mean ± t s √(1 + 1/R) over R replicates, where a further estimate would be expected, and half a
    step more where estimates come from a grid with steps of ``resolution``.

    Raises:
        UsageError: for less than two replicates.
    """
    from scipy.stats import t as student

    num = len(replicates)
    if num < 2:
        raise UsageError("scatter needs at least two replicates", where="replicates", found=str(num))
    estimates: FloatArray = np.array([r.unit for r in replicates])
    mean, scatter = estimates.mean(axis=0), estimates.std(axis=0, ddof=1)
    half = float(student.ppf(0.5 + level / 2, num - 1)) * scatter * np.sqrt(1 + 1 / num) + resolution / 2
    unit = Box.full().encode(truth)
    return [
        Recovered(
            name=PARAMETERS[i].name,
            scatter=float(scatter[i]),
            truth=float(unit[i]),
            mean=float(mean[i]),
            low=float(mean[i] - half[i]),
            high=float(mean[i] + half[i]),
        )
        for i in np.argsort(scatter, kind="stable")
    ]
