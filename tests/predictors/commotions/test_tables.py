"""The 32 configurations on synthetic L-GAP, rounD and Leeds, from the command line into tables III to VI."""

import json

import pytest
from typer.testing import CliRunner

from giveway.cli.main import app
from giveway.predictors.commotions import NAMES

SPEC = """
datasets = {datasets}
t0 = {t0}
n_input = [2]
n_input_max = 2
models = {models}
min_samples = 10
min_class = 2

[splits]
{splits}

[switches]
commotions_evaluations = {evaluations}  # enough to see numbers, not to compare models

[[relaxed]]
dataset = "lgap"
t0 = "initial"
n_input = 2
n_input_max = 2

[[missing]]
dataset = "round_2v"
t0 = "critical"

[[missing]]
dataset = "leeds_2v"
t0 = "critical"

[synthetic.lgap]
count = 80
seed = 3

[synthetic.round]
count = 1
minutes = 8
seed = 1

[synthetic.leeds]
count = 8
seed = 1
"""


def give_way(*arguments):
    result = CliRunner().invoke(app, ["gaps", *(str(a) for a in arguments), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["result"]


def run(tmp_path, **values):
    """Results of a specification, in a store."""
    spec, store = tmp_path / "spec.toml", tmp_path / "store"
    spec.write_text(SPEC.format(**{k: v if k == "splits" else json.dumps(v) for k, v in values.items()}))
    summary = give_way("run", spec, "--out", store, "--workers", 1)
    assert summary["cells"]["failed"] == 0
    return store, summary


def numbers_of(store, number):
    """One of the numbered tables."""
    return give_way("table", store, "--paper", number)


def test_one_configuration_enters_the_table(tmp_path):
    store, summary = run(
        tmp_path, datasets=["lgap"], t0=["constant"], models=["LR_1D", "CM_INA11"], splits="random = 2", evaluations=60
    )
    assert summary["cells"]["done"] == 4
    assert "CM_INA11" in json.dumps(numbers_of(store, "IV"))


@pytest.mark.slow
def test_all_configurations_enter_the_tables(tmp_path):
    store, _ = run(
        tmp_path,
        datasets=["lgap", "round_2v", "leeds_2v"],
        t0=["initial", "constant", "critical"],
        models=["LR_1D", *NAMES],
        splits="random = 1",
        evaluations=24,
    )
    for number in ("III", "IV", "V", "VI"):
        text = json.dumps(numbers_of(store, number))
        assert [name for name in NAMES if name not in text] == [], number
