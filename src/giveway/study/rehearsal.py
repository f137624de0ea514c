"""Simulated raters answer a copy of a study, so that its tables can be seen before the first person comes.

Their answers come from a cumulative-link model: rater r gives clip c the category in which
``quality(condition) + b_r + b_c + e`` falls, ``b_r ~ N(0, 0.8²)``, ``b_c ~ N(0, 0.7²)``, e logistic, with thresholds at
-2, -0.7, 0.7, 2 (evenly spread for other numbers of options). They carry no information about anybody's real opinion.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from giveway import __version__
from giveway.core.errors import UsageError
from giveway.core.seeds import stream
from giveway.study.answer_writer import Answer, write_answers
from giveway.study.manifest import Clip
from giveway.study.monitor import create_invite
from giveway.study.participation import (
    Rater,
    assigned_items,
    find_rater,
    finish,
    finish_rating,
    join,
    playback_number,
    record_eligibility,
    record_playback,
    start_rating,
)
from giveway.study.simulated import PREFIX, mark_simulated
from giveway.study.workspace import Study, open_study, utc_now

RECORDED_QUALITY, OTHER_QUALITY, BROKEN_QUALITY = 1.5, 0.5, -2.5
"""Location on the logit scale."""
RATER_SD, CLIP_SD = 0.8, 0.7


def rehearse(folder: Path, out: Path, *, num_raters: int, seed: int = 0) -> Study:
    """Copy a study without its answers and let simulated raters go through it.

    Args:
        folder: a study.
        out: folder of the copy; must not exist.
        num_raters: how many raters finish.
        seed: of their answers.

    Raises:
        UsageError: if ``out`` exists.
        JoinRefusedError: if the study takes fewer raters; nothing is left then.
    """
    if out.exists():
        raise UsageError("the folder for the rehearsal exists", where=out, hint="give another --out, or remove it")
    study: Study | None = None
    try:
        shutil.copytree(folder, out, ignore=shutil.ignore_patterns("study.sqlite*", "report.html"))
        study = open_study(out)
        mark_simulated(study)
        _answer(study, num_raters, stream(seed, "rehearsal"))
    except BaseException:
        if study is not None:
            study.engine.dispose()
        shutil.rmtree(out, ignore_errors=True)
        raise
    return study


def _answer(study: Study, num_raters: int, rng: np.random.Generator) -> None:
    """Let simulated raters come, one after the other, and answer everything."""
    clips, options = study.by_id(), len(study.design.options)
    base = {name: _quality(study, clip) + CLIP_SD * float(rng.standard_normal()) for name, clip in clips.items()}
    cuts = np.linspace(-2.0, 2.0, options - 1) if options != 5 else np.array([-2.0, -0.7, 0.7, 2.0])
    invite = None
    if study.design.flow.access == "invite":
        invite = create_invite(study, label="rehearsal", quota=num_raters).code
    for _ in range(num_raters):
        bias = RATER_SD * float(rng.standard_normal())

        def opinion(clip: Clip, bias: float = bias) -> int:
            return int(np.searchsorted(cuts, base[clip.clip] + bias + rng.logistic())) + 1

        seconds = float(rng.gamma(9.0, 1.5)) + study.design.clips.duration_s
        answer_all(study, enroll(study, invite=invite), opinion, rt_ms=round(1000 * seconds))


def _quality(study: Study, clip: Clip) -> float:
    if clip.broken:
        return BROKEN_QUALITY
    return RECORDED_QUALITY if clip.condition == study.reference else OTHER_QUALITY


def enroll(study: Study, *, invite: str | None = None) -> Rater:
    """A rater at the start of the main block, who came there by the same functions that the pages call."""
    return _found(study, enroll_token(study, invite=invite))


def enroll_token(study: Study, *, invite: str | None = None) -> str:
    """The resume token of such a rater."""
    token = join(study, invite=invite)
    record_eligibility(study, _found(study, token), confirmed=True)
    rater = _found(study, token)
    record_playback(study, rater, seen=playback_number(study, rater))
    start_rating(study, _found(study, token))
    return token


def answer_all(
    study: Study,
    rater: Rater,
    rate: Callable[[Clip], int],
    *,
    rt_ms: int = 12_000,
    pass_checks: bool = True,
    limit: int | None = None,
) -> None:
    """Answer every item (or the first few) and finish; ``rate`` gives the rating of a clip."""
    clips, options = study.by_id(), len(study.design.options)
    items, _ = assigned_items(study, rater)
    given = [
        Answer(
            id=str(uuid.uuid4()),
            rater_id=rater.id,
            position=item.position,
            rating=rate(clips[item.item])
            if item.kind == "clip"
            else (item.expected if pass_checks else item.expected % options + 1),
            rt_ms=rt_ms,
            plays=1 if item.kind == "clip" else 0,
            played_ms=rt_ms // 2,
            visible_ms=rt_ms,
            ts_utc=utc_now(),
            app_version=f"{PREFIX}{__version__}",
        )
        for item in items[:limit]
    ]
    with study.engine.begin() as connection:
        write_answers(connection, given, study.key)
    if finish_rating(study, rater) == "comment":
        finish(study, replace(rater, step="comment"), comment="", age_band=None, driving_band=None)


def _found(study: Study, token: str) -> Rater:
    rater = find_rater(study, token)
    if rater is None:
        raise LookupError("no such rater")
    return rater
