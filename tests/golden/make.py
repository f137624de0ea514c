"""Write the golden sets anew: python tests/golden/make.py [SET ...]; for commits whose subject says ``numbers``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from numeric_platform import UNSTABLE, header, vector_unit
from sets import SETS

FROZEN = Path(__file__).parent / "frozen"


def main(names: list[str]) -> None:
    """Compute whole sets and write one file each."""
    for name in names or list(SETS):
        lines = [f"{key}\t{value}" for key, value in SETS[name](whole=True)]
        first = f"{header(name)} vector={vector_unit()}" if name in UNSTABLE else header(name)
        (FROZEN / f"{name}.tsv").write_text("\n".join([first, *lines]) + "\n", encoding="utf-8")
        print(f"{name}: {len(lines)} lines")


if __name__ == "__main__":
    main(sys.argv[1:])
