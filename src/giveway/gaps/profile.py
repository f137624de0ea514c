"""Three ways to read the protocol: as published, as printed, and with its defects mended.

Every rule that the publications or their code leave ambiguous or get wrong is one field here. ``paper`` reproduces the
published code, ``printed`` takes the documents literally (where the print cannot be executed, a switch says what stands
in), ``clean`` (the default) corrects both; a specification may start from any of them and set single switches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from giveway.core.errors import UnknownNameError


class Profile(BaseModel):
    """All switches of the protocol; frozen, unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    velocity_window: Literal["truncate", "round"] = Field(
        description="Raw steps in the 0.2 s window of the 1D speeds. 'truncate' takes int(0.2/mean step), which at "
        "25 Hz is 5 or 4 by rounding luck; 'round' takes the nearest whole number for the median step."
    )
    horizon_cap: float | None = Field(
        gt=0,
        description="Longest t_C - t_0 [s]. Without a cap a standing E projects a closing time of about 1e6 s and "
        "millions of output steps; capped samples are counted.",
    )
    horizon_from_projection: Literal["true", "projected"] = Field(
        description="Steps a model has to predict: up to the 'true' t_C, which tells the model when E will arrive, or "
        "up to the 'projected' gap at t_0 plus 2 s. Results of the two are not comparable."
    )
    delta_t_constraints: Literal["ignore_admission", "after_admission"] = Field(
        description="Which samples count when the gap size of constant prediction times is optimized: all with a "
        "decision, or only those that admission would keep (balances the final set)."
    )
    nan_input: Literal["keep", "drop"] = Field(
        description="Samples in which E or T is not recorded on the whole input grid; the published code meant to drop "
        "them and keeps them."
    )
    scale_per_recording: Literal["first_of_location", "own"] = Field(
        description="rounD: meters per pixel for center and radii, of the first recording at a location or of each "
        "recording itself."
    )
    ring_center: Literal["published", "fitted"] = Field(
        description="rounD: center of the roundabout, as published for the location, or fitted to the circulating "
        "vehicles of a recording where they go around a point more than 0.5 m away."
    )
    leeds_offset: Literal["integer_part", "interpolated"] = Field(
        description="Leeds: offset of the drones that fixes the origin; the published code cuts it to its integer part "
        "and shifts the origin by up to 1 m."
    )
    ped_fill: Literal["x_from_y", "x_from_x"] = Field(
        description="rounD with invented agents: gaps in the track of role 4; the published code fills x with values "
        "of y."
    )
    phantoms: Literal["invented", "far", "mask"] = Field(
        description="Absent agents in 2D inputs: 'invented' (near enough to act as neighbors in rounD), 'far' (500 m "
        "away in one dimension and in two, as printed), or NaN."
    )
    conditional_training: Literal["all", "training"] = Field(
        description="Samples the conditional path models learn from: all of a class, the test samples included, or the "
        "training part of the split."
    )
    conversion_seed: Literal["global", "derived"] = Field(
        description="Draws in output conversions: one running legacy generator, so that a sample depends on its "
        "predecessors, or one generator per sample derived from (dataset, t_0, split, model, sample)."
    )
    tpp_standardise: Literal["none", "relative"] = Field(
        description="Trajectron++ inputs: raw scenario coordinates, or relative to T with fixed scales."
    )
    tpp_mode: Literal["per_step", "per_trajectory"] = Field(
        description="Trajectron++ sampling: a latent component per time step (mixes modes within a path), or one "
        "per path."
    )
    auc: Literal["thresholds", "ordinal_ranks", "mid_ranks"] = Field(
        description="AUC from 101 thresholds (scores within 0.01 count as ties), from ordinal ranks (eq. 22; ties by "
        "the order of samples), or exact with mid-ranks."
    )
    tnr_pr: Literal["rejected", "all"] = Field(
        description="TNR-PR divided by the number of rejected samples, or by that of all (eq. 24)."
    )
    lane_width: Literal["by_dataset", "printed"] = Field(
        description="Lane width: 3.65 m in Leeds and 3.5 m elsewhere, or 3.5 m everywhere as printed."
    )
    admission: Literal["eq3", "eq1"] = Field(
        description="Prediction times: strict (eq. 3, with the dt that the print lacks), or the relaxed rule of the "
        "earlier framework (eq. 1): t_0 is moved up to where n_I input steps suffice."
    )
    opening: Literal["inequality", "root"] = Field(
        description="t_S: first recorded instant with D_1 - D_C > L_E, or the root of D_1 - D_C = L_E (eq. 6), where "
        "one is observed."
    )
    closing_floor: Literal["tiny", "none"] = Field(
        description="Least speed of E in projections: 1e-6 m/s, or 0 (eq. 7), so that t_C is infinite for a standing E "
        "and the sample has no horizon: left out and counted."
    )
    critical_degenerate: Literal["rank_by_t_c", "rank_by_t_s"] = Field(
        description="Critical split when t_C - t_0 of all rejected samples agrees to 0.05 s (constant gaps, constant "
        "speed): rank by that rounding noise anyway, or by t_C - t_S."
    )
    ddof: Literal[0, 1] = Field(
        description="Deviation over the ten random splits: 0 divides by 10 (as printed in the tables), 1 by 9."
    )
    critical_bound: Literal["paper", "clean"] | Annotated[float, Field(gt=0)] = Field(
        description="Significance on the critical split, in standard deviations of the random splits: rule 'paper' is "
        "the t quantile with 2 degrees of freedom (2.92), rule 'clean' the prediction bound from the random splits "
        "(1.92 = 1.833 sqrt(1.1) from ten of them), a number is the bound itself.",
    )
    resampling: Literal["nudge", "clamp"] = Field(
        description="Grid times at the ends of a track: inputs read at t + 1e-5 s and outputs at t - 1e-5 s, or exact "
        "times clamped to the track."
    )
    input_frames: Literal["bracketing", "past"] = Field(
        description="Frames that inputs may be interpolated from. 'bracketing' uses the raw frame after t_0 as well; "
        "'past' extends the last two frames at or before t_0, so that nothing after t_0 can change an input."
    )
    distance_fill: Literal["interpolate", "past"] = Field(
        description="Missing D_1, D_2, D_3 in inputs: interpolated in time with end values held, which shows where an "
        "agent will appear, or the last known value, and the constant before the first."
    )
    lgap_window: Literal["samples", "seconds"] = Field(
        description="L-GAP D_A: direction of T over 5 raw samples and the largest dx of the whole track where T points "
        "away, or over 0.05 s and the largest dx so far."
    )
    contested_place: Literal["published", "paths", "map"] = Field(
        description="Roundabouts: where the contested place is. 'published': 0 to 30 degrees of a circle, from T's "
        "approach; 'paths': where the paths of T and E meet; 'map': the same for the center lines of lanes."
    )
    order_check: Literal["report", "enforce"] = Field(
        description="Labels that contradict the order in which T and E passed: counted, or more than 1 % of them are "
        "an error."
    )
    standing_ego: Literal["keep", "drop"] = Field(
        description="Gaps whose size means nothing because E stands (below 1 m/s at t_0), and constant gaps that are "
        "more than 0.3 s off Delta_t at t_0."
    )
    candidate_order: Literal["accepted_first", "by_time"] = Field(
        description="rounD: per target the accepted candidate before the rejected ones, which random splits depend "
        "on, or all in the order in which E passes."
    )
    role_2: Literal["any_owner", "other"] = Field(
        description="rounD: owner of the passage after that of E, which may be E itself, or the next other one."
    )
    role_4: Literal["first_absent", "nearest"] = Field(
        description="rounD: a pedestrian who is not recorded wins the minimum and role 4 is absent, or absent ones are "
        "left out."
    )
    ring_radius: Literal["rounded", "exact"] = Field(
        description="rounD: radius in the 1D description, rounded to millimeters as published, or exact."
    )
    leeds_d_a: Literal["to_the_line", "unreadable"] = Field(
        default="to_the_line",
        description="Leeds D_A: from T's front to the line it crosses. Eq. 12 prints D_C there once more, which would "
        "make every sample a tie; 'unreadable' says so, and the same distance stands in.",
    )
    commotions: Literal["published", "printed", "corrected"] = Field(
        description="Fitting of the CM models. 'published': Sobol points and expected improvement, some horizons lose "
        "their last step, and logarithms are deployed when stage 1 of 2 wins; 'printed': the same search without these "
        "two mistakes; 'corrected': the optimizer that reaches lower losses in the same time. The switches below say "
        "the rest."
    )
    decision_instant: Literal["horizon", "before_closing"] = Field(
        default="before_closing",
        description="CM: a path accepts if it enters before the last step of the simulation, which is t_C rounded up "
        "to 0.2 s, or before t_C itself (eq. 17).",
    )
    spread_term: Literal["relative", "absolute"] = Field(
        default="relative",
        description="CM, loss 2: spread of t_A relative to the horizon and capped at 0.1, or in seconds (eq. 19).",
    )
    second_box: float = Field(
        default=0.25,
        gt=0,
        le=1,
        description="CM, two stages: width of the second box as a part of each range; one fifth as printed.",
    )
    sobol_points: Literal["each_stage", "first_stage"] = Field(
        default="each_stage",
        description="CM, two stages: 210 Sobol points in each, or in the first only, as printed: 210 and 100 "
        "evaluations, then 100 more that go on with what the first stage has seen.",
    )
    parameter_bounds: Literal["computed", "printed"] = Field(
        default="computed",
        description="CM: ranges of the parameters as searched by the published code, or of table II, inclusive: T_s "
        "and D_s from 0, DeltaT from 1.01 dt, ends of powers of ten as printed.",
    )
    speed_prior: Literal["free_speed", "speed"] = Field(
        default="free_speed",
        description="CM: initial spread of the other's speed relative to its free speed, or to its speed at t_0 (table "
        "II; 0 for who stands). The mean is not printed; the free speed stands in.",
    )
    dt_free: Literal["jerk_control", "both"] = Field(
        default="jerk_control",
        description="CM: regaining the free speed takes 10 s with jerk control (else DeltaT), or with acceleration "
        "control too (table II).",
    )
    search_scale: Literal["log10", "ln"] = Field(
        default="log10",
        description="CM: logarithm in which parameters with powers of ten are searched; the box is the same, values "
        "differ by rounding only.",
    )
    commotions_evaluations: int | None = Field(
        default=None,
        ge=4,
        description="Evaluations per stage when a CM model is fitted, at least 4; half of them, at most 210, are Sobol "
        "points. None leaves it to the optimizer: 360 (one stage) or 310 (each of two) published, 360 or 310 and 100 "
        "printed, else 900 or 450.",
    )

    def with_switches(self, **switches: Any) -> Profile:
        """A copy with some switches set; validated."""
        return Profile(**{**self.model_dump(), **switches})


PAPER = Profile(
    velocity_window="truncate",
    horizon_cap=None,
    horizon_from_projection="true",
    delta_t_constraints="ignore_admission",
    nan_input="keep",
    scale_per_recording="first_of_location",
    ring_center="published",
    leeds_offset="integer_part",
    ped_fill="x_from_y",
    phantoms="invented",
    conditional_training="all",
    conversion_seed="global",
    tpp_standardise="none",
    tpp_mode="per_step",
    auc="thresholds",
    tnr_pr="rejected",
    lane_width="by_dataset",
    admission="eq3",
    opening="inequality",
    closing_floor="tiny",
    critical_degenerate="rank_by_t_c",
    ddof=0,
    critical_bound="paper",
    resampling="nudge",
    input_frames="bracketing",
    distance_fill="interpolate",
    lgap_window="samples",
    contested_place="published",
    order_check="report",
    standing_ego="keep",
    candidate_order="accepted_first",
    role_2="any_owner",
    role_4="first_absent",
    ring_radius="rounded",
    commotions="published",
    decision_instant="horizon",
)
"""As published, defects included."""

CLEAN = Profile(
    velocity_window="round",
    horizon_cap=20.0,
    horizon_from_projection="true",
    delta_t_constraints="after_admission",
    nan_input="drop",
    scale_per_recording="own",
    ring_center="fitted",
    leeds_offset="interpolated",
    ped_fill="x_from_x",
    phantoms="mask",
    conditional_training="training",
    conversion_seed="derived",
    tpp_standardise="relative",
    tpp_mode="per_trajectory",
    auc="mid_ranks",
    tnr_pr="rejected",
    lane_width="by_dataset",
    admission="eq3",
    opening="inequality",
    closing_floor="tiny",
    critical_degenerate="rank_by_t_s",
    ddof=1,
    critical_bound="clean",
    resampling="clamp",
    input_frames="past",
    distance_fill="past",
    lgap_window="seconds",
    contested_place="paths",
    order_check="enforce",
    standing_ego="drop",
    candidate_order="by_time",
    role_2="other",
    role_4="nearest",
    ring_radius="exact",
    commotions="corrected",
)
"""Corrected; the default for new results."""

PRINTED = PAPER.with_switches(
    delta_t_constraints="after_admission",
    nan_input="drop",
    scale_per_recording="own",
    leeds_offset="interpolated",
    ped_fill="x_from_x",
    phantoms="far",
    conditional_training="training",
    conversion_seed="derived",
    auc="ordinal_ranks",
    tnr_pr="all",
    lane_width="printed",
    opening="root",
    closing_floor="none",
    candidate_order="by_time",
    role_2="other",
    role_4="nearest",
    ring_radius="exact",
    leeds_d_a="unreadable",
    commotions="printed",
    decision_instant="before_closing",
    spread_term="absolute",
    second_box=0.2,
    sobol_points="first_stage",
    parameter_bounds="printed",
    speed_prior="speed",
    dt_free="both",
    search_scale="ln",
)
"""The documents taken literally; what they do not mention is as in the published code."""

PROFILES = {"printed": PRINTED, "paper": PAPER, "clean": CLEAN}

EXTRACTION_SWITCHES = frozenset(
    {
        "velocity_window",
        "nan_input",
        "horizon_cap",
        "horizon_from_projection",
        "resampling",
        "input_frames",
        "distance_fill",
        "standing_ego",
        "order_check",
        "admission",
        "opening",
        "closing_floor",
    }
)
"""Switches that every extraction reads; what one dataset reads beside them is in its ``ExtractionInfo``."""

CONVERSION_SWITCHES = frozenset({"conditional_training", "conversion_seed"})
"""Switches of the conversions between outputs, read where one is needed."""

METRIC_SWITCHES = frozenset({"auc", "tnr_pr"})
"""Switches that choose a metric by name; cells hold the name."""

TABLE_SWITCHES = frozenset({"ddof", "critical_bound"})
"""Switches that act on finished results; the plan of a run keeps them, no cell does."""


class CellSwitches:
    """The switches that a cell names; to read another one is a mistake of the program.

    Attributes:
        values: name to value.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self.values[name]
        except KeyError:
            known = ", ".join(sorted(self.values))
            raise KeyError(f"switch {name!r} is read, but the cell names only: {known}") from None

    def model_dump(self) -> dict[str, Any]:
        """Plain values."""
        return dict(self.values)


def chosen(profile: Profile, names: Collection[str]) -> dict[str, Any]:
    """Values of some switches; one that has a default is named only where it differs, so that older cells stay."""
    values = profile.model_dump(include=set(names))
    return {name: value for name, value in values.items() if value != Profile.model_fields[name].default}


def as_profile(values: Mapping[str, Any]) -> Profile:
    """The switches of a cell in place of a whole profile."""
    return cast(Profile, CellSwitches(values))


def profile_named(name: str) -> Profile:
    """The preset of this name.

    Raises:
        UnknownNameError: naming the known ones.
    """
    if name not in PROFILES:
        raise UnknownNameError("profile", name, PROFILES)
    return PROFILES[name]


def profile_with(values: Mapping[str, Any]) -> str | None:
    """Name of the profile that has these values of some switches; None if there is none."""
    for name in ("clean", "paper", "printed"):
        if all(getattr(PROFILES[name], switch, None) == value for switch, value in values.items()):
            return name
    return None
