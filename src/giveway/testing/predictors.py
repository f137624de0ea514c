"""Conformance of predictors: what benchmark and drives rely on, checked for any of them.

::

    from giveway.testing.predictors import check_predictor
    check_predictor(MyPredictor())
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from giveway.core.arrays import AnyArray
from giveway.core.errors import PredictionError
from giveway.core.predictions import Prediction, check_prediction
from giveway.core.samples import GapInputs, GapSamples
from giveway.core.seeds import stream
from giveway.gaps.extract import SampleRules, gaps_from, samples_at
from giveway.gaps.profile import CLEAN
from giveway.gaps.raw import RawGaps
from giveway.predictors.protocol import FittedPredictor, Predictor, Saved
from giveway.predictors.views import as_gap
from giveway.testing.causality import true_and_forged
from giveway.testing.crossing import CROSSING, crossing_gaps
from giveway.testing.motion import check_motion_predictor

NUM_SAMPLES = 48
SEED = 20230


def check_predictor(
    predictor: FittedPredictor, *, num_samples: int = NUM_SAMPLES, num_input: int | None = None
) -> None:
    """Predict small forged worlds and check everything that benchmark and drives rely on.

    The declared kind and shapes, finite values, reproducibility under a seed, independence of a row from the batch it
    is predicted in, indifference to everything after the moment of the prediction, tolerance of absent agents. A
    predictor that takes gaps is fitted before, and must predict the same after saving and loading. One that takes the
    states of cars is also checked on gaps, through :func:`giveway.predictors.views.as_gap`.

    Args:
        predictor: not yet fitted if it takes gaps; ready to predict if it takes the states of cars only.
        num_samples: forged gaps; more for models that need many.
        num_input: n_I; the declared minimum, at least 2, by default.

    Raises:
        PredictionError: naming every check that failed.
    """
    info = predictor.info
    if "motion" in info.takes:
        check_motion_predictor(predictor)
        if "future" in info.reads:
            return
    recipe = as_gap(predictor)
    assert isinstance(recipe, Predictor), "a predictor on gaps needs fit and load"
    steps = max(recipe.info.min_input, 2) if num_input is None else num_input
    raw = crossing_gaps(num_samples, seed=SEED)
    samples = _samples(raw, steps)
    fitted = recipe.fit(samples, stream(SEED, "fit"))
    failures: list[str] = []
    for check in CHECKS:
        try:
            check(recipe, fitted, samples, raw)
        except (PredictionError, AssertionError) as error:
            failures.append(f"{check.__name__.removeprefix('_')}: {error}")
    if failures:
        raise PredictionError(
            f"{info.name} breaks {len(failures)} of {len(CHECKS)} rules",
            where="check_predictor",
            found="\n".join(failures),
            hint="see docs/how-to/add-a-model.md",
        )


def _rules(num_input: int) -> SampleRules:
    return SampleRules(choice="constant", num_input=num_input)


def _samples(raw: RawGaps, num_input: int) -> GapSamples:
    return samples_at(gaps_from(CROSSING, raw, CLEAN), _rules(num_input), CLEAN).samples


def _predict(fitted: FittedPredictor, inputs: GapInputs) -> Prediction:
    return fitted.predict(inputs, stream(SEED, "predict"))


def _kind_and_shapes(p: Predictor, fitted: FittedPredictor, samples: GapSamples, raw: RawGaps) -> None:
    assert fitted.info == p.info, "the fitted model has another fact sheet than its recipe"
    check_prediction(_predict(fitted, samples.inputs), samples.inputs, p.info.gives, model=p.info.name)


def _same_seed_same_prediction(p: Predictor, fitted: FittedPredictor, samples: GapSamples, raw: RawGaps) -> None:
    first, second = _predict(fitted, samples.inputs), _predict(fitted, samples.inputs)
    assert _equal(first, second), "two predictions with the same seed differ"
    again = p.fit(samples, stream(SEED, "fit"))
    assert _equal(first, _predict(again, samples.inputs)), "fitting twice with the same seed gives two models"


def _batch_of_one(p: Predictor, fitted: FittedPredictor, samples: GapSamples, raw: RawGaps) -> None:
    together = _predict(fitted, samples.inputs)
    for i in (0, samples.num_samples // 2, samples.num_samples - 1):
        alone = _predict(fitted, samples.inputs.take(np.array([i])))
        assert _close(alone, _row(together, i)), f"sample {i} alone is predicted differently than among others"


def _blind_to_the_future(p: Predictor, fitted: FittedPredictor, samples: GapSamples, raw: RawGaps) -> None:
    """Cut inputs out of tracks whose future is noise, at the same prediction times, and predict."""
    _, forged = true_and_forged(CROSSING, raw, _rules(samples.inputs.num_input), CLEAN, stream(SEED, "forge"))
    expected = _predict(fitted, samples.inputs)
    assert _equal(expected, _predict(fitted, forged.inputs)), "noise after t_0 changes a prediction"


def _absent_agents(p: Predictor, fitted: FittedPredictor, samples: GapSamples, raw: RawGaps) -> None:
    xy = samples.inputs.xy.copy()
    xy[:, 2:] = np.nan
    lonely = replace(samples.inputs, xy=xy)
    check_prediction(_predict(fitted, lonely), lonely, p.info.gives, model=p.info.name)


def _inputs_untouched(p: Predictor, fitted: FittedPredictor, samples: GapSamples, raw: RawGaps) -> None:
    fresh, kept = (_samples(raw, samples.inputs.num_input).inputs for _ in range(2))
    _predict(fitted, fresh)
    before, after = (kept.xy, kept.distance), (fresh.xy, fresh.distance)
    assert all(np.array_equal(b, a, equal_nan=True) for b, a in zip(before, after, strict=True)), "inputs were changed"


def _save_and_load(p: Predictor, fitted: FittedPredictor, samples: GapSamples, raw: RawGaps) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert isinstance(fitted, Saved), "the fitted model has no save"
        fitted.save(Path(folder))
        loaded = p.load(Path(folder))
        for path in Path(folder).rglob("*"):
            assert path.suffix not in {".pkl", ".pickle", ".pt", ".joblib"}, f"{path.name} may hold a pickle"
    assert _equal(_predict(fitted, samples.inputs), _predict(loaded, samples.inputs)), "loading changed predictions"


Check = Callable[[Predictor, FittedPredictor, GapSamples, RawGaps], None]
CHECKS: tuple[Check, ...] = (
    _kind_and_shapes,
    _same_seed_same_prediction,
    _batch_of_one,
    _blind_to_the_future,
    _absent_agents,
    _inputs_untouched,
    _save_and_load,
)


def _row(prediction: Prediction, i: int) -> Prediction:
    return replace(prediction, **{name: value[i : i + 1] for name, value in _arrays(prediction).items()})


def _arrays(prediction: Prediction) -> dict[str, AnyArray]:
    values = {f.name: getattr(prediction, f.name) for f in fields(prediction)}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def _equal(first: Prediction, second: Prediction) -> bool:
    one, two = _arrays(first), _arrays(second)
    return one.keys() == two.keys() and all(np.array_equal(one[k], two[k], equal_nan=True) for k in one)


def _close(first: Prediction, second: Prediction) -> bool:
    one, two = _arrays(first), _arrays(second)
    return all(_same_numbers(one[k], two[k]) for k in one)


def _same_numbers(one: AnyArray, two: AnyArray) -> bool:
    steps = min(one.shape[2], two.shape[2]) if one.ndim == 4 else None
    if steps is not None:
        one, two = one[:, :, :steps], two[:, :, :steps]
    # Positions may differ by a tenth of a millimeter: networks in single precision round differently by batch size.
    tolerance = 1e-9 if steps is None else 1e-4
    return bool(np.allclose(one, two, rtol=1e-9, atol=tolerance, equal_nan=True))
