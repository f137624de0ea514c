"""Reads what a page of the documentation asks its reader to type.

Convention, also told in CONTRIBUTING.md:

* a ``console`` block is typed line by line in one folder per page; ``# ...`` after a command is a remark;
* a ``sh`` block needs what a test lacks (a cluster, real recordings): its ``giveway`` lines are checked against the
  commands and options that exist;
* an ``output`` block is what the commands before it print: each of its lines must be among theirs, spaces aside;
* a ``python`` block is executed, with one namespace per page;
* a block whose first line is ``# some/file.py`` or ``# some.toml`` is saved there;
* a ``py`` block is a fragment and must only be valid Python;
* ``<!-- before: ... -->`` holds commands and ``<!-- before python: ... -->`` Python that a test runs at that place and
  a reader does not see.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```"
    r"|^<!-- before(?P<kind> python)?:(?P<hidden>.*?)-->",
    re.DOTALL | re.MULTILINE,
)
TYPED = re.compile(r"^\s*(\$ )?(giveway|python|make|pip|git) ", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced or hidden block: what it is written in, its text and the line it starts at."""

    language: str
    body: str
    line: int

    @property
    def commands(self) -> list[list[str]]:
        """The words of every command; a line ending in a backslash goes on in the next."""
        joined = self.body.replace("\\\n", " ")
        lines = (shlex.split(line, comments=True) for line in joined.splitlines())
        return [words for words in lines if words]


def pages() -> list[Path]:
    """Every page a reader may meet."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *found]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    out: list[Block] = []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["hidden"] is not None:
            language = "python" if match["kind"] else "console"
            out.append(Block(language=language, body=match["hidden"], line=line))
        else:
            indent = match["indent"]
            body = "\n".join(row.removeprefix(indent) for row in match["body"].splitlines())
            out.append(Block(language=match["language"], body=body, line=line))
    return out
