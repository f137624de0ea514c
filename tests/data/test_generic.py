import re
from pathlib import Path

import numpy as np
import pytest

from giveway.core.errors import ConfigError, DatasetLayoutError, FileFormatError
from giveway.core.tracks import AgentKind
from giveway.data import DATASETS
from giveway.roads.projection import UtmProjection
from giveway.roads.sketch import LaneSketch, LineSketch, RoadSketch
from giveway.roads.writer import write_lanelet2

GENERIC = DATASETS.get("generic")


def scene_of(root):
    return next(GENERIC.scenes(GENERIC.recordings(root)[0]))


def remap(root, old, new):
    path = root / "dataset.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_units_angles_and_axes_are_converted_once(generic_root):
    scene = scene_of(generic_root)
    tracks = scene.tracks
    assert tracks.ids.tolist() == ["Auto 1", "b"]
    assert tracks.kind.tolist() == [AgentKind.CAR, AgentKind.BICYCLE]
    np.testing.assert_allclose(tracks.time_s, [0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(tracks.xy[0, 1], [110.5 * 0.3048, -20 * 0.3048])
    # A compass course of 90 degrees is east, 0 is north.
    np.testing.assert_allclose(tracks.heading[:, 0], [0, np.pi / 2], atol=1e-12)
    np.testing.assert_allclose(tracks.velocity[0, 1:, 0], 30.48)
    assert np.isnan(tracks.size).all()
    assert scene.location == "my junction"
    assert scene.provenance.notes == ("velocity by backward differences of position",)


def test_an_unknown_key_is_refused_with_the_nearest_known_one(generic_root):
    remap(generic_root, 'angle_zero = "y"', 'angle_zreo = "y"')
    with pytest.raises(ConfigError, match=r"unknown key 'units.angle_zreo'") as caught:
        GENERIC.recordings(generic_root)
    assert "did you mean 'angle_zero'" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('time = "Zeit"', "", "one of frame and time"),
        ("frame_rate_hz = 10", "frame_rate_hz = 0", "time.frame_rate_hz"),
        ('position = "ft"', 'position = "yd"', "units.position"),
        ('bicycle = ["Rad"]', 'bycicle = ["Rad"]', "did you mean 'bicycle'"),
        ("[time]", "[time", "does not parse"),
        ('decimal = ","', 'decimal = ";"', "files.decimal"),
        ('x = "X [ft]"', "", "columns.x"),
        ('x = "X [ft]"', 'x = "Kurs"', "two things: Kurs"),
        ("flights/*.txt", "flights/**.txt", "not a pattern"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_a_config_error(generic_root, old, new, message):
    remap(generic_root, old, new)
    with pytest.raises(ConfigError, match=message):
        GENERIC.recordings(generic_root)
    assert not GENERIC.verify(generic_root).ok


@pytest.mark.parametrize(
    ("old", "new", "message", "where"),
    [
        ("Rad", "Roller", "not in the mapping", "line 3, column 'Art'"),
        (";200;", ";260;", "not on the grid", "line 6, column 'Zeit'"),
        ("110,5", "110,5;1", "number of cells", "line 4"),
        ("110,5", "9110,5", "the position jumps", "line 4, column 'X [ft]'"),
        ("X [ft]", "X (ft)", "a column is missing", "line 1, column 'X [ft]'"),
    ],
)
def test_damage_is_named_by_line_and_column(generic_root, old, new, message, where):
    path = generic_root / "flights" / "flug.txt"
    path.write_text(path.read_text().replace(old, new, 1 if old == "110,5" else -1))
    with pytest.raises(FileFormatError, match=message) as caught:
        scene_of(generic_root)
    assert where in (caught.value.where or "")


@pytest.mark.parametrize(("new", "hint"), [("X (ft)", "is 'X (ft)' meant? say so in"), ("Ost", "say in")])
def test_a_column_of_another_name_is_a_matter_of_the_mapping(generic_root, new, hint):
    path = generic_root / "flights" / "flug.txt"
    path.write_text(path.read_text().replace("X [ft]", new))
    with pytest.raises(FileFormatError, match="a column is missing") as caught:
        scene_of(generic_root)
    assert (caught.value.hint or "").startswith(f"{hint} [columns] of dataset.toml")


def test_missing_frames_are_allowed_if_the_mapping_says_so(generic_root):
    path = generic_root / "flights" / "flug.txt"
    path.write_text("".join(f"{line}\n" for line in path.read_text().splitlines() if not line.startswith('"b";100')))
    with pytest.raises(FileFormatError, match="frames are missing"):
        scene_of(generic_root)
    remap(generic_root, 'default_kind = "car"', 'default_kind = "car"\nmissing_frames = "allowed"')
    assert scene_of(generic_root).tracks.observed[1].tolist() == [True, False, True, True]


def test_a_pattern_without_files_is_a_layout_error(generic_root):
    remap(generic_root, "flights/*.txt", "flights/*.csv")
    with pytest.raises(DatasetLayoutError, match="no file matches"):
        GENERIC.recordings(generic_root)


def test_copies_that_programs_keep_are_no_recordings(generic_root):
    original = generic_root / "flights" / "flug.txt"
    for name in (".ipynb_checkpoints/flug-checkpoint.txt", "._flug.txt"):
        copy = generic_root / "flights" / name
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(original.read_bytes())
    remap(generic_root, "flights/*.txt", "**/*.txt")
    assert [recording.id for recording in GENERIC.recordings(generic_root)] == ["flights/flug"]


def test_a_road_user_that_becomes_another_is_refused(generic_root):
    path = generic_root / "flights" / "flug.txt"
    path.write_text(path.read_text().replace("Rad", "Pkw", 1))
    with pytest.raises(FileFormatError, match="the kind changes") as caught:
        scene_of(generic_root)
    assert "bicycle after car" in str(caught.value)


def test_a_map_near_the_origin_stays_in_the_frame_of_the_tracks(generic_root):
    lane = [LineSketch(points=np.array([[0.0, y], [60.0, y]])) for y in (0.0, -9.0)]
    road = RoadSketch(lanes=(LaneSketch(name="a", left=lane[0], right=lane[1]),))
    write_lanelet2(generic_root / "road.osm", road)
    remap(generic_root, 'location = "my junction"', 'location = "my junction"\nmap = "road.osm"')
    found = scene_of(generic_root).road
    center = next(iter(found.lanes.values())).center
    np.testing.assert_allclose(center[[0, -1]], [[0.0, -4.5], [60.0, -4.5]], atol=1e-6)
    assert found.warnings == ()


def test_the_pattern_cannot_leave_the_root(generic_root):
    remap(generic_root, "flights/*.txt", "../*/*.txt")
    with pytest.raises(ConfigError, match="below the root"):
        GENERIC.recordings(generic_root)


def test_the_mapping_of_the_how_to_page_works(tmp_path):
    page = Path(__file__).parents[2] / "docs" / "how-to" / "own-data.md"
    block = re.search(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    assert block is not None
    (tmp_path / "dataset.toml").write_text(block[1])
    rows = [f"{agent},{k},{k / 2},{4 * agent}" for k in range(5) for agent in range(2)]
    (tmp_path / "a.csv").write_text("\n".join(["id,frame,x,y", *rows]) + "\n")
    assert GENERIC.verify(tmp_path).problems == ()
    np.testing.assert_allclose(scene_of(tmp_path).tracks.velocity[:, 1:, 0], 12.5)


TWO_FILES = """
[scene]
name = '(?P<location>[a-z]+)_(?P<day>\\d+)_(veh|ped)\\.csv'
[[files]]
match = "raw/*_veh.csv"
id_prefix = "v"
[files.columns]
track = "id"
frame = "f"
x = "x"
y = "y"
heading = "psi"
speed = "v"
length = "l"
width = "w"
kind = "k"
[[files]]
match = "raw/*_ped.csv"
id_prefix = "p"
default_kind = "pedestrian"
size_m = [0.5, 0.4]
columns = {track = "id", frame = "f", x = "x", y = "y"}
[kinds]
car = ["c"]
bicycle = ["b"]
[time]
frame_rate_hz = 10
[georeference]
epsg = 32632
origin_m = [292669.4681, 5630731.7040]
[map]
file = "maps/{location}.osm"
[[conflict]]
name = "entry"
target_gate = [[0, 0], [0, 4]]
priority_gate = [[5, 0], [5, 4]]
"""


@pytest.fixture
def two_files(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "maps").mkdir()
    (tmp_path / "dataset.toml").write_text(TWO_FILES)
    cars = [
        f"{n},{k},{10 + 0.5 * k},{4 * n},0.0,5.0,{length},{width},{kind}"
        for k in range(5)
        for n, length, width, kind in ((0, 4.5, 1.8, "c"), (1, 0, 0, "b"))
    ]
    people = [f"0,{k},20.0,{0.1 * k}" for k in range(2, 9)]
    for name in ("north_1", "north_2"):
        (tmp_path / "raw" / f"{name}_veh.csv").write_text("\n".join(["id,f,x,y,psi,v,l,w,k", *cars, ""]))
        (tmp_path / "raw" / f"{name}_ped.csv").write_text("\n".join(["id,f,x,y", *people, ""]))
    write_true_map(tmp_path / "maps" / "north.osm")
    return tmp_path


def write_true_map(path, lon_deg=6.06):
    """One lane along x, at the true position of the origin of the mapping."""
    projection = UtmProjection(origin_lon_deg=lon_deg, grid_origin_m=(292669.4681, 5630731.7040))
    corners = projection.to_latlon(np.array([[0.0, 2.0], [60.0, 2.0], [0.0, -2.0], [60.0, -2.0]]))
    nodes = "".join(f'<node id="{n}" lat="{a:.11f}" lon="{b:.11f}" />' for n, (a, b) in enumerate(corners, 1))
    ways = '<way id="10"><nd ref="1" /><nd ref="2" /></way><way id="11"><nd ref="3" /><nd ref="4" /></way>'
    members = '<member type="way" ref="10" role="left" /><member type="way" ref="11" role="right" />'
    lane = f'<relation id="20">{members}<tag k="type" v="lanelet" /><tag k="subtype" v="road" /></relation>'
    path.write_text(f'<osm version="0.6">{nodes}{ways}{lane}</osm>')


def test_files_of_a_scene_are_put_together(two_files):
    assert [r.id for r in GENERIC.recordings(two_files)] == ["raw/north_1", "raw/north_2"]
    scene = scene_of(two_files)
    tracks = scene.tracks
    assert tracks.ids.tolist() == ["v0", "v1", "p0"] and scene.location == "north"
    assert tracks.kind.tolist() == [AgentKind.CAR, AgentKind.BICYCLE, AgentKind.PEDESTRIAN]
    np.testing.assert_array_equal(tracks.size, [[4.5, 1.8], [np.nan, np.nan], [0.5, 0.4]])
    assert tracks.observed.sum(axis=1).tolist() == [5, 5, 7]
    np.testing.assert_allclose(tracks.velocity[0, :5], [[5.0, 0.0]] * 5)
    np.testing.assert_allclose(tracks.velocity[2, 3:9], [[0.0, 1.0]] * 6)
    np.testing.assert_allclose(scene.road.lanes[20].center[[0, -1]], [[0, 0], [60, 0]], atol=1e-4)
    assert scene.attributes["conflicts"][0]["rule"] is None
    assert GENERIC.verify(two_files).ok


def test_a_scene_without_one_of_its_files_is_read_and_noted(two_files):
    (two_files / "raw" / "north_1_ped.csv").unlink()
    scene = scene_of(two_files)
    assert scene.tracks.ids.tolist() == ["v0", "v1"]
    assert "read without raw/*_ped.csv: this scene has no such file" in scene.provenance.notes


def test_ids_of_two_files_must_differ(two_files):
    remap(two_files, 'id_prefix = "p"', 'id_prefix = "v"')
    with pytest.raises(FileFormatError, match="an id is in two files") as caught:
        scene_of(two_files)
    assert caught.value.found == "v0" and "id_prefix" in (caught.value.hint or "")


def test_a_map_of_another_zone_names_the_georeference(two_files):
    write_true_map(two_files / "maps" / "north.osm", lon_deg=12.1)  # zone 33, six degrees east
    with pytest.raises(FileFormatError, match="does not lie where the tracks are") as caught:
        scene_of(two_files)
    assert "north.osm" in (caught.value.where or "") and "georeference.epsg" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[scene]\nname = '(?P<location>[a-z]+)_(?P<day>\\d+)_(veh|ped)\\.csv'", "[scene]", "need \\[scene\\] name"),
        ("(?P<location>[a-z]+)_(?P<day>\\d+)", "[a-z]+_\\d+", "needs a named group"),
        ('id_prefix = "v"', 'id_prefx = "v"', "unknown key 'files.0.id_prefx'"),
        ("epsg = 32632", "epsg = 25832", "EPSG 25832 is not WGS 84 / UTM"),
        ("{location}.osm", "{site}.osm", "name known groups"),
        ('heading = "psi"', "", "speed is along heading"),
        ("size_m = [0.5, 0.4]", "size_m = [0.5, 0]", "files.1.size_m"),
        ("priority_gate = [[5, 0], [5, 4]]", "", "conflict.0.priority_gate"),
    ],
)
def test_what_a_mapping_of_several_files_may_get_wrong(two_files, old, new, message):
    remap(two_files, old, new)
    with pytest.raises(ConfigError, match=message):
        GENERIC.recordings(two_files)
