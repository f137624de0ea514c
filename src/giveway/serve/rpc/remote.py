"""A predictor that lives at the other end of a wire, for everything that drives cases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from giveway.core.case import Case
from giveway.core.histories import (
    FUTURE_STEPS,
    STATE_SIZE,
    MotionInputs,
)
from giveway.core.predictions import Trajectories
from giveway.predictors.acceptance import stack_rows
from giveway.predictors.protocol import PredictorInfo
from giveway.serve.rpc.exchange import Exchange
from giveway.serve.rpc.wire import Request, request_of, track_ids


class RemotePredictor:
    """Asks whoever is connected to the exchange.

    Drive its cases one after the other (``batch=1``): track numbers are unique within a case only.

    Args:
        exchange: where requests are handed out.
        cases: everything that will be driven; gives the names of the maps.
        name: how results call the predictor.
    """

    def __init__(self, exchange: Exchange, cases: Iterable[Case], *, name: str = "grpc") -> None:
        self.info = PredictorInfo(name=name, title=name, reads=frozenset({"positions", "others"}))
        self._exchange = exchange
        self._sites = {case.id: case.site for case in cases}

    def predict(self, inputs: MotionInputs, rng: np.random.Generator) -> Trajectories:
        """One fetch and one push per row; rows without an answer say why."""
        requests: list[Request] = []
        made: dict[tuple[str, int], dict[str, Any]] = {}
        for row in range(inputs.num_requests):
            case = inputs.case_ids[row]
            numbers = track_ids({inputs.car_ids[row], *filter(None, inputs.others_ids[row])})
            known = made.setdefault((case, int(inputs.tick[row])), {})
            requests.append(request_of(inputs, row, numbers, self._sites[case], known))
        nothing = np.zeros((1, FUTURE_STEPS, STATE_SIZE)), np.ones(1)
        answers = self._exchange.ask(requests)
        stacked = stack_rows(
            [
                nothing if answer.states is None or answer.probability is None else (answer.states, answer.probability)
                for answer in answers
            ]
        )
        return replace(stacked, missing=tuple(a.missing for a in answers))
