"""Small rating studies on synthetic worlds, for tests and benchmarks."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from giveway.core.scene import Scene
from giveway.study.answer_writer import Answer, write_answers
from giveway.study.creation import Plan, create_study
from giveway.study.design import parse_design
from giveway.study.manifest import Clip
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
from giveway.study.sources import Source
from giveway.study.workspace import Study, utc_now
from giveway.testing import worlds


def world_source(condition: str, num: int, *, offset_s: float = 0.0) -> Source:
    """Crossings in which the second car arrives 1 to 3 s after the first; every one is a little different."""
    return Source(
        condition=condition,
        folder=Path(condition),
        readers=tuple(partial(_crossing, condition, n, offset_s) for n in range(num)),
    )


def _crossing(condition: str, number: int, offset_s: float) -> Iterator[Scene]:
    first = 2.0 + 0.05 * number
    scene = worlds.crossing(arrival_s=(first, first + 1.0 + offset_s + 0.1 * (number % 10)), duration_s=6.0)
    name = f"crossing {number}"
    provenance = replace(scene.provenance, recording=f"{condition}/{name}")
    yield replace(scene, provenance=provenance, attributes={"ego": "2", "rated": "1", "situation": name})


def synthetic_study(
    folder: Path,
    *,
    num_clips: int = 8,
    num_anchors: int = 2,
    seconds: float = 0.5,
    video: bool = False,
    **design: Any,
) -> Path:
    """Create a study of two conditions in a folder; further arguments go into the declaration.

    The clips are far shorter than a real study's, so that a browser gets through them in seconds.
    """
    content: dict[str, Any] = {"id": "synthetic", **design}
    content["clips"] = {"duration_s": seconds, "player": "video" if video else "canvas", **design.get("clips", {})}
    sources = [world_source("generated", num_clips, offset_s=0.5), world_source("recorded", num_clips + 8)]
    plan = Plan(num_clips=num_clips, num_anchors=num_anchors, video=video)
    create_study(sources, folder, parse_design(content, where="test"), plan)
    return folder


def enroll(study: Study) -> Rater:
    """A rater at the start of the main block."""
    return _found(study, enroll_token(study))


def enroll_token(study: Study) -> str:
    """The resume token of such a rater, who came there by the same functions that the pages call."""
    token = join(study)
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
            app_version="test",
        )
        for item in items[:limit]
    ]
    with study.engine.begin() as connection:
        write_answers(connection, given)
    if finish_rating(study, rater) == "comment":
        finish(study, replace(rater, step="comment"), comment="", age_band=None, driving_band=None)


def _found(study: Study, token: str) -> Rater:
    rater = find_rater(study, token)
    if rater is None:
        raise LookupError("no such rater")
    return rater
