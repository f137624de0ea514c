"""The moment a replay is about, and the time to collision it is found by."""

from __future__ import annotations

import numpy as np
import pytest

from giveway.core.boxes import Boxes, overlaps, time_to_overlap
from giveway.core.tracks import AgentKind, Tracks
from giveway.reports.player.encounter import closest, find_encounter


def tracks_of(*agents: tuple[tuple[float, float], tuple[float, float]], seconds: float = 6.0) -> Tracks:
    """Cars of 4 m x 2 m that go straight on, each from a place with a velocity."""
    time_s = np.arange(round(seconds * 10) + 1) / 10
    place, velocity = np.array([a for a, _ in agents], dtype=float), np.array([v for _, v in agents], dtype=float)
    count, instants = len(agents), time_s.size
    heading = np.where(np.hypot(*velocity.T) > 0, np.arctan2(velocity[:, 1], velocity[:, 0]), 0.0)
    return Tracks(
        time_s=time_s,
        xy=place[:, None] + velocity[:, None] * time_s[None, :, None],
        heading=np.repeat(heading[:, None], instants, axis=1),
        velocity=np.repeat(velocity[:, None], instants, axis=1),
        observed=np.ones((count, instants), dtype=bool),
        size=np.full((count, 2), [4.0, 2.0]),
        kind=np.full(count, AgentKind.CAR),
        ids=np.array([str(i) for i in range(count)]),
    )


def car(x: float, y: float, heading: float = 0.0) -> Boxes:
    return Boxes.of([x, y], heading, [4.0, 2.0])


def test_time_to_collision_in_line_is_gap_over_closing_rate() -> None:
    assert time_to_overlap(car(0, 0), car(24, 0), [10, 0], [5, 0]) == pytest.approx((24 - 4) / 5)
    assert time_to_overlap(car(0, 0), car(3, 0), [10, 0], [5, 0]) == 0.0


def test_a_car_that_waits_beside_the_road_is_not_critical() -> None:
    """Gap over closing rate would say about a second: the gap shrinks until the car is passed."""
    assert time_to_overlap(car(-12, 0), car(0, -3.5, np.pi / 2), [8, 0], [0, 0]) == np.inf


def test_parallel_and_parting_cars_never_meet() -> None:
    assert time_to_overlap(car(0, 0), car(0, 3), [10, 0], [10, 0]) == np.inf
    assert time_to_overlap(car(0, 0), car(24, 0), [5, 0], [10, 0]) == np.inf
    assert np.isnan(time_to_overlap(car(0, 0), car(np.nan, 0), [5, 0], [10, 0]))


def test_time_to_collision_is_the_first_overlap_of_the_moved_boxes() -> None:
    rng = np.random.default_rng(3)
    n = 400
    first = Boxes.of(rng.uniform(-15, 15, (n, 2)), rng.uniform(-3, 3, n), rng.uniform(1, 5, (n, 2)))
    second = Boxes.of(rng.uniform(-15, 15, (n, 2)), rng.uniform(-3, 3, n), rng.uniform(1, 5, (n, 2)))
    v, w = rng.uniform(-8, 8, (2, n, 2))
    found = time_to_overlap(first, second, v, w)
    step, horizon = 0.01, 8.0
    at = np.arange(0, horizon, step)
    moved = [Boxes.of(b.xy + u * at[:, None, None], b.heading, b.size) for b, u in ((first, v), (second, w))]
    hit = overlaps(*moved)
    sampled = np.where(hit.any(axis=0), at[hit.argmax(axis=0)], np.inf)
    both = np.isfinite(sampled)
    assert both.sum() > 50
    assert np.all((found[both] <= sampled[both] + 1e-9) & (found[both] > sampled[both] - step - 1e-9))
    late = np.isfinite(found) & ~both  # after the horizon, or grazed between two samples
    assert np.all((found[late] > horizon - step) | (found[late] > 0)) and late.sum() < 0.2 * n


def test_a_near_miss_is_the_event_and_names_who_was_nearly_hit() -> None:
    brakes = tracks_of(((0, 0), (10, 0)), ((13, 0), (1, 0)), ((0, 40), (10, 0)), seconds=0.5)
    found = find_encounter(brakes, 0)
    assert found is not None
    assert (found.kind, found.partner, found.time_s) == ("near miss", "1", pytest.approx(0.5))


def test_without_danger_the_event_is_the_closest_approach() -> None:
    passing = tracks_of(((-30, 0), (10, 0)), ((0, 5), (0, 0)), ((-40, -50), (1, 0)))
    found = find_encounter(passing, 0)
    assert found is not None
    assert (found.kind, found.partner) == ("closest approach", "1")
    assert found.time_s == pytest.approx(2.6, abs=0.1)
    preferred = find_encounter(passing, 0, prefer=[2])
    assert preferred is not None and preferred.partner == "2", "whom it owes the right of way comes first"


def test_nobody_else_no_encounter() -> None:
    assert find_encounter(tracks_of(((0, 0), (10, 0))), 0) is None


def test_who_passes_a_shared_place_first() -> None:
    crossing = tracks_of(((-30, 0), (10, 0)), ((0, -50), (0, 10)))
    assert closest(crossing, 0, 1).ego_first is True
    assert closest(crossing, 1, 0).ego_first is False
    apart = tracks_of(((-30, 0), (10, 0)), ((-30, 9), (10, 0)))
    assert closest(apart, 0, 1).ego_first is None
    assert closest(apart, 0, 1).gap_m == pytest.approx(7.0)
