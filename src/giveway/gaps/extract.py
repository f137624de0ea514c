"""From candidate gaps to samples: times, prediction time, admission, common grid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import EmptySelectionError
from giveway.core.samples import GapInputs, GapSamples, GapTruth, closing_times
from giveway.core.scene import Scene
from giveway.data.reading import Scenes
from giveway.gaps.admission import REASON_CODES, REASONS, Admission, admit, without_standing
from giveway.gaps.extraction_report import ExtractionReport, check_order, drop_report, warnings_of
from giveway.gaps.prediction_time import DT_S, Choice, optimal_delta_t, prediction_times
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Extraction
from giveway.gaps.raw import Description, RawGaps
from giveway.gaps.resample import (
    filled_from_past,
    horizons,
    inputs_at,
    outputs_at,
    projected_gap,
    row_before,
    speeds_at,
)
from giveway.gaps.times import GapTimes, characteristic_times, filled_with_hindsight, why_undecided

NUM_INPUT_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGaps:
    """Everything about the gaps of a dataset that does not depend on prediction time and input length.

    Attributes:
        extraction: what found them; also completes 2D inputs.
        raw: candidate gaps.
        description: distances models may see.
        times: characteristic times, always from the full description.
        num_role_conflicts: candidates left out by a veto.
        notes: what people should know about the enumeration.
    """

    extraction: Extraction
    raw: RawGaps
    description: Description
    times: GapTimes
    num_role_conflicts: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRules:
    """How samples are cut out of gaps.

    Attributes:
        choice: ``initial``, ``constant`` or ``critical``.
        num_input: n_I.
        num_input_max: n_I,max, input length every sample must support.
        relaxed: move t_0 up to where the history suffices.
        delta_t_s: gap size of constant prediction times; None optimizes it.
    """

    choice: Choice
    num_input: int = 2
    num_input_max: int = NUM_INPUT_MAX
    relaxed: bool = False
    delta_t_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """Samples and what became of the rest."""

    samples: GapSamples
    report: ExtractionReport


def find_gaps(extraction: Extraction, scenes: Iterable[Scene], profile: Profile) -> FoundGaps:
    """Enumerate candidate gaps and compute their characteristic times."""
    candidates = extraction.enumerate(scenes, profile)
    notes = (*candidates.notes, *(scenes.notes if isinstance(scenes, Scenes) else ()))
    return gaps_from(extraction, candidates.raw, profile, num_role_conflicts=candidates.num_role_conflicts, notes=notes)


def gaps_from(
    extraction: Extraction,
    raw: RawGaps,
    profile: Profile,
    *,
    num_role_conflicts: int = 0,
    notes: tuple[str, ...] = (),
) -> FoundGaps:
    """Characteristic times of given candidates; a reduced extraction forgets the other agents afterwards."""
    description = extraction.describe(raw, profile)
    times = characteristic_times(offset=raw.offset, time_s=raw.time_s, description=description, profile=profile)
    if raw.yielded is not None:
        times = replace(
            times,
            is_decided=times.is_decided & ~raw.yielded,
            is_accepted=times.is_accepted & ~raw.yielded,
            open_row=np.where(raw.yielded, -1, times.open_row),
        )
    if extraction.info.is_reduced:
        distance = description.distance.copy()
        distance[:, 2:5] = description.missing_m
        description = replace(description, distance=distance)
        raw = raw.with_roles(("E", "T"))
    return FoundGaps(
        extraction=extraction,
        raw=raw,
        description=description,
        times=times,
        num_role_conflicts=num_role_conflicts,
        notes=notes,
    )


def samples_at(found: FoundGaps, rules: SampleRules, profile: Profile) -> Extracted:
    """Samples at one choice of prediction time and input length, and a report on what was left out."""
    delta_t = delta_t_of(found, rules, profile)
    rules = replace(rules, delta_t_s=delta_t)
    admission = admission_of(found, rules, profile)
    xy = _inputs_2d(found, admission, rules.num_input, profile)
    if profile.nan_input == "drop":
        admission, xy = _without_nan_inputs(admission, xy)
    samples, num_capped = _assemble(found, admission, xy, rules, profile)
    accepted = int(samples.truth.accepted.sum())
    why = why_undecided(offset=found.raw.offset, description=found.description)
    dropped, sub_reasons, order, examples = drop_report(found.raw, found.times, admission, why)
    dropped["role_conflict"] = found.num_role_conflicts
    report = ExtractionReport(
        dataset=found.extraction.info.name,
        choice=rules.choice,
        num_input=rules.num_input,
        num_candidates=found.raw.num_samples + found.num_role_conflicts,
        num_accepted=accepted,
        num_rejected=samples.num_samples - accepted,
        dropped=dropped,
        delta_t_s=delta_t,
        num_capped=num_capped,
        notes=found.notes,
        why_undecided=sub_reasons,
        order=order,
        examples=examples,
        warnings=warnings_of(samples, found.raw, admission.kept, delta_t_s=delta_t, num_capped=num_capped),
    )
    if profile.order_check == "enforce":
        check_order(report)
    return Extracted(samples=samples, report=report)


def admission_of(found: FoundGaps, rules: SampleRules, profile: Profile) -> Admission:
    """Prediction times, and which samples can be used at them as far as times and speeds decide."""
    offset, time_s = found.raw.offset, found.raw.time_s
    delta_t = delta_t_of(found, rules, profile)
    t_0 = prediction_times(found.times, rules.choice, offset=offset, time_s=time_s, delta_t_s=delta_t)
    relaxed = profile.admission == "eq1"
    admission = admit(
        found.times,
        t_0,
        num_input=rules.num_input,
        num_input_max=rules.num_input if relaxed else rules.num_input_max,
        relaxed=rules.relaxed or relaxed,
        yielded=found.raw.yielded,
    )
    if profile.standing_ego == "keep":
        return admission
    row = row_before(admission.t_0_s, offset=offset, time_s=time_s)
    return without_standing(
        admission,
        ego_mps=ego_speeds(found)[row],
        target_mps=speeds_at(found.raw.xy[:, 1], row, offset=offset, time_s=time_s),
        gap_s=projected_gap(found.times, admission.t_0_s, offset=offset, time_s=time_s),
        delta_t_s=delta_t,
    )


def ego_speeds(found: FoundGaps) -> FloatArray:
    """(K,) speed with which E closes its gap [m/s]; G = D_C / v."""
    truth = found.description.truth
    closing = (found.description.distance if truth is None else truth)[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return closing / found.times.gap_s


def delta_t_of(found: FoundGaps, rules: SampleRules, profile: Profile) -> float | None:
    """Gap size of constant prediction times: as given, or the optimal one of this dataset."""
    if rules.choice != "constant" or rules.delta_t_s is not None:
        return rules.delta_t_s if rules.choice == "constant" else None
    return optimal_delta_t(
        found.times,
        offset=found.raw.offset,
        time_s=found.raw.time_s,
        num_history=max(rules.num_input, rules.num_input_max),
        profile=profile,
        ego_mps=ego_speeds(found) if profile.standing_ego == "drop" else None,
    )


def require_samples(extracted: Extracted, *, at_least: int, per_class: int) -> GapSamples:
    """The samples, if there are enough to evaluate.

    Raises:
        EmptySelectionError: naming the rule that removed most.
    """
    report = extracted.report
    total = report.num_accepted + report.num_rejected
    if total >= at_least and min(report.num_accepted, report.num_rejected) >= per_class:
        return extracted.samples
    lost = [f"{count} {reason} ({REASONS[reason]})" for reason, count in report.dropped.items() if count]
    what = "no samples are left" if total == 0 else "too few samples are left"
    raise EmptySelectionError(
        f"{what}: {report.num_accepted} accepted and {report.num_rejected} rejected, "
        f"needed {at_least} in total and {per_class} of each",
        where=f"{report.dataset}, {report.choice} gaps, n_I = {report.num_input}",
        found=f"{report.num_candidates} candidates; "
        + ("removed: " + "; ".join(lost) if lost else "; ".join(report.notes)),
        hint=_remedy(report),
    )


def _remedy(report: ExtractionReport) -> str:
    worst = max(report.dropped, key=lambda r: report.dropped[r], default="")
    if report.num_candidates == 0:
        return "check that the recordings hold this kind of situation: giveway data verify"
    return {
        "short_history": "use fewer input steps (--n-input-max), or relaxed admission (--relaxed)",
        "before_open": "use another prediction time (initial), or more recordings",
        "always_critical": "use recordings with slower or later egos, or more recordings",
    }.get(worst, "use more recordings or another prediction time")


def _inputs_2d(found: FoundGaps, admission: Admission, num_input: int, profile: Profile) -> FloatArray:
    raw, kept = found.raw, admission.kept
    agents = len(raw.roles)
    flat = inputs_at(
        raw.xy.reshape(len(raw.time_s), agents * 2),
        offset=raw.offset,
        time_s=raw.time_s,
        t_0_s=admission.t_0_s,
        kept=kept,
        num_input=num_input,
        profile=profile,
    )
    return flat.reshape(len(kept), num_input, agents, 2).transpose(0, 2, 1, 3)


def _without_nan_inputs(admission: Admission, xy: FloatArray) -> tuple[Admission, FloatArray]:
    broken = np.isnan(xy[:, :2]).any(axis=(1, 2, 3))
    reason = admission.reason.copy()
    reason[admission.kept[broken]] = REASON_CODES["nan_input"]
    return replace(admission, reason=reason), xy[~broken]


def _assemble(
    found: FoundGaps, admission: Admission, xy: FloatArray, rules: SampleRules, profile: Profile
) -> tuple[GapSamples, int]:
    raw, times, kept, t_0 = found.raw, found.times, admission.kept, admission.t_0_s
    offset, time_s = raw.offset, raw.time_s
    if profile.distance_fill == "past":
        distance = filled_from_past(
            offset=offset, distance=found.description.distance, missing_m=found.description.missing_m
        )
    else:
        distance = filled_with_hindsight(description=found.description, offset=offset, time_s=time_s)
    distance = inputs_at(
        distance, t_0_s=t_0, kept=kept, num_input=rules.num_input, profile=profile, offset=offset, time_s=time_s
    )
    ahead = horizons(times, t_0, projected_gap(times, t_0, offset=offset, time_s=time_s), kept, profile)
    future = outputs_at(
        raw.xy[:, raw.roles.index("T")],
        t_0_s=t_0,
        kept=kept,
        num_observed=ahead.num_observed,
        profile=profile,
        offset=offset,
        time_s=time_s,
    )
    constants = {name: value[kept] for name, value in raw.constants.items()}
    if len(kept):
        xy = found.extraction.complete(xy, raw.roles, constants, profile)
    inputs = GapInputs(
        sample_id=raw.sample_id[kept],
        roles=raw.roles,
        role_is_vulnerable=raw.role_is_vulnerable,
        xy=np.ascontiguousarray(xy),
        distance=np.ascontiguousarray(distance.transpose(0, 2, 1)),
        num_predict=ahead.num_predict,
        dt_s=DT_S,
        boundary=raw.boundary.take(kept),
        closes_s=closing_times(ahead.t_close_s, ahead.num_predict, DT_S),
    )
    truth = GapTruth(
        accepted=times.is_accepted[kept],
        t_accept_s=(times.t_accept_s - t_0)[kept],
        t_close_s=ahead.t_close_s,
        future_xy=future,
        num_observed=ahead.num_observed,
    )
    samples = GapSamples(
        dataset=found.extraction.info.name,
        prediction_time=rules.choice,
        inputs=inputs,
        truth=truth,
        group=raw.group[kept],
        location=raw.location[kept],
        gap_at_acceptance_s=times.gap_at_acceptance_s[kept],
        t_open_s=(times.t_open_s - t_0)[kept],
        places=raw.take(kept).places if len(kept) else None,
    )
    return samples, int(ahead.is_capped.sum())
