"""Drives of one case beside each other in a report."""

from __future__ import annotations

from pathlib import Path

import pytest

import giveway
from giveway.reports.find import make_report

pytestmark = pytest.mark.browser

WITHOUT_REPLAYS_BYTES = 2_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drives")
    giveway.run_drive(out=folder / "R", predictors=["echo", "constant_velocity"], planner="idm", max_cases=2)
    make_report(folder / "R", folder / "site")
    return folder / "site"


def test_a_case_can_be_compared_with_another_predictor(page, site: Path) -> None:
    (cells,) = site.rglob("cells.html")
    page.goto(cells.as_uri())
    page.wait_for_selector(".browser[data-ready]")
    page.get_by_label("search").fill("merge-00")
    page.locator(".browser tbody tr", has_text="echo").first.click()
    page.wait_for_selector(".replay [data-ready]")
    assert page.locator(".replay canvas").count() == 1
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector(".replay .gw-two")
    assert page.locator(".replay canvas").count() == 2
    assert page.get_by_label("Drive B").locator("option:checked").inner_text() == "constant_velocity"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.problems == []
    assert all(url.startswith("file:") for url in page.requests)


def test_a_report_is_small_without_its_replays(site: Path) -> None:
    files = [f for f in site.rglob("*") if f.is_file() and f.parent.name != "replays"]
    assert sum(f.stat().st_size for f in files) < WITHOUT_REPLAYS_BYTES
