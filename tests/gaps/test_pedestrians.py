"""Pedestrians who cross in front of vehicles: alone and in groups, with three outcomes."""

import numpy as np
import pytest

from giveway.core.errors import EmptySelectionError
from giveway.core.frames import rotated
from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.gaps.extract import SampleRules, find_gaps, require_samples, samples_at
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.extractions.pedestrians import ARRIVAL_M, BODY_M
from giveway.gaps.profile import CLEAN
from giveway.gaps.show import facts_of

DT_S = 0.1
TIME_S = np.arange(0.0, 30.0, DT_S)
CAR, WALKER = int(AgentKind.CAR), int(AgentKind.PEDESTRIAN)
FAR_M = 60.0


def car(at_s, *, speed=8.0, stop_s=0.0, brakes_s=3.0):
    """Drives east along y = 0 and would be at x = 0 at a time; may stop for some seconds, 6 m before it."""
    x = speed * (TIME_S - at_s)
    if stop_s:
        brake = speed / brakes_s
        begin = at_s - (6.0 + 0.5 * speed * brakes_s) / speed
        since = np.clip(TIME_S - begin, 0.0, brakes_s)
        stopped = speed * (np.minimum(TIME_S, begin) - at_s) + speed * since - 0.5 * brake * since**2
        x = stopped + speed * np.maximum(TIME_S - begin - brakes_s - stop_s, 0.0)
    return np.column_stack([x, 0 * TIME_S])


def walker(at_s, *, x=0.0):
    """Walks north along a line at 1.4 m/s and is at y = 0 at a time."""
    y = 1.4 * (TIME_S - at_s)
    return np.column_stack([np.full_like(y, x), y])


def scene_of(*tracks, turn=0.0, mirror=False, size=BODY_M, recording="a"):
    """Tracks with their kinds in one scene, seen within 60 m."""
    xy = np.array([one for _, one in tracks])
    seen = (np.abs(xy) < FAR_M).all(axis=2)
    if mirror:
        xy = xy * [1.0, -1.0]
    xy = rotated(xy, turn)
    velocity = np.gradient(xy, DT_S, axis=1)
    kind = np.array([kind for kind, _ in tracks])
    blank = ~seen[..., None]
    return Scene(
        tracks=Tracks(
            time_s=TIME_S,
            xy=np.where(blank, np.nan, xy),
            heading=np.where(seen, np.arctan2(velocity[..., 1], velocity[..., 0]), np.nan),
            velocity=np.where(blank, np.nan, velocity),
            observed=seen,
            size=np.where((kind == CAR)[:, None], [4.5, 1.8], size),
            kind=kind,
            ids=np.array([f"{'v' if k == CAR else 'p'}{n}" for n, k in enumerate(kind)]),
        ),
        location="here",
        provenance=Provenance(dataset="generic", recording=recording),
        attributes={},
    )


def found(*tracks, **changes):
    return find_gaps(EXTRACTIONS.get("generic_pedestrians"), [scene_of(*tracks, **changes)], CLEAN)


def labels(gaps):
    return {
        name.split("/", 2)[2].split("@")[0]: facts_of(gaps, k)["label"] for k, name in enumerate(gaps.raw.sample_id)
    }


SITE = (
    (CAR, car(10.0)),
    (WALKER, walker(7.0)),  # first by three seconds: takes the gap before the car
    (WALKER, walker(14.0, x=2.0)),  # lets it pass
    (CAR, car(22.0, stop_s=6.0)),
    (WALKER, walker(24.0, x=1.0)),  # crosses while the second car stands for it
)


def test_label_is_the_order_of_passage_and_a_stop_is_a_third_outcome():
    assert labels(found(*SITE)) == {
        "Tp1/Ev0": "accepted",
        "Tp2/Ev0": "rejected",
        "Tp4/Ev3": "yielded",
    }


@pytest.mark.parametrize("changes", [{"turn": np.radians(37.0)}, {"mirror": True}, {"size": 1.2}])
def test_rotation_mirror_and_recorded_sizes_change_nothing(changes):
    one, other = found(*SITE), found(*SITE, **changes)
    assert labels(one) == labels(other)
    np.testing.assert_allclose(one.times.t_accept_s, other.times.t_accept_s, atol=1e-9)
    np.testing.assert_allclose(one.times.t_close_s, other.times.t_close_s, atol=1e-9)
    np.testing.assert_allclose(one.description.distance[:, :2], other.description.distance[:, :2], atol=1e-6)


def test_acceptance_is_when_the_front_enters_the_corridor():
    gaps = found(*SITE[:2])
    # Corridors of 1.8 and 0.5 m with 0.3 m between them; the grid of paths has steps of 0.5 m.
    edge_m = 0.5 * (1.8 + BODY_M) + 0.3 + 0.5 * BODY_M
    entered = 7.0 - edge_m / 1.4
    assert gaps.times.t_accept_s[0] == pytest.approx(entered, abs=0.5 / 1.4)


def test_a_group_decides_once_and_people_apart_decide_alone():
    together = found(SITE[0], *((WALKER, walker(7.0 + 0.1 * k, x=1.2 * k)) for k in range(3)))
    assert labels(together) == {"Tp1/Ev0": "accepted"}
    assert together.raw.constants["members"].tolist() == [3.0]
    assert "2 pedestrians cross as followers" in together.notes[0]
    apart = found(SITE[0], *((WALKER, walker(7.0, x=2.0 * k)) for k in range(3)))
    assert len(apart.raw.sample_id) == 3
    split = found(SITE[0], (WALKER, walker(9.0)), (WALKER, walker(14.0, x=1.0)))
    assert set(labels(split).values()) == {"accepted", "rejected"}


def test_who_walks_along_the_road_does_not_cross():
    along = np.column_stack([-30.0 + 1.4 * TIME_S, 2.5 - 0.1 * TIME_S])
    with pytest.raises(EmptySelectionError, match="no samples are left"):
        gaps = found(SITE[0], (WALKER, along))
        require_samples(samples_at(gaps, SampleRules(choice="initial"), CLEAN), at_least=1, per_class=0)


def test_yielded_is_counted_apart_and_not_scored():
    gaps = found(*SITE)
    assert gaps.raw.yielded.sum() == 1
    part = samples_at(gaps, SampleRules(choice="initial", num_input_max=2), CLEAN)
    assert part.report.dropped["yielded"] == 1
    assert part.report.examples["yielded"] == ("generic_pedestrians/a/Tp4/Ev3@292",)
    assert not any("Tp4" in name for name in part.samples.inputs.sample_id)
    assert part.report.order["reversed"] == 0


def test_gentle_slowing_is_no_yielding():
    slow = car(22.0) + np.column_stack([-0.05 * np.maximum(TIME_S - 15.0, 0.0) ** 2, 0 * TIME_S])
    assert labels(found((CAR, slow), (WALKER, walker(19.0)))) == {"Tp1/Ev0": "accepted"}


def test_inputs_use_nothing_that_happens_after_the_arrival():
    """Two pedestrians walk alike until 4 m before the place, then one turns; their references are the same."""
    straight, turned = walker(10.0), walker(10.0)
    late = straight[:, 1] > -4.0
    turned[late, 0] = 0.4 * (straight[late, 1] + 4.0)
    bent = car(13.0)
    bent[bent[:, 0] > -8.0, 1] = 0.2 * (bent[bent[:, 0] > -8.0, 0] + 8.0)
    one, other = found((CAR, car(13.0)), (WALKER, straight)), found((CAR, bent), (WALKER, turned))
    early = one.raw.time_s < 10.0 - ARRIVAL_M / 1.4 + 1.0
    np.testing.assert_allclose(one.description.distance[early, :2], other.description.distance[early, :2], atol=1e-6)
    assert (np.abs(one.description.truth[:, 0] - other.description.truth[:, 0]) > 0.1).any()


def test_the_way_of_those_who_came_by_is_followed():
    """Six other cars turn left; where the seventh has come to, it is expected to do the same."""

    def turning(at_s):
        s = 8.0 * (TIME_S - at_s)
        angle = np.clip((s + 20.0) / 20.0, 0.0, 0.5 * np.pi)
        rest = np.maximum(s + 20.0 - 10.0 * np.pi, 0.0)
        x = np.where(s < -20.0, s, -20.0 + 20.0 * np.sin(angle))
        return np.column_stack([x, 20.0 * (1.0 - np.cos(angle)) + rest])

    across = np.column_stack([1.4 * (11.5 - TIME_S), np.full_like(TIME_S, 20.0)])
    others = [(CAR, turning(at)) for at in (6.0, 18.0, 19.5, 21.0, 22.5, 24.0)]
    gaps = found((CAR, turning(12.0)), (WALKER, across), *others)
    alone = found((CAR, turning(12.0)), (WALKER, across))
    k = gaps.raw.sample_id.tolist().index(next(n for n in gaps.raw.sample_id if "Ev0@" in n))
    rows = slice(gaps.raw.offset[k], gaps.raw.offset[k + 1])
    off = np.abs(gaps.description.distance[rows, 0] - gaps.description.truth[rows, 0])
    assert np.nanmax(off) < 1.0 < np.nanmax(np.abs(alone.description.distance[:, 0] - alone.description.truth[:, 0]))


def test_files_without_vehicles_say_so():
    gaps = found((WALKER, walker(7.0)))
    assert gaps.notes == ("here: 1 pedestrians and 0 moving vehicles, so nobody crosses; left out",)
    with pytest.raises(EmptySelectionError, match="0 moving vehicles"):
        require_samples(samples_at(gaps, SampleRules(choice="initial"), CLEAN), at_least=1, per_class=0)
