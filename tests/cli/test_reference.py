from __future__ import annotations

from pathlib import Path

from reference_pages.api import render_api
from reference_pages.commands import render_commands
from reference_pages.components import render_components

PAGES = Path(__file__).parents[2] / "docs" / "reference"


def test_the_page_of_commands_is_up_to_date() -> None:
    assert (PAGES / "commands.md").read_text(encoding="utf-8") == render_commands(), (
        "run: python tools/reference_pages/commands.py > docs/reference/commands.md"
    )


def test_the_page_of_components_is_up_to_date() -> None:
    assert (PAGES / "components.md").read_text(encoding="utf-8") == render_components(), (
        "run: python tools/reference_pages/components.py > docs/reference/components.md"
    )


def test_the_page_of_python_names_is_up_to_date() -> None:
    assert (PAGES / "api.md").read_text(encoding="utf-8") == render_api(), (
        "run: python tools/reference_pages/api.py > docs/reference/api.md"
    )
