"""OpenDRIVE: lanes of small roads whose geometry is known in closed form."""

import numpy as np
import pytest

from giveway.core.errors import MapError
from giveway.roads.library.lanelet import lanelet_road
from giveway.roads.opendrive import read_opendrive
from giveway.roads.projection import UtmProjection


def lane(number, *, kind="driving", width=3.5, links=""):
    shape = f'<width sOffset="0" a="{width}" b="0" c="0" d="0"/>'
    return f'<lane id="{number}" type="{kind}"><link>{links}</link>{shape}</lane>'


def road(number, length, geometry, *, left="", right="", link="", junction="-1", extra=""):
    right = right or lane(-1)
    sections = f'<laneSection s="0"><left>{left}</left><center><lane id="0" type="none"/></center>'
    return (
        f'<road id="{number}" length="{length}" junction="{junction}" {extra}><link>{link}</link>'
        f"<planView>{geometry}</planView><lanes>{sections}<right>{right}</right></laneSection></lanes></road>"
    )


def piece(shape, length, x=0.0, y=0.0, hdg=0.0, s=0.0):
    return f'<geometry s="{s}" x="{x}" y="{y}" hdg="{hdg}" length="{length}">{shape}</geometry>'


@pytest.fixture
def read(tmp_path):
    def make(*parts, header="", **options):
        path = tmp_path / "map.xodr"
        path.write_text(f"<OpenDRIVE><header>{header}</header>{''.join(parts)}</OpenDRIVE>")
        return read_opendrive(path, **options)

    return make


def by_lane(found):
    return {(one.tags["road"], int(one.tags["lane"])): one for one in found.lanes.values()}


def test_lanes_of_both_directions_lie_beside_the_reference_line(read):
    found = by_lane(read(road(1, 50, piece("<line/>", 50), left=lane(1), right=lane(-1) + lane(-2, width=3.0))))
    np.testing.assert_allclose(found["1", -1].center[[0, -1]], [[0, -1.75], [50, -1.75]])
    np.testing.assert_allclose(found["1", -2].center[[0, -1]], [[0, -5.0], [50, -5.0]])
    np.testing.assert_allclose(found["1", 1].center[[0, -1]], [[50, 1.75], [0, 1.75]])  # against the reference line
    for one in found.values():  # left of the driving direction
        way = one.center[-1] - one.center[0]
        side = one.left[0] - one.right[0]
        assert way[0] * side[1] - way[1] * side[0] > 0
    assert found["1", -2].left_neighbor == found["1", -1].id and found["1", -1].right_neighbor == found["1", -2].id
    assert found["1", -1].left_neighbor is None


def test_left_hand_traffic_drives_on_the_other_side(read):
    found = by_lane(read(road(1, 50, piece("<line/>", 50), left=lane(1), extra='rule="LHT"')))
    np.testing.assert_allclose(found["1", 1].center[[0, -1]], [[0, 1.75], [50, 1.75]])
    np.testing.assert_allclose(found["1", -1].center[[0, -1]], [[50, -1.75], [0, -1.75]])


QUARTER = np.pi / 2
CURVES = {
    "arc": (f'<arc curvature="{1 / 30}"/>', 30 * QUARTER, (30.0, 30.0)),
    "spiral as arc": (f'<spiral curvStart="{1 / 30}" curvEnd="{1 / 30}"/>', 30 * QUARTER, (30.0, 30.0)),
    # Euler spiral from 0 to 1/50 over 40 m: x = L (1 - a²/10 + a⁴/216), y = L (a/3 - a³/42 + a⁵/1320), a = 0.4 rad
    "spiral": ('<spiral curvStart="0" curvEnd="0.02"/>', 40.0, (39.3647, 5.2729)),
    "poly3": ('<poly3 a="0" b="0" c="0.01" d="0"/>', 20.0, (20.0, 4.0)),
    "paramPoly3": (
        '<paramPoly3 pRange="normalized" aU="0" bU="40" cU="0" dU="0" aV="0" bV="0" cV="8" dV="0"/>',
        41.0,
        (40.0, 8.0),
    ),
}


@pytest.mark.parametrize("name", CURVES)
def test_curves_end_where_they_must(read, name):
    shape, length, end = CURVES[name]
    found = by_lane(read(road(1, length, piece(shape, length))))
    np.testing.assert_allclose(found["1", -1].left[-1], end, atol=2e-3)


def test_lanes_follow_one_another_through_a_junction(read):
    first = road(1, 50, piece("<line/>", 50), link='<successor elementType="junction" elementId="9"/>')
    inside = road(
        2,
        20,
        piece("<line/>", 20, x=50),
        right=lane(-1, links='<predecessor id="-1"/><successor id="-1"/>'),
        link='<predecessor elementType="road" elementId="1" contactPoint="end"/>'
        '<successor elementType="road" elementId="3" contactPoint="start"/>',
        junction="9",
    )
    last = road(3, 50, piece("<line/>", 50, x=70), link='<predecessor elementType="junction" elementId="9"/>')
    junction = (
        '<junction id="9"><connection incomingRoad="1" connectingRoad="2" contactPoint="start">'
        '<laneLink from="-1" to="-1"/></connection></junction>'
    )
    found = by_lane(read(first, inside, last, junction))
    assert found["1", -1].successors == (found["2", -1].id,)
    assert found["2", -1].successors == (found["3", -1].id,)
    assert found["3", -1].predecessors == (found["2", -1].id,)


def test_lanes_that_are_not_for_cars_are_left_out_and_speeds_are_converted(read):
    limits = '<type s="0" type="town"><speed max="50" unit="km/h"/></type>'
    text = road(1, 50, piece("<line/>", 50), right=lane(-1) + lane(-2, kind="sidewalk"))
    found = by_lane(read(text.replace("<planView>", f"{limits}<planView>")))
    assert list(found) == [("1", -1)] and found["1", -1].speed_limit_mps == pytest.approx(50 / 3.6)


def test_a_map_in_utm_is_moved_to_the_origin_of_the_recording(read):
    header = "<geoReference>+proj=utm +zone=32 +datum=WGS84</geoReference>"
    here = UtmProjection.of_epsg(32632, (300_000.0, 5_600_000.0))
    text = road(1, 50, piece("<line/>", 50, x=300_010.0, y=5_600_020.0))
    found = by_lane(read(text, header=header, projection=here))
    np.testing.assert_allclose(found["1", -1].center[0], [10.0, 18.25])
    other = read(text, header=header.replace("32", "33"), projection=here)
    assert other.warnings == ("the map is in UTM zone 33, the recording in 32",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<OpenDRIVE>", "not well-formed"),
        ("<osm/>", "not OpenDRIVE"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><OpenDRIVE/>', "document type"),
        ("<OpenDRIVE/>", "no lanes"),
        (f"<OpenDRIVE>{road(1, 50, '')}</OpenDRIVE>", "no plan view"),
        (f"<OpenDRIVE>{road(1, 'long', piece('<line/>', 50))}</OpenDRIVE>", "has no number 'length'"),
        (f"<OpenDRIVE>{road(1, 50, piece('<loop/>', 50))}</OpenDRIVE>", "no known shape"),
    ],
)
def test_bad_files_are_one_sentence(tmp_path, text, message):
    path = tmp_path / "map.xodr"
    path.write_text(text)
    with pytest.raises(MapError, match=message) as caught:
        read_opendrive(path)
    assert str(path) in str(caught.value.where)


def test_an_opendrive_map_is_a_road_to_drive_on(tmp_path):
    path = tmp_path / "map.xodr"
    path.write_text(f"<OpenDRIVE>{road(1, 90, piece('<line/>', 90))}</OpenDRIVE>")
    assert len(lanelet_road(path).ways) == 1
