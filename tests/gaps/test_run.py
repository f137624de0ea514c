"""From a specification to a store: determinism, failures, conditional models, presets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from giveway.core.errors import ConfigError, DatasetLayoutError, UnknownNameError, UsageError
from giveway.core.predictions import OutputKind, Probability
from giveway.experiments import ProcessExecutor, SerialExecutor, Store, collect, run
from giveway.experiments.specs import values_of
from giveway.gaps.cells import cells_of
from giveway.gaps.compare import compare_models
from giveway.gaps.experiment import GAPS
from giveway.gaps.presets import PRESETS, cognitive_models, preset
from giveway.gaps.sources import Source
from giveway.gaps.spec import spec_from
from giveway.predictors import PREDICTORS
from giveway.predictors.protocol import PredictorInfo

SMALL = {
    "datasets": ["lgap"],
    "t0": ["constant"],
    "n_input": [2],
    "splits": {"random": 2, "critical": 1},
    "models": ["LR_1D", "DDM", "CV"],
    "min_samples": 20,
}


def small(**changes):
    return spec_from({**SMALL, **changes}, where="test")


def compute(spec, folder, root, executor=None):
    summary = run(GAPS, spec, folder, roots={"lgap": root}, engine=executor or SerialExecutor())
    return Store(folder), summary


def planned(spec, store, roots):
    return GAPS.cells(spec, GAPS.resolve(spec, roots, store.artifacts))


@pytest.fixture(scope="module")
def finished(lgap_root, tmp_path_factory):
    return compute(small(), tmp_path_factory.mktemp("run") / "store", lgap_root)


def files(store):
    return {p.name: p.read_bytes() for p in sorted((store.root / "cells").rglob("*")) if p.is_file()}


def test_every_cell_of_the_grid_has_all_its_metrics(finished):
    store, summary = finished
    assert (summary.total, summary.done, summary.failed) == (9, 9, 0)
    frame = collect(store)
    assert set(frame["metric"]) >= {"auc", "ade", "fde", "time_cdf", "brier"}
    assert (
        frame.filter(pl.col("metric") == "auc", pl.col("model") == "LR_1D", pl.col("split") == "random")["value"].min()
        > 0.8
    )
    assert frame["value"].is_not_null().all()


def test_two_workers_write_the_same_files_as_one(finished, lgap_root, tmp_path):
    store, _ = finished
    other, summary = compute(small(), tmp_path / "store", lgap_root, ProcessExecutor(num_workers=2))
    assert summary.ok
    assert files(other) == files(store)


def test_running_again_computes_nothing(finished, lgap_root):
    store, _ = finished
    before = files(store)
    _, again = compute(small(), store.root, lgap_root)
    assert (again.done, again.skipped) == (0, 9)
    assert files(store) == before


def test_per_sample_values_are_kept(finished):
    store, _ = finished
    key = collect(store).filter(pl.col("metric") == "ade", pl.col("model") == "CV")["key"][0]
    samples = store.read_samples(key)
    assert {"sample_id", "accepted", "p", "ade"} <= set(samples.columns)
    assert samples["p"].is_between(0, 1).all()


def test_samples_keep_their_group_so_that_comparisons_can_draw_whole_groups(finished):
    store, _ = finished
    key = collect(store).filter(pl.col("model") == "LR_1D", pl.col("split") == "random")["key"][0]
    samples = store.read_samples(key)
    assert 1 < samples["group"].n_unique() < samples.height
    (comparison,) = compare_models(store, "LR_1D", "CV", metric="auc", t0="constant", num_resamples=50).comparisons
    assert comparison.resampling.endswith(" groups")


def test_another_seed_is_another_cell(lgap_root, tmp_path):
    store = Store(tmp_path / "store", create=True)
    keys = [{c.key for c in planned(small(seed=s), store, {"lgap": lgap_root})} for s in (0, 1)]
    assert not keys[0] & keys[1]


def test_conditional_models_learn_from_the_training_part_only_in_clean(lgap_root, tmp_path):
    for profile, expected in (("clean", 3), ("paper", 1)):
        spec = small(profile=profile, models=["LR_1D"], metrics=["ade"])
        store, summary = compute(spec, tmp_path / profile, lgap_root)
        assert summary.ok
        assert len(list(store.artifacts.root.rglob("model.npz"))) == 2 * expected


@dataclass(frozen=True)
class Broken:
    """A plug-in that returns what its name says."""

    info: PredictorInfo

    def fit(self, samples, rng):
        return self

    def predict(self, inputs, rng):
        p = {"nan": np.nan, "large": 1.5, "short": 0.5}[self.info.name.removeprefix("broken_")]
        return Probability(p=np.full(inputs.num_samples - (self.info.name == "broken_short"), p))

    def save(self, folder):
        folder.mkdir(exist_ok=True)

    def load(self, folder):
        return self


@pytest.mark.parametrize(
    ("kind", "message"), (("nan", "NaN or outside"), ("large", "NaN or outside"), ("short", "wrong shape"))
)
def test_a_broken_plug_in_fails_its_own_cells_and_no_others(kind, message, lgap_root, tmp_path):
    name = f"broken_{kind}"
    if name not in PREDICTORS:
        PREDICTORS.register(
            name,
            Broken(
                info=PredictorInfo(
                    name=name,
                    title=name,
                    gives=OutputKind.PROBABILITY,
                    reads=frozenset({"distances"}),
                    takes=frozenset({"gaps"}),
                )
            ),
        )
    store, summary = compute(small(models=["LR_1D", name], splits={"random": 1}), tmp_path / "store", lgap_root)
    assert (summary.done, summary.failed) == (1, 1)
    failure = summary.failures[0]
    assert failure.error == "PredictionError"
    assert message in failure.message
    assert "Traceback" in failure.traceback
    assert set(collect(store)["model"]) == {"LR_1D"}


def test_too_few_samples_are_a_failed_cell_that_says_why(lgap_root, tmp_path):
    spec = small(t0=["initial"], models=["LR_1D"], splits={"random": 1})
    _, summary = compute(spec, tmp_path / "store", lgap_root)
    assert summary.failed == 1
    assert "short_history" in summary.failures[0].message


@pytest.mark.parametrize(
    ("changes", "message"),
    (
        ({"datasets": ["lgab"]}, "lgap"),
        ({"models": ["LR1D"]}, "LR_1D"),
        ({"splits": {"randm": 1}}, "random"),
        ({"metrics": ["auk"]}, "auc"),
        ({"t0": ["constnt"]}, "constant"),
        ({"profile": "papier"}, "paper"),
        ({"missing": [{"dataset": "lgab", "t0": "initial"}]}, "lgap"),
        ({"relaxed": [{"dataset": "lgab", "t0": "initial", "n_input": 2, "n_input_max": 2}]}, "lgap"),
        ({"synthetic": {"lgab": {"count": 30}}}, "lgap"),
    ),
)
def test_unknown_names_get_suggestions(changes, message):
    with pytest.raises(UnknownNameError) as caught:
        small(**changes)
    assert message in caught.value.hint


@pytest.mark.parametrize(
    ("metrics", "profile", "kept"),
    (
        (["auc", "ade", "auc"], "clean", ["auc", "ade"]),
        (["auc", "auc_paper"], "paper", ["auc_paper"]),
    ),
)
def test_a_metric_named_twice_is_computed_once(metrics, profile, kept):
    source = Source(dataset="lgap", root=Path(), data="", is_synthetic=True)
    cells = cells_of(small(metrics=metrics, profile=profile), {"lgap": source})
    assert [cell.settings["metrics"] for cell in cells] == [kept] * 9


def test_a_mended_extraction_leaves_the_cells_of_others_valid():
    names = ["lgap", "round", "leeds", "highd"]
    sources = {name: Source(dataset=name, root=Path(), data="", is_synthetic=True) for name in names}
    cells = cells_of(small(datasets=names, models=["LR_1D"], splits={"critical": 1}), sources)
    assert [cell.versions["extraction"] for cell in cells] == [1, 1, 2, 2]


def test_unknown_keys_and_switches_get_suggestions():
    with pytest.raises(ConfigError) as caught:
        spec_from({**SMALL, "modells": ["LR_1D"]}, where="here")
    assert "'models'" in caught.value.hint
    with pytest.raises(ConfigError) as caught:
        small(switches={"horizon_capp": 3})
    assert "'horizon_cap'" in caught.value.hint


def test_impossible_combinations_are_refused_before_computing():
    with pytest.raises(UsageError, match="CA needs at least 3 input steps"):
        small(models=["CA"])
    with pytest.raises(UsageError, match="does not predict paths"):
        small(conditional_paths="LR_1D")
    with pytest.raises(UsageError, match="cannot be repeated 2 times"):
        small(splits={"critical": 2})


def test_lacking_and_wrong_data_roots_are_named(lgap_root, tmp_path):
    store = Store(tmp_path / "store", create=True)
    with pytest.raises(UsageError, match="no data root for lgap") as caught:
        planned(small(), store, {})
    assert "--data lgap=FOLDER" in caught.value.hint
    with pytest.raises(UsageError, match="which this run does not read"):
        planned(small(), store, {"lgap": lgap_root, "round": lgap_root})
    with pytest.raises(DatasetLayoutError) as caught:
        planned(small(datasets=["round"]), store, {"round": lgap_root})
    assert "lgap" in caught.value.hint


def test_a_specification_is_read_from_toml(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(
        'datasets = ["lgap"]\nt0 = ["constant"]\nmodels = ["LR_1D"]\n[splits]\nrandom = 3\n'
        "[switches]\nhorizon_cap = 12.0\n"
    )
    spec = spec_from(values_of(path), where=str(path))
    assert spec.splits == {"random": 3}
    assert spec.rules().horizon_cap == 12.0
    path.write_text("datasets = [")
    with pytest.raises(ConfigError, match="as TOML"):
        spec_from(values_of(path), where=str(path))


def test_the_cognitive_models_stand_in_the_order_of_the_published_tables():
    names = cognitive_models(1)
    assert names[:4] == ["CM_IIJ11", "CM_INJ11", "CM_IIJ21", "CM_INJ21"]
    assert names[4] == "CM_AIJ11"
    assert names[8] == "CM_IIA11"
    assert len(set(names)) == 16


def test_experiments_hold_the_published_grids():
    """36 (dataset, t_0, n_I) cells in experiment II, 8 in I and III, each with 10 + 1 splits."""
    combinations = {}
    for name in ("experiment-1", "experiment-2", "experiment-3"):
        grid = PRESETS[name]
        missing = {(m["dataset"], m["t0"]) for m in grid["missing"]}
        combinations[name] = sum(
            (d, t) not in missing
            for d in grid["datasets"]
            for t in ("initial", "constant", "critical")
            for _ in grid["n_input"]
        )
    assert combinations == {"experiment-1": 8, "experiment-2": 36, "experiment-3": 8}
    assert preset("quick").splits["critical"] == 1
