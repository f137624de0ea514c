"""Small results of every application, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.typed import typed
from giveway.synth.protocol import synthesize

SPEC = """
datasets = ["lgap"]
t0 = ["constant"]
n_input = [2]
n_input_max = 2
models = ["LR_1D", "CV"]
min_samples = 20
min_class = 5
[splits]
random = 2
"""


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings, and results of gaps, drive, generate and study, in one folder."""
    root = tmp_path_factory.mktemp("small")
    synthesize("lgap", root / "lgap", seed=1, count=60)
    synthesize("interaction", root / "interaction", seed=1, minutes=2.0)
    (root / "gaps.toml").write_text(SPEC)
    (root / "ratings.csv").write_text("1,2,3\n4,1,0\n0,3,2\n1,1,3\n")
    for line in (
        f"gaps extract {root}/lgap -d lgap --t0 constant -o {root}/samples.parquet",
        f"gaps run {root}/gaps.toml --data lgap={root}/lgap --workers 1 -o {root}/gaps",
        f"drive run -p echo -p constant_velocity --max-cases 3 --workers 1 -o {root}/drive",
        f"generate run --budget 12 --driver cut_in --search random -e idm -o {root}/generate",
        f"study create {root}/interaction --seconds 3 --num-clips 6 -o {root}/study",
        f"study rehearse {root}/study --raters 4 -o {root}/rehearsal",
    ):
        answer = typed(*line.split())
        assert answer.code == 0, f"{line}\n{answer.err}"
    return root
