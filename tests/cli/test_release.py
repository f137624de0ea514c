"""One version everywhere, and a wheel that holds what the sources hold."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import giveway
from giveway.experiments.provenance import code_version

ROOT = Path(__file__).parents[2]


def test_changelog_citation_and_provenance_name_the_version_of_the_command() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    shown = subprocess.run(
        [sys.executable, "-m", "giveway.cli.main", "--version"], capture_output=True, text=True, check=True
    )
    assert newest and cited
    found = {newest[1], cited[1], shown.stdout.split()[-1], str(code_version()["giveway"])}
    assert found == {giveway.__version__}


@pytest.mark.slow
def test_a_wheel_holds_every_file_of_the_package_and_its_version(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--quiet", "--wheel-dir", str(tmp_path)]
    subprocess.run(build, check=True, timeout=600)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"giveway-{giveway.__version__}-")
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "giveway").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in {".nbi", ".nbc", ".pyc"}
    }
    assert sources - set(zipfile.ZipFile(wheel).namelist()) == set()
