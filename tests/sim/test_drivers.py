"""Drivers that the compiled step does not know: a Python class moves cars of a batch."""

from dataclasses import replace

import numpy as np
import pytest

import giveway
from giveway.core.case import Role
from giveway.core.errors import UnknownNameError, UsageError
from giveway.sim.drivers import DRIVERS
from giveway.sim.prepare import prepare, with_traffic
from giveway.sim.simulation import Simulation
from giveway.sim.state import PAST, Decision, DriverCode
from giveway.testing.drive_scenes import crossing_case, crossing_scene


class Coasting(giveway.Driver, name="coasting"):
    """Slows down gently; notes whom it was asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def reset(self, batch, mine, worlds, own):
        return np.full(mine.shape, -0.5)

    def decide(self, batch, mine, own):
        self.asked.append(int(mine.sum()))
        batch.along(mine, own)


class Turning(giveway.Driver, name="turning"):
    """Leaves its route to the left."""

    def decide(self, batch, mine, own):
        batch.decisions.kind[mine] = Decision.FREE
        batch.decisions.control[mine] = (0.0, 0.1)


@pytest.fixture
def registered():
    for driver in (Coasting, Turning):
        DRIVERS.register(driver.info.name, driver)
    yield
    for driver in (Coasting, Turning):
        DRIVERS.forget(driver.info.name)


def reactive_case(driver: str = ""):
    case = crossing_case()
    cars = tuple(replace(car, role=Role.REACTIVE, driver=driver) if car.id != "ego" else car for car in case.cars)
    return replace(case, cars=cars)


def driven(prepared, **options):
    simulation = Simulation([prepared] if not isinstance(prepared, list) else prepared, **options)
    while not simulation.done:
        simulation.step()
    return simulation


def test_a_driver_in_python_moves_the_cars_of_a_case_along_their_routes(registered) -> None:
    prepared = prepare(reactive_case("coasting"), crossing_scene())
    mine = np.flatnonzero(np.array(prepared.driver_name) == "coasting")
    assert mine.size >= 1
    driver = Coasting()
    log = driven(prepared, drivers={"coasting": driver}).state.log[0, mine[0], PAST : PAST + 21]
    speed = np.hypot(log[:, 2], log[:, 3])
    np.testing.assert_allclose(np.diff(speed), -0.05, atol=1e-9)
    assert driver.asked[0] == mine.size


def test_cars_of_such_a_driver_may_leave_their_route(registered) -> None:
    prepared = prepare(reactive_case("turning"), crossing_scene())
    car = int(np.flatnonzero(np.array(prepared.driver_name) == "turning")[0])
    simulation = driven(prepared)
    assert simulation.state.lane[0, car, 1] > 1.0
    assert simulation.state.lane[0, car, 2] > 0.2


def test_neither_batch_nor_threads_change_what_such_a_driver_does(registered) -> None:
    prepared = with_traffic(prepare(reactive_case(), crossing_scene()), "coasting")
    alone = driven(prepared).state.log[0]
    batch = driven([prepared] * 5, threads=2).state.log
    assert all(np.array_equal(world, alone, equal_nan=True) for world in batch)


def test_a_run_gives_one_driver_to_all_cars_that_declare_none(registered) -> None:
    prepared = with_traffic(prepare(reactive_case("turning"), crossing_scene()), "coasting")
    assert set(prepared.driver_name) - {""} == {"turning"}
    again = with_traffic(prepare(reactive_case(), crossing_scene()), "idm")
    others = [i for i in range(len(again.ids)) if again.role[i] is Role.REACTIVE]
    assert (again.driver[others] == DriverCode.IDM).all()
    assert again.driver[again.ego] == DriverCode.PLANNER


def test_an_unknown_driver_is_named_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="idm"):
        prepare(reactive_case("imd"), crossing_scene())


def test_a_driver_that_needs_what_nobody_can_give_is_refused() -> None:
    with pytest.raises(UsageError, match="telepathy"):

        class _Odd(giveway.Driver, name="odd", needs=("telepathy",)):
            pass


@pytest.mark.parametrize("driver", ["actions", "external"])
def test_a_driver_that_waits_for_somebody_outside_cannot_be_named_in_a_case(driver) -> None:
    with pytest.raises(UsageError, match="outside of the case"):
        prepare(reactive_case(driver), crossing_scene())
