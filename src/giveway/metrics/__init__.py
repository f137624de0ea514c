"""Measures of predictions: a function and a fact sheet each.

::

    value = METRICS.get("auc")(truth, prediction)      # MetricValue: value, num_samples, per_sample, note
    METRICS.get("auc").info                            # MetricInfo: formula, unit, better, range, needs, version, …
    profile_metric("auc", "paper")                     # "auc_paper", the published form; "auc" in profile clean

A new metric is one function with :func:`giveway.metrics.metric.sample_metric` (one value per sample) or
:func:`giveway.metrics.metric.score_metric` (a function of labels and probabilities) and one line below.
"""

from __future__ import annotations

from giveway.core.registry import Registry
from giveway.metrics.metric import Metric, MetricInfo, MetricValue

METRICS: Registry[Metric] = Registry(
    "metric",
    {
        "auc": "giveway.metrics.ranking:auc",
        "auc_paper": "giveway.metrics.ranking:auc_paper",
        "accuracy": "giveway.metrics.classification:accuracy",
        "miss_rate": "giveway.metrics.classification:miss_rate",
        "tnr_pr": "giveway.metrics.classification:tnr_pr",
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
    },
    group="giveway.metrics",
)

PAPER_FORMS = {"auc": "auc_paper"}
"""Metrics whose published form differs: name to the name of that form."""


def profile_metric(name: str, profile: str) -> str:
    """The registered metric that stands for ``name`` in a profile (switch ``[auc]``)."""
    return PAPER_FORMS.get(name, name) if profile == "paper" else name


__all__ = ["METRICS", "PAPER_FORMS", "Metric", "MetricInfo", "MetricValue", "profile_metric"]
