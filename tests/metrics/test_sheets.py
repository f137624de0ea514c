from __future__ import annotations

from pathlib import Path

from reference_pages.metrics import render_sheets

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


def test_the_page_of_metrics_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_sheets(), (
        "run: python tools/reference_pages/metrics.py > docs/reference/metrics.md"
    )
