"""How much of a fit the optimizer itself takes, on a clock of our own."""

import numpy as np
import pytest

from giveway.predictors.commotions.fitting import bayes, cost, trust_region
from giveway.predictors.commotions.fitting.search import Budget
from giveway.predictors.commotions.losses import Loss
from support import optimizers
from support.optimizers import GENERATION, NEARBY

EVALUATION_S, CHOICE_S, BEGINNING_S = 1000.0, 0.5, 1e6


class Clock:
    """Processor time that passes only where a test says so."""

    now = 0.0

    def __call__(self):
        return self.now

    def evaluate(self, theta):
        self.now += EVALUATION_S
        return Loss(mean=theta.k_da, error=0.1)


@pytest.fixture
def clock(monkeypatch):
    """Choosing takes 0.5 s per point, the first time a long while more."""
    made = Clock()
    begun = []

    def choose(num):
        made.now += num * CHOICE_S + (0.0 if begun else BEGINNING_S)
        begun.append(num)

    def propose_batch(search, *_, **__):
        choose(trust_region.BATCH)
        return np.random.default_rng(0).random((trust_region.BATCH, 14)), {}

    def propose_one(search, *_, **__):
        choose(1)
        return np.full(14, 0.5), {}

    proposals = optimizers.proposals

    def one_generation(search):
        choose(GENERATION)
        return proposals(search)

    monkeypatch.setattr(trust_region, "_propose", propose_batch)
    monkeypatch.setattr(bayes, "_propose", propose_one)
    monkeypatch.setattr(optimizers, "proposals", one_generation)
    monkeypatch.setattr(cost.time, "process_time", made)
    monkeypatch.setattr(cost, "_choice_s", {})
    return made


@pytest.mark.parametrize("optimizer", ["bayes", "trust_region", NEARBY])
@pytest.mark.parametrize("further", [690, 5])
def test_the_own_time_of_an_optimizer_is_that_of_whole_batches(clock, optimizer, further):
    found = cost._choosing_s(optimizer, Budget(initial=20, further=further), clock.evaluate)
    assert found == pytest.approx(CHOICE_S)


def test_an_optimizer_without_a_choice_costs_nothing(clock):
    assert cost._choosing_s("trust_region", Budget(initial=20, further=0), clock.evaluate) == 0.0
    assert clock.now == 0.0
