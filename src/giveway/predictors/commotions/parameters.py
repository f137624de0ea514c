"""The 14 fitted parameters: names, units, ranges, the unit cube of the optimizer and the derived constants."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import UnknownNameError, UsageError

DT_S = 0.2  # δt, simulation step and input spacing
EYE_HEIGHT_M = 1.5  # h_E
VEHICLE_LENGTH_M = 5.0  # l
BASE_SPEED_MPS = 10.0  # free speed before the factor v_free_rel
REGAIN_TIME_S = 10.0  # ΔT_free
YIELD_PENALTY = -1.5  # u_ny / u_free of the vehicle without priority
EPSILON = 2.0**-23  # ε_m, a literal constant of the formulas
MIN_ANGLE_RAD = 1e-6  # smallest σ_v

Bounds = Literal["computed", "printed"]
SearchScale = Literal["log10", "ln"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One dimension of the search.

    Attributes:
        name: key in natural units.
        symbol: as in the papers.
        unit: SI unit, empty if dimensionless.
        low: smallest searched value.
        high: largest searched value.
        log: searched on a logarithmic scale.
        meaning: a few words.
        printed: both ends as table II of the supplement prints them, where they differ.
    """

    name: str
    symbol: str
    unit: str
    low: float
    high: float
    log: bool
    meaning: str
    printed: tuple[float, float] | None = None

    def ends(self, bounds: Bounds) -> tuple[float, float]:
        """The searched range."""
        return self.printed if bounds == "printed" and self.printed else (self.low, self.high)

    @property
    def allowed(self) -> tuple[float, float]:
        """From the smaller to the larger ends of both ranges."""
        low, high = self.ends("printed")
        return min(low, self.low), max(high, self.high)

    def contains(self, value: float) -> bool:
        """Whether a value lies in one of the searched ranges, up to rounding (1e-9 of their width)."""
        low, high = self.allowed
        slack = 1e-9 * (high - low)
        return low - slack <= value <= high + slack

    def clip(self, value: float) -> float:
        """The nearest allowed value."""
        low, high = self.allowed
        return min(max(value, low), high)


def _p(
    name: str,
    symbol: str,
    unit: str,
    low: float,
    high: float,
    log: bool,
    meaning: str,
    printed: tuple[float, float] | None = None,
) -> Parameter:
    return Parameter(name=name, symbol=symbol, unit=unit, low=low, high=high, log=log, meaning=meaning, printed=printed)


PARAMETERS: tuple[Parameter, ...] = (
    _p("beta_v", "β_V", "", 1.0, 200.0, True, "decisiveness expected of the other", (1.0, 10.0**2.3)),
    _p("delta_v_th_rel", "ΔV_th,rel", "", 1e-3, 1e-1, True, "surplus needed to act"),
    _p("t_evidence", "T", "s", 0.1, 0.5, False, "time constant of evidence accumulation"),
    _p("t_delta", "T_δ", "s", 10.0, 100.0, True, "half-life of future value"),
    _p("sigma_v", "σ_v", "rad", 0.005, math.pi / 2, True, "angular noise of vision", (10.0**-2.3, 10.0**0.196)),
    _p("sigma_speed", "σ_χ̇", "m/s", 1e-2, 1.0, True, "process noise of the perceived speed, per step"),
    _p("delta_t_action", "ΔT", "s", 0.21, 1.0, False, "duration of an action", (1.01 * DT_S, 5 * DT_S)),
    _p("t_safe", "T_s", "s", 0.01, 2.0, False, "time margin", (0.0, 2.0)),
    _p("d_safe", "D_s", "m", 0.01, 5.0, False, "distance margin", (0.0, 5.0)),
    _p("u_0_rel", "u_0,rel", "", 1.0, 100.0, True, "scale of the squashing function"),
    _p("k_da", "k_da", "s⁴/m²", 0.1, 10.0, True, "cost of acceleration"),
    _p("sigma_r0_pos_rel", "σ_R0χ,rel", "", 0.1, 10.0, True, "relative prior spread of the other's position"),
    _p("sigma_r0_speed_rel", "σ_R0χ̇,rel", "", 0.1, 10.0, True, "relative prior spread of the other's speed"),
    _p("v_free_rel", "v_free,rel", "", 0.5, 2.0, True, "free speed relative to the base speed", (10**-0.3, 10**0.3)),
)

NUM_PARAMETERS = len(PARAMETERS)
PARAMETER_NAMES: tuple[str, ...] = tuple(p.name for p in PARAMETERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Theta:
    """θ in natural units; fields in the order and with the meaning of :data:`PARAMETERS`."""

    beta_v: float
    delta_v_th_rel: float
    t_evidence: float
    t_delta: float
    sigma_v: float
    sigma_speed: float
    delta_t_action: float
    t_safe: float
    d_safe: float
    u_0_rel: float
    k_da: float
    sigma_r0_pos_rel: float
    sigma_r0_speed_rel: float
    v_free_rel: float

    @classmethod
    def checked(cls, values: Mapping[str, float] | Theta) -> Theta:
        """θ from a mapping, every key present, known and inside its searched range.

        A value that rounding has put beyond an end of its range becomes that end.

        Raises:
            UnknownNameError: for an unknown key.
            UsageError: for a missing key or a value that is not finite or outside its range.
        """
        if isinstance(values, Theta):
            values = values.as_dict()
        if not isinstance(values, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(
                "θ is no mapping from names to numbers", where="theta", found=type(values).__name__, hint="give a dict"
            )
        for key in values:
            if key not in PARAMETER_NAMES:
                raise UnknownNameError("parameter of the Commotions model", str(key), PARAMETER_NAMES)
        missing = [name for name in PARAMETER_NAMES if name not in values]
        if missing:
            raise UsageError(
                "θ is incomplete",
                where="theta",
                found=f"missing: {', '.join(missing)}",
                hint=f"give all of {', '.join(PARAMETER_NAMES)}",
            )
        numbers = {name: _number(values[name], name) for name in PARAMETER_NAMES}
        for parameter in PARAMETERS:
            value = numbers[parameter.name]
            if not parameter.contains(value):
                raise UsageError(
                    f"{parameter.name} is outside its range",
                    where=f"theta[{parameter.name!r}]",
                    found=f"{value:g}",
                    hint="between {:g} and {:g} ".format(*parameter.allowed)
                    + parameter.unit
                    + "; natural units, not logarithms",
                )
        return cls(**{p.name: p.clip(numbers[p.name]) for p in PARAMETERS})

    @classmethod
    def from_array(cls, values: FloatArray) -> Theta:
        """θ from (14,) natural units, unchecked."""
        return cls(**{name: float(value) for name, value in zip(PARAMETER_NAMES, values, strict=True)})

    def as_array(self) -> FloatArray:
        """(14,) natural units."""
        return np.array([getattr(self, f.name) for f in fields(self)], dtype=np.float64)

    def as_dict(self) -> dict[str, float]:
        """Name to value in natural units."""
        return {f.name: float(getattr(self, f.name)) for f in fields(self)}


def _number(value: object, name: str) -> float:
    try:
        return float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} is no number", where=f"theta[{name!r}]", found=repr(value)[:80]) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A part of the search space in search coordinates (logarithms where the parameter is logarithmic).

    Attributes:
        low: (14,) lower corner.
        high: (14,) upper corner.
        scale: which logarithm.
    """

    low: FloatArray
    high: FloatArray
    scale: SearchScale = "log10"

    @classmethod
    def full(cls, bounds: Bounds = "computed", scale: SearchScale = "log10") -> Box:
        """The searched ranges."""
        low, high = zip(*(p.ends(bounds) for p in PARAMETERS), strict=True)
        return cls(
            low=to_search(Theta.from_array(np.array(low)), scale),
            high=to_search(Theta.from_array(np.array(high)), scale),
            scale=scale,
        )

    def decode(self, unit: FloatArray) -> Theta:
        """θ of a point of the unit cube: lo + y (hi - lo), and 10^(...) or e^(...) of that for logarithmic ones."""
        return from_search(self.low + np.asarray(unit, dtype=np.float64) * (self.high - self.low), self.scale)

    def encode(self, theta: Theta) -> FloatArray:
        """The point of the unit cube that decodes to θ; a dimension without width gives 0.5."""
        width = self.high - self.low
        point = (to_search(theta, self.scale) - self.low) / np.where(width > 0, width, 1.0)
        return np.where(width > 0, point, 0.5)

    def around(self, theta: Theta, *, fraction: float = 0.25) -> Box:
        """Second stage: θ ± fraction/2 of this box's range, intersected with this box."""
        center, half = to_search(theta, self.scale), 0.5 * fraction * (self.high - self.low)
        return replace(self, low=np.maximum(self.low, center - half), high=np.minimum(self.high, center + half))


def to_search(theta: Theta, scale: SearchScale = "log10") -> FloatArray:
    """(14,) search coordinates of θ."""
    log = math.log10 if scale == "log10" else math.log
    return np.array([log(v) if p.log else v for p, v in zip(PARAMETERS, theta.as_array(), strict=True)])


def from_search(coordinates: FloatArray, scale: SearchScale = "log10") -> Theta:
    """θ of (14,) search coordinates."""
    base = 10.0 if scale == "log10" else math.e
    values = [base**c if p.log else c for p, c in zip(PARAMETERS, coordinates, strict=True)]
    return Theta.from_array(np.array(values, dtype=np.float64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What follows from θ alone.

    Attributes:
        u_free: T_δ / ln 2, value of driving freely for ever [s].
        u_0: u_free u_0,rel, scale of the squashing function [s].
        threshold: ΔV_th = tanh(1/u_0,rel) ΔV_th,rel; its limit ±ΔV_th,rel for u_0,rel = ±0.
        u_ny: -1.5 u_free, what going first costs the vehicle that has to yield [s].
        num_action_steps: n = ceil(ΔT/δt).
        f: δt/T, weight of new evidence.
        decay: λ = ln 2 / T_δ [1/s].
    """

    u_free: float
    u_0: float
    threshold: float
    u_ny: float
    num_action_steps: int
    f: float
    decay: float

    @classmethod
    def of(cls, theta: Theta) -> Derived:
        """Section 4.3; ceil has a guard of 1e-9."""
        u_free, u_0_rel = theta.t_delta / math.log(2.0), theta.u_0_rel
        best = math.tanh(1.0 / u_0_rel) if u_0_rel != 0 else math.copysign(1.0, u_0_rel)
        return cls(
            u_free=u_free,
            u_0=u_free * u_0_rel,
            threshold=best * theta.delta_v_th_rel,
            u_ny=YIELD_PENALTY * u_free,
            num_action_steps=math.ceil(theta.delta_t_action / DT_S - 1e-9),
            f=DT_S / theta.t_evidence,
            decay=math.log(2.0) / theta.t_delta,
        )


def action_ramps(theta: Theta, actions: tuple[float, ...], *, jerk: bool) -> FloatArray:
    """What each action adds to the plan: (|𝒰|, n + 1), the last column is what stays afterwards [m/s²].

    Δ_q(u) = u q/(n-1), then u (jerk control);   u/ΔT, then 0 (acceleration control).
    """
    n = Derived.of(theta).num_action_steps
    u = np.asarray(actions, dtype=np.float64)[:, None]
    if jerk:
        return np.concatenate([u * np.arange(n) / (n - 1), u], axis=1)
    return np.concatenate([np.repeat(u / theta.delta_t_action, n, axis=1), 0.0 * u], axis=1)
