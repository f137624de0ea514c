"""The page of the public Python names, made from their docstrings: ``python tools/reference_pages/api.py``."""

from __future__ import annotations

import inspect
import sys

import giveway

GROUPS = {
    "Recordings": ("datasets", "open_dataset", "OpenDataset", "synthesize", "extract_gaps"),
    "Runs": ("run_gaps", "run_drive", "find_failures", "train_planner", "train_traffic"),
    "Studies": ("create_study", "serve_study", "analyze_study", "agreement"),
    "Results": ("Results", "report", "cite"),
    "Engines and components": ("LocalEngine", "DaskEngine", "Predictor", "Prediction", "Planner", "Driver", "register"),
    "Values": ("Tracks", "Scene", "AgentKind", "LaneMap", "Case", "CaseSet", "DriveLog", "GapSamples"),
    "Errors": ("GivewayError",),
}
"""All public names in the order of the page."""
METHODS = {"Results": ("open", "frame", "samples", "table", "figure", "compare", "log", "cases")}
"""Methods that are described as well."""
HEAD = """# Python

Made from the code (`python tools/reference_pages/api.py`). These names, imported from `giveway`, are promised: a name
or argument is deprecated for one minor release before it goes. Everything else may change without notice. How they work
together: [Python](../how-to/python.md).
"""


def render_api() -> str:
    """The page as Markdown."""
    lines = [HEAD]
    for group, names in GROUPS.items():
        lines.append(f"## {group}\n")
        for name in names:
            lines += _described(f"`{name}{_signature(getattr(giveway, name))}`", getattr(giveway, name))
            for method in METHODS.get(name, ()):
                found = getattr(getattr(giveway, name), method)
                lines += _described(f"`{name}.{method}{_signature(found)}`", found)
    return "\n".join(lines).rstrip() + "\n"


def _described(heading: str, found: object) -> list[str]:
    text = inspect.getdoc(found) or ""
    return [f"### {heading}\n", "```text", text.strip(), "```", ""]


def _signature(found: object) -> str:
    """Names and defaults of the arguments; types are in the code."""
    if inspect.isclass(found) and not issubclass(found, giveway.LocalEngine | giveway.DaskEngine):
        return ""
    parameters = inspect.signature(found).parameters.values()  # pyright: ignore[reportArgumentType]
    parts: list[str] = []
    is_keyword_only = False
    for p in parameters:
        if p.name == "self":
            continue
        if p.kind is p.KEYWORD_ONLY and not is_keyword_only:
            is_keyword_only = True
            parts.append("*")
        star = "**" if p.kind is p.VAR_KEYWORD else ""
        parts.append(f"{star}{p.name}" + ("" if p.default is p.empty else f"={p.default!r}"))
    return f"({', '.join(parts)})"


if __name__ == "__main__":
    sys.stdout.write(render_api())
