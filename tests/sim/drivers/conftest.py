"""Two parameter sets of the note on closed loops, and crossings to drive."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from giveway.predictors.commotions.parameters import Theta
from giveway.sim.drivers.cognitive_crossing import Approach

FITTED = Theta.from_array(
    np.array(
        [5.344, 0.0039, 0.1466, 16.6647, 0.6269, 0.1486, 0.5847, 1.8356, 1.6731, 8.7507, 0.1104, 0.4368, 0.174, 0.8042]
    )
)
"""θ_D, fitted to 1279 decisions of pedestrians and cars."""
ARBITRARY = Theta.from_array(np.array([30, 0.01, 0.3, 30, 0.05, 0.1, 0.6, 0.5, 0.5, 5, 0.5, 1, 0.5, 1.0]))
"""θ_X, fitted to nothing."""


def approach(runs, front_m, speed, *, jerk=True, priority=1, area_m=3.6, theta=0, first_name=0):
    """Cars of 5 m at a site of 10 m/s."""

    def every(values):
        return np.broadcast_to(np.asarray(values, dtype=np.float64), (runs, 2)).copy()

    return Approach(
        front_m=every(front_m),
        speed=every(speed),
        area_m=every(area_m),
        length_m=every(5.0),
        theta=theta,
        jerk=jerk,
        base_speed=every(10.0),
        priority=priority,
        key=(np.arange(2 * runs, dtype=np.uint64) + np.uint64(first_name + 1)).reshape(runs, 2),
    )


@pytest.fixture
def world():
    """This module, because tests cannot import their neighbors."""
    return sys.modules[__name__]
