from __future__ import annotations

from pathlib import Path

from giveway.cli.api import render_api
from giveway.cli.components import render_components
from giveway.cli.reference import render_commands

PAGES = Path(__file__).parents[2] / "docs" / "reference"


def test_the_page_of_commands_is_up_to_date() -> None:
    assert (PAGES / "commands.md").read_text(encoding="utf-8") == render_commands(), (
        "run: python -m giveway.cli.reference > docs/reference/commands.md"
    )


def test_the_page_of_components_is_up_to_date() -> None:
    assert (PAGES / "components.md").read_text(encoding="utf-8") == render_components(), (
        "run: python -m giveway.cli.components > docs/reference/components.md"
    )


def test_the_page_of_python_names_is_up_to_date() -> None:
    assert (PAGES / "api.md").read_text(encoding="utf-8") == render_api(), (
        "run: python -m giveway.cli.api > docs/reference/api.md"
    )
