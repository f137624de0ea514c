"""Ready-made study declarations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from giveway.study.creation import Plan

PUBLISHED_CLIPS = 36


def published_plan(content: dict[str, Any], plan: Plan) -> tuple[dict[str, Any], Plan]:
    """The layout of the SANDWICH user study: one introduction and 36 sections, one clip and one question each.

    Fixed order for everybody, no practice, no attention checks, no repeats, no exclusions, nothing asked at the end;
    every section has the same question and the same five options. What the original lacked for technical reasons stays:
    consent with its version, a check that clips play, and answers only after a full playback.

    Args:
        content: declaration so far.
        plan: numbers so far.
    """
    rules = {
        "fixed": True,
        "repeat_share": 0.0,
        "attention_checks": 0,
        "practice_clips": 0,
        "seed": content["order"]["seed"],
    }
    off = {
        "max_failed_checks": False,
        "min_median_rt_share": False,
        "min_rating_variance": False,
        "require_complete": True,
    }
    flow = {"eligibility": ["I hold a driving licence."], "demographics": False, "comment": False}
    declared = {**content, "order": rules, "exclusions": off, "flow": flow}
    return declared, replace(plan, num_clips=PUBLISHED_CLIPS, num_anchors=0)
