"""The commands of ``giveway generate``, from training to cases that other applications read."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from giveway.cli.main import run as giveway
from giveway.data import DATASETS
from giveway.generate.evaluation.methods import METHODS
from giveway.generate.failures import stored_campaigns
from giveway.generate.learning.policy import Policy, PolicyInfo, load_policy, policy_bytes
from giveway.generate.policies import world_name
from giveway.generate.worlds import Worlds, WorldSettings
from giveway.roads.opendrive import read_opendrive
from giveway.sim.case_files import read_cases

SMALL = ["--set", "hidden=[16,16]", "--set", "batch=32", "--set", "learning_starts=64", "--worlds", "8", "--force"]


STORE = DATASETS.get("store")
BENCH = [*("generate", "bench", "--method", "idm", "--method", "random_actions", "--seeds", "2"), "--ego", "idm"]
BENCH += ["--budget", "10", "--workers", "1"]


def call(capsys, *arguments):
    """Exit code, standard output and standard error of a command."""
    code = 0
    try:
        giveway([str(a) for a in arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    text = capsys.readouterr()
    return code, text.out, text.err


def document(capsys, *arguments):
    code, out, err = call(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)["result"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    with pytest.raises(SystemExit):
        giveway(
            [
                "generate",
                "train",
                "--ego",
                "idm",
                "--out",
                str(folder),
                "--steps",
                "480",
                "--round-steps",
                "240",
                "--episode-steps",
                "40",
                *SMALL,
                "--json",
            ]
        )
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A campaign with failures for sure: a planner that never brakes among cars that do."""
    folder = tmp_path_factory.mktemp("generated") / "S"
    with pytest.raises(SystemExit):
        giveway(
            [
                "generate",
                "run",
                "--ego",
                "constant_speed",
                "--driver",
                "program",
                "--search",
                "nsga2",
                "--budget",
                "30",
                "--seed",
                "5",
                "--out",
                str(folder),
                "--json",
            ]
        )
    return folder


def test_training_writes_a_policy_that_can_be_run(capsys, trained, tmp_path):
    policy = load_policy(trained)
    assert policy.info.cars == 3
    assert policy.info.made["world"]["ego"] == "idm"
    assert (trained / "curves.png").exists()
    found = document(
        capsys,
        "generate",
        "run",
        "-p",
        trained,
        "--ego",
        "idm",
        "-n",
        10,
        "--search",
        "random",
        "--out",
        tmp_path / "S",
    )
    assert found["measures"]["tests"] == 10


def test_training_again_goes_on_or_says_why_not(capsys, trained):
    arguments = [
        "generate",
        "train",
        "--ego",
        "idm",
        "--out",
        trained,
        "--round-steps",
        240,
        "--episode-steps",
        40,
        *SMALL,
    ]
    found = document(capsys, *arguments, "--steps", 480)
    assert found["resumed_at"] == 480
    code, _, err = call(capsys, *arguments, "--steps", 480, "--seed", 1)
    assert code == 2
    assert "the folder holds a training with other settings" in err
    assert "seed = 0 (asked for 1)" in err


def test_a_warm_start_is_made_however_it_is_asked_for(capsys, tmp_path):
    policies = []
    for name, asked in (("option", ["--warm-steps", 200]), ("setting", ["--set", "warm_steps=200"]), ("none", [])):
        document(
            capsys,
            "generate",
            "train",
            "--ego",
            "idm",
            "--out",
            tmp_path / name,
            "--steps",
            240,
            "--episode-steps",
            40,
            "--set",
            "clone_updates=20",
            *asked,
            *SMALL,
        )
        policies.append(load_policy(tmp_path / name).fingerprint)
    assert policies[0] == policies[1] != policies[2]


def test_a_reward_that_pays_for_doing_nothing_is_refused_before_it_is_learned_from(capsys, tmp_path):
    order = ["generate", "train", "--planner", "idm", "--out", tmp_path / "P", "--set", "weights.naturalness=75"]
    code, _, err = call(capsys, *order)
    assert code == 2 and not (tmp_path / "P").exists()
    assert "does not rank success above doing nothing" in err and "--force" in err


@pytest.mark.parametrize(("asked", "discount"), [([], 0.9), (["--weight", "discount=0.99"], 0.99)])
def test_the_shaping_of_the_reward_discounts_as_the_learner_does(capsys, tmp_path, asked, discount):
    arguments = ["generate", "train", "--ego", "idm", "--out", tmp_path, "--steps", 80, "--episode-steps", 40, *SMALL]
    document(capsys, *arguments, "--set", "gamma=0.9", *asked)
    assert load_policy(tmp_path).info.made["world"]["weights"]["discount"] == discount


def test_a_campaign_keeps_failures_and_their_flags(store):
    flags = json.loads((store / "cases" / "failures.json").read_text())
    assert len(flags) >= 3
    assert {"grade", "violators", "conflict", "sentence", "avoidable", "avoidable_plus", "kind"} <= set(flags[0])
    assert any(f["counts"] for f in flags)


def test_a_campaign_in_pieces_equals_one_in_one_go(capsys, store, tmp_path):
    base = ["generate", "run", "--ego", "constant_speed", "--driver", "program", "--seed", 5, "--out", tmp_path / "S"]
    document(capsys, *base, "--budget", 20)
    again = document(capsys, *base, "--budget", 30)
    assert (again["cells"]["done"], again["cells"]["skipped"]) == (10, 20)
    cells = {p.name: p.read_bytes() for p in (store / "cells").rglob("*.json")}
    assert {p.name: p.read_bytes() for p in (tmp_path / "S" / "cells").rglob("*.json")} == cells
    once_more = document(capsys, *base, "--budget", 30)
    assert once_more["cells"]["done"] == 0


def test_campaigns_of_one_store_keep_their_own_failures_roads_and_names(capsys, tmp_path):
    base = ["generate", "run", "--ego", "constant_speed", "--driver", "program", "--budget", 10, "--seed", 1]
    for more in (["--search", "random"], ["--search", "random", "--perturb"], ["--road", "merge"]):
        last = document(capsys, *base, *more, "--out", tmp_path)
    campaigns = stored_campaigns(tmp_path)
    assert [c.label for c in campaigns] == [
        "program on merge, ego constant_speed, seed 1",
        "program on straight, ego constant_speed, seed 1, perturb False",
        "program on straight, ego constant_speed, seed 1, perturb True",
    ]
    cases = read_cases(tmp_path / "cases" / "cases.json")
    failed = {c.prefix: sum(r.failed for r in c.results) for c in campaigns}
    assert len(failed) == 3, "no two campaigns share their names"
    assert Counter(case.id.rpartition("-")[0] for case in cases) == {p: n for p, n in failed.items() if n}
    assert last["cases"] == len(cases) == sum(failed.values())
    roads = {c.prefix: c.params["road"] for c in campaigns}
    scenes = {
        s.provenance.recording: s for r in STORE.recordings(tmp_path / "cases/recordings") for s in STORE.scenes(r)
    }
    for case in cases:
        scene = scenes[case.id]
        assert case.site == scene.location == scene.road.name == roads[case.id.rpartition("-")[0]]
        assert case.tracks_sha256 in scene.provenance.files.values()


def test_the_table_has_measures_and_realism(capsys, store, tmp_path):
    rows = {row["row"]: row["value"] for row in document(capsys, "generate", "table", store, "--realism")["table"]}
    assert rows["wasserstein speed"] > 0
    code, out, _ = call(capsys, "generate", "table", store)
    assert code == 0
    assert "A, B or C, and avoidable" in out and "wasserstein" not in out
    found = document(capsys, "generate", "table", store, "failures", "--format", "csv", "--out", tmp_path / "f.csv")
    assert len({row["row"] for row in found["table"]}) >= 3
    assert (tmp_path / "f.csv").read_text().startswith("block,row,column,value")


def test_failures_can_be_driven_again_as_cases(capsys, store, tmp_path):
    cases = store / "cases"
    found = document(
        capsys,
        *("drive", "run", "--cases", cases / "cases.json", "--data", cases / "recordings", "-p", "constant_velocity"),
        *("--limit", 3, "--out", tmp_path / "D"),
    )
    assert found["predictors"][0]["cases"] == 3
    assert found["predictors"][0]["failed"] == 0


def test_failures_can_be_shown_as_clips_of_a_study(capsys, store, tmp_path):
    found = document(
        capsys,
        "study",
        "create",
        "--clips",
        store / "cases" / "recordings",
        "--out",
        tmp_path / "T",
        "--num-clips",
        3,
        "--anchors",
        1,
    )
    assert sum(found["clips"].values()) >= 3


def test_failures_are_exported_as_openscenario(capsys, store, tmp_path):
    xosc = pytest.importorskip("scenariogeneration.xosc")
    found = document(capsys, "generate", "export", store, "--format", "openscenario", "--out", tmp_path)
    *scenarios, road = map(Path, found["files"])
    assert found["failures"] == len(scenarios) and len(read_opendrive(road).lanes) == 4
    read = xosc.ParseOpenScenario(found["files"][0])
    assert read.entities.scenario_objects[0].name == "ego" and read.roadnetwork.road_file == road.name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["generate", "run", "--ego", "nobody", "--out", "X"], "unknown planner 'nobody'"),
        (["generate", "run", "--road", "nowhere", "--out", "X"], "unknown road 'nowhere'"),
        (["generate", "run", "--driver", "idm", "--cars", "9", "--out", "X"], "number of learning cars"),
        (["generate", "run", "--driver", "nobody", "--out", "X"], "unknown driver"),
        (["generate", "run", "--search", "nsga3", "--out", "X"], "unknown seed search"),
        (["generate", "run", "-p", "nothing_here", "--out", "X"], "no policy here"),
        (["generate", "train", "--cars", "0", "--out", "X"], "number of learning cars"),
        (["generate", "train", "--set", "gama=1", "--out", "X"], "unknown setting 'gama'"),
        (["generate", "train", "--actions", "maneuvers", "--out", "X"], "only maddpg_discrete learns"),
        (["generate", "train", "--set", "warm_steps=9", "--actions", "steering", "--out", "X"], "needs lateral"),
        (["generate", "train", "--prior", "nothing_here", "--out", "X"], "a naturalness prior cannot be read"),
        (["generate", "train", "--set", "hidden=[0]", "--steps", "9", "--out", "X"], "--set hidden"),
        (["generate", "train", "--set", "imitation=1", "--steps", "9", "--out", "X"], "imitated"),
        (["generate", "bench", "--method", "magic", "--out", "X"], "unknown method"),
        ([*BENCH, "--against", "magic", "--out", "X"], "no such method"),
        ([*BENCH, "--against", "policy", "--out", "X"], "no such method"),
        ([*BENCH, "--metric", "magic", "--out", "X"], "unknown measure 'magic'"),
        ([*BENCH, "--method", "legacy", "--out", "X"], "--trainings"),
        ([*BENCH, "--road", "nowhere", "--out", "X"], "unknown road 'nowhere'"),
        ([*BENCH, "--ego", "nobody", "--out", "X"], "unknown planner 'nobody'"),
        (["generate", "sanity", "--ego", "nobody", "--out", "X"], "unknown planner 'nobody'"),
        (["generate", "report", "nothing_here"], "no result store"),
    ],
)
def test_nonsense_gets_a_sentence(capsys, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    code, _, err = call(capsys, *arguments)
    assert code == 2
    assert words in err
    assert not (tmp_path / "X").exists()


def test_a_policy_for_another_number_of_cars_is_refused(capsys, trained, tmp_path):
    code, _, err = call(capsys, "generate", "run", "-p", trained, "--cars", 2, "--out", tmp_path / "S")
    assert code == 2
    assert "trained for 3, asked for 2" in err


@pytest.mark.parametrize(
    ("command", "settings", "words"),
    [
        ("bench", {"actions": "steering"}, "steering actions"),
        ("bench", {"actions": "lateral", "cars": 2}, "cars: trained for 2, asked for 3"),
        ("sanity", {"actions": "lateral", "cars": 2}, "cars: trained for 2, asked for 3"),
    ],
)
def test_a_policy_that_does_not_fit_is_refused_before_anything_is_driven(capsys, tmp_path, command, settings, words):
    path = tmp_path / "p.safetensors"
    path.write_bytes(policy_bytes(idle_policy(WorldSettings(**settings))))
    arguments = ["generate", command, "-p", path, "--ego", "idm", "--seeds", 2, "--budget", 10, "--workers", 1]
    code, _, err = call(capsys, *arguments, "--out", tmp_path / "B")
    assert code == 2
    assert words in err
    assert not (tmp_path / "B").exists()


def idle_policy(settings):
    """Cars of some world that do nothing."""
    worlds = Worlds(settings)
    cars, seen = worlds.n_cars, worlds.observation_size
    info = PolicyInfo(cars=cars, observation=seen, action=2, world=world_name(settings), hidden=(4,))
    shape = (cars, seen)
    theta = np.zeros((cars, 4 * seen + 4 + 2 * 4 + 2), dtype=np.float32)
    return Policy(info, theta, np.zeros(shape, dtype=np.float32), np.ones(shape, dtype=np.float32))


def test_a_comparison_uses_the_campaigns_it_asked_for_and_no_others_of_the_store(capsys, tmp_path):
    bench = [*BENCH, "--out", tmp_path / "B"]
    first = document(capsys, *bench)
    other = [document(capsys, *bench, *more) for more in (["--budget", 12], ["--road", "merge"])]
    for found in (first, *other):
        assert {name: len(runs) for name, runs in found["values"]["idm"].items()} == {"idm": 2, "random_actions": 2}
        assert [c["seeds"] for c in found["comparisons"]["idm"]] == [[2, 2]]
    assert document(capsys, *bench) == first


def test_methods_that_were_not_asked_for_by_name_are_left_out_aloud(capsys, tmp_path, monkeypatch):
    few = {name: METHODS[name] for name in ("idm", "legacy", "single")}
    monkeypatch.setattr("giveway.generate.evaluation.methods.METHODS", few)
    arguments = ["generate", "bench", "--ego", "idm", "--seeds", 2, "--budget", 10, "--workers", 1]
    code, out, err = call(capsys, *arguments, "--out", tmp_path / "B", "--json")
    assert code == 0
    assert list(json.loads(out)["result"]["values"]["idm"]) == ["idm"]
    assert "left out without --trainings: legacy, single" in err


def test_a_planner_that_raises_is_a_finding_and_the_search_goes_on(capsys, tmp_path, monkeypatch):
    (tmp_path / "lost_planner.py").write_text(
        "from giveway.planning.protocol import PlannerInfo\n"
        "class Lost:\n"
        "    info = PlannerInfo(name='lost', title='lost', version='1', uses_predictions=False)\n"
        "    def plan(self, situation):\n"
        "        raise ValueError('the planner lost its way')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = document(
        capsys,
        *("generate", "run", "--ego", "lost_planner:Lost", "--driver", "idm", "--budget", 10, "--search", "random"),
        *("--out", tmp_path / "S"),
    )
    assert found["measures"]["findings"] == 10
    flags = json.loads((tmp_path / "S" / "cases" / "failures.json").read_text())
    assert "lost its way" in flags[0]["finding"]
    assert flags[0]["outcome"] == "planner_raised"


def test_the_site_shows_every_test_and_replays_of_failures(capsys, store, tmp_path):
    found = document(capsys, "report", store, "--out", tmp_path / "site", "--replays", 2)
    (section,) = found["sections"]
    assert section["kind"] == "campaign"
    folder = tmp_path / "site" / section["id"]
    first = (folder / "index.html").read_text()
    assert "A, B or C, and avoidable (headline)" in first
    assert "Compared with synthetic recordings" in first
    assert len(list((folder / "replays").iterdir())) == 2
    assert "30 cells" in (folder / "cells.html").read_text()


def test_a_dry_run_counts_the_tests_of_all_campaigns(capsys, tmp_path):
    order = ["--set", 'planner=["idm","constant_speed"]', "--set", 'method=["idm","random_actions"]', "--campaigns", 2]
    found = document(capsys, "generate", "run", *order, "-n", 10, "--dry-run", "--out", tmp_path / "S")
    assert found["tests"] == 80


def test_recordings_are_refused_where_nothing_is_compared_with_them(capsys, store):
    code, _, err = call(capsys, "generate", "table", store, "failures", "--realism")
    assert code == 2
    assert "--realism" in err


def test_no_warm_steps_replace_those_of_a_file(capsys, tmp_path):
    fields = ['planner = "idm"', 'actions = "steering"', "env_steps = 40", "[learning]", "warm_steps = 99"]
    (tmp_path / "T.toml").write_text("\n".join(fields))
    order = ["generate", "train", tmp_path / "T.toml", *SMALL, "--out", tmp_path / "P"]
    code, _, err = call(capsys, *order)
    assert code == 2
    assert "the scripted car needs lateral actions" in err
    assert document(capsys, *order, "--warm-steps", 0)["steps"] >= 40


def test_a_training_out_of_time_says_that_it_was_stopped(capsys, tmp_path):
    order = ["generate", "train", "--planner", "idm", "--ticks", 40, "--env-steps", 480, "--round-steps", 240, *SMALL]
    code, out, _ = call(capsys, *order, "--out", tmp_path / "P", "--max-hours", 0, "--json")
    assert (code, json.loads(out)["ok"]) == (130, False)
    assert document(capsys, *order, "--out", tmp_path / "P")["steps"] == 480


def test_a_planner_that_freezes_is_found_in_longer_tests(capsys, tmp_path, monkeypatch):
    """25 s at standstill with a free road do not fit into the 15 s of ordinary tests."""
    monkeypatch.syspath_prepend(__file__.rsplit("/", 1)[0])
    base = ["generate", "run", "--ego", "planners:Freezes", "--driver", "no_attack", "--search", "random", "-n", 6]
    short = document(capsys, *base, "--no-perturb", "--out", tmp_path / "short")
    long = document(capsys, *base, "--no-perturb", "--episode-steps", 400, "--out", tmp_path / "long")
    assert {("ego_standstill", "A")} & endings(tmp_path / "long") > endings(tmp_path / "short")
    assert long["measures"]["at_fault_rate"] > short["measures"]["at_fault_rate"]


def endings(store):
    return {(f["outcome"], f["grade"]) for f in json.loads((store / "cases" / "failures.json").read_text())}
