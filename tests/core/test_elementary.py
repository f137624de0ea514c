import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from giveway.core import elementary

INSIDE = {
    "exp": (-700, 700), "expm1": (-30, 700), "log": (1e-300, 1e300), "log1p": (-0.999, 1e300), "tan": (-1e3, 1e3),
    "arctan": (-1e9, 1e9), "arcsin": (-1, 1), "arccos": (-1, 1), "sinh": (-700, 700), "cosh": (-700, 700),
    "tanh": (-20, 20), "arcsinh": (-1e9, 1e9), "arctanh": (-0.999, 0.999),
}  # fmt: skip
LIBRARY = {"arctan": "atan", "arcsin": "asin", "arccos": "acos", "arcsinh": "asinh", "arctanh": "atanh"}


@pytest.mark.parametrize("name", sorted(INSIDE))
def test_functions_are_those_of_the_c_library_to_the_bit(name: str) -> None:
    values = np.random.default_rng(0).uniform(*INSIDE[name], 2000)
    expected = [getattr(math, LIBRARY.get(name, name))(v) for v in values.tolist()]
    assert getattr(elementary, name)(values).tolist() == expected


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_angles_and_powers_are_those_of_the_c_library_to_the_bit(a: float, b: float) -> None:
    assert elementary.arctan2(a, b) == math.atan2(a, b)
    assert elementary.power(abs(a) + 0.1, b / 1e5) == math.pow(abs(a) + 0.1, b / 1e5)


def test_arrays_broadcast_and_missing_values_stay_missing() -> None:
    assert elementary.arctan2(np.zeros((3, 1)), np.ones(4)).shape == (3, 4)
    assert np.isnan(elementary.softplus(np.array([np.nan]))).all()
    assert elementary.exp(np.zeros((2, 0))).shape == (2, 0)


def test_softplus_neither_overflows_nor_vanishes() -> None:
    np.testing.assert_allclose(
        elementary.softplus(np.array([-800.0, -5.0, 0.0, 5.0, 800.0])),
        [0.0, math.log1p(math.exp(-5)), math.log(2), 5 + math.log1p(math.exp(-5)), 800.0],
        rtol=1e-15,
    )


def test_poles_and_domain_errors_warn_as_numpy_does() -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert elementary.log(0.0) == -np.inf
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert np.isnan(elementary.log(-1.0))
    with np.errstate(all="ignore"):
        assert np.isnan(elementary.arccos(2.0))
