"""Ready-made study declarations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from giveway.study.creation import Plan
from giveway.study.printed_form import NUM_VIDEOS, QUESTION


def published_plan(content: dict[str, Any], plan: Plan) -> tuple[dict[str, Any], Plan]:
    """The printed form of the SANDWICH user study: one introduction and 36 sections, one video and one question each.

    Fixed order for everybody, no practice, no playback check, no gate on full playback, no attention checks, no
    repeats, no exclusions, nothing else asked. Consent, withdrawal and saving at once stay: they do not change what is
    asked.

    Args:
        content: declaration so far.
        plan: numbers so far.
    """
    order = {
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
        "max_anchor_mean": False,
        "require_complete": False,
    }
    declared = {
        **content,
        "template": "published",
        "question": QUESTION,
        "clips": {**content.get("clips", {}), "focus": "none"},
        "order": order,
        "exclusions": off,
        "flow": {**content.get("flow", {}), "eligibility": [], "demographics": False, "comment": False},
    }
    return declared, replace(plan, num_clips=NUM_VIDEOS, num_anchors=0)
