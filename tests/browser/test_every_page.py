"""Every kind of page of a report on phone, tablet, desk, light and dark: fits, no errors, nothing serious for axe."""

from __future__ import annotations

from pathlib import Path

import pytest

from giveway.demo.run import CHAPTERS, report_of
from giveway.drive.run import run_drive
from support.stores import invented_store

pytestmark = pytest.mark.browser
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

VIEWPORTS = {"phone": (390, 844), "tablet": (768, 1024), "landscape": (1024, 768), "desk": (1400, 1000)}
QUICK = {("phone", "dark"), ("desk", "light")}
VIEWS = [
    pytest.param(name, scheme, marks=() if (name, scheme) in QUICK else pytest.mark.slow)
    for name in VIEWPORTS
    for scheme in ("light", "dark")
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small demo: the same pages as the whole one."""
    root = tmp_path_factory.mktemp("everything")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("giveway.demo.generate.BUDGET", 12)
        patch.setattr("giveway.demo.generate.EGO", "constant_speed")  # fails soon
        for name in ("recordings", "study", "generate"):
            CHAPTERS.get(name).run(root, 0)
    run_drive(out=root / "drive" / "results", predictors=["constant_velocity", "echo"], max_cases=3)
    invented_store(root / "gaps" / "results", 400, failures=1, sampled=6)
    return report_of(root).page.parent


def kinds(site: Path) -> list[Path]:
    """One page of each kind: those that differ only in what they are about are alike."""
    found: dict[tuple[str, str], Path] = {}
    for file in sorted(site.rglob("*.html")):
        kind = file.stem.split("-")[0] if "-" in file.stem else file.stem
        found.setdefault((file.parent.name, kind), file)
    return list(found.values())


@pytest.mark.parametrize(("view", "scheme"), VIEWS)
def test_every_kind_of_page_fits_and_is_accessible(browser, site: Path, view: str, scheme: str) -> None:
    width, height = VIEWPORTS[view]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, bypass_csp=True)
    page, problems, found = context.new_page(), [], {}
    page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: problems.append(str(e)))
    page.on("request", lambda r: None if r.url.startswith("file:") else problems.append(r.url))
    pages = kinds(site)
    assert len(pages) >= 18, pages
    for file in pages:
        page.goto(file.as_uri())
        if page.locator(".browser").count():
            page.wait_for_selector(".browser[data-ready]")
        if page.locator(".board:visible tbody button").count():
            page.locator(".board:visible tbody button").first.click()
            page.wait_for_selector(".drill[data-ready]")
        name = file.relative_to(site).as_posix()
        found[name] = problems.copy()
        problems.clear()
        if (wide := page.evaluate("document.documentElement.scrollWidth")) > width:
            found[name].append(f"{wide} px wide")
        # without preload: axe would ask for the style sheets, which a page on disk may not
        violations = axe.Axe().run(page, options={"preload": False}).response["violations"]
        found[name] += [
            f"{v['id']}: {v['nodes'][0]['html'][:150]}" for v in violations if v["impact"] in ("serious", "critical")
        ]
    context.close()
    assert {name: what for name, what in found.items() if what} == {}
