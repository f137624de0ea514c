"""The public entry: shapes, independence of batching, symmetries, sanity, and what happens with nonsense."""

import inspect
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.core.errors import UnknownNameError, UsageError
from giveway.predictors.commotions import NAMES, Configuration, encounter, simulate
from giveway.predictors.commotions.encounter import content_keys, encounters_from_distances, published_step_count
from giveway.predictors.commotions.kernel.constants import constants_of
from giveway.predictors.commotions.parameters import PARAMETER_NAMES, Box, Derived
from giveway.predictors.commotions.reference import perception
from giveway.predictors.commotions.reference.rollout import roll_out
from giveway.predictors.commotions.simulation import simulate_encounters

MIDDLE = Box.full().decode(np.full(14, 0.45))


def inputs(num=40, seed=0):
    rng = np.random.default_rng(seed)
    v_e, v_t = rng.uniform(6, 14, num), rng.uniform(0, 5, num)
    d_c, d_a = rng.uniform(15, 70, num), rng.uniform(1, 12, num)
    return {
        "d_c": np.stack([d_c + 0.2 * v_e, d_c], axis=1),
        "d_a": np.stack([d_a + 0.2 * v_t, d_a], axis=1),
        "l_e": rng.uniform(3, 7, num),
        "l_t": rng.uniform(3, 5, num),
        "horizon_s": d_c / v_e,
    }


def run(given_inputs, **changes):
    arguments = {"theta": MIDDLE.as_dict(), "config": "CM_AIJ11", "n_paths": 8, "seed": 3, **given_inputs, **changes}
    return simulate(**arguments)


def part(given_inputs, index):
    return {name: values[index] for name, values in given_inputs.items()}


def test_every_configuration_simulates():
    few = part(inputs(), slice(0, 6))
    for name in NAMES:
        outcome = run(few, config=name)
        assert outcome.accepted.shape == outcome.t_accept_s.shape == (6, 8)
        assert np.isfinite(outcome.t_accept_s).all()
    assert len(NAMES) == len(set(NAMES)) == 32


def test_names_and_axes_belong_together():
    config = Configuration.from_name("CM_{INJ21}")
    assert (config.name, config.label) == ("CM_INJ21", "IS-NM-JC-2O-L1")
    assert Configuration.from_name("CM_AIA12").action_set == (-2, -1, -0.5, 0, 0.5, 1, 2)


def test_the_public_entry_takes_what_was_promised():
    signature = inspect.signature(simulate)
    assert list(signature.parameters) == [
        "d_c", "d_a", "l_e", "l_t", "horizon_s", "theta", "config", "n_paths", "seed",
    ]  # fmt: skip
    assert {p.kind for p in signature.parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    keys = (
        "beta_v, delta_v_th_rel, t_evidence, t_delta, sigma_v, sigma_speed, delta_t_action, t_safe, d_safe, u_0_rel, "
        "k_da, sigma_r0_pos_rel, sigma_r0_speed_rel, v_free_rel"
    )
    assert tuple(keys.split(", ")) == PARAMETER_NAMES


def test_results_do_not_depend_on_order_batch_or_threads(monkeypatch):
    everything = inputs(60)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    expected = run(everything, n_paths=40)
    order = np.random.default_rng(1).permutation(60)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    shuffled = run(part(everything, order), n_paths=40)
    np.testing.assert_array_equal(shuffled.t_accept_s, expected.t_accept_s[order])
    alone = run(part(everything, slice(17, 18)), n_paths=40)
    np.testing.assert_array_equal(alone.t_accept_s[0], expected.t_accept_s[17])
    fewer_paths = run(everything, n_paths=7)
    np.testing.assert_array_equal(fewer_paths.t_accept_s, expected.t_accept_s[:, :7])


def test_equal_samples_get_different_noise():
    same = part(inputs(), np.zeros(50, dtype=int))
    outcome = run(same, n_paths=1)
    assert len(np.unique(outcome.t_accept_s)) > 25
    rows = np.arange(12.0).reshape(3, 4)[[0, 1, 0, 2, 0]]
    assert len(set(content_keys(rows).tolist())) == 5


def test_another_seed_gives_other_paths():
    assert (run(inputs()).t_accept_s != run(inputs(), seed=4).t_accept_s).any()


def test_a_longer_horizon_keeps_what_was_accepted():
    short = run(inputs())
    longer = run({**inputs(), "horizon_s": inputs()["horizon_s"] + 2})
    np.testing.assert_array_equal(longer.t_accept_s[short.accepted], short.t_accept_s[short.accepted])
    assert longer.accepted.sum() >= short.accepted.sum()


@pytest.mark.parametrize("name", ["CM_AIJ11", "CM_AIA12"])
def test_exchanging_the_vehicles_exchanges_their_paths(golden, name):
    """Without a duty to yield the two roles are one."""
    encounters = golden.scenario(*golden.S2, 4)
    mirrored = replace(
        encounters, chi=encounters.chi[:, ::-1], v=encounters.v[:, ::-1], half_extent=encounters.half_extent[:, ::-1]
    )
    theta = golden.THETA_B
    noise = golden.scripted_noise
    config = Configuration.from_name(name)

    def paths(scene, swap, monkey):
        monkey.setattr(Derived, "of", _without_penalty(Derived.of))
        with monkey.context():
            return roll_out(scene, theta, config, lambda i, k: noise(i, 1 - k if swap else k))

    with pytest.MonkeyPatch.context() as monkey:
        one = paths(encounters, False, monkey)
        other = paths(mirrored, True, monkey)
    steps = min(int(one.open[0].sum()), int(other.open[0].sum()))
    np.testing.assert_allclose(one.chi[0, :steps], other.chi[0, :steps, ::-1], atol=1e-12)
    assert (one.a[0, :steps] != 0).any()


@pytest.mark.parametrize("name", ["CM_AIJ11", "CM_INA12"])
def test_the_same_encounter_in_another_unit_of_length_takes_the_same_course(name, monkeypatch):
    """All lengths, those hidden in θ, in the actions and in the constants included, may have another unit."""
    unit = 4.0  # a quarter of a meter: a power of two keeps rounding as it is, and standing at a margin is a tie
    config = Configuration.from_name(name)
    encounters = encounters_from_distances(**inputs(20))
    draws = np.random.default_rng(2).standard_normal((100, 2, 20, 3))
    meters = roll_out(encounters, MIDDLE, config, lambda i, k: draws[i, k])
    monkeypatch.setattr(perception, "EYE_HEIGHT_M", 1.5 * unit)
    monkeypatch.setattr(encounter, "BASE_SPEED_MPS", 10 * unit)
    scaled = roll_out(
        replace(
            encounters, chi=encounters.chi * unit, v=encounters.v * unit, half_extent=encounters.half_extent * unit
        ),
        replace(MIDDLE, d_safe=MIDDLE.d_safe * unit, sigma_speed=MIDDLE.sigma_speed * unit, k_da=MIDDLE.k_da / unit**2),
        replace(config, actions=tuple(u * unit for u in config.action_set)),
        lambda i, k: draws[i, k],
    )
    np.testing.assert_array_equal(scaled.accepted, meters.accepted)
    np.testing.assert_allclose(scaled.t_accept_s, meters.t_accept_s, atol=1e-5)  # ε_m is no length and does not scale
    assert 0 < meters.accepted.sum() < 20


def _without_penalty(of):
    return classmethod(lambda cls, theta: replace(of(theta), u_ny=0.0))


def test_larger_gaps_are_accepted_more_often():
    """For a θ fitted to synthetic left turns: T rolls 8 m away, E comes with 12 m/s from farther and farther."""
    fitted = (8.747, 0.002552, 0.1886, 87.64, 1.466, 0.0231, 1.0, 0.01082, 4.988, 97.03, 9.742, 0.1815, 4.445, 2.0)
    gaps, repeat = np.array([2.0, 3.0, 4.0, 6.0, 8.0]), 20
    horizon = np.repeat(gaps, repeat)
    outcome = simulate(
        d_c=np.stack([12 * horizon + 2.4, 12 * horizon], axis=1),
        d_a=np.full((len(horizon), 2), [8.4, 8.0]),
        l_e=np.full(len(horizon), 7.0),
        l_t=np.full(len(horizon), 3.5),
        horizon_s=horizon,
        theta=dict(zip(PARAMETER_NAMES, fitted, strict=True)),
        config="CM_AIJ11",
        n_paths=20,
        seed=0,
    )
    rates = outcome.probability.reshape(len(gaps), repeat).mean(axis=1)
    assert rates[0] < 0.05
    assert rates[-1] > 0.9
    assert (np.diff(rates) > 0).all()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=14, max_size=14), st.sampled_from(NAMES), st.integers(0, 2**63))
def test_what_must_hold_for_any_parameters(unit, name, seed):
    theta, config = Box.full().decode(np.array(unit)), Configuration.from_name(name)
    encounters = encounters_from_distances(**inputs(10, seed=seed % 1000))
    rng = np.random.default_rng(seed)
    draws = rng.standard_normal((100, 2, 10, 3))
    rollout = roll_out(
        encounters.with_steps(np.minimum(encounters.num_steps, 6)), theta, config, lambda i, k: draws[i, k]
    )
    assert (rollout.v >= 0).all()
    assert (np.diff(rollout.chi, axis=1) <= 0).all()
    for thoughts in rollout.thoughts:
        for thought in thoughts:
            if thought is not None:
                np.testing.assert_allclose(thought.probability.sum(axis=2), 1.0, atol=1e-12)
                if theta.t_evidence >= 0.2:
                    assert np.abs(thought.values).max() <= 1 + 1e-12
    if not config.interactive:
        steps = np.arange(rollout.chi.shape[1])
        expected = encounters.chi[:, :1] - encounters.v[:, :1] * 0.2 * steps
        still = rollout.open
        np.testing.assert_allclose(rollout.chi[:, :, 0][still], expected[still], atol=1e-9)


def test_with_sharp_eyes_the_estimate_is_the_truth(golden):
    theta = replace(golden.THETA_A, sigma_v=1e-6, sigma_r0_pos_rel=10.0)
    rollout = roll_out(golden.scenario(*golden.S1, 5), theta, golden.variant("INA", 1), golden.no_noise)
    for step in range(4):
        assert rollout.thoughts[step][1].belief.mean[0, 0] == pytest.approx(rollout.chi[0, step, 0], abs=1e-3)


def test_published_step_count_loses_the_steps_named_in_the_specification():
    num = np.arange(5, 48)
    lost = num[published_step_count(num) < num]
    assert lost.tolist() == [9, 13, 18, 21, 26, 31, 36, 42, 47]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"d_c": np.full((40, 2), np.nan)}, "d_c is not finite"),
        ({"d_a": np.full((40, 2), -1.0)}, "T is inside"),
        ({"l_e": np.full(40, -1.0)}, "l_e is negative"),
        ({"horizon_s": np.full(40, -1.0)}, "horizon_s is negative"),
        ({"horizon_s": np.full(40, np.nan)}, "horizon_s is not finite"),
        ({"d_c": np.zeros((40, 3))}, "wrong shape"),
        ({"l_t": np.zeros(3)}, "different numbers of samples"),
        ({"n_paths": 0}, "at least one path"),
        ({"d_c": "far"}, "not an array of numbers"),
        ({"theta": {**MIDDLE.as_dict(), "sigma_v": -1.3}}, "sigma_v is outside its range"),
        ({"theta": {**MIDDLE.as_dict(), "k_da": float("nan")}}, "k_da is outside its range"),
        ({"theta": {"beta_v": 1.0}}, "incomplete"),
        ({"theta": {**MIDDLE.as_dict(), "t_safe": "much"}}, "t_safe is no number"),
        ({"theta": None}, "no mapping"),
        ({"n_paths": 1.5}, "n_paths is no whole number"),
        ({"seed": "today"}, "seed is no whole number"),
        ({"theta": {**MIDDLE.as_dict(), 3: 1.0}}, "unknown parameter of the Commotions model '3'"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(change, words):
    with pytest.raises(UsageError, match=words):
        run({**inputs(), **change})


ROUNDED_UP = """
import sys
sys.path.insert(0, {folder!r})
import test_simulation as t
few = t.part(t.inputs(), slice(0, 4))
one, other = (t.run(few, theta={{**t.MIDDLE.as_dict(), "delta_t_action": x}}) for x in (1.0, 1.0000000007))
print((one.t_accept_s == other.t_accept_s).all())
"""


def test_a_value_just_beyond_its_range_counts_as_its_end():
    """In a process of its own: a plan of six steps would be written beyond the memory of the kernel."""
    code = ROUNDED_UP.format(folder=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr


@pytest.mark.parametrize("duration", [0.15, 0.2, 1.01, 2.0, np.nan, np.inf])
def test_the_kernel_refuses_actions_that_its_plan_cannot_hold(duration):
    with pytest.raises(UsageError, match="action lasts 2 to 5 steps"):
        constants_of(replace(MIDDLE, delta_t_action=duration), Configuration.from_name("CM_IIJ11"), np.float64)


def test_the_last_step_lost_leaves_the_horizon_of_rejected_paths_alone(golden):
    """5.1, 7.2: nine steps are eight in the published count, but the gap still closes after 9 · 0.2 s."""
    nine = golden.scenario(*golden.S3, 9)
    lost = {"theta": golden.THETA_A, "config": golden.variant("IIJ", 1), "step_count": "float32"}
    eight = roll_out(nine.with_steps(np.array([8])), golden.THETA_A, lost["config"], golden.no_noise)
    left = eight.chi[0, -1, 1] - nine.half_extent[0, 1]
    kernel = simulate_encounters(nine, **lost, num_paths=1, seed=0, precision="float64", noise="silent")
    reference = roll_out(nine, **lost, noise=golden.no_noise)
    assert reference.chi.shape[1] == 9
    assert not kernel.accepted[0, 0]
    assert reference.t_accept_s[0] == pytest.approx(1.8 + 2 * left / 10)
    assert kernel.t_accept_s[0, 0] == pytest.approx(reference.t_accept_s[0], abs=1e-9)


@pytest.mark.parametrize(
    "change", [{"config": "CM_XIJ11"}, {"config": None}, {"theta": {**MIDDLE.as_dict(), "beta": 1.0}}]
)
def test_unknown_names_are_refused(change):
    with pytest.raises(UnknownNameError):
        run({**inputs(), **change})


def test_odd_but_possible_inputs_have_defined_results():
    few = part(inputs(), slice(0, 4))
    nothing = run({**few, "horizon_s": np.zeros(4)})
    assert not nothing.accepted.any()
    np.testing.assert_allclose(nothing.t_accept_s[:, 0], 2 * few["d_a"][:, 1] / 10)
    endless = run({**few, "horizon_s": np.full(4, np.inf)})
    assert np.isfinite(endless.t_accept_s).all()
    assert np.isfinite(run({**few, "l_e": np.zeros(4)}).t_accept_s).all()
    inside = run({**few, "d_c": np.full((4, 2), -1.0), "d_a": np.zeros((4, 2))})
    assert np.isfinite(inside.t_accept_s).all()
    assert run({name: values[:0] for name, values in few.items()}).accepted.shape == (0, 8)
    backwards = run({**few, "d_a": few["d_a"][:, ::-1]})
    assert np.isfinite(backwards.t_accept_s).all()


def test_no_accepting_path_means_no_times():
    few = part(inputs(), slice(0, 4))
    outcome = run({**few, "horizon_s": np.zeros(4)})
    assert (outcome.probability == 0).all()
    assert np.isnan(outcome.quantiles_s()).all()


def test_silent_paths_are_all_the_same():
    encounters = encounters_from_distances(**inputs(5))
    outcome = simulate_encounters(
        encounters, MIDDLE, Configuration.from_name("CM_IIJ11"), num_paths=5, seed=0, noise="silent"
    )
    assert (outcome.t_accept_s == outcome.t_accept_s[:, :1]).all()
