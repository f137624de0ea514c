"""The 32 configurations as points on five axes, and the switches between published and corrected behavior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Literal

from giveway.core.errors import UnknownNameError, UsageError
from giveway.predictors.commotions.parameters import REGAIN_TIME_S, Bounds, SearchScale

SMALL_ACTIONS = (-1.0, -0.5, 0.0, 0.5, 1.0)
LARGE_ACTIONS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
MAX_ACTIONS = 9

Profile = Literal["paper", "printed", "clean"]
StepCount = Literal["integer", "float32"]
Acceptance = Literal["before_closing", "horizon"]
FreeTime = Literal["jerk_control", "both"]
SpeedPrior = Literal["free_speed", "speed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One of the 32 variants, named ``CM_abcde``.

    Attributes:
        adjusted_speed: axis a. ``A``: free speed is at least the speed at t_0 (AS); ``I``: the same for both (IS).
        interactive: axis b. ``I``: E decides as well (IM); ``N``: E keeps its speed (NM).
        jerk: axis c. ``J``: actions change the acceleration along a ramp (JC); ``A``: actions change the speed (AC).
        stages: axis d, stages of optimization (1O, 2O).
        loss: axis e, 1 accuracy, 2 accuracy and spread.
        actions: 𝒰, ascending and with 0; None takes the published set, 5 actions for loss 1 and 7 for loss 2.
        dt_free: where ΔT_free is 10 s: with jerk control only (ΔT otherwise), as computed, or with ``both``, as the
            supplement's table II prints.
        speed_prior: what σ_R0χ̇,rel multiplies: the other's free speed, as computed, or its ``speed`` |χ̇(t_0)|, as
            printed; 0 for a vehicle that stands, which takes its speed for known. The mean is not printed: v_free.
    """

    adjusted_speed: bool
    interactive: bool
    jerk: bool
    stages: Literal[1, 2] = 1
    loss: Literal[1, 2] = 1
    actions: tuple[float, ...] | None = None
    dt_free: FreeTime = "jerk_control"
    speed_prior: SpeedPrior = "free_speed"

    def __post_init__(self) -> None:
        actions = self.action_set
        ascending = list(actions) == sorted(set(actions)) and all(map(math.isfinite, actions))
        if 0.0 not in actions or not ascending or not 2 <= len(actions) <= MAX_ACTIONS:
            raise UsageError(
                "an action set must be finite and ascending, contain 0 and have 2 to 9 members",
                where="Configuration.actions",
                found=str(actions),
                hint=f"for example {SMALL_ACTIONS}",
            )

    @classmethod
    def from_name(cls, name: str) -> Configuration:
        """``"CM_AIJ11"`` (also ``"CM_{AIJ11}"``) as a configuration.

        Raises:
            UnknownNameError: for anything else, with the nearest names.
        """
        plain = str(name).replace("{", "").replace("}", "")
        if plain not in _BY_NAME:
            raise UnknownNameError("configuration of the Commotions model", plain, NAMES)
        return _BY_NAME[plain]

    @property
    def action_set(self) -> tuple[float, ...]:
        """𝒰: changes of acceleration (JC, m/s²) or of speed (AC, m/s)."""
        if self.actions is not None:
            return self.actions
        return SMALL_ACTIONS if self.loss == 1 else LARGE_ACTIONS

    def regain_s(self, action_s: float, *, jerk: bool | None = None) -> float:
        """τ, the time to regain free speed: 10 s or ΔT; ``jerk`` is that of the other if it differs [s]."""
        jerk = self.jerk if jerk is None else jerk
        return REGAIN_TIME_S if jerk or self.dt_free == "both" else action_s

    @property
    def code(self) -> str:
        """The five letters, e.g. ``"AIJ11"``."""
        return (
            ("A" if self.adjusted_speed else "I")
            + ("I" if self.interactive else "N")
            + ("J" if self.jerk else "A")
            + str(self.stages)
            + str(self.loss)
        )

    @property
    def name(self) -> str:
        """As registered, e.g. ``"CM_AIJ11"``."""
        return f"CM_{self.code}"

    @property
    def label(self) -> str:
        """The axes in words of the papers, e.g. ``"AS-IM-JC-1O-L1"``."""
        return "-".join(
            (
                "AS" if self.adjusted_speed else "IS",
                "IM" if self.interactive else "NM",
                "JC" if self.jerk else "AC",
                f"{self.stages}O",
                f"L{self.loss}",
            )
        )


_BY_NAME: dict[str, Configuration] = {
    configuration.name: configuration
    for loss, control, speed, stages, ego in product("12", "JA", "IA", "12", "IN")
    for configuration in [
        Configuration(
            adjusted_speed=speed == "A",
            interactive=ego == "I",
            jerk=control == "J",
            stages=1 if stages == "1" else 2,
            loss=1 if loss == "1" else 2,
        )
    ]
}

MODEL_VERSION = 3
"""Counts up when the same samples and seed give another model."""

NAMES: tuple[str, ...] = tuple(_BY_NAME)
"""All 32 names in the order of the published tables: loss, control, free speed, stages, ego model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """Where the published implementation and a sound one part.

    Attributes:
        optimizer: ``"bayes"`` (Sobol and expected improvement, as published) or any other registered optimizer.
        step_count: ``"integer"``: ceil of the horizon; ``"float32"``: the published count, which loses the last step
            for some horizons (N = 9, 13, 18, ...); the horizon itself stays.
        stage_winner: what is deployed when stage 1 of a two-stage fit wins. ``"best"``: its parameters;
            ``"logarithms"``: the published mistake, logarithms taken for natural units.
        spread_term: loss 2. ``"relative"``: of std/T_out, capped at 0.1, as computed; ``"absolute"``: as printed,
            100 Var - 20 std + 1 of the time itself.
        acceptance: ``"before_closing"``: T must enter before t_C, as printed (eq. 17); ``"horizon"``: before the end of
            the simulation, which is t_C rounded up to a step, as computed.
        box_fraction: width of the second stage's box as a part of the range: 1/4 as computed, 1/5 as printed.
        bounds: ranges of θ: as computed, or as table II prints them, inclusive (T_s and D_s from 0, ΔT from 1.01 δt).
        search_scale: logarithm in which such parameters are searched; a unit cube is the same in both but for rounding.
        sobol_points: in ``each_stage``, as computed, or in the ``first_stage`` only, as printed: the second one goes on
            with what the first has seen.
    """

    optimizer: str = "trust_region"
    step_count: StepCount = "integer"
    stage_winner: Literal["best", "logarithms"] = "best"
    spread_term: Literal["relative", "absolute"] = "relative"
    acceptance: Acceptance = "before_closing"
    box_fraction: float = 0.25
    bounds: Bounds = "computed"
    search_scale: SearchScale = "log10"
    sobol_points: Literal["each_stage", "first_stage"] = "each_stage"

    @classmethod
    def of(cls, profile: Profile) -> Switches:
        """``"paper"``: as the published results were computed, mistakes included; ``"clean"``: corrected.

        ``"printed"``: as the supplement says.
        """
        if profile == "paper":
            return cls(optimizer="bayes", step_count="float32", stage_winner="logarithms", acceptance="horizon")
        if profile == "clean":
            return cls()
        if profile == "printed":
            return cls(
                optimizer="bayes",
                spread_term="absolute",
                box_fraction=0.2,
                bounds="printed",
                search_scale="ln",
                sobol_points="first_stage",
            )
        raise UnknownNameError("profile", profile, ("paper", "printed", "clean"))
