"""Commands without their optional libraries: one message, all names, before any work."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from giveway import __version__
from giveway.cli.main import COMMANDS
from giveway.cli.start import REQUIRED
from giveway.core.extras import EXTRAS
from giveway.reports.citations import OURS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BLOCKED = """
import importlib.abc, sys
class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in sys.argv[1].split(",") or name.partition(".")[0] in sys.argv[1].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
if __name__ == "__main__":
    from giveway.cli.main import run
    run(sys.argv[2:])
"""
LINES = {
    "demo --out {tmp}/demo": "sklearn torch botorch pymoo fastapi matplotlib",
    "gaps figure {tmp} --out {tmp}/f.png": "matplotlib",
    "gaps run --preset quick --out {tmp}/R": "sklearn",
    "gaps run --preset experiment-1 --out {tmp}/R": "torch safetensors sklearn botorch",
    "gaps run --preset quick --out {tmp}/R --engine dask --scheduler tcp://127.0.0.1:9": "distributed",
    "gaps run --preset quick --out s3://bucket/R": "fsspec s3fs",
    "drive run -p gru:{tmp}/x --out {tmp}/D": "safetensors",
    "drive serve --out {tmp}/D": "grpc",
    "drive train {tmp} --out {tmp}/g -p gru": "torch safetensors",
    "drive replay {tmp} --out {tmp}/film.mp4": "matplotlib imageio_ffmpeg",
    "generate train --out {tmp}/P": "torch safetensors",
    "generate run --out {tmp}/G": "safetensors pymoo",
    "generate bench --out {tmp}/G": "safetensors pymoo cma",
    "study create {tmp} --out {tmp}/S --video": "fastapi imageio_ffmpeg",
    "study serve {tmp}/S --database postgresql://x": "fastapi psycopg",
    "study analyze {tmp}/S": "fastapi",
    "study rehearse {tmp}/S --out {tmp}/R": "fastapi",
}
"""Command line to libraries that it needs; the message may name more."""


def blocked(libraries: list[str], line: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    args = line.format(tmp=tmp_path).split()
    return subprocess.run(
        [sys.executable, "-c", BLOCKED, ",".join(libraries), *args], capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("line", LINES)
def test_all_missing_libraries_are_named_at_once_before_any_work(line: str, tmp_path: Path) -> None:
    everything = sorted({name for extra in EXTRAS for name in EXTRAS[extra]})
    done = blocked(everything, line, tmp_path)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("pip install 'giveway[") == 1
    assert list(tmp_path.iterdir()) == []
    for library in LINES[line].split():
        assert repr(library) in done.stderr


@pytest.mark.parametrize("extra", EXTRAS)
def test_without_one_extra_help_works_and_its_commands_name_it(extra: str, tmp_path: Path) -> None:
    asking = [line.format(tmp=tmp_path) for line, needs in LINES.items() if {*needs.split()} & {*EXTRAS[extra]}]
    code = (
        BLOCKED.partition("if __name__")[0]
        + """
import contextlib, io, json
from giveway.cli.main import run
answers = []
for line in sys.argv[2:]:
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            run(line.split())
        except SystemExit as end:
            answers.append([line, end.code, said.getvalue()])
print(json.dumps(answers))
"""
    )
    helps = [f"{group} --help" for group in COMMANDS]
    done = subprocess.run(
        [sys.executable, "-c", code, ",".join(EXTRAS[extra]), *helps, *asking],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert [code for line, code, _ in answers if line in helps] == [0] * len(COMMANDS)
    for line, code, text in answers:
        if line in asking:
            assert code == 2, line
            assert "pip install 'giveway[" in text
    assert list(tmp_path.iterdir()) == []


def test_two_extras_make_one_install_line(tmp_path: Path) -> None:
    done = blocked(["matplotlib", "imageio_ffmpeg"], "drive replay x --out film.mp4", tmp_path)
    assert done.returncode == 2
    assert "'matplotlib', 'imageio_ffmpeg'" in done.stderr
    assert "pip install 'giveway[plot,video]'" in done.stderr


def distributions(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=;! ]", requirement)[0] for requirement in requirements}


def test_the_table_of_extras_is_that_of_the_project() -> None:
    declared = {
        extra: distributions(requirements)
        for extra, requirements in PROJECT["optional-dependencies"].items()
        if extra not in ("all", "docs", "dev")
    }
    assert {extra: set(names.values()) for extra, names in EXTRAS.items()} == declared


def test_doctor_knows_the_small_install() -> None:
    assert set(REQUIRED.values()) == distributions(PROJECT["dependencies"])


def test_the_citation_file_says_what_cite_prints() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    fields = {name: value.replace("{", "").replace("}", "") for name, value in OURS.fields}
    assert (cited["title"], cited["version"]) == (fields["title"], fields["version"])
    assert " and ".join(author["name"] for author in cited["authors"]) == fields["author"]
    assert (cited["type"], cited["license"], cited["version"]) == (OURS.type, PROJECT["license"], __version__)
