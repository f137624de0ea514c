"""Base class for predictors of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np

from giveway.core.errors import UsageError
from giveway.core.histories import FUTURE_STEPS, HISTORY_STEPS, STEP_S
from giveway.core.predictions import OutputKind, Prediction
from giveway.predictors.protocol import READS, TAKES, FittedPredictor, PredictorInfo

HISTORY_S = (HISTORY_STEPS - 1) * STEP_S
"""History a drive gives [s]."""

HORIZON_S = FUTURE_STEPS * STEP_S
"""How far ahead a drive asks [s]."""


class Predictor:
    """A predictor of what other road users do: derive from it, give a name, write ``predict``.

    ::

        class Still(giveway.Predictor, name="still", gives="trajectories"):
            def predict(self, inputs, rng):
                here = inputs.xy[:, :1, -1:]                       # (N, 1, 1, 2): the car to predict, now
                return giveway.Prediction.trajectories(np.repeat(here, 30, axis=2), dt_s=0.1)

    The keywords of the class fill ``info``:

    * ``gives``: ``probability`` or ``time`` (of accepting a gap), or ``trajectories``;
    * ``reads``: what of ``distances``, ``positions``, ``others``, ``map``, ``future`` it looks at;
    * ``takes``: ``gaps`` for inputs with the roles of a gap, ``motion`` for the states of cars; by default ``motion``
      where trajectories are given. Views turn one into the other, so either kind is benchmarked, driven and served;
    * ``learns``, ``history_s``, ``horizon_s``, ``stochastic``, ``references``, ``title``, ``version``.

    One that learns also writes ``fit``, ``load`` and, on what ``fit`` returns, ``save``. Results of one row must not
    depend on the others in its batch: draw random numbers from ``inputs.streams(rng)``. An object that does not derive
    from this class but has the same ``info`` and ``predict`` is accepted as well.
    """

    info: PredictorInfo

    def __init_subclass__(
        cls,
        *,
        name: str = "",
        title: str = "",
        gives: str = "trajectories",
        reads: Iterable[str] = ("positions",),
        takes: str | Iterable[str] = (),
        learns: bool = False,
        history_s: float | None = None,
        horizon_s: float | None = None,
        stochastic: bool = False,
        references: Iterable[str] = (),
        version: int = 1,
        **more: Any,
    ) -> None:
        super().__init_subclass__(**more)
        if not name:
            return
        of_motion = gives == OutputKind.TRAJECTORIES
        inputs = (takes,) if isinstance(takes, str) else tuple(takes) or ("motion" if of_motion else "gaps",)
        for what, given, known in (
            ("gives", (gives,), tuple(OutputKind)),
            ("reads", reads, READS),
            ("takes", inputs, TAKES),
        ):
            wrong = sorted(set(given) - set(known))
            if wrong:
                raise UsageError(
                    f"the predictor {name!r} {what} something unknown",
                    where=f"class {cls.__name__}",
                    found=", ".join(wrong),
                    hint=f"one of {', '.join(known)}",
                )
        motion = "motion" in inputs
        cls.info = PredictorInfo(
            name=name,
            title=title or name,
            gives=OutputKind(gives),
            reads=frozenset(reads),
            takes=frozenset(inputs),
            learns=learns,
            history_s=history_s if history_s is not None else HISTORY_S if motion else 0.0,
            horizon_s=horizon_s if horizon_s is not None else HORIZON_S if motion else None,
            stochastic=stochastic,
            references=tuple(references),
            version=version,
        )

    def predict(self, inputs: Any, rng: np.random.Generator) -> Prediction:
        """Predict every row of the inputs."""
        raise NotImplementedError

    def fit(self, samples: Any, rng: np.random.Generator) -> FittedPredictor | Self:
        """Learn from training samples; a predictor that has nothing to learn is returned as it is."""
        return self

    def load(self, folder: Path) -> FittedPredictor | Self:
        """Read a fitted predictor from disk.

        Raises:
            UsageError: this one has nothing to learn, so there is nothing to read.
        """
        raise UsageError(
            f"{self.info.name} has nothing to learn, so it takes no file",
            found=folder,
            hint=f"name it {self.info.name}",
        )

    def save(self, folder: Path) -> None:
        """Write what was learned: nothing, unless overridden."""
