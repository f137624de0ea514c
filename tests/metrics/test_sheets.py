from __future__ import annotations

from pathlib import Path

from giveway.metrics.sheets import render_sheets

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


def test_the_page_of_metrics_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_sheets(), (
        "run: python -m giveway.metrics.sheets > docs/reference/metrics.md"
    )
