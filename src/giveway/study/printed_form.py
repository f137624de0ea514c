"""The printed form of the SANDWICH user study: 37 sections, the first an introduction, then one video each.

The words are those of figure 1 of the supplement (14 March 2025). The figure also shows "Description (optional)" and
"Untitled video": placeholders of the form editor that respondents never see, so they are not shown here. Section 1 is
printed nowhere; ours is a title, the consent and the number of videos, marked as our text in the code book.
"""

from __future__ import annotations

from typing import Any

NUM_VIDEOS = 36
NUM_SECTIONS = NUM_VIDEOS + 1

SECTION = "Section {section} of {sections}"
VIDEO = "Video {video}"
LINK = "If the video is not shown, use the following link :"
INSTRUCTION = (
    "The vehicle at the center is the ego vehicle; others are surrounding vehicles. "
    "Please watch the video and answer the question below."
)
QUESTION = "How realistic is the surrounding vehicle's trajectory in this video?"
REQUIRED = " *"
EXPLANATION = "(A trajectory is realistic if it could plausibly happen in the real world, even if it is uncommon.)"
OPTIONS = ("Very unrealistic", "Slightly unrealistic", "Neutral", "Slightly realistic", "Very realistic")


def printed_lines(video: int) -> list[str]:
    """What stands in the section of a video (1 .. 36), line by line, without the link itself and the player."""
    return [
        SECTION.format(section=video + 1, sections=NUM_SECTIONS),
        VIDEO.format(video=video),
        LINK,
        INSTRUCTION,
        QUESTION + REQUIRED,
        EXPLANATION,
        *OPTIONS,
    ]


def provenance() -> dict[str, Any]:
    """For the code book: which words are printed and which are ours."""
    return {
        "section 1": "our text: title, consent, number of videos (the supplement prints no introduction)",
        f"sections 2 to {NUM_SECTIONS}": "as printed in figure 1 of the SANDWICH supplement (14 March 2025)",
        "first video": printed_lines(1),
        "ours on every page": "play and save buttons, messages, links to continue later and to withdraw",
    }
