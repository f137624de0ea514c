"""The compiled kernel against golden values and against the reference."""

import numpy as np
import pytest
from numba import njit

from giveway.predictors.commotions.config import NAMES, Configuration
from giveway.predictors.commotions.encounter import Encounters
from giveway.predictors.commotions.kernel import functions
from giveway.predictors.commotions.kernel.lanes import WIDTH, load, store
from giveway.predictors.commotions.parameters import Box
from giveway.predictors.commotions.reference.random import philox, random_noise
from giveway.predictors.commotions.reference.rollout import roll_out
from giveway.predictors.commotions.simulation import simulate_encounters

PRECISIONS = ["float64", "float32"]


def random_encounters(rng, num):
    """Ordinary encounters, and standing, overlapping and past vehicles among them."""
    half = 0.5 * (np.stack([rng.uniform(0, 9, num), rng.uniform(2, 9, num)], axis=1) + 5.0)
    d = np.stack([rng.uniform(-25, 70, num), rng.uniform(0, 20, num)], axis=1)
    d[rng.random(num) < 0.05, 1] *= -1  # T is inside at t_0
    v = np.stack([rng.uniform(0, 16, num), rng.uniform(0, 9, num)], axis=1)
    v[rng.random((num, 2)) < 0.15] = 0.0
    return Encounters(
        chi=d + half,
        v=v,
        half_extent=half,
        num_steps=rng.integers(0, 30, num),
        key=rng.integers(0, 2**63, num).astype(np.uint64),
    )


def silent(num):
    return lambda step, vehicle: np.zeros((num, 3))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["R1", "R2", "R3", "R4", "R5", "R6"])
def test_kernel_meets_the_golden_rollouts(golden, name, precision):
    config, scene, theta, noise, steps, accepted, t_accept = golden.RUNS[name]
    script = np.array([[noise(i, k)[0] for k in (0, 1)] for i in range(steps + 1)])
    outcome = simulate_encounters(
        golden.scenario(*scene, steps), theta, config, num_paths=1, seed=0, precision=precision, noise=script
    )
    assert outcome.accepted[0, 0] == accepted
    assert outcome.t_accept_s[0, 0] == pytest.approx(t_accept, abs=1e-6)


def compare(cases, per_case, seed):
    """Share of equal outcomes per precision, and the largest difference in remaining distance among equal ones."""
    rng = np.random.default_rng(seed)
    equal, worst, total = dict.fromkeys(PRECISIONS, 0), dict.fromkeys(PRECISIONS, 0.0), 0
    for case in range(cases):
        config = Configuration.from_name(NAMES[(seed + case * 7) % len(NAMES)])
        theta = Box.full().decode(rng.random(14))
        encounters = random_encounters(rng, per_case)
        expected = roll_out(encounters, theta, config, silent(per_case))
        total += per_case
        for precision in PRECISIONS:
            actual = simulate_encounters(
                encounters, theta, config, num_paths=1, seed=0, precision=precision, noise="silent"
            )
            # the time tells the position: T_out + 2 d/v_base of rejected paths, the crossing of accepted ones
            gap = np.abs(actual.t_accept_s[:, 0] - expected.t_accept_s)
            speed = np.where(
                expected.accepted, expected.v[:, :, 1].max(axis=1), encounters.base_speed(config)[:, 1] / 2
            )
            same = (actual.accepted[:, 0] == expected.accepted) & (gap * speed < 1e-3)
            equal[precision] += int(same.sum())
            worst[precision] = max(worst[precision], float((gap * speed)[same].max(initial=0.0)))
    return {p: (equal[p] / total, worst[p]) for p in PRECISIONS}


def test_kernel_equals_the_reference_without_noise():
    result = compare(cases=16, per_case=30, seed=1)
    assert result["float64"][0] == 1.0
    assert result["float64"][1] < 1e-9
    assert result["float32"][0] >= 0.995
    assert result["float32"][1] < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_kernel_equals_the_reference_on_thousands_of_cases(seed):
    result = compare(cases=128, per_case=20, seed=seed)
    print({p: f"{share:.2%} equal, at most {worst:.1e} m apart" for p, (share, worst) in result.items()})
    assert result["float64"][0] == 1.0
    assert result["float64"][1] < 1e-9
    assert result["float32"][0] >= 0.995
    assert result["float32"][1] < 1e-3


@pytest.mark.parametrize("name", ["CM_AIJ11", "CM_INA12"])
def test_noisy_paths_equal_those_of_the_reference_in_64_bit(name):
    """The same counters give the same draws, so even single noisy paths agree."""
    rng = np.random.default_rng(5)
    config, encounters = Configuration.from_name(name), random_encounters(rng, 60)
    theta = Box.full().decode(np.full(14, 0.45))
    noise = random_noise(encounters.key, np.full(60, 3), 12345)
    expected = roll_out(encounters, theta, config, noise)
    actual = simulate_encounters(encounters, theta, config, num_paths=4, seed=12345, precision="float64")
    np.testing.assert_array_equal(actual.accepted[:, 3], expected.accepted)
    np.testing.assert_allclose(actual.t_accept_s[:, 3], expected.t_accept_s, atol=1e-9)


@pytest.mark.parametrize("name", ["CM_IIJ11", "CM_AIA12"])
def test_acceptance_rates_of_both_precisions_agree_within_monte_carlo_error(name):
    rng = np.random.default_rng(6)
    config, encounters = Configuration.from_name(name), random_encounters(rng, 80)
    for _ in range(3):
        theta = Box.full().decode(rng.uniform(0.2, 0.8, 14))
        one, other = (
            simulate_encounters(encounters, theta, config, num_paths=200, seed=s, precision=p)
            for s, p in ((1, "float64"), (2, "float32"))
        )
        p = 0.5 * (one.probability + other.probability)
        spread = np.sqrt(2 * p * (1 - p) / 200)
        z = ((one.probability - other.probability) / np.where(spread > 0, spread, 1.0))[spread > 0]
        assert np.sqrt(np.mean(z**2)) < 1.5
        assert np.abs(z).max() < 5


@njit
def _apply(x, out, which):
    for i in range(0, len(x), WIDTH):
        v = load(x, i)
        if which == 0:
            r = functions.exp(v)
        elif which == 1:
            r = functions.tanh(v)
        else:
            r = functions.gamma_series(v)
        store(out, i, r)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 4e-7), (np.float64, 1e-15)])
def test_lane_functions_are_accurate(dtype, tolerance):
    negative = np.linspace(-80, 0, 1600).astype(dtype)
    signed = np.concatenate([np.linspace(-12, 12, 1584), np.geomspace(1e-6, 1e-2, 16)]).astype(dtype)
    for which, x, exact in ((0, negative, np.exp), (1, signed, np.tanh)):
        out = np.empty_like(x)
        _apply(x, out, which)
        truth = exact(x.astype(np.float64))
        nonzero = truth != 0
        assert np.abs(out[nonzero] / truth[nonzero] - 1).max() < tolerance


@njit
def _logarithm_and_turn(x, log, cosine, sine):
    for i in range(0, len(x), WIDTH):
        v = load(x, i)
        store(log, i, functions.log(v))
        c, s = functions.turn(v)
        store(cosine, i, c)
        store(sine, i, s)


def test_lane_logarithm_and_angle_functions_are_accurate():
    x = np.concatenate([np.random.default_rng(0).random(1584), 2.0 ** -np.arange(1, 17)])
    log, cosine, sine = (np.empty_like(x) for _ in range(3))
    _logarithm_and_turn(x, log, cosine, sine)
    np.testing.assert_allclose(log, np.log(x), rtol=0, atol=5e-15)
    np.testing.assert_allclose(cosine, np.cos(2 * np.pi * x), rtol=0, atol=2e-15)
    np.testing.assert_allclose(sine, np.sin(2 * np.pi * x), rtol=0, atol=2e-15)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_random_words_are_those_of_the_published_generator(counter, key, expected):
    """Known answers of Random123."""
    assert tuple(philox(np.array([counter], dtype=np.uint64), key)[0]) == expected


def test_draws_are_standard_normal_and_independent():
    num = 20000
    noise = random_noise(np.arange(num).astype(np.uint64), np.zeros(num, dtype=np.int64), 7)
    draws = np.concatenate([noise(0, 0), noise(0, 1), noise(1, 0)], axis=1)
    assert np.abs(draws.mean(axis=0)).max() < 4.5 / np.sqrt(num)
    assert np.abs(draws.std(axis=0) - 1).max() < 4.5 / np.sqrt(2 * num)
    assert np.abs(np.corrcoef(draws.T) - np.eye(9)).max() < 4.5 / np.sqrt(num)
