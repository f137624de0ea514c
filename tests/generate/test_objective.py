"""The graded reward: what it pays, how natural driving is judged, and that it means success."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from giveway.core.errors import EmptySelectionError, FileFormatError, UsageError
from giveway.core.log import Grade
from giveway.generate.episodes import drive_episodes, no_attack
from giveway.generate.invariant import ParkedDriver, check_objective
from giveway.generate.objective.graded import graded_potential
from giveway.generate.objective.natural import CLASSES, LEVELS, standing_cost, step_features, unnaturalness
from giveway.generate.objective.weights import RewardWeights
from giveway.generate.prior import (
    EXPECTED_RAW,
    costs,
    fit_prior,
    give_way_lines,
    is_synthetic,
    load_prior,
    recorded_steps,
    save_prior,
)
from giveway.generate.protocol import TERMS, Outcome
from giveway.generate.worlds import WorldSettings, make_worlds
from giveway.roads.library import make_road
from giveway.testing import worlds as small

STRAIGHT_ON = np.tile([10.0, 0.0], (7, 1))


def features(recent, curvature=0.0, headway=math.inf):
    out = np.empty(5)
    return step_features(np.asarray(recent, dtype=float), curvature, headway, out), out


def kind_of(name):
    return CLASSES.index(name)


def test_features_are_differences_over_half_a_second():
    speeds = [10.0, 9.7, 9.5, 9.4, 9.2, 9.0, 9.1]
    turns = [0.10, 0.08, 0.06, 0.04, 0.02, 0.0, 0.0]
    kind, found = features(np.stack([speeds, turns], axis=1), headway=2.0)
    accel, before = (10.0 - 9.0) / 0.5, (9.7 - 9.1) / 0.5
    expected = [accel, (accel - before) / 0.1, 10.0 * 0.1 / 0.5, 10.0 * math.sin(0.1), 2.0]
    assert found == pytest.approx(expected)
    assert kind == kind_of("following, changing lanes")


def test_the_class_of_a_step():
    assert features(STRAIGHT_ON)[0] == kind_of("free, keeping")
    assert features(STRAIGHT_ON, headway=3.9)[0] == kind_of("following, keeping")
    assert features(STRAIGHT_ON, curvature=-0.03)[0] == kind_of("free, turning")
    assert features(STRAIGHT_ON * 0.04)[0] == -1, "standing"


def test_left_and_right_are_alike():
    turns = np.array([0.1, 0.08, 0.06, 0.04, 0.02, 0.0, 0.0])
    left, right = (np.stack([np.full(7, 9.0), side * turns], axis=1) for side in (1.0, -1.0))
    assert features(left)[0] == features(right)[0]
    assert features(left)[1] == pytest.approx(features(right)[1])


def busy_road(seed=0):
    """Cars whose speed and heading wander around those of a mapped straight road, the same process in every scene."""
    rng = np.random.default_rng(seed)
    scene = small.straight(num_cars=12, duration_s=40.0)
    shape = scene.tracks.observed.shape
    noise = np.zeros((2, *shape))
    for t in range(1, shape[1]):
        noise[..., t] = 0.95 * noise[..., t - 1] + rng.normal(0.0, 1.0, (2, shape[0]))
    speed, turn = 8.0 + 0.1 * noise[0], 0.002 * noise[1]
    velocity = np.stack([speed * np.cos(turn), speed * np.sin(turn)], axis=-1)
    return replace(scene, tracks=replace(scene.tracks, velocity=velocity, heading=turn))


def test_recorded_traffic_costs_what_the_closed_form_says(load_of):
    """alpha (1 - exp(-5)) = 0.0497, held out."""
    assert pytest.approx(0.0497, abs=5e-5) == EXPECTED_RAW
    fitted = fit_prior(busy_road(seed) for seed in range(6))
    assert fitted["mean_raw"] == pytest.approx(EXPECTED_RAW, abs=0.005)
    prior = load_of(fitted)
    kind, value = recorded_steps(busy_road(99))
    moving = kind >= 0
    assert 5.0 * costs(prior, kind[moving], value[moving]).mean() == pytest.approx(EXPECTED_RAW, abs=0.02)


@pytest.fixture
def load_of(tmp_path):
    def load(fitted):
        save_prior(fitted, tmp_path / "prior.json")
        return load_prior(tmp_path / "prior.json")

    return load


def test_rare_driving_costs_more_than_usual_driving(load_of):
    prior = load_of(fit_prior(busy_road(seed) for seed in range(3)))
    calm, wild = np.array([0.0, 0.0, 0.0, 0.0, 2.0]), np.array([-6.0, 15.0, 4.0, 0.2, 0.3])
    assert unnaturalness(prior, kind_of("free, keeping"), calm) < 0.2
    assert unnaturalness(prior, kind_of("free, keeping"), wild) == 1.0


def test_ranks_fall_and_have_one_entry_per_level(load_of):
    prior = load_of(fit_prior([busy_road()]))
    assert prior.ranks.shape == (len(CLASSES), LEVELS)
    assert (np.diff(prior.ranks, axis=1) <= 0.0).all()


def test_without_recordings_bounds_of_comfort_stand_in():
    prior = load_prior()
    assert unnaturalness(prior, 0, np.array([2.9, -4.9, 1.9, 1.4, 0.1])) == 0.0
    assert unnaturalness(prior, 0, np.array([0.0, -7.5, 0.0, 0.0, 0.1])) == pytest.approx(0.5)
    assert unnaturalness(prior, 0, np.array([-9.0, 0.0, 0.0, 0.0, 0.1])) == 1.0


def test_standing_costs_unless_somebody_or_a_line_is_ahead():
    lines = np.array([100.0, np.nan])
    assert standing_cost(math.inf, 40.0, lines) == 1.0
    assert standing_cost(9.0, 40.0, lines) == 0.0
    assert standing_cost(math.inf, 86.0, lines) == 0.0
    assert standing_cost(math.inf, 101.0, lines) == 1.0, "past the line"


def test_only_ways_that_give_way_have_lines():
    assert np.isnan(give_way_lines(make_road("straight"))).all()
    road = make_road("crossing")
    found = give_way_lines(road)
    yields = road.gives_way().any(axis=1)
    assert (np.isfinite(found).any(axis=1) == yields).all() and yields.any() and not yields.all()


def test_a_prior_of_another_kind_or_release_is_refused(tmp_path):
    (tmp_path / "old.json").write_text(json.dumps({"format": "giveway naturalness prior 1"}))
    with pytest.raises(FileFormatError, match="not a naturalness prior"):
        load_prior(tmp_path / "old.json")
    with pytest.raises(EmptySelectionError, match="too little traffic"):
        fit_prior([])


def test_a_prior_of_synthetic_traffic_says_so(tmp_path):
    fitted = fit_prior([busy_road()])
    save_prior(fitted, tmp_path / "prior.json")
    assert is_synthetic(tmp_path / "prior.json") == (fitted["origin"] != ["recorded"])
    save_prior({**fitted, "origin": ["recorded"]}, tmp_path / "prior.json")
    assert not is_synthetic(tmp_path / "prior.json")


def test_the_potential_is_least_far_away_and_greatest_ahead_of_the_bumper():
    rules = make_worlds(cars=1).rules
    cars = np.zeros((2, 6))
    present = np.ones(2, dtype=np.bool_)

    def potential(x, y, escape=0.0):
        cars[1, :2] = x, y
        return graded_potential(cars, present, rules, escape)

    assert potential(4.5, 0.0) == 0.0
    assert potential(200.0, 0.0) == -0.5
    assert potential(4.5, 3.0) == pytest.approx(-0.5 * 6.0 / 30.0), "sideways counts twice"
    assert potential(4.5, 0.0, escape=1.0) == -0.5
    present[1] = False
    assert potential(4.5, 0.0) == -0.5


def test_the_reward_is_the_weighted_sum_of_its_terms():
    worlds = make_worlds(n_worlds=20, ego="constant_speed", actions="lateral", steps=80)
    weights = np.array(list(worlds.term_weights.values()))
    assert tuple(worlds.term_weights) == TERMS["graded"]
    worlds.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(80):
        after = worlds.step(rng.uniform(-1.0, 1.0, (20, 3, 2)))
        assert after.rewards == pytest.approx((after.terms[..., :5] * weights).sum(axis=-1), abs=1e-12)


def test_shaping_telescopes_and_a_time_out_pays_nothing():
    worlds = make_worlds(n_worlds=4, cars=1, steps=30)
    worlds.reset(seed=3)
    start = worlds.judged.potential.copy()
    total, gamma = np.zeros(4), worlds.settings.weights.discount
    for step in range(30):
        after = worlds.step(np.asarray(worlds.natural_actions()))
        total += gamma**step * after.terms[:, 0, 1]
        assert not after.terms[..., 0].any()
    assert (after.outcome == Outcome.TIME_OUT).all() and after.truncated.all()
    assert total == pytest.approx(gamma**30 * worlds.judged.potential - start)


def test_a_near_miss_is_paid_once_in_its_step_and_seen_from_then_on():
    """The ego runs up to a slow car at constant speed: first a near miss (0.1), then a contact (grade A, 0.9 more)."""
    worlds = make_worlds(cars=1, ego="constant_speed", actions="lateral")
    scenes, _ = worlds.space.sample(1, seed=0)
    object.__setattr__(scenes, "lane", scenes.ego_lane[:, None].copy())
    object.__setattr__(scenes, "s", scenes.ego_s[:, None] + 45.0)
    object.__setattr__(scenes, "speed", np.full((1, 1), 5.0))
    object.__setattr__(scenes, "d", np.zeros((1, 1)))
    seen = worlds.reset(scenes, seed=0)
    assert seen[0, 0, -1] == 0.0
    paid = []
    while True:
        after = worlds.step(np.zeros((1, 1, 2)))
        if after.terms[0, 0, 0]:
            paid.append(round(float(after.terms[0, 0, 0]), 9))
            if not after.done[0]:
                assert after.observations[0, 0, -1] == np.float32(0.1)
        if after.done[0]:
            break
    assert worlds.ending(0).grade is Grade.A
    assert paid == [0.1, 0.9]


@pytest.mark.parametrize(("road", "planner"), [("straight", "idm"), ("straight", "lattice"), ("merge", "idm")])
def test_success_pays_more_than_ordinary_driving_and_that_more_than_nothing(road, planner):
    found = check_objective(WorldSettings(road=road, ego=planner, actions="lateral"), scenes=96)
    assert found.holds, found.table().text()
    ordinary, random, parked, script = found.earned
    assert ordinary.mean > random.mean + 0.15 and ordinary.mean > parked.mean + 0.6
    assert planner != "idm" or (script.mean > ordinary.mean + 0.3 and script.graded.mean() > 0.2)


def test_a_reward_that_pays_for_doing_nothing_is_refused_with_what_everybody_earns():
    """The weights of release 0.1: naturalness of 0.1 x 5 x 150, an incident of 10 once."""
    weights = RewardWeights(naturalness=75.0)
    found = check_objective(WorldSettings(ego="idm", actions="lateral", weights=weights), scenes=64)
    assert not found.holds
    with pytest.raises(UsageError, match="does not rank success above doing nothing") as error:
        found.require()
    assert "script" in str(error.value) and "ordinary" in str(error.value)


def test_parked_cars_stand_and_that_is_unnatural():
    worlds = make_worlds(n_worlds=8, actions="lateral")
    driver = ParkedDriver()
    records = drive_episodes(worlds, lambda w, seen: driver.act(w, seen, 0), seed=1)
    assert min(r.unnaturalness for r in records) > 0.7
    assert max(r.unnaturalness for r in drive_episodes(worlds, no_attack, seed=1)) < 0.05


def test_cars_that_are_gone_say_nothing_about_what_success_pays():
    """On the roundabout cars drive out before the ego fails; theirs are the lowest returns of episodes that count."""
    found = check_objective(WorldSettings(road="roundabout", ego="lattice", actions="lateral"), scenes=128)
    assert found.holds, found.table().text()
    one = next(e for e in found.earned if e.graded.any() and (e.at_end != e.returns)[e.graded].any())
    assert one.at_end[one.graded].mean() > one.returns[one.graded].mean()
