"""The commands as a user types them."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest

from giveway.cli import progress
from giveway.cli.main import run
from giveway.gaps.files import read_samples
from giveway.reports.results import Results
from giveway.synth.protocol import synthesize

SPEC = """
datasets = ["lgap"]
t0 = ["constant"]
models = ["LR_1D", "CV"]
min_samples = 20
[splits]
random = 3
critical = 1
"""


def giveway(capsys, *argv, code=0):
    """Output and messages of one command."""
    with pytest.raises(SystemExit) as ended:
        run([str(a) for a in argv])
    out, err = capsys.readouterr()
    assert ended.value.code in (code, None) if code == 0 else ended.value.code == code, err
    return out, err


@pytest.fixture(scope="module")
def store(lgap_root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "spec.toml").write_text(SPEC)
    with pytest.raises(SystemExit) as ended:
        run(["gaps", "run", str(folder / "spec.toml"), "--root", f"lgap={lgap_root}", "--out", str(folder / "R"),
             "--workers", "1"])  # fmt: skip
    assert ended.value.code in (0, None)
    return folder / "R"


def test_a_table_comes_in_every_format(store, capsys):
    for form, start in (("text", "AUC"), ("markdown", "|"), ("latex", "\\begin"), ("csv", ""), ("html", "<")):
        out, _ = giveway(capsys, "gaps", "table", store, "--metric", "auc", "--t0", "constant", "--format", form)
        assert start in out
        assert "LR" in out
    out, _ = giveway(capsys, "gaps", "table", store, "--metric", "auc", "--t0", "constant", "--format", "json")
    assert json.loads(out)


def test_published_values_stand_beside_real_recordings_only(store, lgap_root, tmp_path, capsys):
    out, _ = giveway(capsys, "gaps", "table", store, "--metric", "auc")
    assert "publ." not in out
    for name in ("measures.csv", "processed_data.csv"):
        (tmp_path / "real").mkdir(exist_ok=True)
        (tmp_path / "real" / name).write_bytes((lgap_root / name).read_bytes())
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC)
    run_it = ("gaps", "run", spec, "--root", f"lgap={tmp_path / 'real'}", "--out", tmp_path / "R", "--workers", "1")
    giveway(capsys, *run_it, "--limit", 2)
    out, _ = giveway(capsys, "gaps", "table", tmp_path / "R", "--metric", "auc")
    assert "publ." in out


def test_status_resume_limit_and_dry_run(store, lgap_root, tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC)
    common = ["gaps", "run", spec, "--root", f"lgap={lgap_root}", "--workers", "1", "--json"]
    out, _ = giveway(capsys, *common, "--out", tmp_path / "R", "--dry-run")
    assert json.loads(out)["result"]["cells"] == 8
    assert not (tmp_path / "R").exists()
    out, _ = giveway(capsys, *common, "--out", tmp_path / "R", "--limit", 3)
    assert (json.loads(out)["result"]["cells"]["done"], json.loads(out)["result"]["cells"]["missing"]) == (3, 5)
    out, _ = giveway(capsys, "gaps", "status", tmp_path / "R", "--json")
    assert json.loads(out)["result"]["cells"]["missing"] == 5
    out, _ = giveway(capsys, *common, "--out", tmp_path / "R")
    assert (json.loads(out)["result"]["cells"]["done"], json.loads(out)["result"]["cells"]["skipped"]) == (5, 3)


def test_compare_and_figure(store, tmp_path, capsys):
    out, _ = giveway(capsys, "gaps", "compare", store, "LR_1D", "CV", "--resamples", 50, "--json")
    report = json.loads(out)["result"]["report"]
    values = Results.open(store).frame(metric="auc", t0=report["t0"]).filter(pl.col("split") == "random")
    means = values.group_by("model").agg(pl.col("value").mean())
    known = dict(means.iter_rows())
    compared = report["comparisons"][0]
    assert (compared["first_mean"], compared["second_mean"]) == pytest.approx((known["LR_1D"], known["CV"]))
    giveway(capsys, "gaps", "figure", store, "--out", tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_a_numbered_table_keeps_to_the_named_datasets_and_split(store, capsys):
    numbered = ("gaps", "table", store, "--paper", "IV")
    out, _ = giveway(capsys, *numbered)
    assert giveway(capsys, *numbered, "--dataset", "lgap", "--split", "random")[0] == out
    assert giveway(capsys, *numbered, "--split", "participant")[0] != out
    _, err = giveway(capsys, *numbered, "--dataset", "round_2v", code=2)
    assert "round_2v" in err


def test_pictures_never_mix_profiles(store, lgap_root, tmp_path, capsys):
    both = tmp_path / "R"
    shutil.copytree(store, both)
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC.replace(', "CV"', ""))
    giveway(capsys, "gaps", "run", spec, "--root", f"lgap={lgap_root}", "--out", both, "-w", 1, "--profile", "paper")
    draw = ("gaps", "calibration", both, "--model", "LR_1D", "--out", tmp_path / "k.png", "--json")
    _, err = giveway(capsys, *draw, code=2)
    assert "choose the profile" in err
    assert "clean, paper" in err
    _, err = giveway(capsys, "gaps", "learning", both, code=2)
    assert "choose the profile" in err
    out, _ = giveway(capsys, *draw, "--profile", "paper")
    assert len(json.loads(out)["result"]["cells"]) == 3


def test_a_switch_whose_value_is_the_word_true_can_be_set(lgap_root, capsys):
    extract = ("gaps", "extract", "--dataset", "lgap", "--root", lgap_root, "--t0", "constant", "--json")
    as_default, _ = giveway(capsys, *extract)
    out, _ = giveway(capsys, *extract, "--set", "horizon_from_projection=true")
    assert json.loads(out)["result"]["counts"] == json.loads(as_default)["result"]["counts"]


def test_extract_counts_and_writes(lgap_root, tmp_path, capsys):
    path = tmp_path / "s.parquet"
    out, _ = giveway(capsys, "gaps", "extract", "--dataset", "lgap", "--root", lgap_root, "--out", path)
    assert "constant" in out
    assert "short_history" in out
    assert read_samples(path, "constant").num_samples > 20
    assert pl.read_parquet(path)["sample_id"].str.starts_with("lgap/").all()
    out, _ = giveway(capsys, "gaps", "extract", "-d", "lgap", "-r", lgap_root, "--t0", "critical", "--json")
    assert json.loads(out)["result"]["counts"][0]["choice"] == "critical"


def test_switches_are_listed_with_their_effect(capsys):
    out, _ = giveway(capsys, "gaps", "switches", "--json")
    assert len(json.loads(out)["result"]["switches"]) >= 18


@pytest.mark.parametrize(
    ("argv", "message"),
    (
        (("gaps", "extract", "--dataset", "lgab", "--root", "."), "did you mean 'lgap'"),
        (("gaps", "extract", "--dataset", "round", "--root", "{root}"), "--dataset lgap"),
        (("gaps", "extract", "--dataset", "lgap", "--root", "{root}", "--n-input-max", "90"), "short_history"),
        (("gaps", "extract", "--dataset", "lgap", "--root", "/no/such/folder"), "no such folder"),
        (("gaps", "extract", "--dataset", "lgap", "--root", "{root}", "--set", "auc"), "NAME=VALUE"),
        (("gaps", "run", "--out", "{tmp}/R"), "give either a specification or a preset"),
        (("gaps", "run", "--preset", "quik", "--out", "{tmp}/R"), "did you mean 'quick'"),
        (("gaps", "run", "--preset", "experiment-2", "--out", "{tmp}/R"), "--data"),
        (("gaps", "table", "{tmp}"), "no result store"),
    ),
)
def test_bad_input_ends_in_one_message(argv, message, lgap_root, tmp_path, capsys):
    filled = [a.format(root=lgap_root, tmp=tmp_path) for a in argv]
    _, err = giveway(capsys, *filled, code=2)
    assert message in err
    assert "Traceback" not in err


def test_extract_says_how_far_it_is(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
    synthesize("round", tmp_path, seed=1, count=2, minutes=3)
    words = ("gaps", "extract", tmp_path, "-d", "round", "--t0", "initial")
    _, loud = giveway(capsys, *words)
    lines = [line for line in loud.splitlines() if line.startswith("extract: ")]
    assert "1 of 2" in lines[1] and "/s" in lines[1]
    assert "extract: " not in giveway(capsys, *words, "-q")[1]
