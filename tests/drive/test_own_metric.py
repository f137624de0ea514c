"""A driving metric of one's own is one function and one line: no table, report or page is edited for it."""

from __future__ import annotations

import pytest

import giveway as gw
from giveway.metrics import METRICS
from giveway.testing.metrics import check_metric
from reference_pages.metrics import render_sheets


@gw.metric(
    name="top_speed",
    title="Top speed",
    formula="max of |v| of the ego",
    unit="m/s",
    better="neither",
    range=(0.0, 100.0),
    of="drive",
    version=1,
    reference="own",
)
def top_speed(log):
    return float(log.tracks.speed[log.ego].max())


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(METRICS, "_objects", dict(METRICS._objects))
    gw.register("metric", "top_speed", top_speed)


def test_it_is_in_the_frame_the_tables_and_the_documentation(registered, tmp_path):
    check_metric(top_speed)
    results = gw.run_drive(out=tmp_path, predictors=["constant_velocity"], max_cases=2)
    found = results.frame(metric="top_speed", predictor="constant_velocity")
    assert found.height == 2
    assert found["value"].to_list() == [
        pytest.approx(float(results.log(case=case, predictor="constant_velocity").tracks.speed[0].max()))
        for case in found["case"]
    ]
    assert "top_speed" in results.table().text()
    assert "## top_speed" in render_sheets()


def test_without_it_nothing_of_it_is_left():
    assert "## top_speed" not in render_sheets()
