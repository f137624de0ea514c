"""Keys of tests and rounds: everything that may change a result, nothing about the machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

import giveway as gw
from generate import planners
from giveway.core.errors import DataError
from giveway.experiments import Inputs, Store
from giveway.generate.experiment import planned_campaigns
from giveway.generate.failures import stored_campaigns, stored_failures
from giveway.generate.run import run_campaigns
from giveway.generate.spec import CampaignSpec, TrainingSpec
from giveway.generate.training import TRAINING
from giveway.generate.world_files import world_of_cell
from giveway.generate.worlds import make_worlds
from giveway.planning.protocol import PlannerInfo
from giveway.roads.lanelet2 import read_lanelet2
from giveway.roads.library import make_road
from giveway.roads.writer import write_lanelet2

CARELESS = "generate.planners:Careless"
QUICK = {"driver": "no_attack", "search": "random", "perturb": False, "budget": 2, "ticks": 20, "cars": 1}


def keys(**fields: object) -> list[str]:
    """Keys of the first test and of the first round."""
    campaign = CampaignSpec.model_validate({**QUICK, **fields})
    training = TrainingSpec.model_validate({name: fields[name] for name in ("planner", "road") if name in fields})
    found = TRAINING.resolve(training, {}, None)  # pyright: ignore[reportArgumentType] - trainings make no artifacts
    return [planned_campaigns(campaign)[0][0].cell(0).key, TRAINING.cells(training, Inputs(found=found.found))[0].key]


@pytest.fixture
def road(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    write_lanelet2(tmp_path / "here" / "ring.osm", make_road("roundabout").sketch)
    return tmp_path / "here" / "ring.osm"


@pytest.mark.parametrize("changed", [{"version": "2"}, {"parameters": {"gap_m": 3.0}}])
def test_another_version_or_parameter_of_a_planner_is_another_key(monkeypatch, changed: dict[str, object]) -> None:
    before = keys(planner=CARELESS)
    info = replace(planners.Careless().info, **changed)
    assert isinstance(info, PlannerInfo)
    monkeypatch.setattr(planners.Careless, "info", property(lambda self: info))
    assert not set(keys(planner=CARELESS)) & set(before)


def test_a_planner_has_one_key_by_any_of_its_names() -> None:
    assert keys(planner="default") == keys(planner="lattice")
    assert CampaignSpec(planner=("default", "lattice", "idm")).planner == ("lattice", "idm")


def test_a_map_is_known_by_name_and_content_not_by_its_path(road: Path, tmp_path: Path) -> None:
    there = tmp_path / "there" / road.name
    there.parent.mkdir()
    shutil.copy(road, there)
    assert keys(road=str(road)) == keys(road=str(there))
    cell = planned_campaigns(CampaignSpec.model_validate({**QUICK, "road": str(road)}))[0][0].cell(0)
    assert str(tmp_path) not in json.dumps(cell.as_json())
    there.write_bytes(there.read_bytes() + b"\n")
    assert not set(keys(road=str(there))) & set(keys(road=str(road)))
    assert world_of_cell(cell, {"files": {"road": str(road)}}).road == str(road)
    with pytest.raises(DataError, match="is not the one that was asked for"):
        world_of_cell(cell, {"files": {"road": str(there)}})


def test_failures_on_a_map_are_read_without_its_file(road: Path, tmp_path: Path) -> None:
    spec = CampaignSpec.model_validate({**QUICK, "road": str(road), "planner": "constant_speed"})
    assert run_campaigns(spec, tmp_path / "S").done == 2
    lanes = read_lanelet2(road).lanes
    road.unlink()
    (campaign,) = stored_campaigns(tmp_path / "S")
    found = list(stored_failures(tmp_path / "S", campaign, everything=True))
    assert len(found) == 2
    assert found[0].road.lanes.keys() == lanes.keys()
    assert len(list((tmp_path / "S" / "shared").rglob("*.json"))) == 1


def test_failures_of_a_store_without_its_map_are_read_as_long_as_the_file_is_the_same(
    road: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("giveway.generate.experiment.map_file", lambda world: None)
    spec = CampaignSpec.model_validate({**QUICK, "road": str(road), "planner": "constant_speed"})
    assert run_campaigns(spec, tmp_path / "S").done == 2
    (campaign,) = stored_campaigns(tmp_path / "S")
    assert campaign.params["road"] == "ring.osm"
    assert len(list(stored_failures(tmp_path / "S", campaign, everything=True))) == 2
    assert gw.Results.open(tmp_path / "S").log(first=True)
    assert Store(tmp_path / "S").provenance()[0]["settings"]["files"] == {"road": str(road)}
    road.write_bytes(road.read_bytes() + b"\n")
    with pytest.raises(DataError, match="not on this machine, or was changed"):
        list(stored_failures(tmp_path / "S", campaign))


def test_a_planner_in_its_own_process_does_not_notice_ctrl_c() -> None:
    worlds = make_worlds(ego=CARELESS, cars=1, steps=50, actions="lateral", deadline_s=20.0)
    try:
        worlds.reset(seed=0)
        worlds.step(worlds.natural_actions())
        assert worlds._egos is not None
        os.kill(worlds._egos.host._process.pid, signal.SIGINT)
        for _ in range(3):
            worlds.step(worlds.natural_actions())
        assert worlds.findings == {}
    finally:
        worlds.close()
