"""Motion predictors and predictors fitted before, in the benchmark; one cell per predictor whatever it is called."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import giveway as gw
from giveway.core.errors import UnknownNameError, UsageError
from giveway.experiments import SerialExecutor, Store
from giveway.gaps.cells import cells_of
from giveway.gaps.profile import CLEAN, PAPER
from giveway.gaps.recipes import published_name, recipe_for
from giveway.gaps.sources import Source
from giveway.gaps.spec import spec_from
from giveway.predictors import PREDICTORS
from giveway.predictors.gru import SHAPES, GruPredictor
from giveway.predictors.gru_training import save_gru

SMALL = {"datasets": ["lgap"], "t0": ["constant"], "splits": {"random": 1}, "min_samples": 20}


def cells(*names: str, n_input: int = 2):
    spec = spec_from({**SMALL, "n_input": [n_input], "models": list(names)}, where="test")
    return cells_of(spec, {"lgap": Source(dataset="lgap", root=Path("x"), data="0" * 64, is_synthetic=True)})


@pytest.fixture
def gru(tmp_path):
    rng = np.random.default_rng(0)
    save_gru(tmp_path / "g.safetensors", {n: rng.normal(0.0, 0.1, s) for n, s in SHAPES.items()}, note="test")
    return f"gru:{tmp_path / 'g.safetensors'}"


def test_aliases_are_resolved_before_keys_are_computed():
    (one,), (two,) = cells("CV"), cells("constant_velocity")
    assert one.key == two.key
    assert one.params["model"] == "CV"
    several = cells("CA", "CV", "constant_velocity", "constant_acceleration", n_input=3)
    assert [cell.params["model"] for cell in several] == ["CA", "CV"]
    assert published_name("TPP", CLEAN) == published_name("T++", CLEAN) == "T++"
    assert published_name("TPP_paper", PAPER) == "T++"
    assert published_name("TPP_paper", CLEAN) == "TPP_paper"


def test_the_content_of_a_file_is_part_of_the_key(gru):
    (before,) = cells(gru)
    path = Path(gru.partition(":")[2])
    save_gru(path, {n: w + 1e-3 for n, w in GruPredictor().load(path).weights.items()}, note="other")
    (after,) = cells(gru)
    assert before.params == after.params
    assert before.key != after.key


def test_a_motion_predictor_and_a_model_fitted_before_are_benchmarked(gru, lgap_root, tmp_path):
    samples = gw.extract_gaps("lgap", lgap_root, t0="constant")
    PREDICTORS.get("LR_1D").fit(samples, np.random.default_rng(0)).save(tmp_path / "lr")
    fitted = f"LR_1D:{tmp_path / 'lr'}"
    results = gw.run_gaps(
        {**SMALL, "metrics": ["auc", "ade"]},
        tmp_path / "store",
        roots={"lgap": lgap_root},
        predictors=[gru, fitted, "echo"],
        engine=SerialExecutor(),
    )
    assert (results.status.done, results.status.failed) == (3, 0)
    values = {row["model"]: row["value"] for row in results.frame(metric="auc").iter_rows(named=True)}
    assert values["echo"] == 0.5 and values[fitted] > 0.9
    assert "pretrained" in results.table(metric="auc").text()
    assert results.frame(metric="ade").filter(pl.col("model") == gru)["value"].is_finite().all()
    store = Store(tmp_path / "store")
    keys = results.frame(metric="auc").select("model", "key").iter_rows()
    marked = {model: store.read(key).info.get("pretrained", False) for model, key in keys}
    assert marked == {gru: True, fitted: True, "echo": False}


def test_what_cannot_be_benchmarked_gets_a_sentence():
    with pytest.raises(UsageError, match="gru learns from recordings, not from gaps"):
        recipe_for("gru", CLEAN)
    with pytest.raises(UsageError, match="needs the true future"):
        recipe_for("oracle", CLEAN)
    with pytest.raises(UnknownNameError, match="echoo"):
        recipe_for("echoo", CLEAN)


class Still(gw.Predictor, name="still", gives="trajectories"):
    """Everyone stays."""

    def predict(self, inputs, rng):
        return gw.Prediction.trajectories(np.repeat(inputs.xy[:, :1, -1:], 30, axis=2), dt_s=0.1)


def test_objects_are_benchmarked_in_this_process_and_forgotten_afterwards(lgap_root, tmp_path):
    spec = {**SMALL, "metrics": ["ade"], "predictors": [Still(), "echo"]}
    results = gw.run_gaps(spec, tmp_path / "one", roots={"lgap": lgap_root})
    assert (results.status.done, results.status.failed) == (2, 0)
    by_name = dict(results.frame().select("model", "value").iter_rows())
    assert set(by_name) == {"still", "echo"} and by_name["still"] > 0
    assert "still" in results.table(metric="ade").text()
    assert "still" not in PREDICTORS
    again = gw.run_gaps(spec, tmp_path / "one", roots={"lgap": lgap_root}, predictors=[Still])
    assert again.frame(model="still")["value"].to_list() == [by_name["still"]]


def test_objects_that_cannot_be_benchmarked_get_a_sentence(lgap_root, tmp_path):
    def call(predictor, **more):
        gw.run_gaps(SMALL, tmp_path / "x", roots={"lgap": lgap_root}, predictors=[predictor], **more)

    with pytest.raises(UsageError, match="cannot be given a predictor as an object") as caught:
        call(Still(), engine=gw.LocalEngine(1))
    assert "package.module:Class" in caught.value.hint
    with pytest.raises(UsageError, match="this is not a predictor"):
        call(object())
    taken = type("Taken", (Still,), {}, name="LR_1D")
    with pytest.raises(UsageError, match="another predictor has this name"):
        call(taken())
    assert not (tmp_path / "x").exists()
    assert PREDICTORS.get("LR_1D").info.learns
