"""Gaps at places that own data declares by gates."""

import json
from dataclasses import replace

import numpy as np
import pytest

from giveway.cli.main import run as command
from giveway.core.errors import DataError, UsageError
from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.data import DATASETS
from giveway.gaps.extract import SampleRules, find_gaps, samples_at
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.extractions.declared import crosses
from giveway.gaps.files import read_samples, write_samples
from giveway.gaps.found_conflicts import write_conflicts
from giveway.gaps.profile import CLEAN
from giveway.gaps.run import extractions, specification
from giveway.roads.lanelet2 import parse_lanelet2
from giveway.roads.path_conflicts import path_of_points
from giveway.roads.sketch import RoadSketch, RuleSketch, lane_along
from giveway.roads.writer import lanelet2_text
from giveway.testing.formats import write_format

DT_S = 0.1
FOUND = {
    "pairs": 3,
    "kind": "cross",
    "target_stands": 0.5,
    "priority_stands": 0.0,
    "target_first": 0.5,
    "target_gate": [[3.0, -20.0], [-3.0, -20.0]],
    "priority_gate": [[-30.0, -3.0], [-30.0, 3.0]],
}
GATES = {"target_gate": [[3.0, -20.0], [-3.0, -20.0]], "priority_gate": [[-30.0, -3.0], [-30.0, 3.0]]}
CONFLICT = {"name": "crossing", "zone": None, "rule": "target_yields", **GATES}


def scene_of(*conflicts, kind=AgentKind.CAR):
    """Ten pairs, 20 s apart: E goes east at 10 m/s, T north at 5 m/s, first in every second pair by 2 s."""
    time_s = np.arange(0, 220, DT_S)
    tracks = []
    for pair in range(10):
        at = 10.0 + 20.0 * pair
        sooner = 2.0 if pair % 2 else -2.0
        tracks += [(10.0 * (time_s - at), 0 * time_s), (0 * time_s, 5.0 * (time_s - at + sooner))]
    xy = np.array(tracks).transpose(0, 2, 1)
    seen = (np.abs(xy) < 80.0).all(axis=2)
    velocity = np.gradient(xy, DT_S, axis=1)
    blank = ~seen[..., None]
    return Scene(
        tracks=Tracks(
            time_s=time_s,
            xy=np.where(blank, np.nan, xy),
            heading=np.where(seen, np.arctan2(velocity[..., 1], velocity[..., 0]), np.nan),
            velocity=np.where(blank, np.nan, velocity),
            observed=seen,
            size=np.tile([4.5, 1.8], (20, 1)),
            kind=np.tile([int(AgentKind.CAR), int(kind)], 10),
            ids=np.arange(20).astype(np.str_),
        ),
        location="here",
        provenance=Provenance(dataset="generic", recording="a"),
        attributes={"frame_rate_hz": 10.0, "first_frame": 0, "conflicts": list(conflicts)},
    )


def found(*conflicts):
    return find_gaps(EXTRACTIONS.get("generic"), [scene_of(*conflicts)], CLEAN)


def test_labels_are_the_order_of_passage_at_a_declared_conflict():
    gaps = found(CONFLICT)
    own = [
        name
        for name in gaps.raw.sample_id
        if int(name.split("/T")[1].split("/E")[0]) - 1 == int(name.split("/E")[1].split("@")[0])
    ]
    assert len(own) == 10
    for name, accepted in zip(gaps.raw.sample_id, gaps.times.is_accepted, strict=True):
        target, other = int(name.split("/T")[1].split("/E")[0]), int(name.split("/E")[1].split("@")[0])
        assert target % 2 == 1 and other % 2 == 0
        if target - 1 == other:
            assert bool(accepted) == bool((target - 1) // 2 % 2)


def test_without_priority_both_streams_are_targets():
    one, both = found(CONFLICT), found({**CONFLICT, "rule": "none"})
    assert len(both.raw.sample_id) > len(one.raw.sample_id)
    assert any("the other way round" in name for name in both.raw.sample_id)


@pytest.mark.parametrize(
    "change",
    [
        {"target_gate": [[-3.0, -20.0], [3.0, -20.0]]},  # crossed from the right to the left
        {"priority_gate": [[-30.0, 10.0], [-30.0, 20.0]]},  # beside the road
        {"zone": [[50.0, 50.0], [60.0, 50.0], [60.0, 60.0]]},
    ],
)
def test_a_conflict_that_no_pair_passes_is_one_sentence_with_the_field(change):
    with pytest.raises(DataError, match="no pair of road users passes") as caught:
        found({**CONFLICT, **change})
    assert "conflict 'crossing', target_gate and priority_gate" in (caught.value.where or "")


def test_a_rule_that_nobody_confirmed_is_a_warning():
    told, guessed = found(CONFLICT), found({k: v for k, v in CONFLICT.items() if k != "rule"})
    assert not any("guess" in note for note in told.notes)
    assert any("'crossing': who yields is a guess" in note for note in guessed.notes)
    assert guessed.raw.num_samples == told.raw.num_samples


def write_own(folder, conflict):
    """The scene of ten pairs as own data."""
    tracks = scene_of().tracks
    lines = ["id,frame,x,y\n"]
    for row, name in enumerate(tracks.ids):
        at = np.flatnonzero(tracks.observed[row])
        lines += [f"{name},{k},{x:.4f},{y:.4f}\n" for k, (x, y) in zip(at, tracks.xy[row, at], strict=True)]
    folder.mkdir()
    (folder / "a.csv").write_text("".join(lines))
    gates = "".join(f"{name} = {conflict[name]}\n" for name in ("target_gate", "priority_gate"))
    (folder / "dataset.toml").write_text(
        'default_kind = "car"\n[files]\ntracks = "*.csv"\n[columns]\ntrack = "id"\nframe = "frame"\nx = "x"\ny = "y"\n'
        f'[time]\nframe_rate_hz = 10.0\n[[conflict]]\nname = "crossing"\n{gates}'
        + (f'rule = "{conflict["rule"]}"\n' if "rule" in conflict else "")
    )


@pytest.mark.parametrize("rule", ["target_yields", None])
def test_a_guessed_rule_and_few_samples_are_said_wherever_numbers_are_read(tmp_path, capsys, rule):
    write_own(tmp_path / "own", {**GATES, **({} if rule is None else {"rule": rule})})
    (tmp_path / "spec.toml").write_text(
        'datasets = ["generic"]\nt0 = ["initial"]\nn_input_max = 2\nmodels = ["CV"]\nrelaxed = true\n'
        "min_samples = 5\nmin_class = 1\nsplits = {random = 1}\nmetrics = ['auc']\n"
    )

    def told(*words):
        with pytest.raises(SystemExit) as end:
            command([str(word) for word in words])
        assert end.value.code == 0
        return json.loads(capsys.readouterr().out)

    own, store = tmp_path / "own", tmp_path / "R"
    said = told("gaps", "extract", own, "-d", "generic", "--t0", "initial", "--relaxed", "--n-input-max", 2, "--json")
    told("gaps", "run", tmp_path / "spec.toml", "--data", f"generic={own}", "-o", store, "-w", 1, "-q", "--json")
    table = told("gaps", "table", store, "--t0", "initial", "--json")
    for place in (said["warnings"], table["warnings"]):
        assert any("fewer than 20 of a class" in warning for warning in place)
    guess = "'crossing': who yields is a guess"
    assert any(guess in warning for warning in said["warnings"]) is (rule is None)
    assert (guess in table["result"]["caption"]) is (rule is None)
    assert (
        told("gaps", "table", store, "--t0", "initial", "--dataset", "generic", "--json")["result"] == table["result"]
    )


def test_without_declaration_and_map_it_says_what_to_do():
    with pytest.raises(DataError, match="nothing says where gaps are") as caught:
        found()
    assert "giveway data lanes" in (caught.value.hint or "")


def test_a_gate_is_crossed_one_way_and_between_its_ends():
    path = path_of_points(np.array([[0.0, -10.0], [0.0, 10.0]]))
    assert crosses(path, np.array([[3.0, 0.0], [-3.0, 0.0]]))
    assert not crosses(path, np.array([[-3.0, 0.0], [3.0, 0.0]]))
    assert not crosses(path, np.array([[6.0, 0.0], [3.0, 0.0]]))
    assert not crosses(None, np.array([[3.0, 0.0], [-3.0, 0.0]]))


def test_moving_the_scene_moves_nothing_else():
    scene = scene_of(CONFLICT)
    shift = np.array([500.0, -300.0])
    gates = {name: (np.array(gate) + shift).tolist() for name, gate in GATES.items()}
    moved = replace(
        scene,
        tracks=replace(scene.tracks, xy=scene.tracks.xy + shift),
        attributes={**scene.attributes, "conflicts": [{**CONFLICT, **gates}]},
    )
    a, b = (find_gaps(EXTRACTIONS.get("generic"), [one], CLEAN) for one in (scene, moved))
    np.testing.assert_array_equal(a.raw.sample_id, b.raw.sample_id)
    np.testing.assert_allclose(a.times.t_close_s, b.times.t_close_s, atol=1e-6)


def test_the_rules_of_a_map_count_where_nothing_is_declared():
    south_north = lane_along("south", np.array([[0.0, -70.0], [0.0, 70.0]]))
    west_east = lane_along("west", np.array([[-75.0, 0.0], [75.0, 0.0]]))
    sketch = RoadSketch(lanes=(south_north, west_east), rules=(RuleSketch(yielding=("south",), priority=("west",)),))
    scene = replace(scene_of(), road=parse_lanelet2(lanelet2_text(sketch)[0], name="here"))
    gaps = find_gaps(EXTRACTIONS.get("generic"), [scene], CLEAN)
    assert len(gaps.raw.sample_id) >= 10
    assert gaps.notes == ("here: no conflict declared, the rules of the map say who gives way",)


def test_recordings_of_a_moving_car_are_refused_unless_occlusion_is_allowed(tmp_path):
    write_format("argoverse2", tmp_path)
    with pytest.raises(UsageError, match="recorded from a moving car"):
        extractions("argoverse2", tmp_path)
    with pytest.raises(UsageError, match="recorded from a moving car"):
        specification({"datasets": ["argoverse2"], "models": ["LR_1D"]}, {})
    assert specification({"datasets": ["argoverse2"], "models": ["LR_1D"], "allow_occlusion": True}, {})
    with pytest.raises(DataError, match="nothing says where gaps are"):
        extractions("argoverse2", tmp_path, allow_occlusion=True)


def test_conflicts_are_declared_beside_recordings_of_a_moving_car_as_well(tmp_path):
    write_format("argoverse2", tmp_path)
    write_conflicts(tmp_path / "conflicts.toml", [{"location": "here", "place": [0, 0], **FOUND}])
    (recording,) = DATASETS.get("argoverse2").recordings(tmp_path)
    (scene,) = DATASETS.get("argoverse2").scenes(recording)
    assert scene.attributes["conflicts"][0]["target_gate"] == FOUND["target_gate"]
    assert "conflicts.toml" in scene.provenance.files


def test_samples_say_where_they_lie(tmp_path):
    gaps = found(CONFLICT)
    samples = samples_at(gaps, SampleRules(choice="initial", num_input_max=2), CLEAN).samples
    assert set(samples.places.kind) == {"cross"}
    np.testing.assert_allclose(samples.places.angle_rad, np.pi / 2, atol=1e-6)
    np.testing.assert_allclose(samples.places.xy, [[0.0, -2.0]] * samples.num_samples, atol=0.5)
    write_samples(tmp_path / "s.parquet", [samples])
    again = read_samples(tmp_path / "s.parquet").places
    for name in ("xy", "angle_rad", "kind", "entry"):
        np.testing.assert_array_equal(getattr(again, name), getattr(samples.places, name))
    assert samples.take(np.array([1])).places.entry.tolist() == [samples.places.entry[1]]
