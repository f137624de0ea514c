"""What came of one test of a campaign."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

GRADED = ("A", "B", "C")
"""Grades of failures that the ego caused, had to cope with, or could have avoided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """The facts of one test, in plain values.

    Attributes:
        number: position in its run, from 0.
        genes: of the initial scene, in [0, 1].
        scene: the initial scene as ``giveway.generate.protocol.Scenes.as_dict`` gives it.
        outcome: name of the outcome, lower case.
        grade: what the law says about the ending: A to D, ``near miss``, or empty; see ``giveway.core.log.Grade``.
        violators: ids of those who did not respond as they should.
        conflict: of a contact: ``lateral``, ``longitudinal`` or ``junction``; empty without one.
        avoidable: a careful driver would have avoided the failure.
        avoidable_plus: so would the second model, ``careful+``.
        sentence: the verdict in words.
        failed: the ego failed.
        near_miss: it came within 0.5 s of a car ahead.
        other: car in contact with the ego; empty without one.
        kind: ``<side>-<manoeuvre>-<speed band>`` of a failure; empty otherwise.
        finding: what the planner did wrong as a program.
        steps: length of the episode.
        min_ttc_s: smallest time to collision; inf if never closing in.
        min_escape_ratio: smallest share of free manoeuvres of the ego.
        impact_speed_mps: NaN without contact.
        infeasible_share: of the steps of the learning cars.
        off_road_share: of the steps of the learning cars.
        responsibility_per_100_s: unsafe seconds caused by learning cars.
        triggers: seconds with a car near the ego, in campaigns with perturbation.
        unnaturalness: c of the graded reward, mean over the steps of learning cars; NaN in tests of earlier releases.
        contact_angle_rad: where on the ego's box the other car is at contact: 0 ahead, positive to the left; NaN
            without one, like the next two.
        entry_gap_m: bumper gap along the ego's heading when the other car last came into the ego's corridor.
        closing_mps: speed at which their middles approach each other at contact.
    """

    __test__ = False  # not a test class for pytest

    number: int
    genes: tuple[float, ...]
    scene: Mapping[str, Any]
    outcome: str
    grade: str
    violators: tuple[str, ...]
    conflict: str
    avoidable: bool
    avoidable_plus: bool
    sentence: str
    failed: bool
    near_miss: bool
    other: str
    kind: str
    finding: str
    steps: int
    min_ttc_s: float
    min_escape_ratio: float
    impact_speed_mps: float
    infeasible_share: float
    off_road_share: float
    responsibility_per_100_s: float
    triggers: int = 0
    unnaturalness: float = math.nan
    contact_angle_rad: float = math.nan
    entry_gap_m: float = math.nan
    closing_mps: float = math.nan

    @property
    def at_fault(self) -> bool:
        """The ego failed by its own fault, perhaps shared: grade A."""
        return self.grade == "A"

    @property
    def is_graded(self) -> bool:
        """The ego failed with grade A, B or C."""
        return self.failed and self.grade in GRADED

    @property
    def counts(self) -> bool:
        """The ego failed although it could have coped: grade A, B or C, and avoidable."""
        return self.is_graded and self.avoidable

    @property
    def danger(self) -> float:
        """How near it came to a failure that counts, in [0, 1].

        1 for such a failure, 0.8 for a near miss, else 0.7 exp(-TTC / 1.5 s); a failure that does not count
        is worth 0.3, because its neighborhood may hold one that does.
        """
        if self.counts:
            return 1.0
        if self.failed:
            return 0.3
        if self.near_miss:
            return 0.8
        return 0.7 * math.exp(-self.min_ttc_s / 1.5) if math.isfinite(self.min_ttc_s) else 0.0
