"""Golden values of the specification (section 9): published equations run in 64-bit arithmetic."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.encounter import Encounters
from giveway.predictors.commotions.parameters import PARAMETER_NAMES, Theta

THETA_A = Theta(
    **dict(zip(PARAMETER_NAMES, (60, 0.004, 0.3, 30, 0.05, 0.1, 0.5, 1, 3, 4, 0.5, 0.5, 0.5, 1), strict=True))
)
THETA_B = Theta(
    **dict(
        zip(
            PARAMETER_NAMES,
            (23.7, 0.0123, 0.17, 17.3, 0.11, 0.31, 0.37, 0.83, 1.9, 2.9, 1.7, 0.37, 1.4, 0.87),
            strict=True,
        )
    )
)


def scenario(d_c, d_a, v_e, v_t, l_e, l_t, steps):
    half = 0.5 * (np.array([[l_e, l_t]]) + 5.0)
    return Encounters(
        chi=np.array([[d_c, d_a]]) + half,
        v=np.array([[v_e, v_t]], dtype=float),
        half_extent=half,
        num_steps=np.array([steps]),
        key=np.zeros(1, dtype=np.uint64),
    )


S1 = (50, 2.5, 10, 1, 7, 3.5)
S2 = (34.6, 5.2, 12.4, 3.1, 4.65, 3.5)
S3 = (30, 8, 10, 2, 7, 3.5)


def no_noise(step, vehicle):
    return np.zeros((1, 3))


def scripted_noise(step, vehicle):
    return np.array(
        [
            [
                np.sin(1.7 * step + 0.9 * vehicle + 0.4),
                np.cos(2.3 * step + 1.1 * vehicle),
                np.sin(0.8 * step + 2.1 * vehicle + 1.3),
            ]
        ]
    )


def variant(code, loss):
    speed, ego, control = code
    return Configuration(adjusted_speed=speed == "A", interactive=ego == "I", jerk=control == "J", loss=loss)


# run: configuration, scenario, theta, noise, steps, accepted, t_A
RUNS = {
    "R1": (variant("INA", 1), S1, THETA_A, no_noise, 25, True, 0.903846154),
    "R2": (variant("INJ", 1), S1, THETA_A, no_noise, 25, True, 1.489285714),
    "R3": (variant("IIJ", 1), S3, THETA_A, no_noise, 12, False, 3.64),
    "R4": (variant("AIA", 2), S2, THETA_B, scripted_noise, 15, True, 0.867794270),
    "R5": (variant("AIJ", 2), S2, THETA_B, scripted_noise, 15, False, 3.424),
    "R6": (variant("ANA", 2), S2, THETA_B, scripted_noise, 15, True, 0.867794270),
}


def trace(run):
    """Rows of the golden rollout; the columns are in the first line of the file."""
    text = (Path(__file__).parent / "golden_rollouts.txt").read_text()
    block = re.search(rf"^{run}\n((?:\d.*\n)+)", text, re.MULTILINE).group(1)
    return np.array([[float(word) for word in line.split()] for line in block.splitlines()])


# d, v, other d, other v, t_in, t_out, first (a, T, W), second (a, T, W); "x/y" is jerk/acceleration control
ACCESS_ORDERS = """
    20 5 60 10 5.4 6.6 0.542355369/10 4.4/0.5 0 -0.980392152 5.09999940 2.50000060
    8 2 60 10 5.4 6.6 0.8/16 10/0.5 0 -2.66666645 0.750000026 6.84999997
    30 9 40 10 3.4 4.6 5.43402767 2.4 0 -1.78021978 5.05555523 0.544444770
    20 5 20 0 inf inf 0.5/10 10/0.5 0 -0.980392152 5.09999940 inf
    20 5 0 0 -inf inf nan nan nan -0.980392152 5.09999940 inf
    20 0 0 0 -inf inf nan nan nan 0 0 inf
    6 3 30 10 2.4 3.6 9.23469332 1.4 0 nan nan nan
    2 5 3 5 -inf 1.8 nan nan nan nan nan nan
    -7.3 5 20 10 1.4 2.6 0.5/10 10/0.5 0 0.5/10 10/0.5 0
    20 10 -6 10 -inf -inf nan nan nan 0 0 0
    20 12 80 10 7.4 8.6 -0.2/-4 10/0.5 0 -5.64705880 2.12499997 7.47500003
    60 14 70 8 8 9.5 -0.4/-8 10/0.5 0 -1.85781990 7.53571381 2.96428619
    9 3 16 10 1 2.2 nan nan nan -2.57142848 1.16666665 2.03333335
    36 9 16 10 1 2.2 nan nan nan -0.00976562489 3.2 0
    37.35 12 60 10 5.4 6.6 -0.2/-0.454545442 10/4.4 0 -2.39202657 5.01666643 2.58333357
"""


@pytest.fixture
def golden():
    """This module, because tests cannot import their neighbors."""
    return sys.modules[__name__]
