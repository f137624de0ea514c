"""The ego as a Gymnasium environment."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest

import giveway as gw
import giveway.gym
from giveway.core.case import Role
from giveway.core.errors import UnknownNameError, UsageError
from giveway.drive.driving import drive_cases
from giveway.drive.environment import prepared_for_ego
from giveway.drive.scenes import GivenScenes
from giveway.metrics import METRICS
from giveway.sim.views.ego import EgoEnv, EgoVectorEnv, plan_of
from giveway.testing.drive_scenes import DrivenCar, crossing_case, crossing_scene, scene_of

SOURCE = GivenScenes({"crossing": crossing_scene()})
ROLES = (Role.REACTIVE, Role.IDM, Role.REPLAY)
CASES = [crossing_case(case_id=f"case-{k}", seconds=3.0 + 0.5 * k, other=ROLES[k]) for k in range(3)]


@pytest.fixture(scope="module", params=["paper", "clean"])
def traffic(request):
    return request.param


@pytest.fixture(scope="module")
def cases(traffic):
    return prepared_for_ego(CASES, SOURCE, traffic=traffic)


def actions_of(kind, rng, count):
    if kind == "accel":
        return rng.uniform(-3.0, 2.0, (count, 1)).astype(np.float32)
    if kind == "plan":
        return np.sort(rng.uniform(0.0, 40.0, (count, 50)), axis=1).astype(np.float32)
    return rng.integers(0, 30, count)


@pytest.mark.parametrize("kind", ["accel", "plan", "profile"])
def test_gymnasium_finds_nothing_to_complain_about(cases, kind):
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(render|normalized|spec).*")
        check_env(EgoEnv(cases, action=kind), skip_render_check=True)


@pytest.mark.parametrize("kind", ["accel", "plan", "profile"])
def test_an_episode_is_the_drive_of_a_planner_that_decides_the_same(cases, traffic, kind):
    env = EgoEnv(cases, action=kind, bounded=kind == "accel")
    chosen = actions_of(kind, np.random.default_rng(3), 100)
    _, info = env.reset(seed=1, options={"case": "case-1"})
    over, tick = False, 0
    while not over:
        seen, _, terminated, truncated, info = env.step(chosen[tick])
        assert env.observation_space.contains(seen)
        over, tick = terminated or truncated, tick + 1

    class Same(gw.Planner, name="same"):
        def plan(self, situation):
            return plan_of(kind, chosen[situation.tick], situation, bounded=kind == "accel")

    (drive,) = drive_cases([CASES[1]], SOURCE, predictor=None, planner=Same(), traffic=traffic)
    np.testing.assert_array_equal(env.log().tracks.xy, drive.log.tracks.xy)
    np.testing.assert_array_equal(env.log().plans, drive.log.plans)
    np.testing.assert_array_equal(env.log().ego_s, drive.log.ego_s)
    assert env.log().collisions == drive.log.collisions
    assert info["score"] == METRICS.get("challenge")(drive.log).value


def test_recorded_accelerations_give_the_progress_of_the_human():
    braking = scene_of([DrivenCar(id="ego", points=((940.0, 1000.0), (1080.0, 1000.0)), accel_mps2=-0.8)])
    case = gw.Case(
        id="alone", dataset="testing", recording="crossing", site="crossing", tracks_sha256="0" * 64, start_s=1.0,
        end_s=7.0, cars=(gw.core.case.Car(id="ego", role=Role.EGO),),
    )  # fmt: skip
    env = EgoEnv(prepared_for_ego([case], GivenScenes({"crossing": braking})))
    env.reset(seed=0)
    speed = braking.tracks.speed[0, 10:71]
    for accel in np.diff(speed) / 0.1:
        env.step(np.array([accel], dtype=np.float32))
    log = env.log()
    assert log.ego_s[-1] == pytest.approx(log.recorded_ego_s[-1], abs=0.1)
    assert log.expected_progress_m > 20.0


def test_many_egos_in_one_batch_drive_as_each_would_alone(cases):
    envs = EgoVectorEnv(cases, 4)
    alone = [EgoEnv(cases) for _ in range(4)]
    rng = np.random.default_rng(0)
    seen, infos = envs.reset(seed=5)
    started = [env.reset(seed=5 + w) for w, env in enumerate(alone)]
    over = [False] * 4
    assert len(set(infos["case"])) > 1
    for w in range(4):
        np.testing.assert_array_equal(seen["others"][w], started[w][0]["others"])
    for _ in range(90):
        actions = rng.uniform(-4.0, 3.0, (4, 1)).astype(np.float32)
        seen, rewards, terminated, truncated, infos = envs.step(actions)
        for w, env in enumerate(alone):
            if over[w]:
                one, info = env.reset()
                reward, over[w] = 0.0, False
            else:
                one, reward, ended, cut, info = env.step(actions[w])
                over[w] = ended or cut
                assert (ended, cut) == (terminated[w], truncated[w])
                if over[w]:
                    assert info["score"] == infos["score"][w] and infos["_score"][w]
            assert reward == rewards[w] and info["case"] == infos["case"][w]
            for name, part in one.items():
                np.testing.assert_array_equal(part, seen[name][w])


def test_minds_beside_an_acting_ego_do_not_depend_on_the_batch():
    minds = prepared_for_ego(CASES, SOURCE, driver="cognitive")
    envs, alone, as_said = EgoVectorEnv(minds, 3), EgoEnv(minds), EgoEnv(prepared_for_ego(CASES, SOURCE))
    envs.reset(options={"case": "case-1"})
    for env in (alone, as_said):
        env.reset(options={"case": "case-1"})
    for _ in range(20):
        seen, *_ = envs.step(np.full((3, 1), 0.5, dtype=np.float32))
        one, *_ = alone.step(np.full(1, 0.5, dtype=np.float32))
        other, *_ = as_said.step(np.full(1, 0.5, dtype=np.float32))
        for w in range(3):
            np.testing.assert_array_equal(seen["others"][w], one["others"])
    assert not np.array_equal(one["others"], other["others"])


def test_rewards_add_up_to_progress_and_a_contact_at_fault_costs_twenty():
    case = crossing_case(case_id="hit", other=Role.REPLAY, seconds=6.0)
    wait = GivenScenes({"crossing": scene_of([
        DrivenCar(id="ego", points=((940.0, 1000.0), (1080.0, 1000.0))),
        DrivenCar(id="other", points=((985.0, 1000.0), (1080.0, 1000.0)), speed_mps=0.01),
        DrivenCar(id="follower", points=((920.0, 1000.0), (1080.0, 1000.0))),
    ])})  # fmt: skip
    hard, soft = (EgoEnv(prepared_for_ego([case], wait), end_at_contact=end) for end in (True, False))
    totals, steps = [], []
    for env in (hard, soft):
        env.reset(seed=0)
        rewards, over = [], False
        while not over:
            _, reward, terminated, truncated, info = env.step(np.zeros(1, dtype=np.float32))
            rewards.append(reward)
            over = terminated or truncated
        totals.append(sum(rewards))
        steps.append(len(rewards))
        assert min(rewards) < -19.0 and info["contacts"] >= 1
        assert sum(reward < -19.0 for reward in rewards) == 1
    assert steps[0] < steps[1] == 60
    # The car ahead has the right of way and stands for 6 s: 0.1 * 8 m/s * 6 s = 4.8 of courtesy.
    assert totals[1] == pytest.approx(10.0 - 20.0 - 4.8, abs=0.3)


def test_it_is_registered_and_refuses_what_it_does_not_know(cases):
    env = gymnasium.make(giveway.gym.EGO, max_cases=2, disable_env_checker=True)
    seen, info = env.reset(seed=0)
    assert env.observation_space.contains(seen) and info["tick"] == 0
    envs = gymnasium.make_vec(giveway.gym.EGO, num_envs=3, max_cases=2)
    assert envs.reset(seed=0)[0]["path"].shape == (3, 40, 4)
    with pytest.raises(UnknownNameError, match="case-1"):
        EgoEnv(cases).reset(options={"case": "case-7"})
    with pytest.raises(UnknownNameError, match="accel"):
        EgoEnv(cases, action="wish")
    with pytest.raises(UnknownNameError):
        prepared_for_ego(CASES, SOURCE, driver="nobody")
    env = EgoEnv(cases)
    env.reset(seed=0)
    with pytest.raises(UsageError, match="finite"):
        env.step(np.array([np.nan]))
