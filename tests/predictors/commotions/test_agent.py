"""Simulated cars driven by the model."""

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.errors import UsageError
from giveway.predictors.commotions.agent import View, new_drivers, step_drivers
from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.parameters import DT_S, Box
from giveway.predictors.commotions.reference.rollout import roll_out
from giveway.predictors.commotions.simulation import simulate_encounters


def scenes(golden, num):
    rng = np.random.default_rng(0)
    one = golden.scenario(*golden.S3, 15)
    return replace(
        one,
        chi=one.chi + np.stack([rng.uniform(-10, 20, num), rng.uniform(-6, 4, num)], axis=1),
        v=one.v + rng.uniform(0, 2, (num, 2)),
        half_extent=np.repeat(one.half_extent, num, axis=0),
        num_steps=np.full(num, 15),
        key=np.arange(num, dtype=np.uint64),
    )


def view_of(chi, v, a, c, own):
    other = 1 - own
    return View(
        chi=chi[:, own],
        v=v[:, own],
        a=a[:, own],
        half_extent=c[:, own],
        other_chi=chi[:, other],
        other_v=v[:, other],
        other_a=a[:, other],
        other_half_extent=c[:, other],
        has_priority=np.full(len(chi), own == 0),
    )


@pytest.mark.parametrize("name", ["CM_AIJ11", "CM_IIA12"])
def test_two_agents_in_closed_loop_drive_like_the_simulated_pair(golden, name):
    """Stepping both cars from outside gives the paths of the batch simulation, noise included."""
    config, theta = Configuration.from_name(name), Box.full().decode(np.full(14, 0.45))
    encounters = scenes(golden, 21)
    expected = simulate_encounters(encounters, theta, config, num_paths=1, seed=9, precision="float64")
    chi, v, c = encounters.chi.copy(), encounters.v.copy(), encounters.half_extent
    a = np.zeros_like(v)
    cars = [new_drivers(theta, config, view_of(chi, v, a, c, k), seed=9, key=encounters.key) for k in (0, 1)]
    t_accept = np.full(21, np.nan)
    for step in range(15):
        moves = [step_drivers(cars[k], view_of(chi, v, a, c, k)) for k in (0, 1)]
        cars = [drivers for drivers, _ in moves]
        a = np.stack([acceleration for _, acceleration in moves], axis=1)
        before = chi[:, 1] - c[:, 1]
        chi = chi - np.maximum(0, v * DT_S + 0.5 * a * DT_S**2)
        v = np.maximum(0, v + a * DT_S)
        after = chi[:, 1] - c[:, 1]
        crossing = (after < 0) & np.isnan(t_accept)
        t_accept[crossing] = DT_S * (step + before[crossing] / (before - after)[crossing])
    accepted = ~np.isnan(t_accept)
    np.testing.assert_array_equal(accepted, expected.accepted[:, 0])
    assert 0 < accepted.sum() < 21
    np.testing.assert_allclose(t_accept[accepted], expected.t_accept_s[accepted, 0], atol=1e-9)


def test_a_car_does_not_depend_on_the_others_in_its_batch(golden):
    encounters, theta = scenes(golden, 20), Box.full().decode(np.full(14, 0.5))
    view = view_of(encounters.chi, encounters.v, 0 * encounters.v, encounters.half_extent, 1)
    part = View(**{f: getattr(view, f)[3:5] for f in View.__dataclass_fields__})
    many = new_drivers(theta, "CM_IIJ12", view, seed=1)
    few = new_drivers(theta, "CM_IIJ12", part, seed=1)
    for _ in range(4):
        many, all_accelerations = step_drivers(many, view)
        few, accelerations = step_drivers(few, part)
        np.testing.assert_array_equal(all_accelerations[3:5], accelerations)


def test_stepping_does_not_change_the_drivers_it_started_from(golden):
    encounters, theta = scenes(golden, 3), Box.full().decode(np.full(14, 0.5))
    view = view_of(encounters.chi, encounters.v, 0 * encounters.v, encounters.half_extent, 1)
    drivers = new_drivers(theta, "CM_IIJ11", view)
    _, once = step_drivers(drivers, view)
    _, again = step_drivers(drivers, view)
    np.testing.assert_array_equal(once, again)


def test_a_view_with_a_missing_number_is_refused(golden):
    encounters, theta = scenes(golden, 3), Box.full().decode(np.full(14, 0.5))
    view = view_of(encounters.chi, encounters.v, 0 * encounters.v, encounters.half_extent, 1)
    with pytest.raises(UsageError, match="not finite"):
        new_drivers(theta, "CM_IIJ11", replace(view, v=np.array([1.0, np.nan, 2.0])))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", ["CM_AIJ11", "CM_IIA12"])
def test_without_a_scale_every_value_is_squashed_to_its_sign(golden, name, sign):
    """The limit u_0,rel = ±0, which a deployed logarithm of 1 is, in the kernel as in the reference."""
    config, encounters = Configuration.from_name(name), scenes(golden, 21)
    theta = replace(Box.full().decode(np.full(14, 0.45)), t_evidence=DT_S)  # what is accumulated is the last value
    steep = replace(theta, u_0_rel=sign * 0.0, delta_v_th_rel=sign * 1e9)  # nobody acts and forgets
    thought = roll_out(encounters, steep, config, lambda step, vehicle: np.zeros((21, 3))).thoughts[0][1]
    believed = np.where(thought.behaviors.valid[:, None, :], thought.other_value, 0.0)
    assert np.isin(believed, [-1.0, 0.0, 1.0]).all()
    assert {-1.0, 1.0} <= set(believed.ravel())

    view = view_of(encounters.chi, encounters.v, 0 * encounters.v, encounters.half_extent, 1)
    drivers = replace(new_drivers(theta, config, view, silent=True), theta=steep)
    mind = step_drivers(drivers, view)[0].mind
    rows = (
        mind.reshape(len(mind), 3 * len(config.action_set), -1).swapaxes(1, 2).reshape(-1, 3 * len(config.action_set))
    )
    values, beliefs = np.split(rows[:21], [len(config.action_set)], axis=1)
    np.testing.assert_array_equal(beliefs.reshape(believed.shape), believed)
    np.testing.assert_allclose(values, thought.values, atol=1e-12)


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("name", ["CM_AIJ11", "CM_IIA12"])
def test_without_a_scale_simulations_have_results(golden, name, precision):
    steep = replace(Box.full().decode(np.full(14, 0.45)), u_0_rel=0.0)
    scene = scenes(golden, 21)
    scene = replace(scene, v=scene.v * (np.arange(21) % 3 > 0)[:, None])  # some stand
    found = simulate_encounters(scene, steep, Configuration.from_name(name), num_paths=8, seed=0, precision=precision)
    assert np.isfinite(found.t_accept_s).all()
