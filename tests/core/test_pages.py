import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = [
    pytest.param(block, id=f"{page}-{n}")
    for page in ("explanation/geometry.md", "datasets/maps.md")
    for n, block in enumerate(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_examples_of_the_pages_run(block, capsys):
    exec(compile(block, "example", "exec"), {})
    assert capsys.readouterr().out


def test_the_map_example_prints_what_the_page_says(capsys):
    block = next(param.values[0] for param in BLOCKS if param.id == "datasets/maps.md-0")
    exec(compile(block, "example", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    said = re.findall(r"print\(.*\)  # (.*)", block)
    assert [line.split() for line in printed] == [line.split() for line in said]
