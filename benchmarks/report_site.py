"""A store with many cells: how fast results open, become a site, and how fast Chromium opens it from disk.

    python benchmarks/report_site.py --cells 100000

Prints JSON: seconds of CPU to open the results (index at hand) and to make the site, and per page the best of three
openings in Chromium, until the table of all cells can be used.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from giveway.reports.find import make_report
from giveway.reports.results import Results
from support.stores import invented_store

PAGES = ("index.html", "r/index.html", "r/cells.html")


def opening_s(page: Page, file: Path) -> float:
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        page.goto(file.as_uri())
        if file.name == "cells.html":
            page.wait_for_selector(".browser[data-ready]")
        best = min(best, time.perf_counter() - began)
    return round(best, 3)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=100_000)
    cells = parser.parse_args().cells
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        invented_store(root / "R", cells, failures=3, sampled=20)
        began = time.process_time()
        Results.open(root / "R")
        indexing_s = time.process_time() - began
        began = time.process_time()
        Results.open(root / "R")
        results_s = time.process_time() - began
        began = time.process_time()
        files = make_report(root / "R", root / "site", title="Results").files
        making_s = time.process_time() - began
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page()
            opened = {name: opening_s(page, root / "site" / name) for name in PAGES}
            browser.close()
        size = sum(p.stat().st_size for p in (root / "site").rglob("*") if p.is_file())
    result = {
        "cells": cells,
        "first_opening_cpu_s": round(indexing_s, 1),
        "results_open_cpu_s": round(results_s, 2),
        "making_cpu_s": round(making_s, 1),
        "files": files,
        "mb": round(size / 1e6, 1),
        "opening_s": opened,
        "machine_load": [round(v, 1) for v in os.getloadavg()],
    }
    print(json.dumps({"benchmark": "report_site", **result}, indent=2))


if __name__ == "__main__":
    main()
