"""First chapter: synthetic recordings, checked by the same reader that reads real ones."""

from __future__ import annotations

from pathlib import Path

from giveway.core.errors import DataError
from giveway.data import DATASETS
from giveway.demo.chapter import Chapter
from giveway.synth.protocol import synthesize

MINUTES = 2.0
RECORDINGS = Path("recordings") / "interaction"
"""Where they lie in the demo's folder; predictors learn from them, and generated motion is compared with them."""


def _run(root: Path, seed: int) -> None:
    synthesize("interaction", root / RECORDINGS, seed=seed, minutes=MINUTES, force=True)
    verification = DATASETS.get("interaction").verify(root / RECORDINGS)
    if not verification.ok:
        raise DataError("the synthetic recordings are damaged", where=root / RECORDINGS)


chapter = Chapter(name="recordings", title="Recordings", run=_run)
