"""Planners that fail on purpose: what they are shown, and that it makes them fail where others do not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from giveway.generate.episodes import drive_episodes
from giveway.generate.protocol import Scenes
from giveway.generate.worlds import make_worlds
from giveway.planning import make_planner
from giveway.planning.protocol import Episode, Situation
from giveway.sim.rss import Law, d_lon

PATH = np.stack([0.5 * np.arange(200), *np.zeros((1, 200)), np.ones(200), *np.zeros((2, 200))], axis=1)
EPISODE = Episode(id="e", seed=3, route=PATH, route_step_m=0.5, map=None, size_m=np.array([4.5, 1.8]), goal_m=90.0)


def situation(tick: int = 0, lead_m: float = 25.0) -> Situation:
    """The ego at 0 m, another car ahead of it, both at 10 m/s."""
    modes = np.zeros((1, 25, 4))
    modes[0, :, 0], modes[0, :, 2] = lead_m + 2.0 * np.arange(1, 26), 1.0
    return Situation(
        path=PATH, path_step_m=0.5, s_m=float(tick), speed_mps=10.0, accel_mps2=0.0, size_m=np.array([4.5, 1.8]),
        desired_speed_mps=10.0, previous_s_m=np.arange(50.0), mode_states=modes,
        mode_facts=np.array([[4.5, 1.8, 1.0, 1.0, 0.0]]), own=0,
        states=np.array([[float(tick), 0.0, 10.0, 1.0, 0.0], [lead_m, 0.0, 10.0, 1.0, 0.0]]),
        present=np.array([True, True]), sizes=np.tile([4.5, 1.8], (2, 1)), tick=tick,
    )  # fmt: skip


def begun(name: str):
    planner = make_planner(name)
    planner.reset(EPISODE)
    return planner


def test_the_delayed_planner_sees_others_as_they_were_a_second_ago_and_itself_as_it_is():
    planner = begun("delayed")
    seen = [planner.seen(situation(tick, lead_m=25.0 + tick)) for tick in range(30)]
    assert [one.states[1, 0] for one in seen] == [25.0 + max(tick - 10, 0) for tick in range(30)]
    assert [one.states[0, 0] for one in seen] == [float(tick) for tick in range(30)]
    assert seen[29].mode_states[0, 0, 0] == 25.0 + 19 + 2.0
    planner.reset(EPISODE)
    assert planner.seen(situation(0, lead_m=70.0)).states[1, 0] == 70.0, "nothing of the episode before"


def test_errors_have_their_size_come_from_the_episode_and_leave_the_own_car_alone():
    planner = begun("noisy")
    seen = [planner.seen(situation()) for _ in range(2000)]
    states = np.array([one.states for one in seen])
    assert (states[:, 0] == situation().states[0]).all()
    assert states[:, 1, :3].std(axis=0) == pytest.approx([0.3, 0.3, 0.5], rel=0.1)
    one = seen[7]
    errors = one.states[1, :3] - situation().states[1, :3]
    moved = one.mode_states[0, :, 0] - situation().mode_states[0, :, 0]
    assert moved == pytest.approx(errors[0] + errors[2] * 0.2 * np.arange(1, 26)), "predictions err as the car does"
    planner.reset(EPISODE)
    assert (planner.seen(situation()).states == seen[0].states).all()
    planner.reset(replace(EPISODE, seed=4))
    assert (planner.seen(situation()).states != seen[0].states).any()


def test_the_short_sighted_planner_sees_two_seconds_and_nobody_beyond():
    planner = begun("short_sighted")
    near, far = planner.seen(situation(lead_m=24.0)), planner.seen(situation(lead_m=25.0))
    assert np.isfinite(near.mode_states[0, :10]).all() and np.isnan(near.mode_states[0, 10:]).all()
    assert near.present.all() and far.present.tolist() == [True, False] and len(far.mode_states) == 0


def test_any_planner_can_be_wrapped_and_says_so():
    plain, wrapped = make_planner("delayed"), make_planner("delayed:idm")
    assert (plain.info.name, wrapped.info.name) == ("delayed", "delayed:idm")
    assert plain.info.parameters["delay_s"] == wrapped.info.parameters["delay_s"] == 1.0
    assert not wrapped.info.uses_predictions and wrapped.info.driver == ""


def braking_leads(ego: str, count: int) -> Counter[str]:
    """Grades of episodes in which the car ahead, at a safe distance, brakes with 2.4 to 6 m/s^2 to a standstill."""
    rng = np.random.default_rng(0)
    own, lead = rng.uniform(9.0, 13.9, count), rng.uniform(7.0, 13.9, count)
    safe = np.array([d_lon(a, b, Law()) for a, b in zip(own, lead, strict=True)])
    none = np.zeros((count, 0))
    scenes = Scenes(
        road="straight", ego_lane=np.ones(count, dtype=np.int64), ego_s=np.full(count, 60.0), ego_speed=own,
        ego_desired_speed=own, lane=np.ones((count, 1), dtype=np.int64),
        s=(64.5 + safe + rng.uniform(0.5, 10.0, count))[:, None], d=np.zeros((count, 1)), speed=lead[:, None],
        traffic_lane=none.astype(np.int64), traffic_s=none, traffic_speed=none,
    )  # fmt: skip
    pedal = rng.uniform(0.4, 1.0, count)
    worlds = make_worlds(ego=ego, cars=1, actions="lateral", n_worlds=count)

    def brake(worlds, seen):
        return np.stack([-pedal, np.zeros(count)], axis=1)[:, None]

    try:
        records = drive_episodes(worlds, brake, scenes=scenes)
    finally:
        worlds.close()
    assert not [r.finding for r in records if r.finding]
    return Counter(str(r.ending.grade) for r in records if r.outcome.is_failure)


@pytest.mark.parametrize(("ego", "count"), [("idm", 64), ("lattice", 64)])
def test_sound_planners_stop_behind_a_braking_car(ego: str, count: int):
    assert braking_leads(ego, count) == Counter()


def test_an_ego_that_never_brakes_is_at_fault_behind_a_braking_car():
    """Golden value of the design: all such contacts are grade A."""
    found = braking_leads("constant_speed", 64)
    assert set(found) == {"A"} and found["A"] >= 60, found


def test_the_delayed_planner_runs_into_braking_cars_by_its_own_fault():
    found = braking_leads("delayed", 24)
    assert set(found) == {"A"}, found
