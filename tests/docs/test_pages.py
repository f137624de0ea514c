"""What the pages tell people to type works."""

from __future__ import annotations

import ast
import contextlib
import fcntl
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from docs.pages import ROOT, TYPED, Block, blocks, pages
from giveway.cli.main import app, run
from giveway.gaps.presets import PRESETS

PAGES = pages()
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
EXECUTED = [page for page in PAGES if any(block.language in {"console", "python"} for block in blocks(page))]
SMALLER = {
    "datasets": ["lgap", "leeds_2v"],
    "models": ["LR_1D", "CV"],
    "splits": {"random": 2, "critical": 1},
    "missing": [{"dataset": "leeds_2v", "t0": "critical"}],
}
"""The preset `quick` as pages run it here: the same commands over a smaller grid."""
STARTED = re.compile(r"https?://|listening|waiting", re.IGNORECASE)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_block_with_commands_says_whether_it_is_run(page: Path) -> None:
    unlabelled = [block.line for block in blocks(page) if not block.language and TYPED.search(block.body)]
    assert not unlabelled, f"label these blocks console (run) or sh (shown): lines {unlabelled}"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_between_pages_resolve(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    local = [target for target in targets if target and not target.startswith(("http:", "https:", "mailto:"))]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_shown_commands_and_options_exist(page: Path) -> None:
    for block in blocks(page):
        if block.language == "sh":
            for words in block.commands:
                assert unknown_words(words) == [], f"line {block.line}: {' '.join(words)}"
        if block.language == "py":
            ast.parse(block.body)


@pytest.mark.parametrize("page", EXECUTED, ids=[str(page.relative_to(ROOT)) for page in EXECUTED])
def test_commands_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "quick", {**PRESETS["quick"], **SMALLER})
    monkeypatch.syspath_prepend(str(tmp_path))
    namespace: dict[str, Any] = {"__name__": "page"}
    printed: set[str] = set()
    with contextlib.ExitStack() as servers:
        for block in blocks(page):
            if block.language == "console":
                for words in block.commands:
                    type_in(words, servers, f"{page.name}, line {block.line}", capsys)
                printed |= lines_of(capsys.readouterr().out)
            elif block.language == "output":
                assert lines_of(block.body) <= printed, f"{page.name}, line {block.line}: this is not printed any more"
            elif saved := re.match(r"\s*# (\S+\.(?:py|toml))\n", block.body):
                save(Path(saved[1]), block)
            elif block.language == "python":
                exec(compile(block.body, f"{page.name}:{block.line}", "exec"), namespace)


def lines_of(text: str) -> set[str]:
    """Lines, spaces aside."""
    return {" ".join(line.split()) for line in text.splitlines()}


def type_in(words: list[str], servers: contextlib.ExitStack, where: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Do what a reader does with one line; a command that serves goes on until the page ends."""
    if words[0] == "giveway" and "serve" in words[:3]:
        servers.enter_context(serving(words))
    elif words[0] == "giveway":
        try:
            run(words[1:])
        except SystemExit as ended:
            assert ended.code in {0, None}, f"{where}: {' '.join(words)}\n{capsys.readouterr()}"
    elif words[0] in {"mkdir", "cp", "echo", "printf", "python"}:
        command = [sys.executable, *words[1:]] if words[0] == "python" else words
        subprocess.run(command, check=True, timeout=300)
    else:
        raise AssertionError(f"{where}: a console block may type giveway, python, mkdir, cp; found {words[0]}")


@contextlib.contextmanager
def serving(words: list[str]) -> Iterator[None]:
    """A server in a process of its own until the block is left; it must end without a traceback.

    Pages name no ports, so that all servers of a kind want the same one: tests that run beside each other take turns.
    """
    command = [sys.executable, "-m", "giveway.cli.main", *words[1:]]
    log = Path("server.log")
    lock = Path(tempfile.gettempdir()) / f"giveway-docs-{words[1]}-serving.lock"
    with lock.open("w") as turn, log.open("w") as output:
        fcntl.flock(turn, fcntl.LOCK_EX)
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
        try:
            deadline = time.monotonic() + 180
            while not STARTED.search(log.read_text()):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, f"no word of being ready: {log.read_text()}"
                time.sleep(0.1)
            yield
            process.terminate()
            process.wait(timeout=30)
            assert "Traceback" not in log.read_text()
        finally:
            process.kill()
            process.wait()


def save(target: Path, block: Block) -> None:
    """A block that begins with the name of a file is that file; folders of Python files become packages."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.suffix == ".py":
        (target.parent / "__init__.py").touch()
    target.write_text(block.body, encoding="utf-8")


def unknown_words(words: list[str]) -> list[str]:
    """Commands, options and make targets of a line that do not exist."""
    while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
        words = words[1:]
    if words[:1] == ["make"]:
        targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        return [word for word in words[1:] if word not in targets]
    if words[:1] == ["python"] and words[1].endswith(".py"):
        return [] if (ROOT / words[1]).exists() else [words[1]]
    if words[:1] != ["giveway"]:
        return []
    command: Any = typer.main.get_command(app)
    context = command.make_context("giveway", [], resilient_parsing=True)
    rest = words[1:]
    while rest and not rest[0].startswith("-") and hasattr(command, "get_command"):
        inner = command.get_command(context, rest[0])
        if inner is None:
            return [rest[0]]
        command, rest = inner, rest[1:]
        context = command.make_context(command.name, [], parent=context, resilient_parsing=True)
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    used = [word.split("=")[0] for word in rest if word.startswith("-") and not re.fullmatch(r"-\d.*", word)]
    return [name for name in used if name not in known | {"-h", "--help"}]
