from __future__ import annotations

import tomllib
from typing import Any

from docs.pages import ROOT


def files(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    return [f for part in (entry.values() if isinstance(entry, dict) else entry) for f in files(part)]


def test_every_page_has_one_place_in_the_navigation():
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    listed = files(nav)
    assert len(listed) == len(set(listed))
    assert set(listed) == pages
