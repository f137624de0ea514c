"""The 48 cases of the 2020 challenge as one set, checked against their recordings, with the row of the humans."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from giveway.core.case import Case
from giveway.core.errors import EmptySelectionError
from giveway.drive.driving import FailedDrive, drive_cases, humans
from giveway.drive.scenes import RecordedScenes
from giveway.metrics.challenge import AS_CODED
from giveway.metrics.challenge_logs import terms_of
from giveway.metrics.challenge_score import challenge_score
from giveway.sim.case_files import read_cases, write_cases
from giveway.sim.verify import content_id

PUBLISHED = {"s_eff": 1.0, "s_jer": 0.977, "s_vel": 3.700, "s_cou": 2.664, "score": 2.658}
"""Recorded humans on the 48 cases by the evaluator's rules, derived from the track files alone."""
NUM_CASES = 48


def challenge_set(folder: Path, out: Path) -> dict[str, Any]:
    """Read the challenge's case files, verify them, write them as one set and score the recorded humans.

    Args:
        folder: with ``cases/*.txt``, ``recorded_trackfiles`` and ``maps``.
        out: case file to write, with the cases that fit their recordings.

    Returns:
        Number of cases, of verified ones, failed ones with reasons, the humans' row, whether it is the published one.

    Raises:
        DataError: no case files.
        EmptySelectionError: no case fits its recording.
    """
    cases = read_cases(folder / "cases")
    source = RecordedScenes(folder, keep=9)
    failed: dict[str, str] = {}
    fitting: list[Case] = []
    terms = []
    for result in drive_cases(cases, source, predictor=None, everyone_replays=True, traffic="paper"):
        if isinstance(result, FailedDrive):
            failed[result.case.id] = result.reason
            continue
        case = result.log.case
        tags = ("altered",) if case.is_altered else ()
        fitting.append(replace(case, tags=tags, content_id=content_id(case, source.scene_of(case).tracks)))
        terms.append(terms_of(humans(result.log))[AS_CODED.name])
    if not fitting:
        raise EmptySelectionError("no case fits its recording", where=folder, found=next(iter(failed.values()), ""))
    write_cases(out, fitting)
    score = challenge_score(terms, AS_CODED)
    row = {name: float(getattr(score, name)) for name in PUBLISHED}
    same = len(fitting) == NUM_CASES and all(abs(row[name] - value) <= 1e-3 for name, value in PUBLISHED.items())
    return {
        "cases": len(cases),
        "verified": len(fitting),
        "failed": failed,
        "recorded_humans": row,
        "reproduced": same,
    }
