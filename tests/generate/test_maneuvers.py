"""Maneuvers with parameters: where routes meet, who does what, and that each maneuver does what it is called."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from giveway.generate.drivers.maneuvers import BLOCK, BRAKE, CUT_IN, LATE, MANEUVERS, ManeuverDriver, meetings
from giveway.generate.driving import drive_scenes
from giveway.generate.evaluation.results import contact_facts
from giveway.generate.worlds import make_worlds
from giveway.roads.conflicts import SHARED_M
from giveway.sim.locate import pose_on

COUNT = 96


@pytest.mark.parametrize("road", ["straight", "merge", "roundabout", "four_way"])
def test_routes_meet_where_they_come_together_first(road: str):
    tables = make_worlds(road=road).tables
    meet = meetings(tables)
    pairs = np.argwhere(np.isfinite(meet.ego_s))
    for i, j in pairs.tolist():
        one = np.array(pose_on(tables, i, meet.ego_s[i, j], 0.0)[:2])
        two = np.array(pose_on(tables, j, meet.car_s[i, j], 0.0)[:2])
        assert np.hypot(*(one - two)) < SHARED_M
    assert (np.diag(meet.ego_s) == 0.0).all(), "a route follows itself from its beginning"
    if road == "straight":
        assert len(pairs) == len(tables.first), "parallel lanes never meet"


def driven(road: str, ego: str, kind: int, seed: int = 0):
    """Episodes in which the first car does one maneuver with random parameters; two others drive as usual."""
    rng = np.random.default_rng(seed)
    genes = rng.random((COUNT, 3, 7))
    genes[..., 0] = [0.9, 0.1, 0.1]
    genes[..., 1] = (kind + 0.5) / len(MANEUVERS)
    worlds, driver = make_worlds(road=road, ego=ego, actions="lateral", n_worlds=COUNT), ManeuverDriver()
    scenes, _ = worlds.space.sample(COUNT, seed=seed)
    records = [one.record for one in drive_scenes(worlds, scenes, driver, seeds=range(COUNT), genes=genes)]
    assert {driver.maneuver(w) for w in range(COUNT)} == {MANEUVERS[kind]}
    return records


def grades(records) -> Counter[str]:
    return Counter(str(r.ending.grade) for r in records if r.outcome.is_failure)


def test_leads_that_brake_are_the_fault_of_an_ego_that_does_not():
    """Golden value of the design: longitudinal contacts of ``constant_speed`` with a lead that brakes are grade A."""
    records = [r for r in driven("straight", "constant_speed", BRAKE) if r.outcome.is_failure]
    ahead = [r for r in records if abs(contact_facts(r.tracks, r.ending.other)["contact_angle_rad"]) < 0.5]
    leads = [r for r in ahead if r.ending.conflict == "longitudinal"]
    assert len(leads) >= 5 and {str(r.ending.grade) for r in leads} == {"A"}
    assert grades(driven("straight", "idm", BRAKE))["A"] == 0


def test_cut_ins_end_in_lateral_conflicts():
    conflicts = Counter(r.ending.conflict for r in driven("straight", "idm", CUT_IN) if r.outcome.is_failure)
    assert conflicts["lateral"] >= 5 and conflicts["lateral"] > conflicts["longitudinal"]


@pytest.mark.parametrize("kind", [LATE, BLOCK])
def test_cars_meet_the_ego_where_routes_do(kind: int):
    found = Counter(r.ending.conflict for r in driven("four_way", "constant_speed", kind) if r.outcome.is_failure)
    assert found["junction"] >= 3, found


def test_only_the_primary_car_and_supporters_leave_ordinary_driving():
    rng = np.random.default_rng(1)
    genes = rng.random((8, 3, 7))
    genes[..., 0] = [0.2, 0.4, 0.9]
    worlds, driver = make_worlds(road="straight", ego="idm", actions="lateral", n_worlds=8), ManeuverDriver()
    scenes, _ = worlds.space.sample(8, seed=1)
    seen = worlds.reset(scenes, seed=0)
    driver.begin(worlds, scenes, range(8), genes)
    usual, done = np.asarray(worlds.natural_actions()), driver.act(worlds, seen, 0)
    assert (done[:, :2] == usual[:, :2]).all() and (done[:, 2] != usual[:, 2]).any()
    genes[:, 1, 0] = 0.6
    driver.begin(worlds, scenes, range(8), genes)
    done = driver.act(worlds, seen, 0)
    assert (done[:, 0] == usual[:, 0]).all() and (done[:, 1] != usual[:, 1]).any()
