"""MAP-Elites: what an archive keeps, what is bred from it, and physical kinds of failures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giveway.core.tracks import AgentKind, Tracks
from giveway.generate.campaign import Campaign, run_campaign
from giveway.generate.drivers.cars import baseline
from giveway.generate.evaluation.results import archive_cell, contact_facts, quality
from giveway.generate.search.elites import FIRST_DRAWS, EliteSearch
from giveway.generate.search.protocol import SearchScores
from giveway.generate.worlds import WorldSettings


def scores(cells, values, failed=None):
    count = len(cells)
    return SearchScores(
        violation=np.zeros(count, dtype=bool) if failed is None else np.array(failed),
        danger=np.zeros(count),
        triggers=np.zeros(count, dtype=np.int64),
        cells=tuple(cells),
        quality=np.array(values, dtype=float),
    )


def test_of_every_cell_the_best_stays_and_of_equals_the_first():
    search = EliteSearch(2, 3, 0, 3)
    genes = np.arange(9.0).reshape(3, 3) / 9
    search.tell(genes, scores(["a", "a", "b"], [0.1, 0.4, 0.0]))
    search.tell(1 - genes, scores(["a", "b", "b"], [0.4, 0.2, 0.1]))
    assert {cell: elite.quality for cell, elite in search.archive.items()} == {"a": 0.4, "b": 0.2}
    assert (search.archive["a"].genes == genes[1]).all() and (search.archive["b"].genes == 1 - genes[1]).all()


def test_children_are_near_their_parents_but_for_the_share_that_is_drawn_anew():
    search = EliteSearch(2, 20, 0, 400)
    parent = np.full((1, 20), 0.5)
    search.tell(np.repeat(parent, FIRST_DRAWS, axis=0), scores(["a"] * FIRST_DRAWS, [0.0] * FIRST_DRAWS))
    away = np.abs(search.ask() - parent)
    near = (away < 0.25).all(axis=1)
    assert 0.5 < near.mean() < 0.7, "nine in ten are children, two thirds of them without redrawn genes"
    assert away[near].std() < 0.06


def test_before_enough_was_told_everything_is_drawn():
    search = EliteSearch(2, 4, 0, 50)
    search.tell(np.full((1, 4), 0.5), scores(["a"], [1.0]))
    assert abs(search.ask().mean() - 0.5) < 0.05 and search.ask().std() > 0.25


def contact(headings=(0.0, 0.0), ego=(10.0, 0.0), car=(6.0, 0.0), *, across=(3.5, 3.5, 1.0), along=(8.0, 6.0, 5.0)):
    """Three instants of two cars; the second ends at ``along``, ``across`` of the first."""
    xy = np.zeros((2, 3, 2))
    xy[1] = np.stack([along, across], axis=1)
    return Tracks(
        time_s=0.1 * np.arange(3), xy=xy, heading=np.tile(np.array(headings)[:, None], (1, 3)),
        velocity=np.tile(np.array([ego, car])[:, None], (1, 3, 1)), observed=np.ones((2, 3), dtype=bool),
        size=np.tile([4.5, 1.8], (2, 1)), kind=np.full(2, int(AgentKind.CAR)), ids=np.array(["ego", "car1"]),
    )  # fmt: skip


def test_descriptors_of_a_contact_are_physical():
    facts = contact_facts(contact(), "car1")
    assert facts["contact_angle_rad"] == pytest.approx(math.atan2(1.0 / 1.8, 5.0 / 4.5))
    assert facts["entry_gap_m"] == pytest.approx(0.5), "it came in at the last instant, 5 m ahead of a car of 4.5 m"
    assert facts["closing_mps"] == pytest.approx(4.0 * 5.0 / math.hypot(5.0, 1.0))
    always = contact_facts(contact(across=(0.0, 0.0, 0.0), along=(9.0, 7.0, 4.4)), "car1")
    assert always["contact_angle_rad"] == 0.0 and always["entry_gap_m"] == pytest.approx(4.5)
    assert contact_facts(contact(), "") == {}


def test_the_same_contact_has_the_same_kind_wherever_north_is():
    turned, straight = contact(), contact()
    for angle in (0.7, 2.9):
        c, s = math.cos(angle), math.sin(angle)
        turn = np.array([[c, s], [-s, c]])
        turned = contact(headings=(angle, angle), ego=(10 * c, 10 * s), car=(6 * c, 6 * s))
        turned = Tracks(
            **{f: getattr(turned, f) for f in ("time_s", "heading", "velocity", "observed", "size", "kind", "ids")},
            xy=straight.xy @ turn,
        )
        assert contact_facts(turned, "car1") == pytest.approx(contact_facts(straight, "car1"))


def test_a_campaign_repeats_goes_on_and_finds_more_kinds_than_random_draws():
    """Roundabout with the lattice."""
    world = WorldSettings(road="roundabout", ego="lattice", actions="lateral")

    def driven(search, known=lambda number: None):
        campaign = Campaign(search=search, perturb=False, budget=640, generation=64, seed=1)
        return list(run_campaign(world, baseline("maneuver"), campaign, known=known))

    first = driven("map_elites")
    again = driven("map_elites", known=lambda number: first[number] if number < 600 else None)
    assert [t.result.genes for t in again] == [t.result.genes for t in first]
    assert [archive_cell(t.result) for t in again] == [archive_cell(t.result) for t in first]
    found, drawn = ({archive_cell(t.result) for t in tests if t.result.failed} for tests in (first, driven("random")))
    assert len(found) > len(drawn) and any(t.result.grade in ("A", "B", "C") for t in first if t.result.failed)
    worth = [quality(t.result) for t in first]
    assert max(worth) > 0.3 and min(worth) >= -0.01
