"""The commands as a user types them."""

import json
import subprocess
import sys

import pytest

from giveway.cli.main import run


def call(capsys, *args, code=0):
    with pytest.raises(SystemExit) as stop:
        run(["drive", *args])
    out = capsys.readouterr()
    assert stop.value.code == code, out.err
    return out


def result(capsys, *args, code=0):
    """What the document of a command says under ``result``."""
    document = json.loads(call(capsys, *args, "--json", code=code).out)
    assert document["ok"] is (code == 0)
    return document["result"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "R"
    with pytest.raises(SystemExit):
        run(["drive", "run", "-p", "constant_velocity", "-p", "echo", "--max-cases", "3", "--out", str(out)])
    return out


def test_run_prints_the_terms_next_to_the_humans(capsys, finished):
    out = call(capsys, "run", "-p", "constant_velocity", "--max-cases", "3", "--out", str(finished)).out
    assert "S_eff" in out
    assert out.startswith("Not real traffic: the reference traffic is synthetic (computed by a traffic model).")
    assert "reference traffic (synthetic)" in out
    assert "recorded humans" not in out
    assert "planner lattice version 3" in out


def test_run_again_drives_nothing_and_gives_the_same(capsys, finished):
    before = {p: p.stat().st_mtime_ns for p in finished.rglob("log.json")}
    document = result(capsys, "run", "-p", "echo", "--max-cases", "3", "--out", str(finished))
    assert {p: p.stat().st_mtime_ns for p in finished.rglob("log.json")} == before
    echo = next(row for row in document["predictors"] if row["predictor"] == "echo")
    assert echo["cases"] == 3
    assert set(echo) >= {"n_col", "s_eff", "s_jer", "s_vel", "s_cou", "score", "intervals", "fallbacks"}


def test_score_gives_the_same_numbers_as_run(capsys, finished):
    rows = result(capsys, "run", "-p", "echo", "--max-cases", "3", "--out", str(finished))
    scored = result(capsys, "score", str(finished))
    assert {row["name"]: row["score"] for row in scored["predictors"]} == {
        row["name"]: row["score"] for row in rows["predictors"]
    }


def test_score_knows_the_variants_and_refuses_others(capsys, finished):
    coded = result(capsys, "score", str(finished), "--metric", "as_coded")
    assert {row["metric"] for row in coded["predictors"]} == {"challenge_coded"}
    assert "challenge_coded" in call(capsys, "score", str(finished), "--metric", "challenge_code", code=2).err


def test_legacy_logs_are_scored_with_the_keys_of_the_evaluator(capsys, tmp_path):
    folder = tmp_path / "config0"
    folder.mkdir()
    (folder / "scenario_config.txt").write_text(
        "Map:M\nTrack:000\nStartTimestamp(ms):0\nEndTimestamp(ms):200\nRobotCarNum:1\nInitState:a\n"
        "1 Astar N GroundTruth 0.1 3.0 no 0.1 3.0 yes\nReplayCarWithPredictor:0\nInitState:a\n"
        "EgoEndPosition:1 1\nTargetRightofWay:\n"
    )
    rows = "".join(f"---\n{k} 1\n1,{k},0,0,5.0,0,0,4,2,1,0,BehaveCar,yes\n" for k in range(3))
    (folder / "scenario_test.txt").write_text(
        f"a\nb\nc\n{rows}no crash\nEgo\n1,5.0,10.0\n".replace("Ego\n", "EgoCarFinalState:\n")
    )
    (scored,) = result(capsys, "score", str(tmp_path), "--legacy", "--metric", "as_coded")["predictors"]
    assert {k: scored[k] for k in ("n_col", "s_eff", "s_jer", "s_vel", "s_cou", "cases")} == {
        "n_col": 0,
        "s_eff": 0.5,
        "s_jer": 0.0,
        "s_vel": 3.0,
        "s_cou": 0.0,
        "cases": 1,
    }
    assert scored["score"] == pytest.approx(2.0)


def test_replay_writes_a_page_with_plan_predictions_and_events(capsys, finished, tmp_path):
    out = tmp_path / "r.html"
    call(capsys, "replay", str(finished), "--case", "merge-00", "-p", "echo", "--out", str(out))
    page = out.read_text()
    document = json.loads(page.split('id="replay">')[1].split("</script>")[0])
    assert {fan["kind"] for fan in document["fans"]} == {"plan", "prediction"}
    assert document["map"]["lanes"]
    assert document["frames"] == 61
    assert document["version"] == 2
    assert document["encounter"]["partner"] in ("2", "3")
    assert next(a for a in document["agents"] if a["id"] == document["ego"])["recorded"]


def test_replay_puts_drives_of_one_case_side_by_side(capsys, finished, tmp_path):
    out = tmp_path / "two.html"
    args = ("--case", "merge-00", "-p", "echo", "-p", "constant_velocity", "--json", "--out", str(out))
    made = json.loads(call(capsys, "replay", str(finished), *args).out)["result"]
    assert [d["predictor"] for d in made["drives"]] == ["echo", "constant_velocity"]
    assert all("gap" in d["verdict"] or "contact" in d["verdict"] for d in made["drives"])
    document = json.loads(out.read_text().split('id="replay">')[1].split("</script>")[0])
    first, second = document["drives"]
    assert first["map"]["lanes"] and "map" not in second, "the map is written once"


def test_replay_writes_a_film(capsys, finished, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    import imageio_ffmpeg

    out = tmp_path / "r.mp4"
    call(capsys, "replay", str(finished), "--case", "merge-00", "--whole", "--out", str(out))
    frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(out))
    assert (frames, round(seconds, 1)) == (151, 6.0)


def test_replay_writes_a_gif_of_the_seconds_around_the_event(capsys, finished, tmp_path):
    image = pytest.importorskip("PIL.Image")
    out = tmp_path / "r.gif"
    call(
        capsys,
        "replay",
        str(finished),
        "--case",
        "merge-00",
        "-p",
        "echo",
        "-p",
        "constant_velocity",
        "--out",
        str(out),
    )
    with image.open(out) as film:
        assert film.size == (2 * 720, 540)
        assert 20 <= film.n_frames <= 41, "at most four seconds at ten pictures per second"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run", "-p", "oracl", "--out", "X"], "oracle"),
        (["run", "-p", "gru", "--out", "X"], "gru:FILE"),
        (["run", "-p", "echo", "--planner", "defalt", "--out", "X"], "default"),
        (["run", "-p", "echo", "--max-cases", "0", "--out", "X"], "greater than or equal to 1"),
        (["run", "-p", "echo", "--cases", "nowhere.json", "--out", "X"], "no such case file"),
        (["score", "nowhere", "--legacy"], "no such folder"),
        (["score", "nowhere", "--format", "xml"], "No such option: --format"),
        (["replay", "nowhere"], "no such log"),
        (["mine", "nowhere", "--out", "x.txt"], "json"),
    ],
)
def test_nonsense_gets_a_sentence_and_exit_code_2(capsys, tmp_path, monkeypatch, args, says):
    monkeypatch.chdir(tmp_path)
    error = call(capsys, *args, code=2).err
    assert says in error
    assert "Traceback" not in error


def test_dry_run_says_what_would_be_driven(capsys, tmp_path):
    plan = result(capsys, "run", "-p", "echo", "--out", str(tmp_path / "R"), "--dry-run")
    assert plan["cases"] == 48
    assert not (tmp_path / "R").exists()


def test_a_case_that_cannot_be_driven_fails_the_command_and_is_reported(capsys, tmp_path):
    from dataclasses import replace

    from giveway.drive.bundled import bundled_set
    from giveway.sim.case_files import write_cases

    cases = list(bundled_set()[0][:3])
    cases[1] = replace(cases[1], tracks_sha256="a" * 64)
    write_cases(tmp_path / "c.json", cases)
    found = result(capsys, "run", "-p", "echo", "-c", str(tmp_path / "c.json"), "--out", str(tmp_path / "R"), code=1)
    (echo,) = found["predictors"]
    assert (echo["cases"], echo["failed"]) == (3, 1)
    assert "not the one" in echo["failed_cases"][cases[1].id]


def test_help_stays_light():
    code = "import sys; from giveway.cli import main; import giveway.cli.drive; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
