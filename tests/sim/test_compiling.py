"""Direct calls of compiled kernels."""

from __future__ import annotations

import numpy as np

from giveway.core.kernels import njit
from giveway.sim.compiling import DirectCalls


@njit
def _summed(values, scale):
    total = 0.0
    for value in values:
        total += scale * value
    return total


def test_a_kernel_with_one_variant_is_called_directly_and_one_with_two_is_not() -> None:
    call, values = DirectCalls(), np.arange(4.0)
    assert [call(_summed, values, 2.0) for _ in range(3)] == [12.0] * 3
    assert next(iter(call._entry.values())) is next(iter(_summed.overloads.values())).entry_point  # pyright: ignore[reportPrivateUsage]
    other, doubled = DirectCalls(), np.arange(8.0)[::2]  # another layout: another variant
    assert [other(_summed, doubled, 1.0) for _ in range(3)] == [12.0] * 3
    assert next(iter(other._entry.values())) is _summed  # pyright: ignore[reportPrivateUsage]
    assert other(_summed, np.arange(3), 1.0) == 3.0  # and so is any type after it
