"""Elementary functions whose last bit does not depend on the vector unit of the processor.

NumPy chooses another implementation of these functions for each instruction set (AVX-512, AVX2, plain), and their
results differ in the last bit; ``sqrt``, ``hypot``, ``sin``, ``cos``, sums and means do not (measured bit by bit for
200 000 arguments, numpy 1.26 and 2.4). The versions here call the scalar functions of the C library, one element at a
time, so that whatever is stored or hashed is the same on every machine with the same C library. They are NumPy
universal functions: they broadcast, and obey ``np.errstate``. Use them in everything that makes stored numbers;
fitted networks may use NumPy's.

Domain errors give NaN, poles give infinities, as in NumPy.
"""

from __future__ import annotations

import math
from typing import Any

from numba import vectorize


def _function(scalar: Any) -> Any:
    """A universal function, compiled for float64 at its first call and cached on disk where that can be."""
    try:
        return vectorize(cache=True)(scalar)
    except RuntimeError:  # no place for compiled code; see core.kernels
        return vectorize(cache=False)(scalar)


@_function
def exp(x: Any) -> Any:
    """E to the power of ``x``."""
    return math.exp(x)


@_function
def expm1(x: Any) -> Any:
    """E to the power of ``x``, minus 1, exact for small ``x``."""
    return math.expm1(x)


@_function
def log(x: Any) -> Any:
    """Natural logarithm."""
    return math.log(x)


@_function
def log1p(x: Any) -> Any:
    """Natural logarithm of 1 + ``x``, exact for small ``x``."""
    return math.log1p(x)


@_function
def power(x: Any, y: Any) -> Any:
    """``x`` to the power of ``y``; for arrays with another exponent than 0.5, 1 or 2."""
    return math.pow(x, y)


@_function
def tan(x: Any) -> Any:
    """Tangent of an angle [rad]."""
    return math.tan(x)


@_function
def arctan(x: Any) -> Any:
    """Inverse tangent in [-π/2, π/2]."""
    return math.atan(x)


@_function
def arctan2(y: Any, x: Any) -> Any:
    """Angle of the vector (x, y) in [-π, π]."""
    return math.atan2(y, x)


@_function
def arcsin(x: Any) -> Any:
    """Inverse sine in [-π/2, π/2]."""
    return math.asin(x)


@_function
def arccos(x: Any) -> Any:
    """Inverse cosine in [0, π]."""
    return math.acos(x)


@_function
def sinh(x: Any) -> Any:
    """Hyperbolic sine."""
    return math.sinh(x)


@_function
def cosh(x: Any) -> Any:
    """Hyperbolic cosine."""
    return math.cosh(x)


@_function
def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return math.tanh(x)


@_function
def arcsinh(x: Any) -> Any:
    """Inverse hyperbolic sine."""
    return math.asinh(x)


@_function
def arctanh(x: Any) -> Any:
    """Inverse hyperbolic tangent."""
    return math.atanh(x)


@_function
def softplus(x: Any) -> Any:
    """log(1 + exp(x)) without overflow."""
    # The first term is max(x, 0) without a comparison, which would raise the invalid flag for NaN.
    return 0.5 * (x + abs(x)) + math.log1p(math.exp(-abs(x)))
