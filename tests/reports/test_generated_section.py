"""What the section on generated traffic says."""

from __future__ import annotations

import re

from giveway.generate.pages import generated_blocks
from giveway.reports.content import Chart
from giveway.reports.table import Table


def campaign(label: str, kinds: dict[str, tuple[int, int]], **measures: float) -> dict[str, object]:
    return {"label": label, "measures": measures, "realism": {}, "kinds": kinds}


def blocks(*campaigns: dict[str, object]) -> list[object]:
    titles = {"archive_cells": "archive cells", "rate": "rate"}
    return list(generated_blocks({"campaigns": campaigns, "titles": titles, "realism_titles": {}}))


def test_counts_have_no_decimals_and_rates_do() -> None:
    found = blocks(
        campaign("a", {}, archive_cells=0.0, rate=0.0),
        campaign("b", {}, archive_cells=2.0, rate=1.0),
        campaign("c", {}, archive_cells=float("nan"), rate=0.25),
    )
    table = next(b for b in found if isinstance(b, Table))
    assert [[entry.text for entry in row] for row in table.rows] == [
        ["archive cells", "0", "2", "–"],
        ["rate", "0.000", "1.000", "0.250"],
    ]


def test_no_two_kinds_of_failures_share_a_color() -> None:
    kinds = {f"kind{k}": (12 - k, 0) for k in range(12)}
    found = blocks(campaign("a", kinds), campaign("b", {"kind11": (3, 1)}))
    chart = next(b for b in found if isinstance(b, Chart)).svg
    assert len(re.findall(r"kind\d+", chart.split("legend")[-1])) == 7
    assert "5 others" in chart
    table = [b for b in found if isinstance(b, Table)][-1]
    assert len(table.rows) == 12, "the table still names all"
