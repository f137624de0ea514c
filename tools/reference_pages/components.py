"""Everything that is registered by name as a page of the documentation.

``python tools/reference_pages/components.py > docs/reference/components.md`` writes it; a test compares.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

REGISTRIES: dict[str, tuple[str, str]] = {
    "Datasets": ("giveway.data:DATASETS", "`giveway data ... --dataset NAME`"),
    "Gap datasets": (
        "giveway.gaps.extractions:EXTRACTIONS",
        "`giveway gaps extract --dataset NAME`, `datasets` of a run",
    ),
    "Splits": ("giveway.gaps.splits:SPLITS", "`splits` of a run"),
    "Predictors": ("giveway.predictors:PREDICTORS", "`giveway drive run --predictor NAME`, `models` of a run"),
    "Roads": ("giveway.roads.library:ROADS", "`giveway generate ... --road NAME`"),
    "Seed searches": ("giveway.generate.search:SEARCHES", "`giveway generate run --search NAME`"),
    "Drivers": (
        "giveway.sim.drivers:DRIVERS",
        "`giveway drive run --traffic NAME`, or `driver` of a car in a case file",
    ),
    "Planners": ("giveway.planning:PLANNERS", "`giveway drive run --planner NAME`"),
}
"""Heading to the registry and where its names are used."""

HEAD = """# Components

Made from the registries (`python tools/reference_pages/components.py`). Metrics have [a page of their own](metrics.md).
A package of your own adds to each of them through entry points; the group stands beside the heading.
"""


def render_components() -> str:
    """The whole page."""
    parts = [HEAD]
    for heading, (path, used) in REGISTRIES.items():
        module, _, attribute = path.partition(":")
        registry = getattr(import_module(module), attribute)
        parts.append(f"## {heading}\n\nUsed in {used}; entry points `{registry.group}`.\n")
        rows = [
            f"| `{name}` | {_title(registry.get(name))} | {_summary(registry.get(name))} |" for name in registry.names()
        ]
        parts.append("| name | title | what it is |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _title(component: Any) -> str:
    title = getattr(getattr(component, "info", None), "title", "")
    return title if isinstance(title, str) else ""


def _summary(component: Any) -> str:
    """First sentence of the component's own docstring, in one line."""
    text = (component.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(text.split()).replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(render_components())
