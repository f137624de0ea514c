from __future__ import annotations

import math

import numpy as np
import pytest

from giveway.core.errors import PredictionError
from giveway.core.predictions import Trajectories
from giveway.core.samples import GapTruth
from giveway.metrics import METRICS
from giveway.metrics.displacement import best_share
from giveway.testing.metrics import example_truth


def truth_of(*paths: list[tuple[float, float]]) -> GapTruth:
    steps = max(len(p) for p in paths)
    xy = np.full((len(paths), steps, 2), np.nan)
    for i, path in enumerate(paths):
        if path:
            xy[i, : len(path)] = path
    count = np.array([len(p) for p in paths])
    zeros = np.zeros(len(paths))
    return GapTruth(accepted=zeros > 0, t_accept_s=zeros, t_close_s=zeros, future_xy=xy, num_observed=count)


def test_a_three_four_five_triangle_is_five_meters_off() -> None:
    truth = truth_of([(0, 0), (0, 0)])
    prediction = Trajectories(xy=np.array([[[[3.0, 4.0], [3.0, 4.0]], [[0.0, 0.0], [6.0, 8.0]]]]), dt_s=0.2)
    assert METRICS.get("ade")(truth, prediction).value == 5.0
    assert METRICS.get("fde")(truth, prediction).value == 7.5
    assert METRICS.get("fde_05")(truth, prediction).value == 5.0


def test_samples_without_observed_step_are_left_out_and_not_counted() -> None:
    truth = truth_of([(0, 0)], [])
    value = METRICS.get("ade")(truth, Trajectories(xy=np.ones((2, 4, 3, 2)), dt_s=0.2))
    assert value.num_items == 1
    assert value.value == pytest.approx(math.sqrt(2))
    assert value.per_item is not None and math.isnan(value.per_item[1])


def test_steps_after_the_observed_ones_do_not_count(rng: np.random.Generator) -> None:
    truth = example_truth(rng, 80)
    xy = rng.normal(size=(80, 7, 14, 2))
    after = np.broadcast_to((np.arange(14) >= truth.num_observed[:, None])[:, None, :, None], xy.shape)
    forged = np.where(after, np.nan, xy)
    for name in ("ade", "ade_05", "fde", "fde_05"):
        there, here = (METRICS.get(name)(truth, Trajectories(xy=p, dt_s=0.2)) for p in (xy, forged))
        np.testing.assert_array_equal(there.per_item, here.per_item)


def test_displacements_equal_the_plain_loop(rng: np.random.Generator) -> None:
    truth = example_truth(rng, 150)
    xy = rng.normal(size=(150, 40, 12, 2))
    prediction = Trajectories(xy=xy, dt_s=0.2)
    ade, fde = [], []
    for i, n in enumerate(truth.num_observed[:-1]):
        distance = [[math.dist(xy[i, p, t], truth.future_xy[i, t]) for t in range(n)] for p in range(40)]
        ade.append(np.mean(sorted(np.mean(d) for d in distance)[:2]))
        fde.append(np.mean(sorted(d[-1] for d in distance)[:2]))
    assert METRICS.get("ade_05")(truth, prediction).value == pytest.approx(np.mean(ade), rel=1e-13)
    assert METRICS.get("fde_05")(truth, prediction).value == pytest.approx(np.mean(fde), rel=1e-13)


def test_the_share_of_paths_is_not_rounded_up_by_a_rounding_error() -> None:
    distance = np.arange(100.0)[None]
    assert best_share(distance, 0.07)[0] == np.mean(np.arange(7))
    assert best_share(distance, 0.001)[0] == 0.0


def test_displacement_does_not_depend_on_where_north_is(rng: np.random.Generator) -> None:
    truth = example_truth(rng)
    xy = rng.normal(size=(60, 5, 12, 2))
    c, s = math.cos(1.1), math.sin(1.1)
    turn = np.array([[c, -s], [s, c]])
    moved = GapTruth(
        accepted=truth.accepted,
        t_accept_s=truth.t_accept_s,
        t_close_s=truth.t_close_s,
        future_xy=truth.future_xy @ turn.T + 30.0,
        num_observed=truth.num_observed,
    )
    here = METRICS.get("ade")(truth, Trajectories(xy=xy, dt_s=0.2)).value
    assert METRICS.get("ade")(moved, Trajectories(xy=xy @ turn.T + 30.0, dt_s=0.2)).value == pytest.approx(
        here, rel=1e-12
    )


@pytest.mark.parametrize(
    ("shape", "dt_s", "what"),
    [
        ((60, 3, 4, 2), 0.2, "too short"),
        ((60, 0, 12, 2), 0.2, "wrong shape"),
        ((60, 3, 12), 0.2, "wrong shape"),
        ((59, 3, 12, 2), 0.2, "wrong shape"),
        ((60, 3, 12, 2), 0.1, "time step"),
    ],
)
def test_paths_that_do_not_fit_are_refused(
    shape: tuple[int, ...], dt_s: float, what: str, rng: np.random.Generator
) -> None:
    with pytest.raises(PredictionError, match=what):
        METRICS.get("ade")(example_truth(rng), Trajectories(xy=np.zeros(shape), dt_s=dt_s))
