"""The contract of metrics: what a decorated function may return, and what becomes of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giveway.core.errors import UnknownNameError, UsageError
from giveway.metrics import METRICS, MetricValue, find_metric, metrics_of
from giveway.metrics.metric import metric
from giveway.metrics.shared import once_per_log

FACTS = {
    "name": "mine",
    "title": "Mine",
    "formula": "what is given",
    "unit": "",
    "better": "lower",
    "range": (0.0, 9.0),
    "version": 3,
    "reference": "own",
}


def of_drive(**more):
    return metric(**FACTS, of="drive", **more)(lambda given: given)


def test_a_number_is_the_value_and_counts_once():
    value = of_drive()(2)
    assert (value.value, value.per_item, value.num_items, value.note) == (2.0, None, 1, "")
    assert (value.metric, value.version) == ("mine", 3)


def test_one_number_per_item_gives_the_mean_of_those_that_are_there():
    value = of_drive(items="cars")(np.array([1.0, np.nan, 4.0]))
    assert (value.value, value.num_items) == (2.5, 2)
    assert value.mask is not None and value.mask.tolist() == [True, False, True]


@pytest.mark.parametrize("given", [math.nan, math.inf, np.array([np.nan]), np.zeros(0)])
def test_what_cannot_be_measured_is_nan_with_a_note(given):
    value = of_drive(items="cars")(given)
    assert math.isnan(value.value)
    assert value.note
    assert value.num_items in (0, 1)


def test_a_value_with_names_of_its_items_is_taken_as_it_is():
    given = MetricValue(value=7.0, per_item=np.array([1.0, 2.0]), mask=np.array([True, True]), labels=("a", "b"))
    value = of_drive(items="cars")(given)
    assert value.value == 7.0
    assert value.items == {"a": 1.0, "b": 2.0}


@pytest.mark.parametrize("given", [None, "fast", np.zeros((2, 2)), np.array([True]), [1.0]])
def test_anything_else_is_refused_with_the_name_of_the_metric(given):
    with pytest.raises(UsageError, match="'mine'"):
        of_drive()(given)


def test_the_heading_of_a_column_is_the_name_unless_the_facts_say_otherwise():
    assert of_drive().info.heading == "mine"
    assert of_drive(column="").info.heading == ""
    assert of_drive().info.orient(2.0) == -2.0


def test_a_metric_of_another_kind_is_unknown():
    assert find_metric("s_cou", "drive").info.name == "s_cou"
    with pytest.raises(UnknownNameError, match="metric of gaps"):
        find_metric("s_cou", "gaps")


def test_every_registered_metric_is_of_one_kind_under_its_own_name():
    found = [m.info.name for of in ("gaps", "drive", "campaign", "clips") for m in metrics_of(of)]
    assert sorted(found) == METRICS.names()


def test_shared_results_are_computed_once_per_log_and_never_for_another_one():
    calls = []
    compute = once_per_log(lambda log: calls.append(log) or len(calls))
    one, two = object(), object()
    assert [compute(one), compute(one), compute(two), compute(one)] == [1, 1, 2, 3]
