import dataclasses
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.core.errors import DatasetLayoutError, StoreError
from giveway.core.lanes import Lane, LaneMap, Line
from giveway.core.scene import Provenance, Scene
from giveway.core.tagged_json import from_plain, to_plain
from giveway.core.tracks import Tracks
from giveway.data import DATASETS
from giveway.data import store as store_module
from giveway.data.convert import convert
from giveway.data.store import open_store, read_recording, recording_folder, write_recording
from giveway.synth.protocol import synthesize


def assert_same(one, other):
    """Equal to the bit, dtype and NaN included."""
    for name in Tracks.__dataclass_fields__:
        a, b = getattr(one.tracks, name), getattr(other.tracks, name)
        assert a.dtype == b.dtype, name
        np.testing.assert_array_equal(a, b, err_msg=name)
    assert (one.location, one.provenance) == (other.location, other.provenance)
    assert one.attributes.keys() == other.attributes.keys()
    for key, value in one.attributes.items():
        np.testing.assert_array_equal(value, other.attributes[key], err_msg=key)
    assert (one.road is None) == (other.road is None)


def small_scene(road=None):
    """One car that stands for two instants."""
    still = np.zeros((1, 2))
    return Scene(
        tracks=Tracks(
            time_s=np.array([0.0, 0.1]),
            xy=np.zeros((1, 2, 2)),
            heading=still,
            velocity=np.zeros((1, 2, 2)),
            observed=np.ones((1, 2), dtype=bool),
            size=np.array([[4.0, 2.0]]),
            kind=np.array([1]),
            ids=np.array(["a"]),
        ),
        road=road,
        location="here",
        provenance=Provenance(dataset="d", recording="r", files={"f": "0"}),
        attributes={},
    )


ADAPTERS = ["generic", "highd", "ind", "interaction", "interaction_cases", "leeds", "lgap", "round"]


@pytest.mark.parametrize("name", ADAPTERS)
def test_scenes_come_back_as_they_were(name, request, tmp_path_factory):
    root = request.getfixturevalue(f"{name}_root")
    store = tmp_path_factory.mktemp("store") / "s"
    assert {result.state for result in convert(name, root, store)} == {"written"}
    adapter, stored = DATASETS.get(name), DATASETS.get("store")
    before = [scene for recording in adapter.recordings(root) for scene in adapter.scenes(recording)]
    after = [scene for recording in stored.recordings(store) for scene in stored.scenes(recording)]
    assert len(before) == len(after) > 0
    for one, other in zip(before, after, strict=True):
        assert_same(one, other)
    assert stored.verify(store).problems == ()


def test_converting_again_skips_what_is_there_and_redoes_what_changed(interaction_root, tmp_path_factory):
    store = tmp_path_factory.mktemp("store")
    assert [r.state for r in convert("interaction", interaction_root, store)] == ["written"]
    assert [r.state for r in convert("interaction", interaction_root, store)] == ["skipped"]
    path = next(interaction_root.rglob("vehicle_tracks_000.csv"))
    path.write_text(path.read_text().replace("4.5,1.8", "4.6,1.8"))
    assert [r.state for r in convert("interaction", interaction_root, store)] == ["written"]
    scene = next(read_recording(store, "interaction", "DR_TEST_Merging_A/000"))
    assert scene.tracks.size[0, 0] == 4.6


def test_a_recording_that_fails_leaves_nothing_behind(interaction_root, tmp_path_factory):
    store = tmp_path_factory.mktemp("store")
    path = next(interaction_root.rglob("vehicle_tracks_000.csv"))
    path.write_text(path.read_text().replace("car", "tram"))
    (result,) = convert("interaction", interaction_root, store)
    assert result.state == "failed" and "agent_type" in (result.error or {})["what"]
    assert [entry.name for entry in store.iterdir()] == ["store.json"]


def test_a_killed_conversion_goes_on_where_it_stopped(round_root, tmp_path_factory):
    for number in ("01", "02"):
        for path in sorted((round_root / "data").glob("00_*")):
            (path.parent / path.name.replace("00_", f"{number}_")).write_bytes(path.read_bytes())
    store = tmp_path_factory.mktemp("store") / "s"
    script = (
        "import os, sys; from pathlib import Path; import giveway.data.convert as c; import giveway.data.store as s\n"
        "flush, seen = s.flush, []\n"
        "def dying(path):\n"
        "    seen.append(path); flush(path)\n"
        "    if len(seen) == 4: os._exit(9)\n"
        "s.flush = dying\n"
        "list(c.convert('round', Path(sys.argv[1]), Path(sys.argv[2])))\n"
    )
    died = subprocess.run([sys.executable, "-c", script, str(round_root), str(store)], check=False)
    assert died.returncode == 9
    stored = DATASETS.get("store")
    assert [recording.id for recording in stored.recordings(store)] == ["round/00"]
    assert [r.state for r in convert("round", round_root, store)] == ["skipped", "written", "written"]
    assert [recording.id for recording in stored.recordings(store)] == ["round/00", "round/01", "round/02"]
    assert not list((store / "recordings").rglob(".*"))


def test_two_processes_give_the_same_store(round_root, tmp_path_factory):
    for path in sorted((round_root / "data").glob("00_*")):
        (path.parent / path.name.replace("00_", "01_")).write_bytes(path.read_bytes())
    one, two = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    assert [r.state for r in convert("round", round_root, one)] == ["written", "written"]
    assert [r.state for r in convert("round", round_root, two, jobs=2)] == ["written", "written"]
    names = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(two) for path in two.rglob("*") if path.is_file())
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in names)


def test_a_conversion_that_begins_leaves_alone_what_another_one_is_writing(round_root, tmp_path_factory, monkeypatch):
    store = tmp_path_factory.mktemp("store")
    describe = store_module._describe

    def meanwhile(scenes, roads):
        store_module.remove_leftovers(store)
        return describe(scenes, roads)

    monkeypatch.setattr(store_module, "_describe", meanwhile)
    assert [r.state for r in convert("round", round_root, store)] == ["written"]
    assert DATASETS.get("store").verify(store).ok


def test_a_recording_whose_unfinished_folder_vanishes_fails_and_leaves_nothing(
    round_root, tmp_path_factory, monkeypatch
):
    store = tmp_path_factory.mktemp("store")
    describe = store_module._describe

    def meanwhile(scenes, roads):
        shutil.rmtree(next(p for p in (store / "recordings").rglob(".*") if p.is_dir()))
        return describe(scenes, roads)

    monkeypatch.setattr(store_module, "_describe", meanwhile)
    assert [r.state for r in convert("round", round_root, store)] == ["failed"]
    assert list((store / "recordings" / "round").iterdir()) == []


@pytest.mark.parametrize("name", ["segments.parquet", "states.parquet"])
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"PAR1")])
def test_converting_again_repairs_what_is_missing_or_damaged(round_root, tmp_path_factory, name, damage):
    store = tmp_path_factory.mktemp("store")
    list(convert("round", round_root, store))
    damage(recording_folder(store, "round", "00") / name)
    assert [r.state for r in convert("round", round_root, store)] == ["written"]
    assert DATASETS.get("store").verify(store).ok


def test_a_recording_whose_tables_were_never_listed_is_converted_again(round_root, tmp_path_factory):
    store = tmp_path_factory.mktemp("store")
    list(convert("round", round_root, store))
    path = recording_folder(store, "round", "00") / "scenes.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "files": {}}))
    assert [r.state for r in convert("round", round_root, store)] == ["written"]


def flights(root, *names, pattern):
    """The one recording of the root again under other names, all found by a pattern."""
    mapping, content = root / "dataset.toml", (root / "flights" / "flug.txt").read_bytes()
    mapping.write_text(mapping.read_text().replace("flights/*.txt", pattern))
    for name in names:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(content)


def test_a_recording_named_like_the_folder_of_others_is_refused_before_anything_is_written(generic_root):
    flights(generic_root, "flights/flug/run1.txt", pattern="flights/**/*.txt")
    store = generic_root / "store"
    with pytest.raises(DatasetLayoutError, match="folder of another") as caught:
        list(convert("generic", generic_root, store))
    assert caught.value.found == "flights/flug/run1.txt would lie below flights/flug.txt"
    assert not store.exists()


def test_two_recordings_of_one_name_are_refused_before_anything_is_written(generic_root):
    flights(generic_root, "flights/flug.csv", pattern="flights/*.*")
    store = generic_root / "store"
    with pytest.raises(DatasetLayoutError, match="same name") as caught:
        list(convert("generic", generic_root, store))
    assert caught.value.found == "'flights/flug': flights/flug.csv and flights/flug.txt"
    assert not store.exists()


@pytest.mark.parametrize("name", [".run1", ".site/run1"])
def test_a_recording_whose_name_the_store_would_hide_is_refused(tmp_path, name):
    open_store(tmp_path, create=True)
    with pytest.raises(StoreError, match="starts with a dot"):
        write_recording(tmp_path, "d", name, [small_scene()])


@pytest.mark.parametrize(("first", "second"), [("site/run1", "site"), ("site", "site/run1")])
def test_a_stored_recording_is_never_lost_to_one_inside_or_around_it(tmp_path, first, second):
    scene = small_scene()
    open_store(tmp_path, create=True)
    write_recording(tmp_path, "d", first, [scene])
    with pytest.raises(StoreError, match="inside one another"):
        write_recording(tmp_path, "d", second, [scene])
    assert [recording.id for recording in DATASETS.get("store").recordings(tmp_path)] == [f"d/{first}"]
    assert DATASETS.get("store").verify(tmp_path).ok


def test_the_earlier_recording_comes_back_when_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    open_store(tmp_path, create=True)
    target = write_recording(tmp_path, "d", "r", [small_scene()])
    rename = type(target).rename

    def refuse(self, other):
        if other == target and not self.name.endswith(".old"):
            raise OSError(5, "Input/output error")
        return rename(self, other)

    monkeypatch.setattr(type(target), "rename", refuse)
    with pytest.raises(StoreError, match="cannot write"):
        write_recording(tmp_path, "d", "r", [small_scene(), small_scene()])
    assert len(list(read_recording(tmp_path, "d", "r"))) == 1
    assert [path.name for path in target.parent.iterdir()] == ["r"]


@pytest.mark.parametrize("name", ["scenes.json", "segments.parquet", "states.parquet"])
def test_damaged_files_of_the_store_are_errors_and_not_numbers(round_root, tmp_path_factory, name):
    store = tmp_path_factory.mktemp("store")
    list(convert("round", round_root, store))
    path = recording_folder(store, "round", "00") / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(StoreError):
        list(read_recording(store, "round", "00"))
    assert not DATASETS.get("store").verify(store).ok


def test_one_flipped_bit_in_the_states_is_noticed_by_verify(round_root, tmp_path_factory):
    store = tmp_path_factory.mktemp("store")
    list(convert("round", round_root, store))
    path = recording_folder(store, "round", "00") / "states.parquet"
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    (problem,) = [p for p in DATASETS.get("store").verify(store).problems if p.file.endswith("states.parquet")]
    assert "differs from what was written" in problem.message


def store_with_map(folder):
    corner = np.array([[0.0, 0.0], [1.0, 0.1]])
    lane = Lane(id=3, left=corner, right=corner, center=corner, successors=(), speed_limit_mps=8.1, tags={})
    open_store(folder, create=True)
    write_recording(folder, "d", "r", [small_scene(LaneMap(name="m", lanes={3: lane}, lines=(), keepouts=()))])
    return next((folder / "maps").iterdir())


def test_a_changed_map_is_an_error_and_not_a_road(tmp_path):
    path = store_with_map(tmp_path)
    path.write_text(path.read_text().replace("8.1", "9.1"))
    with pytest.raises(StoreError, match="map of the store") as caught:
        list(read_recording(tmp_path, "d", "r"))
    assert caught.value.where == str(path)


def test_a_changed_map_is_noticed_by_verify_although_it_was_read_before(tmp_path):
    path = store_with_map(tmp_path)
    assert DATASETS.get("store").verify(tmp_path).ok
    path.write_text(path.read_text().replace("8.1", "9.1"))
    (problem,) = DATASETS.get("store").verify(tmp_path).problems
    assert problem.file == f"maps/{path.name}" and "differs from what was written" in problem.message


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_text("{}")])
def test_writing_again_repairs_a_map(tmp_path, damage):
    path = store_with_map(tmp_path)
    content = path.read_bytes()
    damage(path)
    store_with_map(tmp_path)
    assert path.read_bytes() == content


def test_converting_again_repairs_a_map(tmp_path):
    root, store = tmp_path / "data", tmp_path / "store"
    synthesize("interaction", root, count=1, minutes=0.5)
    list(convert("interaction", root, store))
    path = next((store / "maps").iterdir())
    path.write_text("{}")
    assert "written" in [r.state for r in convert("interaction", root, store)]
    assert DATASETS.get("store").verify(store).ok


def test_a_folder_with_other_files_is_not_made_a_store(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(StoreError, match="not empty"):
        open_store(tmp_path, create=True)


def test_a_store_of_another_version_is_refused(tmp_path):
    (tmp_path / "store.json").write_text('{"format": "giveway-store", "version": 99}')
    with pytest.raises(StoreError, match="another version"):
        open_store(tmp_path)


def test_agents_with_holes_and_agents_never_seen_survive(tmp_path):
    observed = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 1, 0]], dtype=bool)
    value = np.where(observed, 1.5, np.nan)
    pair = np.stack([value, value], axis=-1)
    tracks = Tracks(
        time_s=np.array([0.0, 0.11, 0.2, 0.35]),
        xy=pair,
        heading=np.full((3, 4), np.nan),
        velocity=pair,
        observed=observed,
        size=np.array([[4.0, 2.0], [np.nan, np.nan], [1.0, 1.0]]),
        kind=np.array([1, 8, 2]),
        ids=np.array(["a", "Ü 7", "c"]),
    )
    corner = np.array([[0.0, 0.0], [1.0, 0.1]])
    lane = Lane(id=3, left=corner, right=corner, center=corner, successors=(4, 5), speed_limit_mps=8.1, tags={"a": "b"})
    road = LaneMap(name="m", lanes={3: lane}, lines=(Line(id=1, points=corner, type="curbstone"),), keepouts=(corner,))
    attributes = {"nothing": None, "nan": float("nan"), "list": [1, "x"], "tuple": (1.0, 2.0), "flag": np.array([True])}
    scene = Scene(
        tracks=tracks,
        road=road,
        location="Straße",
        provenance=Provenance(dataset="d", recording="r", files={"f": "0"}, notes=("n",)),
        attributes={**attributes, "nested": {"k": np.array([[1, 2]], dtype=np.int32)}},
    )
    open_store(tmp_path, create=True)
    write_recording(tmp_path, "d", "r", [scene, scene])
    first, second = read_recording(tmp_path, "d", "r")
    for other in (first, second):
        nested = other.attributes["nested"]["k"]
        assert nested.dtype == np.int32 and nested.tolist() == [[1, 2]]
        assert other.attributes["tuple"] == (1.0, 2.0)
        assert_same(
            dataclasses.replace(scene, attributes=attributes),
            dataclasses.replace(other, attributes={k: other.attributes[k] for k in attributes}),
        )
        assert other.road is not None
        assert other.road.lanes[3].successors == (4, 5)
        np.testing.assert_array_equal(other.road.lines[0].points, corner)


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter(lambda k: not k.startswith("$")), inner),
    max_leaves=10,
)


@given(value=plain_values)
@settings(max_examples=60, deadline=None)
def test_plain_values_survive_json(value):
    assert from_plain(to_plain(value)) == value


def test_objects_are_never_stored():
    with pytest.raises(TypeError):
        to_plain(np.array([object()]))
    with pytest.raises(StoreError):
        from_plain({"$array": "|O", "shape": [1], "base64": "AAAAAAAAAAA="})
