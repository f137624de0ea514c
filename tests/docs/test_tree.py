"""The page that says where things are."""

from __future__ import annotations

import re
from pathlib import Path

import giveway

SOURCE = Path(giveway.__file__).parent
PAGE = SOURCE.parents[1] / "docs" / "explanation" / "tree.md"


def test_every_file_and_folder_that_the_page_names_exists() -> None:
    cells = [line.split("|")[1:3] for line in table_rows()]
    homes = [left if "`" in left else right for left, right in cells]
    named = [name for home in homes for name in re.findall(r"`([a-z_/]+(?:\.py|\.toml|/)?)`", home)]
    assert len(named) > 30
    assert [name for name in named if not (SOURCE / name).exists()] == []


def test_every_folder_of_the_package_is_on_the_page() -> None:
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    listed = set(re.findall(r"`([a-z]+)`", "".join(line.split("|")[1] for line in table_rows())))
    assert folders - listed == set()


def table_rows() -> list[str]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("|") and not line.startswith(("|---", "| folder", "| wish"))]
