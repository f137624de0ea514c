"""The system's Chromium for tests that open pages."""

from __future__ import annotations

import os
import shutil

import pytest

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> str:
    """Path of the browser; the test is skipped where there is none, and fails in CI."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    message = "no Chromium found (Debian: apt-get install chromium)"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def browser():
    path = chromium_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser):
    """A page that collects console errors and exceptions in ``page.problems`` and requests in ``page.requests``."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    opened = context.new_page()
    opened.problems = []
    opened.requests = []
    opened.on("console", lambda m: opened.problems.append(m.text) if m.type == "error" else None)
    opened.on("pageerror", lambda e: opened.problems.append(str(e)))
    opened.on("request", lambda r: opened.requests.append(r.url))
    yield opened
    context.close()
