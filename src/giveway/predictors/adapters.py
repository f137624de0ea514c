"""Your own model as a predictor: a numpy function per car, or a PyTorch module per batch.

Both may return positions only; velocities and headings then follow by differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import MissingDependencyError, PredictionError
from giveway.core.histories import (
    FUTURE_STEPS,
    STATE_SIZE,
    MotionInputs,
    states_from_positions,
)
from giveway.core.lanes import LaneMap
from giveway.core.predictions import Trajectories
from giveway.predictors.acceptance import stack_rows
from giveway.predictors.base import HISTORY_S, HORIZON_S
from giveway.predictors.protocol import PredictorInfo

CarFunction = Callable[[FloatArray, FloatArray, LaneMap | None], tuple[FloatArray, FloatArray]]
"""(history (10, 5), others (M, 10, 5), road) to (modes (K, 30, 2 or 5), probabilities (K,))."""


def _complete(current: FloatArray, modes: FloatArray, where: str) -> FloatArray:
    """(..., 30, 5) states from states or positions."""
    if modes.shape[-2:] == (FUTURE_STEPS, STATE_SIZE):
        return modes
    if modes.shape[-2:] == (FUTURE_STEPS, 2):
        return states_from_positions(np.broadcast_to(current[..., None, :], (*modes.shape[:-2], STATE_SIZE)), modes)
    raise PredictionError(
        f"a prediction is (modes, {FUTURE_STEPS}, 2) positions or (modes, {FUTURE_STEPS}, {STATE_SIZE}) states",
        where=where,
        found=f"shape {modes.shape}",
    )


class FunctionPredictor:
    """A predictor made of a function that looks at one car.

    Args:
        function: see :data:`CarFunction`; everything is relative to the case's origin except the road.
        name: how tables and stores call it.
        uses_others: whether it wants to see the other cars.
    """

    def __init__(self, function: CarFunction, *, name: str, uses_others: bool = True) -> None:
        self._function = function
        reads = frozenset(("positions", "map", "others") if uses_others else ("positions", "map"))
        self.info = PredictorInfo(name=name, title=name, reads=reads, history_s=HISTORY_S, horizon_s=HORIZON_S)

    def predict(self, inputs: MotionInputs, rng: np.random.Generator) -> Trajectories:
        """Call the function for every car.

        Raises:
            PredictionError: it returned something of the wrong shape.
        """
        rows: list[tuple[FloatArray, FloatArray]] = []
        for row in range(inputs.num_requests):
            here = ~np.isnan(inputs.others[row, :, -1, 0]) if inputs.others.shape[1] else np.zeros(0, dtype=np.bool_)
            modes, weights = self._function(inputs.history[row], inputs.others[row, here], inputs.road[row])
            states = _complete(inputs.history[row, -1], np.asarray(modes, dtype=np.float64), self.info.name)
            rows.append((states, np.asarray(weights, dtype=np.float64)))
        return stack_rows(rows)


class TorchPredictor:
    """A predictor made of a PyTorch module that looks at a batch.

    The module is called with a float32 tensor (R, 10, 5) relative to each car's current position and returns (R, K, 30,
    2) positions relative to it, and (R, K) logits. Rows are run one at a time, so that a result never depends on the
    batch; set ``batched`` if speed matters more than that.

    Args:
        module: the module; it is put into evaluation mode.
        name: how tables and stores call it.
        batched: run all rows at once.
    """

    def __init__(self, module: Any, *, name: str, batched: bool = False) -> None:
        self._module = module.eval()
        self._batched = batched
        self.info = PredictorInfo(name=name, title=name, history_s=HISTORY_S, horizon_s=HORIZON_S)

    def predict(self, inputs: MotionInputs, rng: np.random.Generator) -> Trajectories:
        """Run the module.

        Raises:
            PredictionError: it returned something of the wrong shape.
            MissingDependencyError: without PyTorch.
        """
        try:
            import torch
        except ImportError as error:
            raise MissingDependencyError("torch", extra="learn", purpose="running a PyTorch model") from error
        if inputs.num_requests == 0:
            return Trajectories.of_states(np.zeros((0, 1, FUTURE_STEPS, STATE_SIZE)))
        current = inputs.history[:, -1]
        relative = inputs.history.copy()
        relative[..., :2] -= current[:, None, :2]
        x = torch.as_tensor(relative, dtype=torch.float32)
        parts = [x] if self._batched else [x[row : row + 1] for row in range(len(x))]
        with torch.inference_mode():
            answers = [self._module(part) for part in parts]
        positions = np.concatenate([np.asarray(xy, dtype=np.float64) for xy, _ in answers])
        weight = np.concatenate([torch.softmax(logits.double(), dim=-1).numpy() for _, logits in answers])
        if positions.ndim != 4 or positions.shape[:2] != weight.shape:
            raise PredictionError(
                "the module must return (R, K, 30, 2) positions and (R, K) logits",
                where=self.info.name,
                found=f"{positions.shape} and {weight.shape}",
            )
        return Trajectories.of_states(
            _complete(current, positions + current[:, None, None, :2], self.info.name), weight
        )
