"""One driver for the traffic of a run."""

import numpy as np
import pytest

import giveway
from giveway.core.case import Role
from giveway.core.errors import UnknownNameError
from giveway.drive.replay import drive_document, write_replay_page
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


def test_what_minds_think_in_reacting_traffic_has_places_and_is_shown(tmp_path) -> None:
    results = giveway.run_drive(
        out=tmp_path / "R", predictors=["constant_velocity"], max_cases=1, driver="cognitive", planner="idm"
    )
    log = results.log(predictor="constant_velocity")
    thinks = log.minds.partner >= 0
    assert thinks.any()
    assert np.isfinite(log.minds.area[thinks]).all() and np.isfinite(log.minds.ghost[thinks]).all()
    write_replay_page(tmp_path / "page.html", [drive_document(log, None)])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "expects" in page and '"driver":"cognitive"' in page and '"driver":"reactive"' not in page


def test_an_unknown_driver_is_refused_before_anything_is_driven() -> None:
    with pytest.raises(UnknownNameError, match="cognitive"):
        planned(DriveSpec(predictors=("constant_velocity",), driver="cognitve"))
