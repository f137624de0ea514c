"""Plans that keep an acceleration: the fast form against the plain one, bit for bit."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from giveway.planning.profiles import DT_S, PLAN_STEPS
from giveway.sim.motion import cruise

SPEEDS = st.one_of(st.just(0.0), st.floats(0.0, 40.0))


def plain(s: float, v: float, a: float, top: float) -> np.ndarray:
    plan = np.empty(PLAN_STEPS)
    for k in range(PLAN_STEPS):
        new = max(v + a * DT_S, 0.0)
        if a > 0.0 and new > top and k > 0:
            new = max(v, top)
        s += 0.5 * (v + new) * DT_S
        v = new
        plan[k] = s
    return plan


@given(
    s=st.floats(0.0, 500.0), v=SPEEDS, a=st.one_of(st.just(0.0), st.floats(-9.0, 4.0)), top=SPEEDS, at_top=st.booleans()
)
def test_cruise_is_the_plain_loop(s: float, v: float, a: float, top: float, at_top: bool) -> None:
    plan = np.full(PLAN_STEPS, math.nan)
    cruise(plan, s, v, a, v if at_top else top)
    assert plan.tobytes() == plain(s, v, a, v if at_top else top).tobytes()
