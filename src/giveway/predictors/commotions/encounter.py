"""From the 1D description of gaps to the initial state of the model, with every input checked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from giveway.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from giveway.core.errors import UsageError
from giveway.predictors.commotions.config import Configuration, StepCount
from giveway.predictors.commotions.parameters import BASE_SPEED_MPS, DT_S, VEHICLE_LENGTH_M

MAX_STEPS = 300  # 60 s: a gap whose end was extrapolated from a standing E would otherwise last for days
UintArray = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Encounters:
    """N encounters of E (column 0) and T (column 1) at t_0.

    Attributes:
        chi: (N, 2) signed distance from the center of the vehicle to the conflict point [m].
        v: (N, 2) speed towards the conflict point, not negative [m/s].
        half_extent: (N, 2) c = (L + l)/2, half of the contested space as seen by the center [m].
        num_steps: (N,) N of the specification, the horizon in steps of δt.
        key: (N,) names the random stream of an encounter; draws depend on nothing else but seed, path and step.
        closes_s: (N,) t_C - t_0, not rounded up to steps [s]; None: the horizon.
    """

    chi: FloatArray
    v: FloatArray
    half_extent: FloatArray
    num_steps: IntArray
    key: UintArray
    closes_s: FloatArray | None = None

    @property
    def num_samples(self) -> int:
        """N."""
        return self.chi.shape[0]

    @property
    def horizon_s(self) -> FloatArray:
        """(N,) T_out = N δt [s]."""
        return self.num_steps * DT_S

    def base_speed(self, config: Configuration) -> FloatArray:
        """(N, 2) v_base: 10 m/s, or max(10 m/s, v(0)) with adjusted speeds [m/s]."""
        if config.adjusted_speed:
            return np.maximum(BASE_SPEED_MPS, self.v)
        return np.full_like(self.v, BASE_SPEED_MPS)

    def with_steps(self, num_steps: IntArray) -> Encounters:
        """The same encounters with other horizons."""
        return replace(self, num_steps=num_steps, closes_s=None)

    def take(self, index: IntArray | BoolArray | slice) -> Encounters:
        """Some of the encounters, with their random streams."""
        return Encounters(
            chi=self.chi[index],
            v=self.v[index],
            half_extent=self.half_extent[index],
            num_steps=self.num_steps[index],
            key=self.key[index],
            closes_s=None if self.closes_s is None else self.closes_s[index],
        )


def encounters_from_distances(
    *,
    d_c: ArrayLike,
    d_a: ArrayLike,
    l_e: ArrayLike,
    l_t: ArrayLike,
    horizon_s: ArrayLike,
    key: UintArray | None = None,
) -> Encounters:
    """Section 1.2: c = (L + l)/2, χ(0) = D(t_0) + c, v(0) = max(0, (D(t_0 - δt) - D(t_0))/δt).

    Args:
        d_c: (N, 2) distance of E's front to the contested space at t_0 - δt and t_0 [m]; negative: E is inside or past.
        d_a: (N, 2) the same for T; must not be negative at t_0, for T would have accepted already.
        l_e: (N,) length of the contested space along the path of E [m], zero is allowed.
        l_t: (N,) the same along the path of T [m].
        horizon_s: (N,) time until the gap closes [s]; 0 gives a rejected gap, more than 60 s is cut.
        key: (N,) names of the random streams; None derives them from the distances.

    Raises:
        UsageError: for wrong shapes, numbers that are not finite, negative lengths or horizons, T inside.
    """
    d_c, d_a = _array(d_c, "d_c", 2), _array(d_a, "d_a", 2)
    l_e, l_t, horizon = _array(l_e, "l_e", 1), _array(l_t, "l_t", 1), _array(horizon_s, "horizon_s", 1, infinite=True)
    num = d_c.shape[0]
    for name, array in (("d_a", d_a), ("l_e", l_e), ("l_t", l_t), ("horizon_s", horizon)):
        if array.shape[0] != num:
            raise UsageError(
                "inputs describe different numbers of samples", where=name, found=f"{array.shape[0]}, d_c has {num}"
            )
    for name, array in (("l_e", l_e), ("l_t", l_t), ("horizon_s", horizon)):
        _refuse(array < 0, array, name, f"{name} is negative", "lengths and times are not negative")
    _refuse(
        d_a[:, 1] < 0, d_a[:, 1], "d_a", "T is inside the contested space at t_0", "drop samples decided before t_0"
    )
    distance = np.stack([d_c, d_a], axis=1)
    half_extent = 0.5 * (np.stack([l_e, l_t], axis=1) + VEHICLE_LENGTH_M)
    return Encounters(
        chi=distance[:, :, 1] + half_extent,
        v=np.maximum(0.0, (distance[:, :, 0] - distance[:, :, 1]) / DT_S),
        half_extent=half_extent,
        num_steps=steps_of_horizon(horizon),
        key=content_keys(np.concatenate([d_c, d_a, l_e[:, None], l_t[:, None]], axis=1)) if key is None else key,
        closes_s=np.minimum(horizon, MAX_STEPS * DT_S),
    )


def steps_of_horizon(horizon_s: FloatArray) -> IntArray:
    """N = ceil(T/δt) with a guard of 1e-9 against rounding, at most 60 s."""
    return np.ceil(np.minimum(horizon_s, MAX_STEPS * DT_S) / DT_S - 1e-9).astype(np.int64)


def published_step_count(num_steps: IntArray) -> IntArray:
    """Steps the published code really makes: the last one only if T_out ≥ N δt in 32 bit, not so for 9, 13, 18, ..."""
    single = np.float32
    reached = (num_steps * DT_S).astype(single) >= num_steps.astype(single) * single(DT_S)
    return num_steps - np.where(reached, 0, 1)


def steps_made(num_steps: IntArray, step_count: StepCount) -> IntArray:
    """Steps a simulation makes; what the published count loses shortens no horizon T_out = N δt (5.1, 7.2)."""
    return published_step_count(num_steps) if step_count == "float32" else num_steps


def content_keys(rows: FloatArray) -> UintArray:
    """(N,) stream names from what describes a sample, so that batching and order do not matter.

    Equal rows are told apart by how many of them came before.
    """
    bits: AnyArray = np.ascontiguousarray(rows + 0.0).view(np.uint64).reshape(rows.shape)
    key = np.zeros(rows.shape[0], dtype=np.uint64)
    for column in range(bits.shape[1]):
        key = mix(key ^ bits[:, column])
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if key.size else np.zeros(0, int)
    lengths = np.diff(np.append(starts, key.size))
    occurrence = np.empty(key.size, dtype=np.uint64)
    occurrence[order] = (np.arange(key.size) - np.repeat(starts, lengths)).astype(np.uint64)
    return np.where(occurrence == 0, key, mix(key + occurrence))


def mix(word: UintArray) -> UintArray:
    """The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64-bit words that spreads every bit."""
    with np.errstate(over="ignore"):
        word = word + np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return word ^ (word >> np.uint64(31))


def _array(value: ArrayLike, name: str, ndim: int, *, infinite: bool = False) -> FloatArray:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} is not an array of numbers", where=name, found=type(value).__name__) from error
    if array.ndim != ndim or (ndim == 2 and array.shape[1] != 2):
        raise UsageError(
            f"{name} has the wrong shape",
            where=name,
            found=str(array.shape),
            hint="(N, 2): the last two input instants" if ndim == 2 else "(N,)",
        )
    bad = np.isnan(array) if infinite else ~np.isfinite(array)
    bad = np.asarray(bad.any(axis=1)) if ndim == 2 else bad
    _refuse(bad, array, name, f"{name} is not finite", "drop samples with missing distances")
    return array


def _refuse(bad: BoolArray, array: FloatArray, name: str, what: str, hint: str) -> None:
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise UsageError(
            what, where=f"{name}[{first}]", found=f"{array[first]} ({int(bad.sum())} such samples)", hint=hint
        )
