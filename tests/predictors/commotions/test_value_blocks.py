"""Values as the kernel computes them against the reference and against exact quadrature."""

import math

import numpy as np
import pytest
from numba import njit

from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.kernel import value
from giveway.predictors.commotions.kernel.constants import AFTER_ACTION, INV_U0, constants_of
from giveway.predictors.commotions.kernel.lanes import WIDTH, load, store
from giveway.predictors.commotions.parameters import Box, Derived, Theta
from giveway.predictors.commotions.reference.access_order import Triple
from giveway.predictors.commotions.reference.value import Gains, plan_value


@njit
def _plan(v, a, j, order_a, duration, wait, v_free, jerk, k, loss_out, score_out):
    for i in range(0, len(v), WIDTH):
        pace = value.pace_of(load(v_free, i), k)
        terms = value.action_terms(load(v, i), load(a, i), pace[0], jerk, k)
        loss, y = value.act(terms, load(j if jerk else a, i))
        store(loss_out, i, loss)
        x, rest, first, second, third = value.discounts(load(duration, i), k)
        reached, left = value.reach(y, load(order_a, i) * pace[1], x, first, second, pace[2] * first + third)
        waited = value.discounts(load(wait, i), k)[1]
        middle = reached + rest * left * (1.0 + waited * (pace[3] - 1.0))
        store(score_out, i, ((1.0 - loss) - k[AFTER_ACTION] * middle) * k[INV_U0])


def evaluate(theta, jerk, dtype, **columns):
    config = Configuration(adjusted_speed=False, interactive=False, jerk=jerk)
    k = constants_of(theta, config, dtype).value
    arrays = {name: np.ascontiguousarray(values, dtype=dtype) for name, values in columns.items()}
    loss, score = (np.zeros_like(arrays["v"]) for _ in range(2))
    _plan(*arrays.values(), jerk, k, loss, score)
    return loss.astype(np.float64), score.astype(np.float64) / float(k[INV_U0])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 3e-6)])
@pytest.mark.parametrize("jerk", [True, False])
def test_plans_are_worth_what_the_reference_says(dtype, tolerance, jerk):
    rng = np.random.default_rng(0)
    num = 10 * WIDTH
    for _ in range(12):
        theta = Box.full().decode(rng.random(14))
        derived = Derived.of(theta)
        columns = {
            "v": rng.uniform(0, 15, num),
            "a": rng.uniform(-2, 2, num),
            "j": rng.uniform(-4, 4, num) if jerk else np.zeros(num),
            "order_a": rng.uniform(-2, 2, num),
            "duration": rng.choice([0.0, 0.3, 2.0, 10.0, 60.0], num),
            "wait": rng.choice([0.0, 1.5, 40.0, np.inf], num),
            "v_free": rng.uniform(5, 20, num),
        }
        columns["order_a"][columns["duration"] == 60.0] *= 0.1
        wanted = plan_value(
            v=columns["v"],
            a=columns["a"],
            j=columns["j"],
            triple=Triple(
                acceleration=columns["order_a"],
                duration=columns["duration"],
                wait=columns["wait"],
                possible=np.ones(num, dtype=bool),
            ),
            gains=Gains(v_free=columns["v_free"], k_da=theta.k_da),
            decay=derived.decay,
            action_s=theta.delta_t_action,
            regain_s=10.0 if jerk else theta.delta_t_action,
        )
        _, found = evaluate(theta, jerk, dtype, **columns)
        expected = wanted / derived.u_free
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("t_delta", "action_s", "slower", "faster"),
    [
        (10, 0.21, 0.121007534, 0.01931452222),
        (30, 0.21, 0.1215086965, 0.01907320933),
        (30, 0.50, 0.2860349686, 0.05039756691),
        (100, 0.21, 0.1216847909, 0.01898807296),
        (100, 0.50, 0.2870157287, 0.04994524868),
        (100, 1.00, 0.5645266795, 0.1153682163),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_short_action_keeps_its_value_in_32_bit(t_delta, action_s, slower, faster, dtype):
    """Phase I for v = 5, v_f = 10, k_da = 0.5 and actions -1 and +2, by quadrature with 40 digits.

    Closed forms lose these values entirely in 32 bit, and five digits of them in 64 bit.
    """
    theta = Theta(**{**Box.full().decode(np.full(14, 0.5)).as_dict(), "t_delta": t_delta, "k_da": 0.5,
                     "delta_t_action": action_s})  # fmt: skip
    derived = Derived.of(theta)
    ones = np.ones(WIDTH)
    jerk = np.where(np.arange(WIDTH) % 2, 2.0, -1.0) / action_s
    loss, _ = evaluate(
        theta, True, dtype, v=5 * ones, a=0 * ones, j=jerk, order_a=0 * ones, duration=0 * ones, wait=0 * ones,
        v_free=10 * ones,
    )  # fmt: skip
    worth = derived.u_free * ((1 - math.exp(-derived.decay * action_s)) - loss)
    np.testing.assert_allclose(worth[:2], [slower, faster], rtol=0, atol=1e-9 if dtype is np.float64 else 1e-7)
