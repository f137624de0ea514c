"""Worlds that begin another case while the others go on."""

from __future__ import annotations

import numpy as np
import pytest

from giveway.core.case import Role
from giveway.core.errors import UsageError
from giveway.sim.prepare import prepare, with_drivers
from giveway.sim.simulation import Simulation
from giveway.sim.slots import copied_traffic_worlds, load_traffic
from giveway.sim.state import DriverCode
from giveway.testing.drive_scenes import crossing_case, crossing_scene


def yielding(name, lead=0.0, seconds=6.0):
    """Everybody follows and gives way; the ego is a car like others."""
    case = crossing_case(case_id=name, other=Role.IDM, seconds=seconds)
    return with_drivers(prepare(case, crossing_scene(other_lead_m=lead), reacts=True), DriverCode.IDM)


CHOICES = (yielding("late"), yielding("early", lead=12.0, seconds=5.0))


def driven(choice):
    simulation = Simulation([choice])
    while not simulation.done:
        simulation.step()
    return simulation.state.log[0].copy()


ALONE = [driven(choice) for choice in CHOICES]


def same(simulation, w, number):
    ticks = CHOICES[number].case.num_ticks
    agents, columns = len(CHOICES[number].ids), 9 + ticks + 1
    np.testing.assert_array_equal(simulation.state.log[w, :agents, :columns], ALONE[number][:agents, :columns])


@pytest.mark.parametrize("tick", [7, 22, 31])
def test_a_world_does_not_notice_that_another_one_begins_again(tick):
    simulation = Simulation([CHOICES[0]] * 3, choices=CHOICES)
    simulation.reset({2: 1})
    for _ in range(tick):
        simulation.step()
    simulation.reset({1: 0})
    for _ in range(60):
        simulation.step()
    for w, number in enumerate((0, 0, 1)):
        same(simulation, w, number)
    simulation.reset({0: 1, 2: 0})
    for _ in range(60):
        simulation.step()
    same(simulation, 0, 1)
    same(simulation, 2, 0)


def test_two_worlds_of_one_case_remember_apart():
    library = Simulation([CHOICES[0]], choices=CHOICES).traffic
    assert library.areas.row.size > 0
    traffic = copied_traffic_worlds(Simulation(list(CHOICES)).traffic, [0, 0])
    rows = [slice(int(first[0]), int(first[-1])) for first in traffic.areas.first]
    assert rows[0].stop <= rows[1].start and rows[0].stop > 0
    np.testing.assert_array_equal(traffic.areas.row["own_in"][rows[0]], traffic.areas.row["own_in"][rows[1]])
    mirror = traffic.areas.row["mirror"][rows[1]]
    assert (mirror[mirror >= 0] >= rows[1].start).all() and (mirror >= 0).any()
    for values in traffic.waiting:
        for name in values.dtype.names:
            values[name] = 7
    load_traffic(traffic, Simulation(list(CHOICES)).traffic, 1, 1)
    assert (traffic.waiting.claim["stopped"][rows[0]] == 7.0).all() and (traffic.waiting.car["waited"][0] == 7.0).all()
    assert (traffic.waiting.car["waited"][1] == 0.0).all() and (traffic.waiting.car["leader"][1] == -1).all()


def test_worlds_without_choices_do_not_begin_again():
    with pytest.raises(UsageError, match="choose from"):
        Simulation([CHOICES[0]]).reset({0: 0})
