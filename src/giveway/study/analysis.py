"""From answers to the tables of a paper: with and without exclusions, every number from one command."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from giveway.core.arrays import FloatArray
from giveway.core.errors import EmptySelectionError, UsageError
from giveway.core.seeds import stream
from giveway.stats.agreement_bootstrap import multiplicities
from giveway.stats.agreement_interval import Unit
from giveway.stats.agreement_summary import AgreementSummary, summarize_agreement
from giveway.stats.agreement_table import RatingTable
from giveway.stats.ordinal_mixed import OrdinalMixedFit, fit_ordinal_mixed
from giveway.study.exclusions import RuleResult, apply_exclusions, rater_quality
from giveway.study.export import check_answers, long_answers, rater_table
from giveway.study.integrity import check_rows
from giveway.study.monitor import ratings_of
from giveway.study.simulated import is_simulated
from giveway.study.workspace import Study, declared_fingerprint

DRAWS = 2000
LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its percentile interval over raters and clips."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionSummary:
    """Ratings of one condition.

    Attributes:
        condition: name.
        num_clips: clips with ratings.
        num_ratings: first showings.
        counts: how often each option was chosen.
        mean: of the ratings.
        share_realistic: share of ratings from ``realistic_from`` on.
    """

    condition: str
    num_clips: int
    num_ratings: int
    counts: tuple[int, ...]
    mean: Estimate
    share_realistic: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A condition minus the reference: means, and the effect of the mixed model [logit]."""

    condition: str
    reference: str
    mean: Estimate
    effect: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """All numbers for one set of raters."""

    num_raters: int
    num_ratings: int
    conditions: tuple[ConditionSummary, ...]
    differences: tuple[Difference, ...]
    model: OrdinalMixedFit | None
    model_note: str
    agreement: AgreementSummary | None
    agreement_without_anchors: AgreementSummary | None
    repeats: int
    repeat_same: float
    repeat_mean_shift: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Results with and without exclusions.

    Attributes:
        by_step: raters by how far they came.
        exclusions: declared rules and whom they exclude.
        num_excluded: raters excluded by any rule.
        design_changed: the study file is not the one the study was opened with.
        reference: condition that others are compared with.
        everybody: all raters with answers.
        kept: after exclusions; None if nobody is left.
        simulated: the raters are simulated.
        origins: condition to what moved its rated vehicles.
    """

    by_step: dict[str, int]
    exclusions: tuple[RuleResult, ...]
    num_excluded: int
    design_changed: bool
    reference: str
    everybody: Results
    kept: Results | None
    simulated: bool = False
    origins: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


def analyze_study(
    study: Study, *, draws: int = DRAWS, with_model: bool = True, over: tuple[Unit, ...] = ("both",)
) -> Analysis:
    """Compute everything.

    Args:
        study: opened study.
        draws: bootstrap draws.
        with_model: fit the mixed model (some seconds).
        over: what the intervals of kappa take as a sample; the first is the main one.

    Raises:
        EmptySelectionError: if there are no answers.
    """
    check_rows(study.reader, study.key)
    long, checks, people = long_answers(study), check_answers(study), rater_table(study)
    if long.is_empty():
        raise EmptySelectionError(
            "there are no answers yet", where=study.folder, found=f"{people.height} raters consented"
        )
    quality = rater_quality(
        long,
        checks,
        people,
        duration_s={clip.clip: clip.duration_s for clip in study.clips},
        broken={clip.clip for clip in study.clips if clip.broken},
    )
    rules = apply_exclusions(quality, study.design.exclusions)
    excluded = sorted({code for rule in rules for code in rule.raters})
    kept = long.filter(~pl.col("rater").is_in(excluded))
    reference = reference_condition(study)
    return Analysis(
        by_step=dict(people.group_by("step").len().sort("step").iter_rows()),
        exclusions=tuple(rules),
        num_excluded=len(excluded),
        design_changed=declared_fingerprint(study) != study.design.fingerprint,
        reference=reference,
        everybody=_results(study, long, reference, draws, with_model, over),
        kept=None if kept.is_empty() else _results(study, kept, reference, draws, with_model, over),
        simulated=is_simulated(study),
        origins=study.origins,
    )


def reference_condition(study: Study) -> str:
    """The declared reference, else the first condition that is not broken."""
    names = list(dict.fromkeys(clip.condition for clip in study.clips if clip.role == "main" and not clip.broken))
    if not names:
        raise UsageError("the study has no condition but broken motion", where=study.folder)
    return study.reference if study.reference in names else names[0]


def _results(
    study: Study, long: pl.DataFrame, reference: str, draws: int, with_model: bool, over: tuple[Unit, ...]
) -> Results:
    first = long.filter(pl.col("repeat") == 0)
    seed = study.design.order.seed
    conditions, differences = _describe(study, first, reference, draws)
    model, note, effects = (None, "not asked for", {}) if not with_model else _model(study, first, reference)
    broken = [clip.clip for clip in study.clips if clip.broken]
    table, plain = ratings_of(study, long), ratings_of(study, long.filter(~pl.col("clip").is_in(broken)))

    def agreement(ratings: RatingTable | None, name: str) -> AgreementSummary | None:
        if ratings is None:
            return None
        rng = stream(seed, "analysis", name)
        return summarize_agreement(ratings, draws=draws, over=over, profile=study.design.profile, rng=rng)

    again = first.join(long.filter(pl.col("repeat") == 1), on=["rater", "clip"], suffix="_again")
    shift = (again["rating_again"] - again["rating"]).to_numpy()
    return Results(
        num_raters=first["rater"].n_unique(),
        num_ratings=first.height,
        conditions=tuple(conditions),
        differences=tuple(
            Difference(condition=d.condition, reference=reference, mean=d.mean, effect=effects.get(d.condition))
            for d in differences
        ),
        model=model,
        model_note=note,
        agreement=agreement(table, "agreement"),
        agreement_without_anchors=agreement(plain if broken else None, "plain agreement"),
        repeats=again.height,
        repeat_same=float((shift == 0).mean()) if again.height else float("nan"),
        repeat_mean_shift=float(shift.mean()) if again.height else float("nan"),
    )


def _describe(
    study: Study, first: pl.DataFrame, reference: str, draws: int
) -> tuple[list[ConditionSummary], list[Difference]]:
    """Means and shares per condition, with intervals from resampling raters and clips together."""
    raters = {code: n for n, code in enumerate(first["rater"].unique(maintain_order=True).to_list())}
    drawn_raters = multiplicities(len(raters), draws, stream(study.design.order.seed, "analysis", "raters"))
    summaries: list[ConditionSummary] = []
    means: dict[str, tuple[float, FloatArray]] = {}
    for condition in dict.fromkeys(clip.condition for clip in study.clips if clip.role == "main"):
        part = first.filter(pl.col("condition") == condition)
        if part.is_empty():
            continue
        clips = {c: n for n, c in enumerate(part["clip"].unique(maintain_order=True).to_list())}
        ratings = np.full((len(clips), len(raters)), np.nan)
        rows = [clips[c] for c in part["clip"].to_list()], [raters[r] for r in part["rater"].to_list()]
        ratings[rows] = part["rating"].to_numpy()
        drawn_clips = multiplicities(len(clips), draws, stream(study.design.order.seed, "analysis", condition))
        mean = _bootstrap(ratings, drawn_clips, drawn_raters)
        realistic = np.where(np.isnan(ratings), np.nan, ratings >= study.design.realistic_from)
        share = _bootstrap(realistic, drawn_clips, drawn_raters)
        means[condition] = (float(np.nanmean(ratings)), mean)
        values = part["rating"].to_numpy()
        summaries.append(
            ConditionSummary(
                condition=condition,
                num_clips=len(clips),
                num_ratings=part.height,
                counts=tuple(int((values == n).sum()) for n in range(1, len(study.design.options) + 1)),
                mean=_estimate(float(np.nanmean(ratings)), mean),
                share_realistic=_estimate(float(np.nanmean(realistic)), share),
            )
        )
    differences: list[Difference] = []
    if reference in means:
        value, sample = means[reference]
        differences = [
            Difference(
                condition=name,
                reference=reference,
                mean=_estimate(means[name][0] - value, means[name][1] - sample),
                effect=None,
            )
            for name in means
            if name != reference
        ]
    return summaries, differences


def _bootstrap(values: FloatArray, clips: FloatArray, raters: FloatArray) -> FloatArray:
    """(B,) mean of every draw of clips and raters; a rating counts as often as its clip times its rater."""
    there = np.isfinite(values).astype(np.float64)
    total = ((clips @ np.nan_to_num(values)) * raters).sum(axis=1)
    weight = ((clips @ there) * raters).sum(axis=1)
    return np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), np.nan)


def _estimate(value: float, sample: FloatArray) -> Estimate:
    tail = (1 - LEVEL) / 2
    defined = sample[np.isfinite(sample)]
    low, high = np.quantile(defined, [tail, 1 - tail]) if defined.size else (np.nan, np.nan)
    return Estimate(value=value, low=float(low), high=float(high))


def _model(
    study: Study, first: pl.DataFrame, reference: str
) -> tuple[OrdinalMixedFit | None, str, dict[str, Estimate]]:
    names = [n for n in first["condition"].unique(maintain_order=True).to_list() if n != reference]
    raters = first["rater"].unique(maintain_order=True).to_list()
    clips = first["clip"].unique(maintain_order=True).to_list()
    if len(raters) < 3 or len(clips) < 3:
        return None, "needs at least three raters and three clips", {}
    condition = np.array(first["condition"].to_list())
    design = (
        np.stack([condition == n for n in names], axis=1).astype(np.float64) if names else np.zeros((first.height, 0))
    )
    try:
        fit = fit_ordinal_mixed(
            first["rating"].to_numpy().astype(np.int64) - 1,
            design,
            np.array([raters.index(r) for r in first["rater"].to_list()]),
            np.array([clips.index(c) for c in first["clip"].to_list()]),
            num_categories=len(study.design.options),
        )
    except UsageError as error:
        return None, error.what, {}
    half = 1.959963984540054 * fit.standard_errors  # 97.5 % quantile of the normal distribution
    effects = {
        name: Estimate(value=float(b), low=float(b - h), high=float(b + h))
        for name, b, h in zip(names, fit.effects, half, strict=True)
    }
    return fit, "" if fit.converged else "the fit did not converge; do not report it", effects
