"""One driver for the traffic of a run."""

import pytest

import giveway
from giveway.core.case import Role
from giveway.core.errors import UnknownNameError
from giveway.drive.spec import DriveSpec, planned


def test_a_run_names_the_driver_of_all_cars_that_a_case_drives() -> None:
    plan = planned(DriveSpec(predictors=("constant_velocity",), max_cases=3, driver="idm"))
    drivers = {car.driver for case in plan.cases for car in case.cars if car.role is Role.REACTIVE}
    assert drivers == {"idm"}
    assert all(not case.ego.driver for case in plan.cases)


def test_another_driver_is_another_cell_and_another_drive(tmp_path) -> None:
    options = {"predictors": ["constant_velocity"], "max_cases": 1, "out": tmp_path}
    giveway.run_drive(**options)
    results = giveway.run_drive(**options, driver="constant_speed")
    speeds = results.frame(metric="s_cou").filter(predictor="constant_velocity")
    assert len(speeds) == 2, "both runs are kept"


def test_an_unknown_driver_is_refused_before_anything_is_driven() -> None:
    with pytest.raises(UnknownNameError, match="cognitive"):
        planned(DriveSpec(predictors=("constant_velocity",), driver="cognitve"))
