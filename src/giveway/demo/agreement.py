"""A chapter on ratings: do simulated raters agree?"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from giveway.core.files import write_text
from giveway.core.seeds import stream
from giveway.demo.chapter import Chapter, Section
from giveway.stats.agreement import as_printed, band, gwet_ac2, krippendorff_alpha, weighted_fleiss

NUM_CLIPS, NUM_RATERS, NUM_CATEGORIES = 36, 30, 5


def _run(root: Path, seed: int) -> tuple[Section, ...]:
    rng = stream(seed, "demo", "raters")
    quality = rng.uniform(1.5, 4.5, NUM_CLIPS)
    ratings = np.rint(quality[:, None] + rng.normal(0, 0.9, (NUM_CLIPS, NUM_RATERS))).clip(1, NUM_CATEGORIES)
    counts = np.stack([(ratings == k).sum(axis=1) for k in range(1, NUM_CATEGORIES + 1)], axis=1).astype(np.int64)
    lines = [",".join(str(k) for k in range(1, NUM_CATEGORIES + 1))]
    lines += [",".join(str(v) for v in row) for row in counts]
    file = Path("agreement") / "ratings.csv"
    write_text(root / file, "\n".join(lines) + "\n")
    kappa = weighted_fleiss(counts).coefficient
    rows = (
        ("coefficient", "value"),
        ("weighted Fleiss kappa", f"{kappa:.3f} ({band(kappa)})"),
        ("the same as printed (counts a rater as agreeing with himself)", f"{as_printed(counts).coefficient:.3f}"),
        ("Gwet's AC2", f"{gwet_ac2(counts).coefficient:.3f}"),
        ("Krippendorff's alpha", f"{krippendorff_alpha(counts).coefficient:.3f}"),
    )
    return (
        Section(
            heading="Do raters agree?",
            text=f"{NUM_RATERS} simulated raters, {NUM_CLIPS} clips, five ordered answers.",
            command=f"giveway agree {file}",
            links=(("the ratings", file),),
            table=rows,
        ),
    )


chapter = Chapter(name="agreement", title="Agreement of raters", run=_run)
