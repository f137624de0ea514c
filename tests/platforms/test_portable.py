"""The package on systems that this machine is not: what is imported, called and written."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from giveway.core.extras import EXTRAS
from giveway.core.files import portable_name

SOURCES = Path(__file__).parents[2] / "src" / "giveway"
UNIX_MODULES = ("fcntl", "pwd", "grp", "resource", "termios")
UNIX_NAMES = {
    ("os", "O_CLOEXEC"),
    ("os", "pwrite"),
    ("os", "pread"),
    ("os", "getuid"),
    ("os", "fork"),
    ("os", "killpg"),
    ("os", "setsid"),
    ("os", "sysconf"),
    ("signal", "SIGKILL"),
    ("signal", "SIGALRM"),
}
ALLOWED = {
    ("experiments/provenance.py", "/proc/cpuinfo"),  # falls back to the name of the architecture
}
PACKAGES = [
    "core",
    "roads",
    "data",
    "synth",
    "experiments",
    "gaps",
    "drive",
    "sim",
    "planning",
    "metrics",
    "predictors",
]
NEED_TORCH = ("giveway.predictors.trajectron", "giveway.predictors.torch_", "giveway.drive.learning")
NEED_GYMNASIUM = ("giveway.sim.views.ego", "giveway.sim.views.traffic")


def unix_only(source: str) -> set[str]:
    """Names in a module that other systems do not have."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {f"import {alias.name}" for alias in node.names if alias.name in UNIX_MODULES}
        elif isinstance(node, ast.ImportFrom) and node.module in UNIX_MODULES:
            found.add(f"import {node.module}")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in UNIX_NAMES:
                found.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("/proc/"):
            found.add(node.value)
    return found


def test_no_module_uses_what_only_unix_has() -> None:
    found = {
        (path.relative_to(SOURCES).as_posix(), name)
        for path in SOURCES.rglob("*.py")
        for name in unix_only(path.read_text(encoding="utf-8"))
    }
    assert found == ALLOWED


def test_the_search_finds_what_it_is_for() -> None:
    source = (
        "import fcntl\nimport os, signal\nos.kill(1, signal.SIGKILL)\nos.open('x', os.O_CLOEXEC)\np = '/proc/1/statm'"
    )
    assert unix_only(source) == {"import fcntl", "signal.SIGKILL", "os.O_CLOEXEC", "/proc/1/statm"}


def test_everything_imports_without_modules_of_unix_and_without_extras() -> None:
    blocked = [*UNIX_MODULES, *{name.partition(".")[0] for libraries in EXTRAS.values() for name in libraries}]
    code = f"""
import importlib, importlib.abc, json, pkgutil, sys
class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
for name in {blocked!r}:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Blocker())
seen, failed = 0, []
for package in {PACKAGES!r}:
    module = importlib.import_module("giveway." + package)
    for info in pkgutil.walk_packages(module.__path__, module.__name__ + ".", onerror=lambda name: None):
        seen += 1
        try:
            importlib.import_module(info.name)
        except Exception as error:
            failed.append([info.name, type(error).__name__, str(error)])
print(json.dumps([seen, failed]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    seen, failed = json.loads(done.stdout)
    assert seen > 250
    assert [entry for entry in failed if not entry[0].startswith(NEED_TORCH + NEED_GYMNASIUM)] == []
    assert all("torch" in entry[2] for entry in failed if entry[0].startswith(NEED_TORCH))
    wanted = [entry[2] for entry in failed if entry[0].startswith(NEED_GYMNASIUM)]
    assert all("gymnasium" in text or "pettingzoo" in text for text in wanted)


@pytest.mark.parametrize(
    ("name", "spelled"),
    (
        ("vehicle_tracks_000", "vehicle_tracks_000"),
        ("12:30", "12%3A30"),
        ("a%b", "a%25b"),
        ("con", "%63on"),
        ("NUL.csv", "%4EUL.csv"),
        ("console", "console"),
        ("end.", "end%2E"),
    ),
)
def test_names_that_windows_refuses_are_spelled_otherwise(name: str, spelled: str) -> None:
    assert portable_name(name) == spelled
