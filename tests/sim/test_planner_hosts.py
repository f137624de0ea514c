"""Hosts of planners: an instance per episode, in order, and findings instead of tracebacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.errors import UsageError
from giveway.planning.protocol import Control, Episode, Plan, Situation
from giveway.sim.drivers.hosts import Fault, Finding, LocalHost, keeps_state, make_host
from giveway.testing.drive_scenes import crossing_road
from giveway.testing.planners import situations
from support import planners

KINDS = {"here": {}, "own process": {"deadline_s": 2.0, "warm_up_s": 20.0}}


def seen(episode: str, tick: int = 0) -> Situation:
    path = np.zeros((30, 6))
    path[:, 0], path[:, 2] = np.arange(30.0), 1.0
    nobody = {"mode_states": np.zeros((0, 25, 4)), "mode_facts": np.zeros((0, 5)), "states": np.zeros((0, 5))}
    return Situation(
        path=path, path_step_m=1.0, s_m=1.0, speed_mps=5.0, accel_mps2=0.0, size_m=np.array([4.5, 1.8]),
        desired_speed_mps=8.0, previous_s_m=np.zeros(50), own=0, present=np.zeros(0, bool), sizes=np.zeros((0, 2)),
        **nobody, episode=episode, tick=tick, map=crossing_road(),
    )  # fmt: skip


def begun(name: str, seed: int = 0) -> Episode:
    return Episode(
        id=name,
        seed=seed,
        route=np.zeros((30, 6)),
        route_step_m=1.0,
        map=None,
        size_m=np.array([4.5, 1.8]),
        goal_m=29.0,
    )


@pytest.fixture(params=list(KINDS))
def host(request):
    made = []

    def make(planner, **more):
        made.append(make_host(planner, **{**KINDS[request.param], **more}))
        return made[-1]

    yield make
    for one in made:
        one.close()


def told(answers, *slots):
    return [answers[slot].accel_mps2 for slot in slots]


def test_every_episode_has_an_instance_of_its_own(host):
    both = host("support.planners:Counts")
    both.reset(0, begun("a", 3))
    both.reset(1, begun("b", 4))
    assert told(both.plan({0: seen("a"), 1: seen("b")}), 0, 1) == [1.0, 1.0]
    assert told(both.plan({0: seen("a", 1)}), 0) == [2.0]
    answers = both.plan({0: seen("a", 2), 1: seen("b", 1)})
    assert told(answers, 0, 1) == [3.0, 2.0] and [answers[k].steer_rate_radps for k in (0, 1)] == [3.0, 4.0]
    both.reset(0, begun("c", 5))
    assert told(both.plan({0: seen("c"), 1: seen("b", 2)}), 0, 1) == [1.0, 3.0]


def test_a_batch_planner_gets_all_episodes_in_one_call(host):
    one = host(planners.CountsTogether())
    for slot, name in enumerate("ab"):
        one.reset(slot, begun(name))
    answers = one.plan({0: seen("a"), 1: seen("b")})
    assert told(answers, 0, 1) == [1.0, 1.0] and answers[1].steer_rate_radps == 2.0
    one.reset(1, begun("raises"))
    answers = one.plan({0: seen("a", 1), 1: seen("raises")})
    assert all(answers[slot].fault is Fault.RAISED for slot in (0, 1))


@pytest.mark.parametrize(
    ("planner", "fault", "words"),
    [
        (planners.Raises, Fault.RAISED, "RuntimeError: out of ideas"),
        (planners.Exits, Fault.RAISED, "SystemExit: 3"),
        (planners.Nan, Fault.INVALID, "NaN"),
        (planners.Nothing, Fault.INVALID, "returned NoneType"),
        (planners.Text, Fault.INVALID, "could not convert"),
    ],
)
def test_a_planner_that_fails_is_a_finding_with_its_episode(host, planner, fault, words):
    found = host(planner()).plan({7: seen("here", 12)})[7]
    assert isinstance(found, Finding) and found.fault is fault and words in found.sentence
    assert (found.episode, found.tick) == ("here", 12)


def test_a_planner_that_cannot_begin_fails_at_its_first_tick(host):
    one = host(planners.Counts())
    one.reset(0, begun("bad start"))
    one.reset(1, begun("fine"))
    answers = one.plan({0: seen("bad start"), 1: seen("fine")})
    assert answers[0].fault is Fault.RAISED and "no road here" in answers[0].sentence
    assert told(answers, 1) == [1.0]
    one.reset(0, begun("next"))
    assert told(one.plan({0: seen("next")}), 0) == [1.0]


@pytest.mark.parametrize(("name", "fault"), [("hangs", Fault.HUNG), ("dies", Fault.RAISED)])
def test_what_ends_the_process_leaves_the_other_episodes_where_they_were(name, fault):
    host = make_host(planners.Counts(), deadline_s=1.0, warm_up_s=20.0)
    try:
        host.reset(0, begun("before"))
        host.reset(1, begun(name))
        host.reset(2, begun("after", 9))
        assert told(host.plan({k: seen(n) for k, n in enumerate(("before", name, "after"))}), 0, 1, 2) == [1.0] * 3
        answers = host.plan({k: seen(n, 1) for k, n in enumerate(("before", name, "after"))})
        assert answers[1].fault is fault and answers[1].episode == name
        assert told(answers, 0, 2) == [2.0, 2.0]
        assert answers[2].steer_rate_radps == 9.0
        assert told(host.plan({0: seen("before", 2), 2: seen("after", 2)}), 0, 2) == [3.0, 3.0]
        host.reset(1, begun("again"))
        assert told(host.plan({1: seen("again")}), 1) == [1.0]
    finally:
        host.close()


def test_path_and_map_are_sent_once_and_seen_always(host):
    one = host(planners.SeesPath())
    one.reset(0, begun("a"))
    first = one.plan({0: seen("a")})[0]
    assert first == one.plan({0: seen("a", 1)})[0] == Control(accel_mps2=465.0, steer_rate_radps=2.0)
    wide = np.full((40, 6), 2.0)
    assert one.plan({0: replace(seen("a", 2), route=3, path=wide)})[0].accel_mps2 == 480.0
    assert one.plan({0: replace(seen("a", 3), route=3, path=wide)})[0].steer_rate_radps == 5.0


def test_planners_of_before_have_no_state_and_are_not_copied():
    planner = planners.Careless()
    assert not keeps_state(planner) and keeps_state(planners.Counts())
    for given in situations(ticks=6):
        answer = LocalHost(planner).plan({0: given})[0]
        assert isinstance(answer, Plan)
        np.testing.assert_array_equal(answer.s_m, planner.plan(given).s_m)


def test_what_cannot_be_sent_or_copied_is_refused_with_a_sentence():
    with pytest.raises(UsageError, match="cannot be sent"):
        make_host(planners.not_importable(), deadline_s=1.0)
    with pytest.raises(UsageError, match="deadline"):
        make_host("idm", deadline_s=0.0)
    stuck = planners.Counts()
    stuck.generator = (k for k in range(3))
    with pytest.raises(UsageError, match="copied"):
        LocalHost(stuck)
