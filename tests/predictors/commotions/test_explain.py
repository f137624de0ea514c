"""Looking into the model: numbers, picture, page, command."""

import json
import re
import subprocess
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest

from giveway.core.errors import UsageError
from giveway.gaps.explain import explain_sample
from giveway.gaps.explanation import document_of, write_page
from giveway.gaps.files import write_samples
from giveway.predictors.commotions import Switches
from giveway.predictors.commotions.explain import explain
from giveway.predictors.commotions.fitting.result import FittedParameters
from giveway.predictors.commotions.picture import draw_explanation
from giveway.predictors.commotions.simulation import simulate_encounters
from giveway.testing.crossing import crossing_samples

PNG = b"\x89PNG\r\n\x1a\n"


def explanation(golden, **changes):
    config, scene, theta, _, steps, *_ = golden.RUNS["R5"]
    return explain(golden.scenario(*scene, steps), 0, theta, config, **{"path": 2, "seed": 4, **changes})


def test_the_explained_path_is_the_simulated_one(golden):
    config, scene, theta, _, steps, *_ = golden.RUNS["R5"]
    found = explanation(golden)
    outcome = simulate_encounters(
        golden.scenario(*scene, steps), theta, config, num_paths=100, seed=4, precision="float64"
    )
    assert found.accepted == outcome.accepted[0, 2]
    assert found.probability == outcome.probability[0]
    if found.accepted:
        assert found.t_accept_s == pytest.approx(outcome.t_accept_s[0, 2])


def test_an_explanation_shows_why_the_driver_acted(golden):
    found = explanation(golden)
    top = found.target.advantage.max(axis=1)
    np.testing.assert_array_equal(found.target.act, top > found.threshold)
    assert (found.target.action[~found.target.act] == 0).all()
    p = found.target.p_first
    assert ((p[~np.isnan(p)] >= 0) & (p[~np.isnan(p)] <= 1)).all()


def test_picture_and_page_are_written_whole(golden, tmp_path):
    found = explanation(golden)
    draw_explanation(found, tmp_path / "a.png", title="one", observed="rejected")
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)
    write_page(found, tmp_path / "a.html", title="<script>alert(1)</script>", observed="rejected")
    text = (tmp_path / "a.html").read_text()
    assert "<script>alert(1)" not in text
    assert "{{" not in text
    data = json.loads(re.search(r'type="application/json">(.*?)</script>', text).group(1))
    assert data == json.loads(json.dumps(document_of(found)))
    assert not re.search(r'(src|href)="https?:', text)


@pytest.mark.browser
def test_the_page_steps_through_the_encounter_in_a_browser(golden, tmp_path):
    sync = pytest.importorskip("playwright.sync_api")
    write_page(explanation(golden), tmp_path / "a.html", title="one")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page()
        problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text))
        page.goto((tmp_path / "a.html").as_uri())
        before = page.inner_text("#belief")
        page.focus("#step")
        page.keyboard.press("ArrowRight")
        assert page.inner_text("#time") == "0.2 s"
        assert page.inner_text("#belief") != before
        assert page.locator("#actions tr").count() == 7
        browser.close()
    assert problems == []


@pytest.mark.parametrize("change", [{"path": 100}, {"path": -1}])
def test_a_path_that_was_not_simulated_is_refused(golden, change):
    with pytest.raises(UsageError, match="no such path"):
        explanation(golden, **change)


def command(*arguments, cwd):
    code = "from giveway.cli.main import run; run()"
    return subprocess.run(
        [sys.executable, "-c", code, "gaps", "explain", *arguments], cwd=cwd, capture_output=True, text=True
    )


def test_the_command_draws_a_sample(golden, tmp_path):
    samples = crossing_samples(30)
    write_samples(tmp_path / "samples.parquet", [samples])
    theta = FittedParameters(theta=golden.THETA_A, config=golden.variant("AIJ", 1), loss=1.0, loss_error=0.0)
    theta.save(tmp_path / "theta.json")
    name = str(samples.inputs.sample_id[0])
    done = command("--sample", name, "--predictor", "CM_AIJ11", "--parameters", "theta.json", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)["result"]
    assert answer["sample"] == name
    for file in ("picture", "page", "parameters"):
        assert (tmp_path / answer[file]).stat().st_size > 500
    wrong = command("--sample", "nobody", "--predictor", "CM_AIJ11", "--parameters", "theta.json", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "unknown sample 'nobody'" in wrong.stderr
    other = command("--sample", name, "--predictor", "CM_IIJ11", "--parameters", "theta.json", cwd=tmp_path)
    assert other.returncode == 2
    assert "another model" in other.stderr


def with_horizon(steps):
    samples = crossing_samples(30)
    return replace(samples, inputs=replace(samples.inputs, num_predict=np.full(samples.num_samples, steps)))


def ask(folder, sample, **changes):
    """What the command calls; fitting is not expected."""
    return explain_sample(sample, "CM_AIJ11", samples=folder / "samples.parquet", out=folder / "out", **changes)


def test_the_command_takes_actions_and_step_count_of_the_parameter_file(golden, tmp_path):
    samples = with_horizon(9)
    config = replace(golden.variant("AIJ", 1), actions=(-4.0, 0.0, 3.0))
    theta = replace(golden.THETA_A, delta_v_th_rel=0.1)  # hardly acts, so that the path lasts to the horizon
    fitted = FittedParameters(
        theta=theta, config=config, loss=1.0, loss_error=0.0, provenance={"switches": asdict(Switches.of("paper"))}
    )
    fitted.save(tmp_path / "theta.json")
    write_samples(tmp_path / "samples.parquet", [samples])
    answer = ask(tmp_path, str(samples.inputs.sample_id[0]), parameters=tmp_path / "theta.json").numbers
    assert answer["actions"] == [-4.0, 0.0, 3.0]
    assert len(answer["time_s"]) == 9


@pytest.mark.parametrize(("path", "steps", "words"), [(500, 9, "no such path"), (0, 0, "closes at once")])
def test_the_command_refuses_before_it_fits(tmp_path, monkeypatch, path, steps, words):
    samples = with_horizon(steps)
    write_samples(tmp_path / "samples.parquet", [samples])
    monkeypatch.setattr("giveway.gaps.explain.fit_parameters", None)
    with pytest.raises(UsageError, match=words):
        ask(tmp_path, str(samples.inputs.sample_id[0]), path=path)


def test_the_command_says_how_to_get_samples(tmp_path):
    done = command("--sample", "x", "--predictor", "CM_AIJ11", cwd=tmp_path)
    assert done.returncode == 2
    assert "giveway gaps extract" in done.stderr
