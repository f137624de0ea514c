"""Every registered predictor keeps the contract, and the check notices those that do not."""

from __future__ import annotations

import re
import sys
import types
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from giveway.core.errors import FileFormatError, PredictionError
from giveway.core.predictions import OutputKind, Probability
from giveway.gaps.profile import CLEAN, PAPER
from giveway.predictors import PREDICTORS, predictor_named
from giveway.predictors.gru import SHAPES, GruPredictor
from giveway.predictors.protocol import PredictorInfo, configured
from giveway.testing.crossing import crossing_samples
from giveway.testing.predictors import check_predictor

LIGHT = tuple(name for name in PREDICTORS.names() if not name.startswith(("CM_", "TPP")))


@pytest.mark.parametrize("name", LIGHT)
def test_registered_predictors_keep_the_contract(name):
    check_predictor(cheap(name))


@dataclass(frozen=True)
class Fitted:
    info: PredictorInfo
    rule: object

    def predict(self, inputs, rng):
        return Probability(p=np.asarray(self.rule(inputs, rng), dtype=float))

    def save(self, folder):
        folder.mkdir(exist_ok=True)


MINE = PredictorInfo(name="mine", gives=OutputKind.PROBABILITY, takes=frozenset({"gaps"}))


@dataclass(frozen=True)
class Recipe:
    rule: object
    info: PredictorInfo = MINE

    def fit(self, samples, rng):
        return Fitted(info=self.info, rule=self.rule)

    def load(self, folder):
        return Fitted(info=self.info, rule=self.rule)


def half(inputs):
    return np.full(inputs.num_samples, 0.5)


def test_an_honest_predictor_passes():
    check_predictor(Recipe(rule=lambda inputs, rng: half(inputs)))


BROKEN = {
    "NaN or outside": lambda inputs, rng: half(inputs) + 0.6,
    "NaN": lambda inputs, rng: half(inputs) * np.nan,
    "wrong shape": lambda inputs, rng: np.full(inputs.num_samples + 1, 0.5),
    "same seed differ": lambda inputs, rng: np.random.default_rng().random(inputs.num_samples),
    "alone is predicted differently": lambda inputs, rng: (
        inputs.distance[:, 0, -1] > inputs.distance[:, 0, -1].mean()
    ).astype(float),
}


@pytest.mark.parametrize("message", BROKEN)
def test_a_broken_predictor_is_told_what_it_breaks(message):
    with pytest.raises(PredictionError) as caught:
        check_predictor(Recipe(rule=BROKEN[message]))
    assert message in str(caught.value)


def test_a_predictor_that_changes_its_inputs_is_caught():
    def spoil(inputs, rng):
        inputs.distance[:] = 0.0
        return half(inputs)

    with pytest.raises(PredictionError, match="inputs were changed"):
        check_predictor(Recipe(rule=spoil))


@pytest.mark.parametrize("name", ("LR_1D", "LR_2D", "DDM"))
def test_one_class_is_refused_with_counts(name):
    samples = crossing_samples(80)
    accepted = samples.take(samples.truth.accepted)
    with pytest.raises(PredictionError, match="one class only") as caught:
        PREDICTORS.get(name).fit(accepted, np.random.default_rng(0))
    assert "0 rejected" in str(caught.value)


def test_loading_a_folder_of_another_model_is_refused(tmp_path):
    samples = crossing_samples(80)
    PREDICTORS.get("LR_1D").fit(samples, np.random.default_rng(0)).save(tmp_path)
    with pytest.raises(FileFormatError, match="another model"):
        PREDICTORS.get("LR_2D").load(tmp_path)


def test_predicting_other_agents_than_fitted_is_refused():
    samples = crossing_samples(80)
    fitted = PREDICTORS.get("LR_2D").fit(samples, np.random.default_rng(0))
    fewer = replace(samples.inputs, xy=samples.inputs.xy[:, :2], roles=("E", "T"))
    with pytest.raises(PredictionError, match="other agents"):
        fitted.predict(fewer, np.random.default_rng(0))


def cheap(name):
    """The registered recipe with a small budget for fitting; everything else is as it is."""
    recipe = predictor_named(name)
    if name == "gru":
        rng = np.random.default_rng(0)
        return GruPredictor({part: rng.normal(0.0, 0.1, shape) for part, shape in SHAPES.items()})
    if name.startswith("CM_"):
        from giveway.predictors.commotions.fitting.fit import FitOptions
        from giveway.predictors.commotions.fitting.search import Budget

        return replace(recipe, options=FitOptions(budgets=[Budget(initial=4, further=2)] * recipe.config.stages))
    if name.startswith("TPP"):
        return replace(recipe, config=replace(recipe.config, epochs=2))
    return recipe


@pytest.mark.slow
@pytest.mark.parametrize("profile", (CLEAN, PAPER), ids=("clean", "paper"))
@pytest.mark.parametrize("name", PREDICTORS.names())
def test_all_registered_predictors_keep_the_contract_in_both_profiles(name, profile):
    check_predictor(configured(cheap(name), profile.model_dump()))


def test_the_documented_predictors_pass_the_check():
    page = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-model.md"
    code = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)[0]
    module = types.ModuleType("my_predictors_of_a_page")
    sys.modules[module.__name__] = module
    exec(compile(code, str(page), "exec"), module.__dict__)
    check_predictor(module.Share())
    check_predictor(module.Still())
