import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.core import boxes, frames
from giveway.core.boxes import Boxes
from giveway.core.frames import Pose
from giveway.core.tracks import AgentKind, Tracks

METERS = st.floats(-8.0, 8.0)
BOXES = st.builds(
    lambda x, y, heading, length, width: Boxes.of([x, y], heading, [length, width]),
    METERS, METERS, st.floats(-7.0, 7.0), st.floats(0.2, 12.0), st.floats(0.2, 3.0),
)  # fmt: skip
DISCS = st.builds(lambda x, y, r: Boxes.of([x, y], 0.0, [0.0, 0.0], r), METERS, METERS, st.floats(0.1, 3.0))
SHAPES = BOXES | DISCS
PAIRS = settings(max_examples=200, deadline=None)


def polygon(box: Boxes) -> shapely.Polygon:
    return shapely.Polygon(boxes.corners(box))


def overlaps_reference(a: Boxes, b: Boxes) -> bool:
    """Separating axes over plain corners: project both on every face normal, look for a gap."""
    first, second = boxes.corners(a), boxes.corners(b)
    for heading in (a.heading, b.heading):
        for angle in (heading, heading + np.pi / 2):
            axis = np.array([np.cos(angle), np.sin(angle)])
            p, q = first @ axis, second @ axis
            if p.max() < q.min() or q.max() < p.min():
                return False
    return True


def random_tracks(rng, agents=12, instants=9, spread=9.0) -> Tracks:
    observed = rng.random((agents, instants)) < 0.8
    kind = rng.choice([AgentKind.CAR, AgentKind.PEDESTRIAN], agents)
    size = np.stack([rng.uniform(2, 12, agents), rng.uniform(1, 3, agents)], axis=1)
    size[kind == AgentKind.PEDESTRIAN] = np.nan
    heading = np.where(observed & (kind == AgentKind.CAR)[:, None], rng.uniform(-4, 4, (agents, instants)), np.nan)
    return Tracks(
        time_s=np.arange(instants) * 0.1,
        xy=np.where(observed[..., None], rng.uniform(-spread, spread, (agents, instants, 2)), np.nan),
        heading=heading,
        velocity=np.where(observed[..., None], 1.0, np.nan) * np.ones(2),
        observed=observed,
        size=size,
        kind=kind,
        ids=np.arange(agents).astype(str),
    )


def test_corners_are_counter_clockwise_from_front_left():
    box = Boxes.of([10.0, 0.0], np.pi / 2, [4.0, 2.0])
    np.testing.assert_allclose(boxes.corners(box), [[9, 2], [9, -2], [11, -2], [11, 2]], atol=1e-12)
    assert polygon(box).exterior.is_ccw


@PAIRS
@given(a=BOXES, b=BOXES)
def test_distance_and_overlap_agree_with_shapely(a, b):
    expected = polygon(a).distance(polygon(b))
    np.testing.assert_allclose(boxes.distance(a, b), expected, atol=1e-9)
    if abs(boxes.separation(a, b)) > 1e-9:
        assert boxes.overlaps(a, b) == polygon(a).intersects(polygon(b)) == overlaps_reference(a, b)


@PAIRS
@given(a=BOXES, b=DISCS)
def test_distance_of_a_disc_is_that_of_its_center_less_the_radius(a, b):
    expected = max(polygon(a).distance(shapely.Point(b.xy)) - float(b.radius), 0.0)
    np.testing.assert_allclose(boxes.distance(a, b), expected, atol=1e-9)


@PAIRS
@given(a=SHAPES, b=SHAPES)
def test_separation_is_symmetric(a, b):
    np.testing.assert_allclose(boxes.separation(a, b), boxes.separation(b, a), atol=1e-9)


@PAIRS
@given(a=SHAPES, b=SHAPES, heading=st.floats(-4, 4), x=METERS)
def test_separation_does_not_depend_on_where_north_is(a, b, heading, x):
    pose = Pose.of(x, 3.0, heading)
    moved = [
        Boxes.of(frames.transform_points(pose, box.xy), box.heading + heading, box.size, box.radius) for box in (a, b)
    ]
    np.testing.assert_allclose(boxes.separation(*moved), boxes.separation(a, b), atol=1e-8)


@PAIRS
@given(a=BOXES, b=BOXES, angle=st.floats(0, 7))
def test_penetration_is_the_shortest_way_out(a, b, angle):
    depth = max(-float(boxes.separation(a, b)), 0.0)
    shorter = 0.99 * depth * np.array([np.cos(angle), np.sin(angle)])
    if depth > 1e-6:
        assert boxes.overlaps(Boxes.of(a.xy + shorter, a.heading, a.size), b)


def test_penetration_of_two_lined_up_cars():
    a, b = Boxes.of([0.0, 0.0], 0.0, [4.0, 2.0]), Boxes.of([3.5, 0.2], 0.0, [4.0, 2.0])
    assert boxes.separation(a, b) == pytest.approx(-0.5)
    assert boxes.distance(a, b) == 0.0


def test_a_box_inside_another_overlaps_it_although_no_edges_cross():
    assert boxes.overlaps(Boxes.of([0.0, 0.0], 0.3, [12.0, 3.0]), Boxes.of([1.0, 0.2], 1.0, [1.0, 0.5]))


def test_touching_boxes_overlap_and_absent_ones_never_do():
    a = Boxes.of([0.0, 0.0], 0.0, [4.0, 2.0])
    others = Boxes.of([[4.0, 0.0], [np.nan, np.nan], [4.001, 0.0]], 0.0, [4.0, 2.0])
    np.testing.assert_array_equal(boxes.overlaps(a, others), [True, False, False])
    np.testing.assert_allclose(boxes.distance(a, others), [0.0, np.nan, 0.001], atol=1e-12)


def test_footprints_follow_the_documented_rules_for_what_is_missing():
    tracks = random_tracks(np.random.default_rng(0), agents=3, instants=2)
    tracks = Tracks(
        **{name: getattr(tracks, name) for name in ("time_s", "velocity", "ids")},
        xy=np.zeros((3, 2, 2)),
        observed=np.array([[1, 0], [1, 1], [1, 1]], dtype=bool),
        heading=np.array([[0.5, 0.5], [0.1, 0.1], [np.nan, 0.2]]),
        size=np.array([[np.nan, np.nan], [0.0, 0.0], [4.0, 2.0]]),
        kind=np.array([AgentKind.PEDESTRIAN, AgentKind.CAR, AgentKind.CAR]),
    )
    shapes = boxes.footprints(tracks, shrink_m=0.1)
    np.testing.assert_allclose(shapes.radius, [[0.7, 0.7], [0, 0], [1.45, 0]])
    np.testing.assert_allclose(shapes.size[1, 0], [4.4, 1.7])
    np.testing.assert_allclose(shapes.size[2], [[0, 0], [3.9, 1.9]])
    assert np.isnan(shapes.xy[0, 1]).all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shrink_m", [0.0, 0.5])
def test_all_pairs_equal_the_double_loop(seed, shrink_m):
    tracks = random_tracks(np.random.default_rng(seed))
    shapes = boxes.footprints(tracks, shrink_m=shrink_m)
    expected = [
        (t, i, j)
        for t in range(tracks.num_instants)
        for i in range(tracks.num_agents)
        for j in range(i + 1, tracks.num_agents)
        if boxes.overlaps(shapes.take((i, t)), shapes.take((j, t)))
    ]
    found = boxes.overlapping_pairs(tracks, shrink_m=shrink_m)
    assert list(zip(found.instant, found.first, found.second, strict=True)) == expected
    assert len(expected) > 5


@pytest.mark.parametrize("seed", range(4))
def test_nearest_agents_equal_the_full_distance_matrix(seed):
    tracks = random_tracks(np.random.default_rng(seed), agents=7, spread=30.0)
    shapes = boxes.footprints(tracks)
    full = boxes.distance(shapes.take((slice(None), None)), shapes.take((None, slice(None))))
    full[np.arange(7), np.arange(7)] = np.nan
    full = np.where(np.isnan(full), np.inf, full)
    nearest = boxes.nearest_agents(tracks)
    np.testing.assert_allclose(nearest.distance, np.where(tracks.observed, full.min(axis=1), np.nan))
    expected = np.where(tracks.observed & (full.min(axis=1) < np.inf), full.argmin(axis=1), -1)
    np.testing.assert_array_equal(nearest.other, expected)


def test_nobody_and_alone_are_not_special():
    tracks = random_tracks(np.random.default_rng(1), agents=2)
    empty = tracks.select(np.array([], dtype=int))
    assert boxes.overlapping_pairs(empty).num_contacts == 0
    alone = boxes.nearest_agents(tracks.select(np.array([0])))
    assert set(np.unique(alone.distance[tracks.observed[:1]])) == {np.inf}
    assert (alone.other == -1).all()
