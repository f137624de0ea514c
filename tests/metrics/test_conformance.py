from __future__ import annotations

import numpy as np
import pytest

from giveway.core.errors import UnknownNameError
from giveway.core.predictions import OutputKind, Prediction
from giveway.core.samples import GapTruth
from giveway.metrics import METRICS, profile_metric
from giveway.metrics.metric import metric as make_metric
from giveway.metrics.predictions import probability_of
from giveway.testing.metrics import check_metric


@pytest.mark.parametrize("name", METRICS.names())
def test_every_registered_metric_keeps_its_promises(name: str) -> None:
    metric = METRICS.get(name)
    assert metric.info.name == name
    check_metric(metric)


def test_the_check_notices_a_metric_that_depends_on_the_order_of_samples() -> None:
    @make_metric(
        of="gaps",
        items="samples",
        name="broken",
        title="Broken",
        formula="p, but the first sample counts double",
        unit="",
        better="lower",
        range=(-1.0, 3.0),
        needs=OutputKind.PROBABILITY,
        version=1,
        reference="nowhere",
    )
    def broken(truth: GapTruth, prediction: Prediction) -> np.ndarray:
        error = np.abs(probability_of(prediction, truth) - truth.accepted)
        error[:1] *= 2
        return error

    with pytest.raises(AssertionError, match="order of samples"):
        check_metric(broken)


def test_an_unknown_metric_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'tnr_pr'"):
        METRICS.get("tnr-pr")


def test_the_paper_profile_uses_the_published_form_of_auc_only() -> None:
    assert profile_metric("auc", "paper") == "auc_paper"
    assert profile_metric("auc", "clean") == "auc"
    assert profile_metric("ade", "paper") == "ade"
