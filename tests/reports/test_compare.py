from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from giveway.core.errors import EmptySelectionError, UnknownNameError
from giveway.metrics.ranking import mann_whitney
from giveway.reports.compare import compare_models, render_comparison
from giveway.runs import Cell, CellResult, Measurement, Store

NUM_SPLITS = 6


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two models on six overlapping test parts of 60 samples; "good" knows more than "poor"."""
    rng = np.random.default_rng(0)
    accepted = rng.uniform(size=60) < 0.4
    error = rng.uniform(1, 2, 60)
    store = Store(tmp_path / "R", create=True)
    for model, skill, extra in (("good", 0.6, 0.0), ("poor", 0.1, 0.3)):
        p = np.clip(skill * accepted + rng.uniform(0, 1 - skill, 60), 0, 1)
        for repetition in range(NUM_SPLITS + 1):
            critical = repetition == NUM_SPLITS
            part = np.sort(np.random.default_rng(repetition).permutation(60)[:30])
            ade = error[part] + extra + 0.05 * rng.normal(size=30)
            params = {
                "profile": "clean",
                "dataset": "lgap",
                "t0": "constant",
                "n_input": 2,
                "split": "critical" if critical else "random",
                "repetition": 0 if critical else repetition,
                "model": model,
            }
            samples = pl.DataFrame(
                {
                    "sample_id": [f"s{i:02d}" for i in part],
                    "group": [f"g{i // 3}" for i in part],
                    "accepted": accepted[part],
                    "p": p[part],
                    "ade": ade,
                }
            )
            auc = mann_whitney(accepted[part], p[part])
            measurements = (
                Measurement(metric="auc", value=auc, num_samples=30),
                Measurement(metric="ade", value=float(ade.mean()), num_samples=30),
            )
            store.write(Cell(kind="gaps", params=params), CellResult(measurements=measurements, samples=samples))
    return store


@pytest.mark.parametrize("metric", ["auc", "ade"])
def test_the_better_model_wins_by_every_test(store: Store, metric: str) -> None:
    report = compare_models(store, "good", "poor", metric=metric, t0="constant", num_resamples=200)
    (c,) = report.comparisons
    assert c.t_test is not None and c.t_test.significant
    assert c.corrected is not None and c.corrected.p_value > c.t_test.p_value
    assert c.holm_p == pytest.approx(c.corrected.p_value)
    assert c.a_measure > 0.9
    assert c.bootstrap is not None and c.bootstrap.low > 0
    assert c.bootstrap.num_units == 20
    assert c.critical is not None and math.isfinite(c.critical.statistic)


def test_the_bootstrap_estimate_is_the_mean_difference_of_the_splits(store: Store) -> None:
    (c,) = compare_models(store, "good", "poor", metric="auc", t0="constant", num_resamples=20).comparisons
    assert c.bootstrap is not None
    assert c.bootstrap.estimate == pytest.approx(c.first_mean - c.second_mean)


def test_exchanging_the_models_changes_the_sign(store: Store) -> None:
    (there,) = compare_models(store, "good", "poor", metric="ade", t0="constant", num_resamples=0).comparisons
    (back,) = compare_models(store, "poor", "good", metric="ade", t0="constant", num_resamples=0).comparisons
    assert there.t_test is not None and back.t_test is not None
    assert there.t_test.mean == pytest.approx(-back.t_test.mean)
    assert there.a_measure == pytest.approx(1 - back.a_measure)
    assert there.bootstrap is None


def test_the_same_seed_gives_the_same_report_and_text(store: Store) -> None:
    texts = {
        render_comparison(compare_models(store, "good", "poor", metric="auc", t0="constant", num_resamples=50, seed=3))
        for _ in range(2)
    }
    assert len(texts) == 1
    assert "L-GAP" in texts.pop()


def test_unknown_models_and_empty_comparisons_are_clear_errors(store: Store) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'good'"):
        compare_models(store, "goood", "poor", metric="auc", t0="constant")
    with pytest.raises(EmptySelectionError):
        compare_models(store, "good", "poor", metric="auc", t0="critical")
