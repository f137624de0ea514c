import numpy as np
import pytest
from hypothesis import given, settings

from giveway.core import boxes, frames
from giveway.core.tracks import AgentKind
from giveway.roads.queries import prepare
from giveway.testing import roads, worlds

QUICK = settings(max_examples=40, deadline=None)


def test_a_world_in_three_lines():
    scene = worlds.world(
        worlds.car([[0, 0], [80, 0]], speed_mps=10.0),
        worlds.pedestrian([[40, -5], [40, 5]], speed_mps=1.4, enter_s=1.0),
    )
    tracks = scene.tracks
    np.testing.assert_allclose(tracks.xy[0, :, 0], 10.0 * tracks.time_s)
    np.testing.assert_allclose(tracks.velocity[0, 0], [10.0, 0.0])
    assert tracks.first.tolist() == [0, 10]
    assert tracks.kind[1] == AgentKind.PEDESTRIAN
    assert np.isnan(tracks.heading[1]).all()


def test_movers_are_present_only_on_their_path_and_in_their_time():
    tracks = worlds.tracks_of(
        worlds.car([[0, 0], [20, 0]], 10.0, start_s=-10.0), worlds.car([[0, 0], [99, 0]], leave_s=2.0)
    )
    np.testing.assert_array_equal(tracks.first, [10, 0])
    np.testing.assert_array_equal(tracks.last, [30, 19])


def test_speed_profiles_are_integrated():
    time_s = np.arange(61) * 0.1
    tracks = worlds.tracks_of(worlds.car([[0, 0], [99, 0]], 2.0 * time_s))
    np.testing.assert_allclose(tracks.xy[0, :, 0], time_s**2, atol=1e-9)


@pytest.mark.parametrize("make", [worlds.crossing, worlds.merge])
def test_cars_arrive_when_they_should(make):
    tracks = make(arrival_s=(3.0, 5.0)).tracks
    for agent, arrival in enumerate((3.0, 5.0)):
        at = np.flatnonzero(np.isclose(tracks.time_s, arrival))[0]
        np.testing.assert_allclose(tracks.xy[agent, at], [0.0, 0.0], atol=0.02)


def test_cars_that_arrive_together_collide_and_others_do_not():
    assert boxes.overlapping_pairs(worlds.crossing(arrival_s=(3.0, 3.0)).tracks).num_contacts > 0
    assert boxes.overlapping_pairs(worlds.crossing(arrival_s=(3.0, 5.0)).tracks).num_contacts == 0


@pytest.mark.parametrize("make", [worlds.straight, worlds.crossing, worlds.merge, worlds.roundabout])
def test_cars_of_ready_worlds_drive_on_the_road_in_the_right_direction(make):
    scene = make()
    site = prepare(scene.road)
    here = scene.tracks.observed
    assert here.any(axis=1).all()
    assert np.nanmax(site.off_road(scene.tracks.xy)) < 1e-6
    match = site.match(scene.tracks.xy[here], scene.tracks.heading[here])
    assert (match.lane >= 0).all()
    assert np.abs(match.d).max() < 0.3


def test_who_gives_way_on_ready_roads():
    crossing, merge, ring = roads.crossing_road(), roads.merge_road(), roads.roundabout_road()
    for site, yielding, priority in [
        (crossing, "north", "east"),
        (merge, "ramp end", "lane 0 0"),
        (ring, "join 0", "pass 0"),
        (ring, "join 3", "pass 3"),
    ]:
        assert site.road.lanes[site.lane_ids[yielding]].yields_to == (site.lane_ids[priority],)
        assert site.lane_ids[priority] in site.road.lanes[site.lane_ids[yielding]].conflicts


def test_every_arm_of_the_roundabout_can_be_reached_from_every_other():
    site = roads.roundabout_road()
    graph = prepare(site.road)
    for start in range(4):
        for goal in range(4):
            assert graph.route(site.lane_ids[f"in {start}"], site.lane_ids[f"out {goal}"]) is not None
    assert site.road.warnings == ()


def test_paths_of_ready_roads_have_no_corners():
    for site in (roads.merge_road(), roads.roundabout_road(), roads.straight_road(), roads.crossing_road()):
        for path in site.paths.values():
            assert np.abs(path.vertex_curvature).max() < 0.4


@QUICK
@given(scene=worlds.scenes(), pose=worlds.poses())
def test_distances_do_not_depend_on_where_north_is(scene, pose):
    moved = frames.transform_tracks(pose, scene.tracks)
    before, after = boxes.nearest_agents(scene.tracks), boxes.nearest_agents(moved)
    np.testing.assert_allclose(after.distance, before.distance, atol=1e-6)


@QUICK
@given(scene=worlds.scenes())
def test_scenes_keep_the_contract_of_tracks(scene):
    tracks = scene.tracks
    assert np.isfinite(tracks.xy[tracks.observed]).all()
    assert np.isnan(tracks.xy[~tracks.observed]).all()
    assert np.isnan(tracks.velocity[~tracks.observed]).all()
    assert tracks.observed.any()
