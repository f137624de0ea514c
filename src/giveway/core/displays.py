"""How values of the core are shown in a notebook; what draws them is found by import path, because it lies above."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

from giveway.core.registry import Registry

DISPLAYS: Registry[Callable[[Any], str]] = Registry(
    "display",
    {
        "scene": "giveway.reports.player.notebook:scene_html",
        "log": "giveway.drive.replay:log_html",
        "tracks": "giveway.reports.inline_pictures:tracks_html",
        "samples": "giveway.reports.inline_pictures:samples_html",
    },
    group="giveway.displays",
)
"""Functions that give the HTML of a value."""


def shown(kind: str, value: object) -> str:
    """The HTML of a value in a notebook."""
    return DISPLAYS.get(kind)(value)


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """A small table of names and values."""
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(str(fact))}</td></tr>'
        for name, fact in facts.items()
    )
    return f"<table><caption>{html.escape(title)}</caption><tbody>{rows}</tbody></table>"
