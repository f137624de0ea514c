from __future__ import annotations

import numpy as np
import pytest

from giveway.core.samples import AcceptanceBoundary, GapInputs, GapSamples, GapTruth


def straight_samples(
    num: int, *, num_input: int = 3, num_agents: int = 3, num_steps: int = 20, seed: int = 0
) -> GapSamples:
    """T drives down towards y = 0 at constant speed, E comes along x; a third vehicle appears at t_0 only."""
    rng = np.random.default_rng(seed)
    dt = 0.2
    speed, distance = rng.uniform(5, 10, num), rng.uniform(5, 20, num)
    past = np.arange(1 - num_input, 1) * dt
    future = np.arange(1, num_steps + 1) * dt
    xy = np.full((num, num_agents, num_input, 2), np.nan)
    xy[:, 1, :, 0] = 0.0
    xy[:, 1, :, 1] = distance[:, None] - speed[:, None] * past
    xy[:, 0, :, 0] = -50 + 8 * past
    xy[:, 0, :, 1] = -2.0
    for other in range(2, num_agents):
        xy[:, other, -1] = rng.uniform(-40, 40, (num, 2))
    inputs = GapInputs(
        sample_id=np.array([f"s{seed}-{i}" for i in range(num)]),
        roles=("E", "T", "1", "2", "3", "4")[:num_agents],
        role_is_vulnerable=np.array([False] * min(num_agents, 5) + [True] * (num_agents == 6)),
        xy=xy,
        distance=np.zeros((num, 7, num_input)),
        num_predict=np.full(num, num_steps),
        dt_s=dt,
        boundary=AcceptanceBoundary(
            normal=np.tile([0.0, 1.0], (num, 1)), offset_m=np.zeros(num), radius_m=np.full(num, np.nan)
        ),
    )
    truth = GapTruth(
        accepted=np.ones(num, dtype=bool),
        t_accept_s=distance / speed,
        t_close_s=np.full(num, 6.0),
        future_xy=np.stack([np.zeros((num, num_steps)), distance[:, None] - speed[:, None] * future], axis=-1),
        num_observed=np.full(num, num_steps),
    )
    return GapSamples(
        dataset="straight",
        prediction_time="initial",
        inputs=inputs,
        truth=truth,
        group=np.array(["g"] * num),
        location=np.array(["l"] * num),
        gap_at_acceptance_s=np.ones(num),
        t_open_s=np.zeros(num),
    )


@pytest.fixture
def straight():
    return straight_samples
