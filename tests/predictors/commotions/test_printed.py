"""The model as the supplement prints it: table II, section III.C.3 and the two readings of the prior and of ΔT_free."""

from dataclasses import replace

import numpy as np
import pytest

from giveway.gaps.profile import CLEAN, PAPER, PRINTED
from giveway.predictors import PREDICTORS
from giveway.predictors.commotions.config import Configuration, Switches
from giveway.predictors.commotions.encounter import encounters_from_distances
from giveway.predictors.commotions.fitting.fit import FitOptions, fit_parameters
from giveway.predictors.commotions.fitting.result import FittedParameters
from giveway.predictors.commotions.fitting.search import Budget
from giveway.predictors.commotions.parameters import PARAMETERS, Box, Theta, to_search
from giveway.predictors.commotions.reference.decision import Snapshot
from giveway.predictors.commotions.reference.random import random_noise
from giveway.predictors.commotions.reference.rollout import new_mind, roll_out
from giveway.predictors.commotions.simulation import simulate, simulate_encounters
from giveway.predictors.protocol import configured
from giveway.testing.crossing import crossing_samples
from predictors.commotions.test_fitting import training
from predictors.commotions.test_kernel import random_encounters
from support.optimizers import NEARBY

MIDDLE = Box.full().decode(np.full(14, 0.45))

TABLE_II = {
    "beta_v": (0, 2.3),
    "delta_v_th_rel": (-3, -1),
    "t_delta": (1, 2),
    "sigma_v": (-2.3, 0.196),
    "sigma_speed": (-2, 0),
    "u_0_rel": (0, 2),
    "k_da": (-1, 1),
    "sigma_r0_pos_rel": (-1, 1),
    "sigma_r0_speed_rel": (-1, 1),
    "v_free_rel": (-0.3, 0.3),
}
"""Powers of ten as printed; the others are linear."""
LINEAR = {"t_evidence": (0.1, 0.5), "delta_t_action": (0.202, 1.0), "t_safe": (0.0, 2.0), "d_safe": (0.0, 5.0)}


@pytest.mark.parametrize("scale", ["log10", "ln"])
def test_the_printed_box_has_the_ends_of_table_ii(scale):
    box = Box.full("printed", scale)
    for end, corner in enumerate((np.zeros(14), np.ones(14))):
        found = box.decode(corner).as_dict()
        expected = {name: 10.0 ** ends[end] for name, ends in TABLE_II.items()} | {n: e[end] for n, e in LINEAR.items()}
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)
        Theta.checked(found)
    unit = np.random.default_rng(0).random(14)
    np.testing.assert_allclose(box.decode(unit).as_array(), Box.full("printed").decode(unit).as_array(), rtol=1e-12)
    logarithms = [p.log for p in PARAMETERS]
    base = np.log(10) if scale == "ln" else 1.0
    np.testing.assert_allclose((box.high - box.low)[logarithms], base * to_width()[logarithms], rtol=1e-12)


def to_width():
    box = Box.full("printed")
    return box.high - box.low


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("name", ["CM_AIJ11", "CM_INA12"])
@pytest.mark.parametrize("margins", [(0.0, 1.0), (0.5, 0.0), (0.0, 0.0)], ids=["T_s=0", "D_s=0", "both"])
def test_margins_of_zero_divide_by_nothing_and_equal_the_reference(name, margins, precision):
    rng = np.random.default_rng(11)
    config, encounters = Configuration.from_name(name), random_encounters(rng, 60)
    # somebody exactly at the edge, where d_e = 0 and entry is now, and a standing pair
    chi, v = encounters.chi.copy(), encounters.v.copy()
    chi[:6] = encounters.half_extent[:6]
    v[3:6] = 0.0
    encounters = replace(encounters, chi=chi, v=v)
    theta = replace(MIDDLE, t_safe=margins[0], d_safe=margins[1])
    with np.errstate(divide="raise"):
        expected = roll_out(encounters, theta, config, random_noise(encounters.key, np.full(60, 1), 9))
    actual = simulate_encounters(encounters, theta, config, num_paths=2, seed=9, precision=precision)
    assert np.isfinite(actual.t_accept_s).all()
    assert np.isfinite(expected.t_accept_s).all()
    for step in expected.thoughts:
        assert all(np.isfinite(thought.values).all() for thought in step if thought is not None)
    if precision == "float64":
        np.testing.assert_array_equal(actual.accepted[:, 1], expected.accepted)
        np.testing.assert_allclose(actual.t_accept_s[:, 1], expected.t_accept_s, atol=1e-9)
    gaps = {"d_c": [[30.0, 28.0]], "d_a": [[5.0, 4.8]], "l_e": [5.0], "l_t": [3.5], "horizon_s": [2.8]}
    assert simulate(**gaps, theta=theta, config=config, n_paths=3, seed=0).accepted.shape == (1, 3)


def test_a_standing_vehicle_has_a_speed_without_spread():
    moving, free = np.array([0.0, 7.0]), np.array([10.0, 10.0])
    other = Snapshot(chi=np.array([30.0, 30.0]), v=moving, a=np.zeros(2), c=np.full(2, 5.0), v_free=free, penalty=0.0)
    belief = new_mind(other, MIDDLE, 5, "speed").belief
    np.testing.assert_array_equal(belief.mean[:, 1], free)
    np.testing.assert_allclose(belief.covariance[:, 1, 1], (MIDDLE.sigma_r0_speed_rel * moving) ** 2)
    plain = new_mind(other, MIDDLE, 5).belief
    np.testing.assert_allclose(plain.covariance[:, 1, 1], (MIDDLE.sigma_r0_speed_rel * free) ** 2)


@pytest.mark.parametrize("reading", [{"speed_prior": "speed"}, {"dt_free": "both"}], ids=["prior", "dt_free"])
@pytest.mark.parametrize("name", ["CM_AIJ11", "CM_IIA12", "CM_INA11"])
def test_readings_of_table_ii_are_the_same_in_kernel_and_reference(name, reading):
    encounters = random_encounters(np.random.default_rng(5), 60)
    plain = Configuration.from_name(name)
    config = replace(plain, **reading)
    expected = roll_out(encounters, MIDDLE, config, random_noise(encounters.key, np.full(60, 3), 12345))
    run = {"num_paths": 4, "seed": 12345, "precision": "float64"}
    actual = simulate_encounters(encounters, MIDDLE, config, **run)
    np.testing.assert_array_equal(actual.accepted[:, 3], expected.accepted)
    np.testing.assert_allclose(actual.t_accept_s[:, 3], expected.t_accept_s, atol=1e-9)
    before = simulate_encounters(encounters, MIDDLE, plain, **run)
    changes = bool((before.t_accept_s != actual.t_accept_s).any())
    assert changes == (reading != {"dt_free": "both"} or not plain.jerk)  # with jerk control it is 10 s anyway


def test_both_readings_of_a_standing_pair_agree_when_nobody_moves():
    """σ = 0 and v_free as the mean: the filter starts with a certain speed and stays finite."""
    encounters = encounters_from_distances(
        d_c=[[20.0, 20.0]] * 4, d_a=[[2.0, 2.0]] * 4, l_e=[5.0] * 4, l_t=[3.5] * 4, horizon_s=[6.0] * 4
    )
    for name in ("CM_AIJ11", "CM_INA11"):
        config = replace(Configuration.from_name(name), speed_prior="speed", dt_free="both")
        outcome = simulate_encounters(encounters, MIDDLE, config, num_paths=50, seed=1)
        assert np.isfinite(outcome.t_accept_s).all()


def test_two_printed_stages_have_sobol_points_in_the_first_only(tmp_path):
    config = Configuration.from_name("CM_INA21")
    switches = replace(Switches.of("printed"), optimizer=NEARBY)
    options = FitOptions(budgets=[Budget(initial=12, further=20)] * 2, journal=tmp_path / "fit.jsonl")
    fitted = fit_parameters(training(), config, switches=switches, options=options)
    assert [stage.evaluations for stage in fitted.stages] == [32, 20]
    first, second = fitted.stages
    assert second.loss <= first.loss  # it starts from what the first has seen
    full = Box.full("printed", "ln")
    away = np.abs(to_search(second.theta, "ln") - to_search(first.theta, "ln"))
    assert (away <= (full.high - full.low) / 10 + 1e-9).all()
    again = fit_parameters(training(), config, switches=switches, options=options)
    assert (again.theta, again.stages) == (fitted.theta, fitted.stages)
    lines = (tmp_path / "fit.jsonl").read_text().splitlines()
    (tmp_path / "fit.jsonl").write_text("\n".join(lines[:40]) + "\n")  # cut in the second stage
    assert fit_parameters(training(), config, switches=switches, options=options).theta == fitted.theta


def test_the_published_search_goes_on_without_new_sobol_points():
    config = Configuration.from_name("CM_INA21")
    switches = Switches.of("printed")
    options = FitOptions(budgets=[Budget(initial=8, further=2)] * 2)
    fitted = fit_parameters(training(15), config, switches=switches, options=options)
    assert [stage.evaluations for stage in fitted.stages] == [10, 2]


def test_profile_printed_sets_every_reading_and_a_file_keeps_them(tmp_path):
    recipe = PREDICTORS.get("CM_INA21")
    printed = configured(recipe, PRINTED.model_dump())
    assert (printed.config, printed.switches) == (
        recipe.with_profile("printed").config,
        recipe.with_profile("printed").switches,
    )
    assert (printed.config.dt_free, printed.config.speed_prior) == ("both", "speed")
    assert printed.switches == Switches.of("printed")
    assert configured(recipe, PAPER.model_dump()).switches == Switches.of("paper")
    assert configured(recipe, CLEAN.model_dump()) == recipe
    own = PAPER.with_switches(decision_instant="before_closing")
    assert configured(recipe, {"commotions": own.commotions}).switches.acceptance == "before_closing"
    budgets = [Budget(initial=4, further=2)] * 2
    small = replace(printed, switches=replace(printed.switches, optimizer=NEARBY), options=FitOptions(budgets=budgets))
    fitted = small.fit(crossing_samples(30), np.random.default_rng(0))
    theta = replace(fitted.parameters.theta, delta_t_action=0.202, t_safe=0.0, d_safe=0.0)
    replace(fitted, parameters=replace(fitted.parameters, theta=theta)).save(tmp_path)
    back = FittedParameters.load(tmp_path / "commotions.json")
    assert (back.theta, back.config, back.switches) == (theta, small.config, small.switches)
