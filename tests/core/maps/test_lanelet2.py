import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from giveway.core.errors import MapError, UsageError
from giveway.roads.lanelet2 import read_lanelet2
from giveway.roads.projection import UtmProjection
from giveway.roads.sketch import LineSketch, RoadSketch, RuleSketch
from giveway.roads.writer import lanelet2_text, write_lanelet2
from references.road_sketch import sketch_of

from .roads import crossroads, strip

NODE = '  <node id="{}" visible="true" version="1" lat="{}" lon="{}" />'


@pytest.fixture
def site(tmp_path):
    """Read a road sketch back through a file."""

    def read(road: RoadSketch, edit=lambda text: text, **options):
        path = tmp_path / "site.osm"
        path.write_text(edit(lanelet2_text(road)[0]), encoding="utf-8")
        return read_lanelet2(path, **options)

    return read


def refusal(site, edit, road=None) -> MapError:
    with pytest.raises(MapError) as error:
        site(road or crossroads(), edit)
    return error.value


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), start=1) if part in line)


def test_lanes_come_back_where_they_were_drawn(site):
    road = crossroads()
    lanes = list(site(road).lanes.values())
    for lane, sketch in zip(lanes, road.lanes, strict=True):
        np.testing.assert_allclose(lane.left, sketch.left.points, atol=2e-6)
        np.testing.assert_allclose(lane.right, sketch.right.points, atol=2e-6)


def test_the_center_line_is_the_mean_of_the_bounds(site):
    center = site(crossroads()).lanes[30000].center
    np.testing.assert_allclose(center[:, 1], 1000.0, atol=1e-5)
    np.testing.assert_allclose(center[[0, -1], 0], [950.0, 1000.0], atol=1e-5)
    assert np.diff(center[:, 0]).max() <= 1.0 + 1e-9


def test_a_lane_follows_where_both_end_points_are_shared(site):
    lanes = site(crossroads()).lanes
    assert lanes[30000].successors == (30002,)
    assert lanes[30002].predecessors == (30000,)
    assert lanes[30001].successors == ()


def test_a_shared_bound_makes_neighbors(site):
    lanes = site(crossroads()).lanes
    assert lanes[30000].left_neighbor == 30001
    assert lanes[30001].right_neighbor == 30000
    assert lanes[30000].right_neighbor is None


def test_a_bound_shared_with_oncoming_traffic_does_not(site):
    oncoming = strip("west", (1000, 1004), (950, 1004))
    road = RoadSketch(lanes=(crossroads().lanes[0], oncoming))
    lanes = site(road).lanes
    assert {lane.left_neighbor for lane in lanes.values()} == {None}


def test_crossing_lanes_conflict_and_following_ones_do_not(site):
    lanes = site(crossroads()).lanes
    assert lanes[30003].conflicts == (30000, 30001)
    assert lanes[30000].conflicts == (30003,)


@pytest.mark.parametrize(("gap", "expected"), [(0.02, ()), (-0.02, (30001,))])
def test_an_overlap_counts_above_a_tenth_of_a_square_meter(site, gap, expected):
    limit = 0.1 / 50.0  # lanes are 50 m long
    lanes = (strip("a", (950, 1000), (1000, 1000)), strip("b", (1000, 1000), (950, 1000), -4.0 + limit * (1 - gap)))
    assert site(RoadSketch(lanes=lanes)).lanes[30000].conflicts == expected


def test_speed_limits_are_meters_per_second(site):
    limits = [lane.speed_limit_mps for lane in site(crossroads()).lanes.values()]
    assert limits == [pytest.approx(11.176), pytest.approx(17.8816), pytest.approx(13.8889, abs=1e-4), None]


def test_a_speed_limit_that_is_not_understood_is_told(site):
    road = site(crossroads(), lambda text: text.replace("25mph", "slow"))
    assert road.lanes[30000].speed_limit_mps is None
    assert "'slow'" in road.warnings[0]


def test_who_yields_to_whom(site):
    lanes = site(crossroads()).lanes
    assert lanes[30003].yields_to == (30000, 30001)
    assert lanes[30000].yields_to == ()


def test_at_an_all_way_stop_everybody_yields_to_everybody_else(site):
    road = replace(crossroads(), rules=(RuleSketch(yielding=("north", "east")),))
    lanes = site(road).lanes
    assert (lanes[30000].yields_to, lanes[30003].yields_to) == ((30003,), (30000,))


def test_keepouts_and_stop_lines_are_read(site):
    road = site(crossroads())
    np.testing.assert_allclose(road.keepouts[0], [[1010, 1010], [1020, 1010], [1015, 1020]], atol=1e-5)
    assert [line.type for line in road.lines].count("stop_line") == 1


@pytest.mark.parametrize("ways", [{10000}, {10001}, {10000, 10001}])
def test_bounds_drawn_backward_are_turned_round(site, ways):
    def turn(text):
        lines = text.splitlines()
        for way in ways:
            first = line_of(text, f'<way id="{way}"')
            lines[first : first + 4] = reversed(lines[first : first + 4])
        return "\n".join(lines)

    lane, expected = site(crossroads(), turn).lanes[30000], site(crossroads()).lanes[30000]
    np.testing.assert_allclose(lane.left, expected.left)
    np.testing.assert_allclose(lane.right, expected.right)
    assert lane.successors == expected.successors


def test_a_way_in_the_place_of_a_lane_is_tolerated_and_told(site):
    edit = '<member type="way" ref="10000" role="right_of_way" />\n    <member type="relation" ref="30001"'
    road = site(crossroads(), lambda text: text.replace('<member type="relation" ref="30001"', edit, 1))
    assert road.lanes[30003].yields_to == (30000, 30001)
    assert len(road.warnings) == 1
    assert "way 10000 in the role 'right_of_way'" in road.warnings[0]


def test_walkways_are_no_lanes(site):
    road = site(crossroads(), lambda text: text.replace('"subtype" v="road"', '"subtype" v="crosswalk"', 1))
    assert 30000 not in road.lanes
    assert "crosswalk" in road.warnings[0]


def test_metric_nodes_and_the_shifted_family(site, tmp_path):
    def metric(text):
        lines = []
        for line in text.splitlines():
            if "<node" in line:
                parts = line.split('"')
                x, y = float(parts[9]) * 111428.54 - 1000, float(parts[7]) * 110682.28 - 1000
                line = f'  <node id="{parts[1]}" visible="true" version="1" x="{x}" y="{y}" />'
            lines.append(line)
        return "\n".join(lines)

    near_zero = site(crossroads(), metric)
    assert abs(near_zero.lanes[30000].left).max() < 100
    moved = site(crossroads(), metric, frame="dataset")
    np.testing.assert_allclose(moved.lanes[30000].left, crossroads().lanes[0].left.points, atol=0.01)
    assert "moved by 1000 m" in moved.warnings[0]
    public = site(crossroads(), frame="dataset")
    np.testing.assert_allclose(public.lanes[30000].left, crossroads().lanes[0].left.points, atol=1e-5)


def test_a_dangling_node_names_file_line_and_id(site, tmp_path):
    error = refusal(site, lambda text: text.replace('<nd ref="1003" />', '<nd ref="9999" />', 1))
    text = lanelet2_text(crossroads())[0]
    assert "way 10000 refers to node 9999" in error.what
    line = line_of(text, '<nd ref="1003" />')
    assert error.where == f"{tmp_path / 'site.osm'}, line {line}"


def test_a_member_that_is_not_in_the_file_costs_its_lane_and_is_told(site):
    part = '<member type="way" ref="10001" role="right" />'
    whole = site(crossroads())
    road = site(crossroads(), lambda text: text.replace('ref="10001" role="right"', 'ref="77" role="right"', 1))
    line = line_of(lanelet2_text(crossroads())[0], part)
    assert road.warnings[0] == f"line {line}: relation 30000 names way 77, which does not exist; it was left out"
    assert "lane 30000 does not have a whole bound on both sides" in road.warnings[1]
    assert set(whole.lanes) - set(road.lanes) == {30000}


def _split_way(text: str, way: int, part: int) -> str:
    """Cut a way in two at its middle node, the second half turned round, and list both in every lane."""
    found = re.search(rf'<way id="{way}".*?</way>', text, re.DOTALL)
    assert found is not None
    refs = re.findall(r'<nd ref="(\d+)" />', found[0])
    middle = len(refs) // 2
    halves = (refs[: middle + 1], refs[middle:][::-1])
    ways = "".join(
        f'<way id="{n}">' + "".join(f'<nd ref="{ref}" />' for ref in half) + "</way>"
        for n, half in zip((way, part), halves, strict=True)
    )
    text = text.replace(found[0], ways)
    for role in ("left", "right"):
        member = f'<member type="way" ref="{{}}" role="{role}" />'
        text = text.replace(member.format(way), member.format(part) + member.format(way))
    return text


def test_several_ways_on_a_side_are_chained_in_any_order_and_direction(site):
    whole = site(crossroads())
    way = next(line.id for line in whole.lines if len(line.points) > 3)
    road = site(crossroads(), lambda text: _split_way(text, way, 99_999))
    assert set(road.lanes) == set(whole.lanes)
    for n, lane in whole.lanes.items():
        for side in ("left", "right", "center"):
            np.testing.assert_array_equal(getattr(road.lanes[n], side), getattr(lane, side))
        assert road.lanes[n].successors == lane.successors


def test_ways_of_a_side_with_a_wide_gap_are_no_bound(site):
    text = lanelet2_text(crossroads())[0]
    member = '<member type="way" ref="10001" role="right" />'
    far = '<member type="way" ref="10003" role="right" />'
    road = site(crossroads(), lambda _: text.replace(member, member + far, 1))
    assert 30000 not in road.lanes
    assert any("lane 30000 does not have a whole bound" in warning for warning in road.warnings)


def test_a_map_with_a_true_position_is_read_in_its_own_zone(site):
    def moved(text: str) -> str:
        shift = {"lat": 50.78, "lon": 6.05}
        return re.sub(
            r'(lat|lon)="([-.\d]+)"', lambda match: f'{match[1]}="{float(match[2]) + shift[match[1]]:.11f}"', text
        )

    here = site(crossroads(), moved)
    center = here.lanes[30000].center.mean(axis=0)
    assert 291_000 < center[0] < 294_000 and 5_629_000 < center[1] < 5_633_000  # zone 32, not 31
    local = site(crossroads(), moved, projection=UtmProjection.of_epsg(32632, (292_669.4681, 5_630_731.7040)))
    np.testing.assert_allclose(local.lanes[30000].center.mean(axis=0), center - (292_669.4681, 5_630_731.7040))


BOMB = """<?xml version="1.0"?>
<!DOCTYPE osm [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<osm version="0.6"><node id="1" lat="&b;" lon="0"/></osm>"""
OUTSIDE = """<?xml version="1.0"?>
<!DOCTYPE osm SYSTEM "file:///etc/passwd">
<osm version="0.6" />"""


@pytest.mark.parametrize("text", [BOMB, OUTSIDE])
def test_document_types_and_entities_are_refused(site, text):
    error = refusal(site, lambda _: text)
    assert "document type" in error.what
    assert error.where.endswith("line 2")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text[: len(text) // 2], "not well-formed"),
        (lambda text: "", "not well-formed"),
        (lambda text: text.replace("osm", "gpx"), "OpenStreetMap form"),
        (lambda text: text.replace('lat="0', 'lat="north', 1), "not a number"),
        (lambda text: text.replace('lat="0', 'lat="nan" was="', 1), "not a number"),
        (lambda text: text.replace('lat="0', 'lat="100', 1), "not on the globe"),
        (lambda text: text.replace('lat="0.00', 'lat="9.00', 1), "lane 30000: a lane is too long"),
        (lambda text: text.replace("lat=", "breadth=", 1), "no attribute 'lat'"),
        (lambda text: text.replace('id="1001"', 'id="1000"', 1), "given to two nodes"),
        (lambda text: text.replace('id="1001"', 'id="one"', 1), "not a whole number"),
        (lambda text: text.replace('id="1001"', 'id="--11"', 1), "not a whole number"),
        (lambda text: re.sub(r"<\?xml.*?\?>", '<?xml version="1.0" encoding="gbk"?>', text), "encoding"),
        (lambda text: re.sub(r"<\?xml.*?\?>", '<?xml version="1.0" encoding="klingon"?>', text), "encoding"),
        (lambda text: text.replace('type="way" ref', 'type="area" ref', 1), "unknown type"),
        (lambda text: text.replace('v="lanelet"', 'v="other"'), "no lanes"),
    ],
)
def test_broken_files_get_a_sentence_with_the_file(site, tmp_path, edit, message):
    error = refusal(site, edit)
    assert message in error.what
    assert str(tmp_path / "site.osm") in error.where


def test_a_bound_without_length_is_refused(site):
    road = crossroads()
    point = LineSketch(points=np.repeat(road.lanes[0].left.points[:1], 2, axis=0))
    error = refusal(site, lambda text: text, RoadSketch(lanes=(replace(road.lanes[0], left=point),)))
    assert "way 10000 passes node 1000 twice in a row" in error.what


def test_a_bound_of_one_point_is_no_bound(site):
    def shorten(text):
        ways = re.findall(r'<way id="\d+".*?</way>', text, re.DOTALL)
        for way in ways[:2]:
            text = text.replace(way, re.sub(r"(<nd [^>]*/>)(?:\s*<nd [^>]*/>)+", r"\1", way))
        return text

    road = site(crossroads(), shorten)
    assert 30000 not in road.lanes
    assert any("lane 30000 does not have" in warning for warning in road.warnings)


def test_missing_files_folders_and_huge_files_are_refused(tmp_path, monkeypatch):
    with pytest.raises(MapError, match="cannot be read"):
        read_lanelet2(tmp_path / "nowhere.osm")
    with pytest.raises(MapError, match="cannot be read"):
        read_lanelet2(tmp_path)
    path = tmp_path / "ä b.osm"
    write_lanelet2(path, crossroads())
    assert len(read_lanelet2(path).lanes) == 4
    monkeypatch.setattr("giveway.roads.osm.MAX_BYTES", 100)
    with pytest.raises(MapError, match="too large"):
        read_lanelet2(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_files_are_read_or_refused_but_never_crash(tmp_path, data):
    text = lanelet2_text(crossroads())[0].encode()
    start = data.draw(st.integers(0, len(text) - 1))
    stop = data.draw(st.integers(start, min(start + 60, len(text))))
    path = tmp_path / "mutated.osm"
    path.write_bytes(text[:start] + data.draw(st.binary(max_size=12)) + text[stop:])
    try:
        road = read_lanelet2(path)
    except MapError as error:
        assert str(path) in str(error.where)
    else:
        assert all(np.isfinite(lane.center).all() for lane in road.lanes.values())


def test_writing_what_was_read_gives_the_same_map(site, tmp_path):
    first = site(crossroads())
    again = tmp_path / "again.osm"
    write_lanelet2(again, sketch_of(first))
    second = read_lanelet2(again)
    assert list(second.lanes) == list(first.lanes)
    for one, other in zip(first.lanes.values(), second.lanes.values(), strict=True):
        np.testing.assert_allclose(one.center, other.center, atol=1e-5)
        for name in ("successors", "conflicts", "yields_to", "left_neighbor", "speed_limit_mps", "tags"):
            assert getattr(one, name) == getattr(other, name)
    types = [sorted(line.type for line in road.lines) for road in (first, second)]
    assert [t for t in types[0] if t != "stop_line"] == [t for t in types[1] if t != "stop_line"]


def test_the_written_text_has_the_style_of_the_real_files():
    lines = lanelet2_text(crossroads())[0].splitlines()
    assert lines[:2] == ['<?xml version="1.0"?>', '<osm version="0.6" generator="lanelet2">']
    assert lines[2].startswith('  <node id="1000" visible="true" version="1" lat="0.00')
    assert '  <way id="10000" visible="true" version="1">' in lines
    assert '  <relation id="30000" visible="true" version="1">' in lines
    assert '  <relation id="40000" visible="true" version="1">' in lines
    assert '    <tag k="sign_type" v="25mph" />' in lines


@pytest.mark.parametrize(
    "road",
    [
        replace(crossroads(), rules=(RuleSketch(yielding=("nobody",)),)),
        RoadSketch(lanes=(strip("a", (0, 0), (9, 0)), strip("a", (0, 9), (9, 9)))),
    ],
)
def test_sketches_that_do_not_hang_together_are_refused_and_leave_no_file(tmp_path, road):
    with pytest.raises(UsageError):
        write_lanelet2(tmp_path / "bad.osm", road)
    assert list(tmp_path.iterdir()) == []


REAL = {
    "DR_CHN_Merging_ZS": (49, 80 / 3.6),
    "DR_CHN_Roundabout_LN": (94, 30 / 3.6),
    "DR_USA_Intersection_EP0": (59, 15 * 0.44704),
    "DR_USA_Intersection_EP1": (76, 15 * 0.44704),
    "DR_USA_Intersection_GL": (90, 40 * 0.44704),
    "DR_USA_Intersection_MA": (66, 40 * 0.44704),
    "DR_USA_Roundabout_EP": (59, 15 * 0.44704),
    "DR_USA_Roundabout_FT": (48, 25 * 0.44704),
    "DR_USA_Roundabout_SR": (46, 25 * 0.44704),
}


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_real_maps_have_the_lanes_and_limits_of_the_note(name):
    path = Path(os.environ["GIVEWAY_REAL_INTERACTION"]) / "maps" / f"{name}.osm"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    road = read_lanelet2(path)
    count, limit = REAL[name]
    assert len(road.lanes) == count
    assert [lane.speed_limit_mps for lane in road.lanes.values()] == [pytest.approx(limit)] * count
    assert len(road.warnings) == (1 if name.endswith("GL") else 0)


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_real_maps_written_again_have_the_same_lane_graph(name, tmp_path):
    path = Path(os.environ["GIVEWAY_REAL_INTERACTION"]) / "maps" / f"{name}.osm"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    first = read_lanelet2(path)
    ids = write_lanelet2(tmp_path / "again.osm", sketch_of(first))
    second = read_lanelet2(tmp_path / "again.osm")
    for lane in first.lanes.values():
        again = second.lanes[ids[str(lane.id)]]
        np.testing.assert_allclose(again.center, lane.center, atol=1e-3)
        assert again.successors == tuple(sorted(ids[str(n)] for n in lane.successors))
        assert again.yields_to == tuple(sorted(ids[str(n)] for n in lane.yields_to))
        assert again.speed_limit_mps == pytest.approx(lane.speed_limit_mps)
