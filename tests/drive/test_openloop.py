"""Prediction errors without a drive: on windows of recordings, on cases, and against the scores of drives."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from giveway.cli.main import run
from giveway.drive.openloop import miss_threshold_m, on_cases, window_values
from giveway.drive.scenes import GivenScenes
from giveway.drive.spec import NamedPredictor
from giveway.metrics.likelihood import kernel_log_density
from giveway.predictors import make_predictor
from giveway.predictors.protocol import PredictorInfo
from giveway.testing.drive_scenes import crossing_case, crossing_scene

SOURCE = GivenScenes({"crossing": crossing_scene()})


def call(capsys, *args, code=0):
    with pytest.raises(SystemExit) as stop:
        run(["drive", *args])
    out = capsys.readouterr()
    assert stop.value.code == code, out.err
    return out.out


def test_the_longitudinal_tolerance_grows_from_one_to_two_meters():
    assert miss_threshold_m(np.array([0.0, 1.4, 6.2, 11.0, 30.0])) == pytest.approx([1.0, 1.0, 1.5, 2.0, 2.0])


def straight(offset_x, offset_y=0.0, steps=30):
    xy = np.zeros((steps, 2))
    xy[:, 0] = np.arange(1, steps + 1) + offset_x
    xy[:, 1] = offset_y
    return xy


def values(paths, weight, speed=10.0):
    truth = straight(0.0)[None]
    known = np.ones((1, 30), dtype=bool)
    return window_values(np.stack(paths)[None], np.array([weight]), truth, known, np.zeros(1), np.array([speed]))[0]


def test_errors_of_paths_that_are_off_by_a_known_distance():
    ade, fde, min_ade, min_fde, missed, _ = values([straight(3.0), straight(0.5)], [0.6, 0.4])
    assert (ade, fde, min_ade, min_fde, missed) == pytest.approx((3.0, 3.0, 0.5, 0.5, 0.0))
    assert values([straight(1.7)], [1.0])[4] == 0.0, "1.9 m are allowed at 10 m/s"
    assert values([straight(1.7)], [1.0], speed=1.0)[4] == 1.0, "1 m when standing"
    assert values([straight(0.0, 1.2)], [1.0])[4] == 1.0, "1 m to the side"


def test_the_best_of_six_may_not_choose_the_seventh():
    paths = [straight(5.0)] * 6 + [straight(0.0)]
    assert values(paths, [0.15] * 6 + [0.1])[2] == pytest.approx(5.0)
    assert values(paths, [0.1] * 6 + [0.4])[2] == pytest.approx(0.0)


def test_the_weighted_density_of_equal_weights_is_the_plain_one():
    rng = np.random.default_rng(0)
    paths, xy = rng.normal(size=(3, 8, 5, 2)), rng.normal(size=(3, 5, 2))
    plain = kernel_log_density(paths, xy)
    np.testing.assert_allclose(kernel_log_density(paths, xy, np.full((3, 8), 0.125)), plain, rtol=1e-10)
    with_unused = np.concatenate([paths, np.full((3, 1, 5, 2), 99.0)], axis=1)
    weights = np.concatenate([np.full((3, 8), 0.125), np.zeros((3, 1))], axis=1)
    np.testing.assert_allclose(kernel_log_density(with_unused, xy, weights), plain, rtol=1e-10)


def test_on_a_case_the_oracle_is_exact_and_constant_velocity_on_a_straight_road_too():
    for name in ("oracle", "constant_velocity"):
        found, failed = on_cases(NamedPredictor(model=make_predictor(name)), [crossing_case()], SOURCE)
        assert failed == {}
        assert len(found.unit) == 12, "one car, each half second of 6 s"
        assert np.nanmax(found.values[:, :4]) < 0.05
    found, _ = on_cases(NamedPredictor(model=make_predictor("echo")), [crossing_case()], SOURCE)
    assert np.nanmean(found.values[:, 0]) > 3.0


class Fragile:
    info = PredictorInfo(name="fragile")

    def predict(self, inputs, rng):
        if "b" in inputs.case_ids:
            raise RuntimeError("out of memory")
        return make_predictor("constant_velocity").predict(inputs, rng)


def test_a_predictor_that_fails_on_one_case_is_measured_on_the_others_and_says_so():
    cases = [crossing_case(case_id=name) for name in "abc"]
    cases.append(replace(crossing_case(case_id="d"), tracks_sha256="e" * 64))
    found, failed = on_cases(NamedPredictor(model=Fragile()), cases, SOURCE)
    assert set(found.unit) == {"a", "c"}
    assert "out of memory" in failed["b"]
    assert "not the one this case was made for" in failed["d"]


def test_the_command_prints_errors_and_their_agreement_with_the_drives(capsys, tmp_path):
    names = ("constant_velocity", "echo", "oracle")
    predictors = [part for name in names for part in ("-p", name)]
    call(capsys, "run", *predictors, "--max-cases", "6", "-o", str(tmp_path / "R"), "--json")
    out = call(capsys, "openloop", *predictors, "--max-cases", "6", "--against", str(tmp_path / "R"), "--json")
    result = json.loads(out)["result"]
    ade = {row["name"]: row["ade_m"] for row in result["predictors"]}
    assert ade["oracle"] < ade["constant_velocity"] < ade["echo"]
    (agreement,) = result["agreement"]
    assert agreement["low"] <= agreement["spearman"] <= agreement["high"]
    assert agreement["predictors"] == 3
    call(capsys, "openloop", code=2)
    call(capsys, "openloop", str(tmp_path), "-p", "echo", "--against", "R", code=2)


def test_power_and_a_run_that_stops_when_it_has_decided(capsys, tmp_path):
    predictors = ["-p", "oracle", "-p", "echo"]
    out = call(capsys, "run", *predictors, "--decide", "oracle,echo", "-o", str(tmp_path / "R"), "--json")
    decision = json.loads(out)["result"]["decision"]
    assert decision["of"] == 48
    assert decision["cases"] == 12 * len(decision["looks"])
    assert [look["decides"] for look in decision["looks"][:-1]] == [False] * (len(decision["looks"]) - 1)
    out = call(capsys, "power", str(tmp_path / "R"), "--effect", "0.5", "--json")
    (pair,) = json.loads(out)["result"]["pairs"]
    assert pair["cases"] == decision["cases"]
    assert pair["needed"] > 48
    assert 0 < pair["power_here"] < 1
    call(capsys, "power", str(tmp_path / "R"), "--effect", "0", code=2)
    call(capsys, "run", *predictors, "--decide", "oracle,gru", "-o", str(tmp_path / "S"), code=2)


@pytest.mark.data
def test_constant_velocity_on_two_recordings_of_ft(capsys):
    """closed-loop-v2, section 5: 1.6175 / 4.3703 m over 4173 windows."""
    root = os.environ.get("GIVEWAY_REAL_INTERACTION")
    if not root:
        pytest.skip("GIVEWAY_REAL_INTERACTION is not set")
    which = [part for n in ("003", "010") for part in ("--recording", f"DR_USA_Roundabout_FT/{n}")]
    out = call(capsys, "openloop", str(Path(root)), "-p", "constant_velocity", *which, "--stride", "10", "--json")
    (row,) = json.loads(out)["result"]["predictors"]
    assert row["windows"] == 4173
    assert (row["ade_m"], row["fde_m"]) == pytest.approx((1.6175, 4.3703), abs=5e-5)
