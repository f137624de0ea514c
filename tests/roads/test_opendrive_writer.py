"""Lane maps as OpenDRIVE: read back by the reader of the house, the same lanes lie where they were."""

from __future__ import annotations

import pytest
import shapely

from giveway.roads.library import make_road
from giveway.roads.opendrive import read_opendrive
from giveway.roads.opendrive_writer import write_opendrive


@pytest.mark.parametrize("name", ["straight", "merge", "roundabout", "four_way"])
def test_lanes_read_back_lie_where_they_were(tmp_path, name: str):
    road = make_road(name).map()
    write_opendrive(tmp_path / "a.xodr", road)
    again = read_opendrive(tmp_path / "a.xodr")
    assert len(again.lanes) == len(road.lanes)
    lines = [shapely.LineString(lane.center) for lane in again.lanes.values()]
    used = set()
    for lane in road.lanes.values():
        line = shapely.LineString(lane.center)
        apart = [shapely.hausdorff_distance(line, other, densify=0.2) for other in lines]
        best = min(range(len(lines)), key=apart.__getitem__)
        used.add(best)
        found = list(again.lanes.values())[best]
        assert apart[best] < 0.1, (lane.id, apart[best])
        for side in ("left", "right"):
            one, two = (shapely.LineString(getattr(x, side)) for x in (lane, found))
            assert shapely.hausdorff_distance(one, two, densify=0.2) < 0.25, (lane.id, side)
        assert found.speed_limit_mps == pytest.approx(lane.speed_limit_mps)
    assert len(used) == len(lines), "every lane has its own"


def test_lanes_are_linked_where_nothing_forks(tmp_path):
    road = make_road("roundabout").map()
    write_opendrive(tmp_path / "a.xodr", road)
    linked = sum(len(lane.successors) for lane in read_opendrive(tmp_path / "a.xodr").lanes.values())
    single = [
        lane for lane in road.lanes.values()
        if len(lane.successors) == 1 and len(road.lanes[lane.successors[0]].predecessors) == 1
    ]  # fmt: skip
    assert linked == len(single)


def test_equal_maps_give_equal_files(tmp_path):
    for name in "ab":
        write_opendrive(tmp_path / f"{name}.xodr", make_road("merge").map())
    assert (tmp_path / "a.xodr").read_bytes() == (tmp_path / "b.xodr").read_bytes()
