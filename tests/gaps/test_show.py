"""A candidate gap to look at, and conflicts found from tracks."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest

from giveway.cli.main import run as command
from giveway.core.frames import wrap_angle
from giveway.data import DATASETS
from giveway.gaps.encounters import traffic_of
from giveway.gaps.found_conflicts import find_conflicts
from giveway.synth.protocol import synthesize


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("show") / "data"
    synthesize("interaction", folder, seed=0, minutes=5.0)
    return folder


def told(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        command([str(a) for a in arguments])
    return end.value.code, json.loads(capsys.readouterr().out)


def test_an_example_of_a_report_can_be_looked_at(root, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    code, counted = told(capsys, "gaps", "extract", root, "-d", "interaction", "--t0", "initial", "--json")
    assert code == 0
    report = counted["result"]["counts"][0]
    assert report["order"]["reversed"] == 0 < report["order"]["agrees"]
    sample = report["examples"]["short_history"][0]
    code, shown = told(capsys, "gaps", "show", sample, "--data", root, "-o", tmp_path, "--json")
    facts, page = shown["result"]["facts"], tmp_path / shown["result"]["page"]
    assert code == 0
    assert (facts["label"] == "accepted") == (facts["t_T [s]"] < facts["t_E [s]"])
    assert facts["order"] == "agrees"
    first = min(facts["t_A [s]"], facts["t_C [s]"])
    assert first == pytest.approx(min(facts["t_T [s]"], facts["t_E [s]"]), abs=0.01)
    assert (tmp_path / shown["result"]["picture"]).read_bytes().startswith(b"\x89PNG")
    assert sample in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("sample", ("nonsense", "interaction/DR_SYN_Roundabout_A/000/T1/E2@99999"))
def test_an_unknown_sample_is_one_sentence(sample, root, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    code, said = told(capsys, "gaps", "show", sample, "--data", root, "-o", tmp_path, "--json")
    assert code == 2
    assert "sample" in said["error"]["what"]


def test_found_conflicts_have_gates_that_both_streams_cross(root):
    adapter = DATASETS.get("interaction")
    scenes = [s for r in adapter.recordings(root) for s in adapter.scenes(r) if "Intersection" in s.location]
    traffic = [traffic_of(scene) for scene in scenes]
    found = find_conflicts(traffic)
    assert len(found) == 10
    busiest = found[0]
    assert busiest.count == max(c.count for c in found) > 20
    assert busiest.target_stands >= busiest.priority_stands
    for gate, heading in ((busiest.target_gate, busiest.target_rad), (busiest.priority_gate, busiest.priority_rad)):
        crossed = 0
        ahead = busiest.xy - gate.mean(axis=0)
        assert abs(wrap_angle(np.arctan2(ahead[1], ahead[0]) - heading)) < np.radians(60)
        along = gate[1] - gate[0]
        for path in traffic[0].paths:
            if path is None:
                continue
            side = along[0] * (path.xy[:, 1] - gate[0, 1]) - along[1] * (path.xy[:, 0] - gate[0, 0])
            share = ((path.xy - gate[0]) @ along) / (along @ along)
            crossed += bool(((side[:-1] > 0) & (side[1:] <= 0) & (share[1:] > 0) & (share[1:] < 1)).any())
        assert crossed > 10


def test_conflicts_are_written_to_be_edited(root, tmp_path, capsys):
    out = tmp_path / "conflicts.toml"
    code, said = told(capsys, "gaps", "conflicts", root, "-d", "interaction", "-o", out, "--json")
    assert code == 0
    assert "guess" in said["warnings"][0]
    tables = tomllib.loads(out.read_text(encoding="utf-8"))["conflict"]
    assert len(tables) == len(said["result"]["conflicts"])
    assert {c["location"].split("_")[2] for c in said["result"]["conflicts"]} == {
        "Intersection",
        "Merging",
        "Roundabout",
    }
    assert np.shape(tables[0]["target_gate"]) == (2, 2)
    assert "rule" not in tables[0]  # to be confirmed by the user
