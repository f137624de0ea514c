import numpy as np
import pytest

from giveway.core.tracks import AgentKind, Tracks


def tracks_of(observed: list[list[int]]) -> Tracks:
    mask = np.array(observed, dtype=bool)
    agents, instants = mask.shape
    xy = np.where(mask[..., None], np.arange(agents * instants * 2.0).reshape(agents, instants, 2), np.nan)
    return Tracks(
        time_s=np.arange(instants) * 0.1,
        xy=xy,
        heading=np.where(mask, 0.0, np.nan),
        velocity=np.where(mask[..., None], [3.0, 4.0], np.nan),
        observed=mask,
        size=np.full((agents, 2), [4.5, 1.8]),
        kind=np.full(agents, AgentKind.CAR, dtype=np.int64),
        ids=np.array([str(i) for i in range(agents)]),
    )


def test_first_and_last_follow_the_mask_and_not_the_values():
    tracks = tracks_of([[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
    np.testing.assert_array_equal(tracks.first, [1, 0, 4])
    np.testing.assert_array_equal(tracks.last, [2, 3, -1])


def test_speed_is_nan_exactly_where_an_agent_is_absent():
    tracks = tracks_of([[0, 1, 1]])
    np.testing.assert_allclose(tracks.speed, [[np.nan, 5.0, 5.0]])


def test_select_and_between_commute():
    tracks = tracks_of([[0, 1, 1, 0], [1, 1, 1, 1]])
    one = tracks.select(np.array([1])).between(1, 3)
    other = tracks.between(1, 3).select(np.array([1]))
    np.testing.assert_array_equal(one.xy, other.xy)
    np.testing.assert_array_equal(one.time_s, [0.1, 0.2])


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("xy", np.zeros((1, 3, 3)), "xy has shape"),
        ("time_s", np.array([0.0, 0.1, 0.1]), "increase strictly"),
        ("observed", np.ones((1, 3), dtype=int), "expected bool"),
    ],
)
def test_inconsistent_arrays_are_refused(field, value, message):
    good = tracks_of([[1, 1, 1]])
    values = {name: getattr(good, name) for name in Tracks.__dataclass_fields__}
    with pytest.raises(ValueError, match=message):
        Tracks(**{**values, field: value})
