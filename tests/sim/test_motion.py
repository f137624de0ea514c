"""Plans that keep an acceleration: the fast form against the plain one, bit for bit."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from giveway.planning.builtin import cruise_plan
from giveway.planning.profiles import PLAN_STEPS
from giveway.sim.motion import cruise

SPEEDS = st.one_of(st.just(0.0), st.floats(0.0, 40.0))


@given(
    s=st.floats(0.0, 500.0), v=SPEEDS, a=st.one_of(st.just(0.0), st.floats(-9.0, 4.0)), top=SPEEDS, at_top=st.booleans()
)
def test_cruise_is_the_plain_loop(s: float, v: float, a: float, top: float, at_top: bool) -> None:
    plan = np.full(PLAN_STEPS, math.nan)
    cruise(plan, s, v, a, v if at_top else top)
    assert plan.tobytes() == cruise_plan(s, v, a, v if at_top else top).tobytes()
