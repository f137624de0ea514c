"""Measures of predictions, drives, campaigns and clips: a function and a fact sheet each.

::

    value = METRICS.get("auc")(truth, prediction)      # MetricValue: value, per_item, mask, note
    METRICS.get("s_cou")(log)                          # the same of a drive
    METRICS.get("auc").info                            # MetricInfo: formula, unit, better, range, needs, version, …
    profile_metric("auc", "paper")                     # "auc_paper", the published form; "auc" in profile clean

A new metric is one function with :func:`giveway.metrics.metric.metric` and one line below; tables, reports and the
documentation find it here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from giveway.core.errors import UnknownNameError
from giveway.core.registry import Registry
from giveway.metrics.metric import Metric, MetricInfo, MetricValue, Of, metric

if TYPE_CHECKING:
    from giveway.core.log import DriveLog
    from giveway.core.test_result import TestResult

BUILTIN = {
    "auc": "giveway.metrics.ranking:auc",
    "auc_paper": "giveway.metrics.ranking:auc_paper",
    "auc_printed": "giveway.metrics.ranking:auc_printed",
    "accuracy": "giveway.metrics.classification:accuracy",
    "miss_rate": "giveway.metrics.classification:miss_rate",
    "tnr_pr": "giveway.metrics.classification:tnr_pr",
    "tnr_pr_printed": "giveway.metrics.classification:tnr_pr_printed",
    "tnr_pr_10": "giveway.metrics.classification:tnr_pr_10",
    "tnr_at_90": "giveway.metrics.classification:tnr_at_90",
    "brier": "giveway.metrics.calibration:brier",
    "log_loss": "giveway.metrics.calibration:log_loss",
    "ece": "giveway.metrics.calibration:ece",
    "ade": "giveway.metrics.displacement:ade",
    "ade_05": "giveway.metrics.displacement:ade_05",
    "fde": "giveway.metrics.displacement:fde",
    "fde_05": "giveway.metrics.displacement:fde_05",
    "time_cdf": "giveway.metrics.timing:time_cdf",
    "kde_nll": "giveway.metrics.likelihood:kde_nll",
    "challenge": "giveway.metrics.challenge_logs:challenge",
    "s_eff": "giveway.metrics.challenge_logs:s_eff",
    "s_jer": "giveway.metrics.challenge_logs:s_jer",
    "s_vel": "giveway.metrics.challenge_logs:s_vel",
    "s_cou": "giveway.metrics.challenge_logs:s_cou",
    "challenge_coded": "giveway.metrics.challenge_logs:challenge_coded",
    "challenge_documented": "giveway.metrics.challenge_logs:challenge_documented",
    "gated_score": "giveway.metrics.gated:gated",
    "ego_collisions": "giveway.metrics.safety:ego_collisions",
    "at_fault_collisions": "giveway.metrics.safety:at_fault_collisions",
    "obliged_collisions": "giveway.metrics.safety:obliged_collisions",
    "avoidable_collisions": "giveway.metrics.safety:avoidable_collisions",
    "others_collisions": "giveway.metrics.safety:others_collisions",
    "vulnerable_collisions": "giveway.metrics.safety:vulnerable_collisions",
    "other_collisions": "giveway.metrics.safety:other_collisions",
    "background_contacts": "giveway.metrics.background:background_contacts",
    "background_contact_s": "giveway.metrics.background:background_contact_s",
    "background_contacts_per_1000_s": "giveway.metrics.background:background_contacts_per_1000_s",
    "handed_over": "giveway.metrics.background:handed_over",
    "spawn_contacts": "giveway.metrics.safety:spawn_contacts",
    "min_ttc_s": "giveway.metrics.safety:min_ttc_s",
    "post_encroachment_s": "giveway.metrics.safety:post_encroachment_s",
    "min_gap_m": "giveway.metrics.safety:min_gap_m",
    "rms_jerk_smoothed": "giveway.metrics.comfort:rms_jerk_smoothed",
    "comfortable": "giveway.metrics.comfort:comfortable",
    "hard_braking": "giveway.metrics.comfort:hard_braking",
    "frozen": "giveway.metrics.comfort:frozen",
    "emergencies": "giveway.metrics.comfort:emergencies",
    "speed_limit_compliance": "giveway.metrics.gated:speed_limit_compliance",
    "progress": "giveway.metrics.gated:progress",
    "courtesy_jerk": "giveway.metrics.courtesy:courtesy_jerk",
    "courtesy_delay_s": "giveway.metrics.courtesy:courtesy_delay_s",
    "courtesy_imposed_decel": "giveway.metrics.courtesy:courtesy_imposed_decel",
    "realism": "giveway.metrics.realism:realism_score",
    "fallbacks": "giveway.metrics.prediction_errors:fallbacks",
    "predictions": "giveway.metrics.prediction_errors:predictions",
    "ade_m": "giveway.metrics.prediction_errors:ade_m",
    "fde_m": "giveway.metrics.prediction_errors:fde_m",
    "min_ade_m": "giveway.metrics.prediction_errors:min_ade_m",
    "min_fde_m": "giveway.metrics.prediction_errors:min_fde_m",
    "ade_replay_m": "giveway.metrics.prediction_errors:ade_replay_m",
    "ade_reactive_m": "giveway.metrics.prediction_errors:ade_reactive_m",
    "tests": "giveway.metrics.failures:tests",
    "violation_rate": "giveway.metrics.failures:violation_rate",
    "at_fault_rate": "giveway.metrics.failures:at_fault_rate",
    "grade_a_avoidable_rate": "giveway.metrics.failures:grade_a_avoidable_rate",
    "grade_b_rate": "giveway.metrics.failures:grade_b_rate",
    "grade_c_rate": "giveway.metrics.failures:grade_c_rate",
    "grade_d_rate": "giveway.metrics.failures:grade_d_rate",
    "avoidable_rate": "giveway.metrics.failures:avoidable_rate",
    "avoidable_share": "giveway.metrics.failures:avoidable_share",
    "top_10": "giveway.metrics.failures:top_10",
    "top_10_any": "giveway.metrics.failures:top_10_any",
    "steps_per_failure": "giveway.metrics.failures:steps_per_failure",
    "near_miss_rate": "giveway.metrics.failures:near_miss_rate",
    "median_min_ttc_s": "giveway.metrics.failures:median_min_ttc_s",
    "impact_speed_mps": "giveway.metrics.failures:impact_speed_mps",
    "findings": "giveway.metrics.failures:findings",
    "infeasible_share": "giveway.metrics.failures:infeasible_share",
    "off_road_share": "giveway.metrics.failures:off_road_share",
    "responsibility_per_100_s": "giveway.metrics.failures:responsibility_per_100_s",
    "parameter_distance": "giveway.metrics.failures:parameter_distance",
    "archive_cells": "giveway.metrics.failures:archive_cells",
    "failure_kinds": "giveway.metrics.failures:failure_kinds",
}
"""Name to place, in the order of tables."""

METRICS: Registry[Metric] = Registry(
    "metric", BUILTIN, group="giveway.metrics", aliases={"challenge_printed": "challenge_documented"}
)

PAPER_FORMS = {"auc": "auc_paper"}
"""Metrics whose published form differs: name to the name of that form."""

PRINTED_FORMS = {"auc": "auc_printed", "tnr_pr": "tnr_pr_printed"}
"""Metrics whose printed form differs."""


def profile_metric(name: str, profile: str) -> str:
    """The registered metric that stands for ``name`` in a profile (switches ``[auc]`` and ``[tnr_pr]``)."""
    return {"paper": PAPER_FORMS, "printed": PRINTED_FORMS}.get(profile, {}).get(name, name)


def metrics_of(of: Of) -> list[Metric]:
    """All metrics of one kind of result: the built-in ones in the order of tables, then the others by name."""
    order = [*BUILTIN, *(name for name in METRICS.names() if name not in BUILTIN)]
    return [found for found in map(METRICS.get, order) if found.info.of == of]


def find_metric(name: str, of: Of) -> Metric:
    """The metric of one kind of result with this name.

    Raises:
        UnknownNameError: there is none; naming the nearest ones of the kind.
    """
    if name in METRICS and METRICS.get(name).info.of == of:
        return METRICS.get(name)
    raise UnknownNameError(f"metric of {of}", name, [found.info.name for found in metrics_of(of)])


def measure_log(log: DriveLog) -> dict[str, MetricValue]:
    """Every registered metric of drives, of one log."""
    return {found.info.name: found(log) for found in metrics_of("drive")}


def measure_campaign(results: Sequence[TestResult]) -> dict[str, float]:
    """Heading to value of every registered metric of campaigns, of the results of the tests of one."""
    return {found.info.heading: found(results).value for found in metrics_of("campaign")}


__all__ = [
    "METRICS",
    "PAPER_FORMS",
    "PRINTED_FORMS",
    "Metric",
    "MetricInfo",
    "MetricValue",
    "find_metric",
    "measure_campaign",
    "measure_log",
    "metric",
    "metrics_of",
    "profile_metric",
]
