"""Validity of minds that drive: the loop gives what the model gives (section 3.5 of the note on closed loops)."""

import hashlib

import numpy as np
import pytest

from giveway.predictors.commotions.agent import theta_table
from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.encounter import Encounters
from giveway.predictors.commotions.reference.random import random_noise
from giveway.predictors.commotions.reference.rollout import roll_out
from giveway.predictors.commotions.simulation import simulate_encounters
from giveway.sim.drivers.cognitive_control import BARE, DECISION_S, Rules, ride
from giveway.sim.drivers.cognitive_crossing import cross

# D_C, v_E, D_A, v_T with an acceptance between 0.1 and 0.9; E cannot have left the area before the gap closes
CELLS = {
    ("FITTED", "IIJ"): (
        (40, 8, 4, 2), (40, 8, 10, 6), (40, 10, 6, 4), (50, 8, 6, 2), (50, 10, 4, 2), (50, 10, 10, 6), (60, 8, 6, 2),
        (60, 10, 4, 2), (60, 10, 6, 4),
    ),
    ("ARBITRARY", "IIJ"): ((20, 8, 8, 6), (20, 10, 8, 6), (30, 8, 8, 6), (40, 10, 8, 6), (60, 8, 8, 6)),
    ("ARBITRARY", "IIA"): (
        (20, 8, 2, 2), (20, 8, 8, 6), (20, 10, 4, 4), (20, 10, 10, 6), (30, 8, 8, 6), (30, 10, 4, 4), (40, 8, 4, 4),
        (50, 8, 2, 2), (50, 10, 4, 4), (60, 8, 6, 4),
    ),
}  # fmt: skip


def encounters_of(cells, first_key=0):
    cells = np.array(cells, dtype=np.float64)
    half = np.full((len(cells), 2), 4.3)
    return Encounters(
        chi=cells[:, [0, 2]] + half,
        v=cells[:, [1, 3]],
        half_extent=half,
        num_steps=np.ceil(cells[:, 0] / cells[:, 1] / DECISION_S - 1e-9).astype(np.int64),
        key=np.arange(first_key, first_key + len(cells), dtype=np.uint64),
    )


def acceptance(world, theta, config, cells, paths):
    """Share of runs in which T enters before the gap closes, cell by cell."""
    table, shares = theta_table([theta], config), []
    steps = encounters_of(cells).num_steps
    for number, ((d_c, v_e, d_a, v_t), num) in enumerate(zip(cells, steps, strict=True)):
        start = world.approach(paths, (d_c, d_a), (v_e, v_t), jerk=config.jerk, first_name=number * 10**6)
        found = cross(start, table, rules=BARE, decisions=int(num), seed=7)
        shares.append(np.isfinite(found.entry_s[:, 1]).mean())
    return np.array(shares)


def z_of_all_cells(world, paths):
    scores = []
    for (name, code), cells in CELLS.items():
        theta, config = getattr(world, name), Configuration.from_name(f"CM_{code}11")
        driven = acceptance(world, theta, config, cells, paths)
        simulated = simulate_encounters(
            encounters_of(cells), theta, config, num_paths=paths, seed=3, precision="float64"
        ).probability
        pooled = 0.5 * (driven + simulated)
        assert ((pooled > 0.1) & (pooled < 0.9)).all(), pooled
        scores.append((driven - simulated) / np.sqrt(pooled * (1 - pooled) * 2 / paths))
    return np.concatenate(scores)


def test_two_cognitive_cars_accept_gaps_as_simulated(world):
    z = z_of_all_cells(world, 250)
    assert len(z) >= 20
    assert np.abs(z).max() < 3
    assert np.sqrt(np.mean(z**2)) <= 1.2


@pytest.mark.slow
def test_two_cognitive_cars_accept_gaps_as_simulated_in_many_runs(world):
    z = z_of_all_cells(world, 4000)
    assert np.abs(z).max() < 3
    assert np.sqrt(np.mean(z**2)) <= 1.2


@pytest.mark.parametrize("code", ["IIJ", "IIA"])
@pytest.mark.parametrize("name", ["FITTED", "ARBITRARY"])
def test_with_the_same_noise_cars_drive_the_simulated_paths(world, name, code):
    """To 1e-9 at every step until the path is closed."""
    config, theta = Configuration.from_name(f"CM_{code}11"), getattr(world, name)
    cells = np.array([cell for group in CELLS.values() for cell in group] * 2, dtype=np.float64)
    cells[:, [0, 2]] += (
        np.sqrt(np.arange(len(cells)) + 0.1)[:, None] * 0.1
    )  # round numbers lead to ties, settled by rounding
    encounters = encounters_of(cells)
    noise = random_noise(encounters.key, np.zeros(len(cells), dtype=np.int64), 5)
    expected = roll_out(encounters, theta, config, noise)
    start = world.approach(len(cells), cells[:, [0, 2]], cells[:, [1, 3]], jerk=config.jerk)
    found = cross(start, theta_table([theta], config), rules=BARE, decisions=expected.chi.shape[1] - 1, noise=noise)
    ahead = found.chi[:, :, 0] > -found.half_extent[:, None, 0]  # the driven car stops thinking when E has left
    same = expected.open & np.logical_and.accumulate(ahead, axis=1)
    assert same.sum() > 15 * len(cells)
    assert (~expected.open).any()
    np.testing.assert_allclose(found.chi[same], expected.chi[same], atol=1e-9, rtol=0)
    np.testing.assert_allclose(found.speed[same], expected.v[same], atol=1e-9, rtol=0)


def test_two_ticks_are_one_step_of_the_model_also_where_a_car_stops():
    speed, accel = np.array([8.0, 0.1, 0.4, 0.0, 0.3, 0.0]), np.array([1.0, -1.0, -3.5, -2.0, -2.0, 2.0])
    (early, between), (late, after) = (ride(speed, accel, tick) for tick in (0, 1))
    np.testing.assert_allclose(early + late, np.maximum(0, 0.2 * speed + 0.02 * accel), atol=1e-15)
    np.testing.assert_allclose(early + late, [1.62, 0.0, 0.01, 0.0, 0.02, 0.04], atol=1e-15)
    np.testing.assert_allclose(after, [8.2, 0, 0, 0, 0, 0.4], atol=1e-15)
    np.testing.assert_allclose(between, [8.1, 0, 0.05, 0, 0.1, 0.2], atol=1e-15)
    assert (early >= 0).all()
    assert (late >= 0).all()


def test_swapping_names_swaps_results(world):
    """Nobody has priority: the car called 0 is treated as the car called 1."""
    table = theta_table([world.FITTED, world.ARBITRARY], Configuration.from_name("CM_IIJ11"))
    there = world.approach(60, (25.7, 22.0), (8, 7), priority=0, theta=(0, 1))
    back = world.approach(60, (22.0, 25.7), (7, 8), priority=0, theta=(1, 0))
    object.__setattr__(back, "key", there.key[:, ::-1])
    one, other = (cross(start, table, rules=Rules(), decisions=40, seed=2) for start in (there, back))
    np.testing.assert_array_equal(one.chi, other.chi[:, :, ::-1])
    assert one.first(0).any()
    assert one.first(1).any()


@pytest.mark.slow
@pytest.mark.parametrize("jerk", [True, False])
@pytest.mark.parametrize("name", ["FITTED", "ARBITRARY"])
def test_alike_cars_go_first_equally_often(world, name, jerk):
    """12 000 runs, one fixed seed, and the shares of the note: nobody within 15 s, both inside at once."""
    table = theta_table([getattr(world, name)], Configuration.from_name("CM_IIJ11"))
    start = world.approach(12000, (25.7, 25.7), (8, 8), jerk=jerk, priority=0)
    rules = BARE._replace(low_mps2=-8.0, high_mps2=3.0)
    found = cross(start, table, rules=rules, decisions=75, seed=1)
    wins = np.array([found.first(0).sum(), found.first(1).sum()])
    assert abs(wins[0] - wins[1]) / np.sqrt(wins.sum()) < 3.5
    nobody = np.isinf(found.entry_s).all(axis=1).mean()
    both = found.both_inside.mean()
    noted = {("FITTED", True): (0.26, 0.015), ("FITTED", False): (0.04, 0.24),
             ("ARBITRARY", True): (0.74, 0.0), ("ARBITRARY", False): (0.60, 0.01)}[name, jerk]  # fmt: skip
    for share, expected in zip((both, nobody), noted, strict=True):  # of 2000 runs, printed with two digits
        assert abs(share - expected) < 3 * np.sqrt(max(expected, 0.01) * (1 - expected) / 2000) + 0.005


def test_of_those_who_wait_for_each_other_one_is_let_go(world):
    """400 runs without priority: after 15 s fewer have not begun to cross, after 20 s everybody has crossed."""
    table = theta_table([world.FITTED], Configuration.from_name("CM_IIJ11"))
    start = world.approach(400, (25.7, 25.7), (8, 8), priority=0)
    without, found = (
        cross(start, table, rules=Rules(resolves=resolves), decisions=100, seed=1) for resolves in (False, True)
    )
    waiting = [np.mean(run.entry_s.min(axis=1) > 15.0) for run in (without, found)]
    assert waiting[1] < 0.5 * waiting[0]
    assert np.isinf(without.entry_s).any()
    assert np.isfinite(found.entry_s).all()


def digest_of(found):
    return hashlib.sha256(found.chi.tobytes() + found.speed.tobytes()).hexdigest()


def test_a_run_does_not_depend_on_its_batch_or_on_threads(world):
    """Batches of 1, 7 and 1000 cases, 1 and 2 threads, θ mixed: the same bytes."""
    config = Configuration.from_name("CM_IIJ11")
    table = theta_table([world.FITTED, world.ARBITRARY], config)
    rng = np.random.default_rng(0)
    theta = rng.integers(0, 2, (1000, 2))
    front, speed = rng.uniform(5, 40, (1000, 2)), rng.uniform(2, 10, (1000, 2))
    whole = world.approach(1000, front, speed, theta=theta, priority=0)

    def part(first, last):
        start = world.approach(last - first, front[first:last], speed[first:last], theta=theta[first:last], priority=0)
        object.__setattr__(start, "key", whole.key[first:last])
        return cross(start, table, rules=Rules(), decisions=20, seed=4)

    expected = cross(whole, table, rules=Rules(), decisions=20, seed=4)
    assert digest_of(cross(whole, table, rules=Rules(), decisions=20, seed=4, threads=2)) == digest_of(expected)
    for first, last in ((0, 1), (500, 501), (20, 27), (993, 1000)):
        found = part(first, last)
        np.testing.assert_array_equal(found.chi, expected.chi[first:last])
        np.testing.assert_array_equal(found.speed, expected.speed[first:last])
