"""The 32 configurations in the benchmark."""

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.errors import DataError, EmptySelectionError, FileFormatError
from giveway.gaps.extract import SampleRules, gaps_from, samples_at
from giveway.gaps.profile import CLEAN
from giveway.predictors import PREDICTORS
from giveway.predictors.commotions import NAMES, Switches
from giveway.predictors.commotions.fitting.fit import FitOptions
from giveway.predictors.commotions.fitting.search import Budget
from giveway.predictors.protocol import configured
from giveway.testing.crossing import CROSSING, crossing_gaps, crossing_samples
from giveway.testing.predictors import check_predictor
from support.optimizers import NEARBY


def small(name, further=10):
    """A registered recipe that fits in a moment."""
    recipe = PREDICTORS.get(name)
    options = FitOptions(budgets=[Budget(initial=8, further=further)] * recipe.config.stages)
    return replace(recipe, options=options, switches=Switches(optimizer=NEARBY))


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("name", ["CM_IIJ11", "CM_ANA22"])
def test_configurations_keep_the_contract_of_predictors(name):
    check_predictor(small(name))


def test_all_configurations_are_registered_fit_and_predict():
    samples = crossing_samples(40)
    assert set(NAMES) <= set(PREDICTORS.names())
    for name in NAMES:
        prediction = small(name, further=0).fit(samples, rng()).predict(samples.inputs, rng())
        assert ((prediction.p >= 0) & (prediction.p <= 1)).all()
        assert (np.isnan(prediction.quantile_s).all(axis=1) == (prediction.p == 0)).all()


def test_titles_are_those_of_the_tables():
    assert PREDICTORS.get("CM_AIJ21").info.title == "CM_{AIJ21}"


def test_the_profile_of_the_benchmark_chooses_the_published_way():
    recipe = PREDICTORS.get("CM_IIJ21")
    assert configured(recipe, {"commotions": "published"}).switches.optimizer == "bayes"
    assert configured(recipe, {"commotions": "corrected"}).switches == recipe.switches


def test_a_specification_may_limit_the_evaluations_of_a_fit():
    recipe = configured(PREDICTORS.get("CM_INA21"), CLEAN.with_switches(commotions_evaluations=30).model_dump())
    fitted = recipe.fit(crossing_samples(40), rng())
    assert [stage.evaluations for stage in fitted.parameters.stages] == [30, 30]
    with pytest.raises(ValueError, match="greater than or equal to 4"):
        CLEAN.with_switches(commotions_evaluations=3)


def test_a_fitted_model_learns_that_large_gaps_are_taken():
    samples = crossing_samples(80)
    fitted = small("CM_INA11", further=250).fit(samples, rng())
    p, truth = fitted.predict(samples.inputs, rng()).p, samples.truth.accepted
    auc = np.mean(p[truth][:, None] > p[~truth]) + 0.5 * np.mean(p[truth][:, None] == p[~truth])
    assert auc > 0.85


def with_distance(inputs, row, value):
    distance = inputs.distance.copy()
    distance[:3, row] = value
    return replace(inputs, distance=distance)


def test_samples_that_cannot_be_simulated_get_a_defined_answer():
    samples = crossing_samples(40)
    fitted = small("CM_IIJ11").fit(samples, rng())
    missing = fitted.predict(with_distance(samples.inputs, 0, np.nan), rng())
    np.testing.assert_allclose(missing.p[:3], samples.truth.accepted.mean())
    assert np.isnan(missing.quantile_s[:3]).all()
    inside = fitted.predict(with_distance(samples.inputs, 1, -0.5), rng())
    assert (inside.p[:3] == 1).all()
    assert (inside.quantile_s[:3] == 0).all()


def test_another_clock_and_a_longer_history_change_nothing():
    fitted = small("CM_IIJ11").fit(crossing_samples(40), rng())
    gaps = crossing_gaps(40)

    def inputs_of(shift, num_input):
        moved = replace(gaps, time_s=gaps.time_s + shift)
        found = gaps_from(CROSSING, moved, CLEAN)
        return samples_at(found, SampleRules(choice="constant", num_input=num_input), CLEAN).samples.inputs

    now, later = inputs_of(0.0, 2), inputs_of(1000.0, 5)
    now = now.take(np.isin(now.sample_id, later.sample_id))
    assert now.sample_id.tolist() == later.sample_id.tolist()
    assert (now.num_samples > 10, later.distance.shape[2]) == (True, 5)
    one, other = fitted.predict(now, rng()), fitted.predict(later, rng())
    np.testing.assert_allclose(other.p, one.p)
    np.testing.assert_allclose(other.quantile_s, one.quantile_s, atol=1e-6)


def test_training_drops_what_cannot_be_simulated_and_refuses_nothing_left():
    samples = crossing_samples(40)
    some = replace(samples, inputs=with_distance(samples.inputs, 1, np.nan))
    fitted = small("CM_IIJ11").fit(some, rng())
    assert fitted.parameters.provenance["samples"] == samples.num_samples - 3
    none = replace(samples, inputs=replace(samples.inputs, distance=np.full_like(samples.inputs.distance, np.nan)))
    with pytest.raises(EmptySelectionError, match="no sample can be simulated"):
        small("CM_IIJ11").fit(none, rng())


def test_another_spacing_of_inputs_is_refused():
    samples = crossing_samples(40)
    with pytest.raises(DataError, match=r"0\.2 s apart"):
        small("CM_IIJ11").fit(replace(samples, inputs=replace(samples.inputs, dt_s=0.1)), rng())


def test_another_configuration_is_not_loaded(tmp_path):
    small("CM_IIJ11").fit(crossing_samples(40), rng()).save(tmp_path)
    with pytest.raises(FileFormatError, match="another configuration"):
        PREDICTORS.get("CM_IIJ12").load(tmp_path)


def test_fits_of_the_benchmark_resume_from_journals(tmp_path, monkeypatch):
    monkeypatch.setenv("GIVEWAY_FIT_JOURNALS", str(tmp_path))
    samples = crossing_samples(40)
    first = small("CM_INA11").fit(samples, rng())
    (journal,) = tmp_path.iterdir()
    size = journal.stat().st_size
    second = small("CM_INA11").fit(samples, rng())
    assert journal.stat().st_size == size
    assert second.parameters.theta == first.parameters.theta
