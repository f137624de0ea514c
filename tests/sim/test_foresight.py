"""What the oracle is told: the future of everybody, as long as the ego keeps to its plan."""

import numpy as np
import pytest

from giveway.drive.bundled import bundled_set
from giveway.drive.driving import Drive, drive_cases
from giveway.planning import make_planner
from giveway.planning.builtin import LatticePlanner
from giveway.predictors import make_predictor
from giveway.sim.prepare import prepare
from giveway.sim.simulation import Simulation
from giveway.testing.drive_scenes import crossing_case, crossing_scene


def oracle_logs(cases, source, planner, **options):
    drives = drive_cases(cases, source, predictor=make_predictor("oracle"), planner=make_planner(planner), **options)
    return [drive.log for drive in drives if isinstance(drive, Drive)]


@pytest.mark.parametrize("planner", ["constant_speed", "replay"])
def test_what_the_oracle_says_comes_true_if_the_ego_keeps_to_its_plan(planner):
    cases, source = bundled_set()
    compared = moved = 0
    for log in oracle_logs(cases[::8], source, planner):
        told, last = log.predictions, log.tracks.xy.shape[1] - 1
        assert told is not None
        for tick, agent, states in zip(told.tick, told.agent, told.states[:, 0], strict=True):
            steps = min(30, last - tick)
            happened = log.tracks.xy[agent, tick + 1 : tick + 1 + steps]
            here = np.isfinite(happened[:, 0])
            np.testing.assert_allclose(states[:steps, :2][here], happened[here], rtol=0, atol=1e-6)
            compared += int(here.sum())
            moved += int(log.roles[agent].value == "reactive")
    assert compared > 1000
    assert moved > 100


def test_looking_ahead_changes_nothing():
    runs = []
    for with_future in (False, True):
        simulation = Simulation([prepare(crossing_case(), crossing_scene())], planner=LatticePlanner())
        while not simulation.done:
            simulation.requests(("future",) if with_future else ())
            simulation.step()
        runs.append(simulation.state)
    for one, other in zip(*runs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_oracle_does_not_depend_on_the_batch():
    cases, source = bundled_set()
    chosen = cases[::12]
    reference = [log.digest for log in oracle_logs(chosen, source, "default")]
    assert [log.digest for log in oracle_logs(chosen, source, "default", batch=1)] == reference
