"""exp, tanh, log, sine and cosine, and random numbers on SIMD lanes.

Calls into a mathematical library would leave the vector unit, so these are polynomials; errors are a few units in the
last place of the precision they are used in (tests compare them with NumPy).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from giveway.core.kernels import njit
from giveway.predictors.commotions.kernel.lanes import (
    exponent_of,
    high_product,
    lower,
    magnitude,
    muladd,
    nearest,
    polynomial,
    root,
    scale_by,
    select,
    signed,
    significand_of,
    unit_interval,
    upper,
)

LOG2E = 1.0 / math.log(2.0)
LN2_HIGH = 0.693145751953125
LN2_LOW = 1.42860682030941723212e-6


def _series(term: Callable[[int], float], short: int, long: int) -> Any:
    return polynomial(tuple(map(term, range(short))), tuple(map(term, range(long))))


def _fitted(term: Callable[[int], float], low: float, high: float, short: int, long: int) -> Any:
    """The power series in 64 bit; in 32 bit the polynomial through it at Chebyshev points, which needs fewer terms."""
    series = np.polynomial.Polynomial([term(k) for k in range(long + 8)])
    near = np.polynomial.Chebyshev.interpolate(series, short - 1, domain=[low, high])
    coefficients = near.convert(kind=np.polynomial.Polynomial).coef
    return polynomial(tuple(float(c) for c in coefficients), tuple(map(term, range(long))))


HALF_LN2 = 0.5 * math.log(2.0)
exp_series = _fitted(lambda k: 1.0 / math.factorial(k), -HALF_LN2, HALF_LN2, 6, 13)
"""e^r for |r| ≤ ½ ln 2."""
expm1_series = _fitted(lambda k: 1.0 / math.factorial(k + 1), -HALF_LN2, HALF_LN2, 6, 13)
"""(e^r - 1)/r for |r| ≤ ½ ln 2."""
gamma_series = _fitted(lambda k: 2.0 / math.factorial(k + 3), 0.0, 1.0, 6, 17)
"""γ(3, x) / (x³ e^-x) = Σ_k 2 x^k/(k+3)! for 0 ≤ x ≤ 1."""
rounder = polynomial((1.5 * 2.0**23,), (1.5 * 2.0**52,))
"""Added to a number it leaves the nearest integer in the last bits."""
artanh_series = _series(lambda k: 1.0 / (2 * k + 1), 5, 10)
sine_series = _series(lambda k: (-1.0) ** k / math.factorial(2 * k + 1), 5, 8)
cosine_series = _series(lambda k: (-1.0) ** k / math.factorial(2 * k), 5, 9)


@njit(forceinline=True)
def exp(x: Any) -> Any:
    """e^x for |x| below 86, the normal range of 32 bit."""
    shifted = muladd(x, LOG2E, rounder(x))
    n = shifted - rounder(x)
    r = muladd(n, -LN2_HIGH, x)
    r = muladd(n, -LN2_LOW, r)
    return scale_by(exp_series(r), shifted)


@njit(forceinline=True)
def odds_of(x: Any) -> Any:
    """e^x, with x cut at ±80: p/(1 - p) for the logarithm of the odds."""
    return exp(lower(upper(x, -80.0), 80.0))


@njit(forceinline=True)
def tanh(x: Any) -> Any:
    """Tanh x = -sign(x) m/(2 + m) with m = e^-2|x| - 1 = 2^n (e^r - 1) + (2^n - 1), which does not cancel near 0."""
    y = upper(-2.0 * magnitude(x), -80.0)
    shifted = muladd(y, LOG2E, rounder(x))
    n = shifted - rounder(x)
    r = muladd(n, -LN2_HIGH, y)
    r = muladd(n, -LN2_LOW, r)
    scale = scale_by(0.0 * x + 1.0, shifted)
    m = muladd(scale, r * expm1_series(r), scale - 1.0)
    return signed(m / (2.0 + m), x)


@njit(forceinline=True)
def log(x: Any) -> Any:
    """Ln x of positive 64-bit numbers: exponent, then 2 artanh((m - 1)/(m + 1)) for m in [√½, √2]."""
    n, m = exponent_of(x), significand_of(x)
    large = m > math.sqrt(2.0)
    m = select(large, m * 0.5, m)
    n = select(large, n + 1.0, n)
    s = (m - 1.0) / (m + 1.0)
    return muladd(n, math.log(2.0), 2.0 * s * artanh_series(s * s))


@njit(forceinline=True)
def turn(u: Any) -> Any:
    """Cosine and sine of 2πu for u in (0, 1)."""
    quadrant = nearest(4.0 * u)
    angle = (u - 0.25 * quadrant) * (2.0 * math.pi)
    square = angle * angle
    c, s = cosine_series(square), angle * sine_series(square)
    odd = (quadrant == 1.0) | (quadrant == 3.0)
    cosine, sine = select(odd, s, c), select(odd, c, s)
    cosine = select((quadrant == 1.0) | (quadrant == 2.0), -1.0 * cosine, cosine)
    sine = select((quadrant == 2.0) | (quadrant == 3.0), -1.0 * sine, sine)
    return cosine, sine


@njit(forceinline=True)
def normal_pair(first: Any, second: Any) -> Any:
    """Two independent standard normal draws from two random words (Box and Muller)."""
    radius = root(-2.0 * log(unit_interval(first)))
    cosine, sine = turn(unit_interval(second))
    return radius * cosine, radius * sine


@njit(forceinline=True)
def philox(c0: Any, c1: Any, c2: Any, c3: Any, key0: Any, key1: Any) -> Any:
    """Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011): four random words from a counter and a key, no state."""
    k0, k1 = np.uint32(key0), np.uint32(key1)
    for _ in range(10):
        high0, low0 = high_product(c0, np.uint32(0xD2511F53)), c0 * np.uint32(0xD2511F53)
        high1, low1 = high_product(c2, np.uint32(0xCD9E8D57)), c2 * np.uint32(0xCD9E8D57)
        c0, c1, c2, c3 = (high1 ^ c1) ^ k0, low1, (high0 ^ c3) ^ k1, low0
        k0, k1 = np.uint32(k0 + np.uint32(0x9E3779B9)), np.uint32(k1 + np.uint32(0xBB67AE85))
    return c0, c1, c2, c3
