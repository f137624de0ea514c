"""Losses, the journal, optimizers, resuming after a kill, fitted parameters on disk."""

import io
import itertools
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from giveway.core.errors import EmptySelectionError, FileFormatError, StoreError, UsageError
from giveway.predictors.commotions import Configuration, Switches
from giveway.predictors.commotions.encounter import encounters_from_distances
from giveway.predictors.commotions.fitting.fit import FitOptions, fit_parameters, objective_of
from giveway.predictors.commotions.fitting.journal import Entry, Journal
from giveway.predictors.commotions.fitting.optimizers import OPTIMIZERS, budgets_of
from giveway.predictors.commotions.fitting.result import FittedParameters
from giveway.predictors.commotions.fitting.search import Budget, Trace
from giveway.predictors.commotions.fitting.trace import TraceLines
from giveway.predictors.commotions.losses import Loss, TrainingSet, loss_of, path_losses
from giveway.predictors.commotions.parameters import Box, Theta, to_search
from giveway.predictors.commotions.simulation import Simulation, simulate_encounters
from support.optimizers import NEARBY

CONFIG = Configuration.from_name("CM_INA11")
BUDGET = [Budget(initial=12, further=20)]
QUICK = Switches(optimizer=NEARBY)
HERE = Path(__file__).parent


def training(num=25, config=CONFIG):
    rng = np.random.default_rng(0)
    v_e, v_t = rng.uniform(7, 14, num), rng.uniform(0, 5, num)
    d_c, d_a = v_e * rng.uniform(1, 5, num), rng.uniform(1, 10, num)
    encounters = encounters_from_distances(
        d_c=np.stack([d_c + 0.2 * v_e, d_c], axis=1),
        d_a=np.stack([d_a + 0.2 * v_t, d_a], axis=1),
        l_e=np.full(num, 5.0),
        l_t=np.full(num, 3.5),
        horizon_s=d_c / v_e,
    )
    truth = simulate_encounters(encounters, Box.full().decode(np.full(14, 0.4)), config, num_paths=1, seed=5)
    return TrainingSet(encounters=encounters, accepted=truth.accepted[:, 0], t_accept_s=truth.t_accept_s[:, 0])


def three_samples(golden):
    encounters = golden.scenario(*golden.S1, 25).take(np.zeros(3, dtype=int)).with_steps(np.array([25, 20, 15]))
    simulation = Simulation(
        accepted=np.array([[1, 1, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1]], dtype=bool),
        t_accept_s=np.array([[1.8, 2.2, 6.1, 2.6], [5.0, 4.6, 3.1, 5.4], [1.00, 1.05, 1.10, 0.95]]),
        path_steps=0,
    )
    truth = TrainingSet(
        encounters=encounters, accepted=np.array([True, False, True]), t_accept_s=np.array([2.0, np.nan, 1.2])
    )
    return simulation, truth


@pytest.mark.parametrize(
    ("name", "paths", "mean"),
    [
        ("CM_IIJ11", [0.08, 0.0625, 25.63, 0.4225], 6.54875),
        ("CM_IIJ12", [0.695964813, 0.678464813, 26.2459648, 1.03846481], 7.16471481),
    ],
)
def test_losses_are_those_of_the_specification(golden, name, paths, mean):
    simulation, truth = three_samples(golden)
    losses = path_losses(simulation, truth, Configuration.from_name(name), Switches())
    np.testing.assert_allclose(losses, paths, rtol=1e-7)
    loss = loss_of(losses)
    assert loss.mean == pytest.approx(mean, rel=1e-8)
    assert loss.error == pytest.approx(6.36095647, rel=1e-8)


def test_outputs_are_those_of_the_specification(golden):
    simulation, _ = three_samples(golden)
    np.testing.assert_allclose(simulation.probability, [0.75, 0.25, 1.0])
    expected = [
        [1.88, 1.96, 2.04, 2.12, 2.2, 2.28, 2.36, 2.44, 2.52],
        [3.1] * 9,
        [0.965, 0.98, 0.995, 1.01, 1.025, 1.04, 1.055, 1.07, 1.085],
    ]
    np.testing.assert_allclose(simulation.quantiles_s(), expected, atol=1e-12)


def test_printed_spread_term_differs_from_the_computed_one(golden):
    simulation, truth = three_samples(golden)
    config = Configuration.from_name("CM_IIJ12")
    printed = path_losses(simulation, truth, config, Switches(spread_term="absolute"))
    spread = simulation.t_accept_s.std(axis=1, ddof=1)
    first = path_losses(simulation, truth, Configuration.from_name("CM_IIJ11"), Switches())
    np.testing.assert_allclose(printed, first + (100 * spread**2 - 20 * spread + 1).sum())


def test_the_objective_is_the_same_for_the_same_parameters():
    objective = objective_of(training(), CONFIG, Switches(), FitOptions())
    theta = Box.full().decode(np.full(14, 0.3))
    assert objective(theta) == objective(theta)


@pytest.mark.parametrize("name", [NEARBY, "trust_region"])
def test_optimizers_spend_their_budget_and_improve_on_the_initial_points(name):
    data = training()
    fitted = fit_parameters(
        data, CONFIG, switches=Switches(optimizer=name), options=FitOptions(budgets=[Budget(initial=16, further=48)])
    )
    start = fit_parameters(data, CONFIG, switches=QUICK, options=FitOptions(budgets=[Budget(initial=16, further=0)]))
    assert fitted.stages[0].evaluations == 64
    assert fitted.loss < start.loss
    again = objective_of(data, CONFIG, Switches(), FitOptions())(fitted.theta)
    assert again.mean == pytest.approx(fitted.loss)


def test_bayesian_optimization_makes_valid_proposals_and_resumes(tmp_path):
    data, switches = training(15), Switches(optimizer="bayes")
    options = FitOptions(budgets=[Budget(initial=16, further=3)], journal=tmp_path / "fit.jsonl")
    whole = fit_parameters(data, CONFIG, switches=switches, options=options)
    lines = options.journal.read_text().splitlines()
    notes = [json.loads(line).get("note", {}) for line in lines[-3:]]
    assert all("acquisition" in note and len(note["hyper"]["lengthscale"]) == 14 for note in notes)
    options.journal.write_text("\n".join(lines[:-2]) + "\n")
    assert fit_parameters(data, CONFIG, switches=switches, options=options).theta == whole.theta
    assert [json.loads(x)["point"] for x in options.journal.read_text().splitlines()[1:]] == [
        json.loads(x)["point"] for x in lines[1:]
    ]


@pytest.mark.parametrize("name", [NEARBY, "trust_region"])
@pytest.mark.parametrize("keep", [5, 19, 31])
def test_a_fit_cut_anywhere_resumes_to_the_same_result(tmp_path, name, keep):
    data, switches = training(), Switches(optimizer=name)
    options = FitOptions(budgets=BUDGET, journal=tmp_path / "fit.jsonl")
    whole = fit_parameters(data, CONFIG, switches=switches, options=options)
    text = options.journal.read_text().splitlines(keepends=True)
    options.journal.write_text("".join(text[: keep + 1]) + text[keep + 1][: len(text[keep + 1]) // 2])
    resumed = fit_parameters(data, CONFIG, switches=switches, options=options)
    assert (resumed.theta, resumed.loss) == (whole.theta, whole.loss)
    assert [json.loads(x)["point"] for x in options.journal.read_text().splitlines()[1:]] == [
        json.loads(x)["point"] for x in text[1:]
    ]


CHILD = """
import sys
sys.path[:0] = {folders!r}
from pathlib import Path
import test_fitting as t
t.fit_parameters(t.training(), t.CONFIG, switches=t.QUICK,
                 options=t.FitOptions(budgets=[t.Budget(initial=40, further=400)], journal=Path({journal!r})))
"""


def test_a_killed_fit_resumes_to_the_same_result(tmp_path):
    """A real process, really killed."""
    budgets = [Budget(initial=40, further=400)]
    expected = fit_parameters(training(), CONFIG, switches=QUICK, options=FitOptions(budgets=budgets))
    journal = tmp_path / "fit.jsonl"
    code = CHILD.format(folders=[str(HERE), str(HERE.parents[1])], journal=str(journal))
    child = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and child.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") > 60:
            break
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    child.wait()
    done = journal.read_bytes().count(b"\n") - 1
    assert 0 < done < 440
    resumed = fit_parameters(training(), CONFIG, switches=QUICK, options=FitOptions(budgets=budgets, journal=journal))
    assert (resumed.theta, resumed.loss) == (expected.theta, expected.loss)


def test_a_journal_of_another_fit_is_refused(tmp_path):
    options = FitOptions(budgets=BUDGET, journal=tmp_path / "fit.jsonl")
    fit_parameters(training(), CONFIG, switches=QUICK, options=options)
    with pytest.raises(StoreError, match="another fit") as caught:
        fit_parameters(training(), CONFIG, switches=QUICK, options=replace(options, seed=1))
    assert "seed" in str(caught.value)


def test_a_damaged_journal_is_refused_with_a_sentence(tmp_path):
    path = tmp_path / "fit.jsonl"
    path.write_text("not json\n")
    with pytest.raises(StoreError, match="damaged"):
        Journal(path, {})


def test_a_journal_gives_numbers_back_bit_by_bit(tmp_path):
    rng = np.random.default_rng(0)
    entry = Entry(stage=0, point=tuple(rng.random(14)), loss=float(rng.random()), error=0.1, seconds=0.0)
    Journal(tmp_path / "a.jsonl", {"x": 1}).append(entry)
    assert Journal(tmp_path / "a.jsonl", {"x": 1}).entries == [entry]


def test_two_stages_search_a_quarter_of_the_range_around_the_first_winner(tmp_path):
    config = Configuration.from_name("CM_INA21")
    options = FitOptions(budgets=BUDGET * 2, journal=tmp_path / "fit.jsonl")
    fitted = fit_parameters(training(), config, switches=QUICK, options=options)
    first, second = fitted.stages
    assert fitted.loss == min(first.loss, second.loss)
    full = Box.full()
    assert (np.abs(to_search(second.theta) - to_search(first.theta)) <= (full.high - full.low) / 8 + 1e-12).all()


def test_the_published_mistake_deploys_logarithms_when_stage_one_wins():
    config = Configuration.from_name("CM_INA21")
    options = FitOptions(budgets=[Budget(initial=64, further=60), Budget(initial=2, further=0)])
    clean = fit_parameters(training(), config, switches=QUICK, options=options)
    assert clean.stages[0].loss < clean.stages[1].loss
    paper = fit_parameters(
        training(), config, switches=Switches(optimizer=NEARBY, stage_winner="logarithms"), options=options
    )
    np.testing.assert_allclose(paper.theta.as_array(), to_search(clean.theta))


def at_the_lower_bounds(search):
    """An optimizer that ends in a corner of the range, where log10 of u_0_rel is 0."""
    while search.left > 0:
        search.evaluate(np.zeros(14))


def test_a_deployed_logarithm_of_zero_still_predicts(monkeypatch):
    monkeypatch.setattr(OPTIMIZERS, "get", lambda name: at_the_lower_bounds)
    config, data = Configuration.from_name("CM_INA21"), training()
    options = FitOptions(budgets=[Budget(initial=2, further=1)] * 2)
    fitted = fit_parameters(
        data,
        config,
        switches=Switches(stage_winner="logarithms"),
        options=options,
        objective=lambda theta: Loss(mean=theta.u_0_rel, error=0.0),
    )
    assert fitted.theta.u_0_rel == 0.0
    outcome = simulate_encounters(data.encounters, fitted.theta, config, num_paths=5, seed=0)
    assert np.isfinite(outcome.t_accept_s).all()


def test_the_last_step_lost_in_a_fit_leaves_the_surrogate_time_of_rejected_gaps(golden):
    """A driver who stands rejects; the loss of a gap of 9 steps is that of its full horizon."""
    scene = golden.scenario(30, 8, 10, 0, 7, 3.5, 9)
    data = TrainingSet(encounters=scene, accepted=np.array([True]), t_accept_s=np.array([1.0]))
    stubborn = replace(golden.THETA_A, delta_v_th_rel=1e9)
    published, corrected = (
        objective_of(data, CONFIG, Switches(step_count=count), FitOptions())(stubborn).mean
        for count in ("float32", "integer")
    )
    assert published == pytest.approx(corrected, rel=1e-12)
    assert corrected == pytest.approx(4 + (1.8 + 2 * 8 / 10 - 1.0) ** 2)


def test_profiles_name_the_published_and_the_corrected_way():
    assert Switches.of("paper").optimizer == "bayes"
    assert Switches.of("clean") == Switches()
    assert [b.total for b in budgets_of("bayes", 1)] == [360]
    assert [b.total for b in budgets_of("bayes", 2)] == [310, 310]
    assert Switches().optimizer in OPTIMIZERS


def test_fitted_parameters_survive_the_disk(tmp_path):
    fitted = fit_parameters(training(), CONFIG, switches=QUICK, options=FitOptions(budgets=BUDGET))
    fitted.save(tmp_path / "theta.json")
    document = json.loads((tmp_path / "theta.json").read_text())
    assert document["theta"]["t_delta"]["unit"] == "s"
    assert len(document["provenance"]["data_sha256"]) == 64
    loaded = FittedParameters.load(tmp_path / "theta.json")
    assert (loaded.theta, loaded.config, loaded.loss) == (fitted.theta, fitted.config, fitted.loss)


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", '{"format": "something else", "version": 1}'])
def test_a_file_that_holds_no_parameters_is_refused(tmp_path, text):
    (tmp_path / "theta.json").write_text(text)
    with pytest.raises(FileFormatError, match="fitted parameters"):
        FittedParameters.load(tmp_path / "theta.json")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("delta_t_action", 2.0, "outside its range"),
        ("delta_t_action", 0.15, "outside its range"),
        ("v_free_rel", float("nan"), "no finite number"),
        ("t_safe", float("inf"), "no finite number"),
    ],
)
def test_parameters_that_cannot_be_simulated_are_refused_with_the_name_of_the_file(
    golden, tmp_path, name, value, words
):
    theta = replace(golden.THETA_A, **{name: value})
    FittedParameters(theta=theta, config=CONFIG, loss=1.0, loss_error=0.0).save(tmp_path / "theta.json")
    with pytest.raises(FileFormatError, match=words) as caught:
        FittedParameters.load(tmp_path / "theta.json")
    assert caught.value.where == str(tmp_path / "theta.json")
    assert f"{name} = {value:g}" in caught.value.found


def test_deployed_logarithms_are_read_again(golden, tmp_path):
    theta = Theta.from_array(to_search(golden.THETA_A))
    FittedParameters(theta=theta, config=CONFIG, loss=1.0, loss_error=0.0).save(tmp_path / "theta.json")
    assert FittedParameters.load(tmp_path / "theta.json").theta == theta


@pytest.mark.parametrize("change", [{"actions": [-1.0, 1.0]}, {"model": "CM_XXX11"}, {"provenance": {"switches": 3}}])
def test_a_file_that_describes_no_model_is_refused_with_its_name(golden, tmp_path, change):
    path = tmp_path / "theta.json"
    FittedParameters(theta=golden.THETA_A, config=CONFIG, loss=1.0, loss_error=0.0).save(path)
    document = {**json.loads(path.read_text()), **change}
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match="damaged"):
        FittedParameters.load(path)
    del document["seal"]
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match="no fitted parameters") as caught:
        FittedParameters.load(path)
    assert caught.value.where == str(path)


def test_one_class_only_still_fits():
    data = training()
    for accepted in (True, False):
        alone = TrainingSet(
            encounters=data.encounters, accepted=np.full(25, accepted), t_accept_s=np.minimum(data.t_accept_s, 1.0)
        )
        fitted = fit_parameters(alone, CONFIG, switches=QUICK, options=FitOptions(budgets=BUDGET))
        assert np.isfinite(fitted.loss)


def test_nothing_to_fit_is_an_error():
    data = training()
    empty = TrainingSet(
        encounters=data.encounters.take(slice(0, 0)), accepted=data.accepted[:0], t_accept_s=data.t_accept_s[:0]
    )
    with pytest.raises(EmptySelectionError):
        fit_parameters(empty, CONFIG)


def test_budgets_must_match_the_stages():
    with pytest.raises(UsageError, match="every stage"):
        fit_parameters(training(), CONFIG, switches=QUICK, options=FitOptions(budgets=BUDGET * 2))


def test_lines_for_people_tell_best_loss_acquisition_and_time_left(monkeypatch):
    clock = itertools.count(100.0, 3.0)
    monkeypatch.setattr("giveway.predictors.commotions.fitting.trace.time.monotonic", lambda: next(clock))
    stream = io.StringIO()
    tell = TraceLines("CM_INA11", stream)
    for done in range(1, 6):
        tell(Trace(done=done, total=5, loss=9.0, best=7.5, acquisition=-1.25, seconds=done, seconds_left=5.0 - done))
    assert stream.getvalue().splitlines() == [
        "CM_INA11  2/5  best loss 7.500  log EI -1.25  2 s, 3 s left",
        "CM_INA11  4/5  best loss 7.500  log EI -1.25  4 s, 1 s left",
        "CM_INA11  5/5  best loss 7.500  log EI -1.25  5 s, 0 s left",
    ]


def test_traces_tell_best_loss_and_progress():
    traces = []
    fit_parameters(training(), CONFIG, switches=QUICK, options=FitOptions(budgets=BUDGET), on_trace=traces.append)
    assert [t.done for t in traces] == list(range(1, 33))
    assert all(b.best <= a.best for a, b in itertools.pairwise(traces))
    assert traces[-1].seconds_left == 0
