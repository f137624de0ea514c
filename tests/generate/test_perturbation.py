import numpy as np
import pytest

from giveway.generate.perturbation.adaptive import (
    DURATION,
    MANEUVERS,
    Filed,
    Memory,
    Perturbation,
    joint_features,
)

AHEAD = np.array([[6.0, 0.0]])


def remember(memory, places, joint, *, risky):
    feature = joint_features(places, np.array([joint]))[0]
    memory.file(Filed(feature=tuple(feature), risky=risky))


def test_all_joint_manoeuvres_are_considered_until_something_is_known():
    chosen = {tuple(Memory().choose(np.zeros((2, 2)), np.random.default_rng(n))) for n in range(400)}
    assert len(chosen) > 30
    assert max(max(c) for c in chosen) == len(MANEUVERS) - 1


def test_the_choice_is_the_farthest_from_what_was_safe():
    memory = Memory()
    for m in (0, 1, 2, 3, 4):
        remember(memory, AHEAD, [m], risky=False)
    assert memory.choose(AHEAD, np.random.default_rng(0)).tolist() == [5]


def test_ties_go_to_what_is_nearest_to_something_risky():
    memory = Memory()
    remember(memory, AHEAD, [2], risky=False)
    sides = {tuple(memory.choose(AHEAD, np.random.default_rng(n))) for n in range(50)}
    assert len(sides) == 2
    left_go = 5
    remember(memory, AHEAD, [left_go], risky=True)
    assert {tuple(memory.choose(AHEAD, np.random.default_rng(n))) for n in range(50)} == {(left_go,)}


def test_what_was_safe_elsewhere_says_little_here():
    memory = Memory()
    behind = np.array([[-60.0, 7.0]])
    for m in range(5):
        remember(memory, behind, [m], risky=False)
    remember(memory, AHEAD, [5], risky=False)
    assert memory.choose(AHEAD, np.random.default_rng(0)).tolist() != [5]


def test_the_oldest_memories_are_forgotten():
    memory = Memory(limit=3)
    for m in range(5):
        remember(memory, AHEAD, [m], risky=True)
    assert len(memory.rows(1, risky=True)) == 3
    assert memory.rows(2, risky=True).shape == (0, 8)


def perturbation(worlds=1):
    return Perturbation(memory=Memory(), near_m=7.0, rngs=[np.random.default_rng(n) for n in range(worlds)])


def test_only_cars_near_the_ego_are_perturbed_and_for_one_second():
    layer = perturbation()
    wanted = np.full((1, 2, 2), 0.11)
    places = np.array([[[5.0, 0.0], [30.0, 0.0]]])
    driving = np.ones((1, 2), dtype=bool)
    first = layer.apply(0, wanted, places, driving)
    assert first[0, 1].tolist() == [0.11, 0.11]
    assert first[0, 0].tolist() in MANEUVERS.tolist()
    for step in range(1, DURATION):
        np.testing.assert_array_equal(layer.apply(step, wanted, places, driving), first)
    assert layer.triggers.tolist() == [1]
    layer.apply(DURATION, wanted, places, driving)
    assert layer.triggers.tolist() == [2]
    assert [f.risky for f in layer.filed[0]] == [True]


@pytest.mark.parametrize(("distance", "risky"), [(5.0, True), (20.0, False)])
def test_a_manoeuvre_is_risky_if_its_car_is_still_near_afterwards(distance, risky):
    layer = perturbation()
    driving = np.ones((1, 1), dtype=bool)
    layer.apply(0, np.zeros((1, 1, 2)), np.array([[[5.0, 0.0]]]), driving)
    layer.finish(np.array([[[distance, 0.0]]]), driving)
    assert [f.risky for f in layer.filed[0]] == [risky]


def test_a_manoeuvre_that_ended_its_episode_is_judged_by_how_it_ended():
    """Other worlds drive on after the crash; what crashed is not safe because nobody is near any more."""
    layer = perturbation(2)
    places = np.array([[[5.0, 0.0]], [[50.0, 0.0]]])
    layer.apply(0, np.zeros((2, 1, 2)), places, np.array([[True], [True]]))
    for step in range(1, 2 * DURATION):
        layer.apply(step, np.zeros((2, 1, 2)), places, np.array([[False], [True]]))
    layer.finish(places, np.array([[True], [True]]))
    assert [[f.risky for f in filed] for filed in layer.filed] == [[True], []]


def test_worlds_do_not_influence_each_other():
    places = np.array([[[5.0, 0.0]], [[4.0, 1.0]]])
    driving = np.ones((2, 1), dtype=bool)
    both = perturbation(2).apply(0, np.zeros((2, 1, 2)), places, driving)
    alone = Perturbation(memory=Memory(), near_m=7.0, rngs=[np.random.default_rng(1)])
    np.testing.assert_array_equal(alone.apply(0, np.zeros((1, 1, 2)), places[1:], driving[1:])[0], both[1])


def test_cars_that_are_out_are_left_alone():
    layer = perturbation()
    out = layer.apply(0, np.zeros((1, 1, 2)), np.array([[[5.0, 0.0]]]), np.zeros((1, 1), dtype=bool))
    assert out.tolist() == [[[0.0, 0.0]]]
    assert layer.triggers.tolist() == [0]
