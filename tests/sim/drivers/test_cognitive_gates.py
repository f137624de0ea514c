"""Gates of a file of drivers."""

import numpy as np
import pytest

from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.population import read_population
from giveway.sim.drivers.cognitive_gates import gates, not_falling


def test_a_share_that_falls_by_more_than_chance_is_noticed():
    """n 400, p 0.5: a difference has a standard error of 0.0354."""
    assert not_falling(np.array([0.5, 0.44, 0.5]), 400)
    assert not not_falling(np.array([0.5, 0.46, 0.42]), 400)
    assert not_falling(np.array([0.1, 0.5, 0.9]), 400)


def test_neither_parameter_set_of_the_note_passes(world):
    """P(yielder first) of θ_D falls with the time gap; in the note .278 at 2 s to .152 at 8 s."""
    config = Configuration.from_name("CM_AIJ11")
    found = gates(world.FITTED, config, runs=150)
    assert not found.passed
    assert found.p_yielder_first[0] > found.p_yielder_first[-1]
    assert found.both_inside > 0.05
    assert not gates(world.ARBITRARY, config, runs=150).passed


@pytest.mark.slow
def test_the_shipped_file_holds_what_the_gates_find():
    shipped = read_population()
    again = gates(shipped.theta[0], shipped.config, bounds_mps2=shipped.bounds_mps2, runs=shipped.gates["runs"])
    np.testing.assert_allclose(again.p_yielder_first, shipped.gates["p_yielder_first"], atol=0.002)
    noted = np.array([0.278, 0.247, 0.206, 0.189, 0.191, 0.152])
    assert np.abs(np.delete(again.p_yielder_first, 5) - noted).max() < 0.04
