"""The documentation as a reader meets it: built, with every link, anchor and formula, and nothing from other hosts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

from docs.pages import ROOT
from giveway.reports.rendering import script_text

LOADED = {"script": "src", "link": "href", "img": "src", "source": "srcset", "iframe": "src"}
NOT_LOADED = {"canonical", "prev", "next"}


class Page(HTMLParser):
    """Links, anchors and formulas of a page, and what a browser would load for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors = {""}
        self.formulas = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.formulas += tag == "math"
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given and given.get("rel") not in NOT_LOADED:
            self.loads.append(given[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built strictly, from a copy, so that nothing is left in the working tree."""
    root = tmp_path_factory.mktemp("docs")
    shutil.copy(ROOT / "zensical.toml", root)
    shutil.copytree(ROOT / "docs", root / "docs")
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tools"), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return root / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(found) == sum(len(list((ROOT / "docs").rglob(kind))) for kind in ("*.md", "*.html"))
    return found


def test_links_and_anchors_exist(pages: dict[Path, Page]) -> None:
    broken: list[str] = []
    for path, page in pages.items():
        for link in page.links:
            if urlsplit(link).scheme or link.startswith("//"):
                continue
            address, anchor = urldefrag(unquote(link))
            target = (path.parent / address).resolve() if address else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (target in pages and anchor not in pages[target].anchors):
                broken.append(f"{path.parent.name}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_other_hosts(site: Path, pages: dict[Path, Page]) -> None:
    foreign = [(path.parent.name, load) for path, page in pages.items() for load in page.loads if "//" in load]
    assert foreign == []
    styles = [sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css")]
    assert not any(re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", style) for style in styles)


def test_the_tour_plays_its_encounter_with_the_present_player(site: Path) -> None:
    shown = (site / "images/tour.html").read_text(encoding="utf-8")
    assert script_text("player.js").strip() in shown, "make it anew: the two commands of docs/tour.md"


def test_formulas_are_drawn_without_scripts(site: Path, pages: dict[Path, Page]) -> None:
    assert sum(page.formulas > 0 for page in pages.values()) >= 8
    left = [path for path in pages if re.search(r"arithmatex|\$\$|\\frac|<merror", path.read_text(encoding="utf-8"))]
    assert left == []
    kappa = (site / "study" / "agreement" / "index.html").read_text(encoding="utf-8")
    assert re.search(r"<math[^>]*display=\"block\".*?<mfrac>.*?</math>", kappa, re.DOTALL)
