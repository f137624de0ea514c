"""Rounds of a training: how each went, and those of a store read back. Needs no torch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from giveway.experiments import Store, read_index

KIND = "training"
"""Kind of the cells, one per round."""
POLICY_FILE = "policy.safetensors"
"""Attachment of every round: the policy after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReport:
    """How one round went.

    Attributes:
        round: from 1.
        steps: environment steps so far.
        updates: so far.
        episodes: finished in this round.
        mean_return: sum of rewards per finished episode, mean over cars; NaN without any.
        noise: scale at its end.
        critic_loss: mean over updates and cars; NaN without updates.
        value: mean value the critics gave to the actors; NaN without updates.
        outcomes: name of the outcome to number of finished episodes.
        grades: grade of the ending to number of finished episodes; those without one are not listed.
        terms: weighted sum of each term of the reward per episode, mean over cars.
        saturation: share of action numbers, noise included, beyond 0.95.
        learning: further curves of the learner, e.g. norms of gradients, divergence, explained variance.
        evaluation: measures of the policy without noise; empty if it was not evaluated.
    """

    round: int
    steps: int
    updates: int
    episodes: int
    mean_return: float
    noise: float
    critic_loss: float
    value: float
    outcomes: Mapping[str, int] = field(default_factory=dict[str, int])
    grades: Mapping[str, int] = field(default_factory=dict[str, int])
    terms: Mapping[str, float] = field(default_factory=dict[str, float])
    saturation: float = math.nan
    learning: Mapping[str, float] = field(default_factory=dict[str, float])
    evaluation: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def measures(self) -> dict[str, float]:
        """What tables and curves show of it."""
        names = ("mean_return", "critic_loss", "value", "noise", "saturation")
        terms = {f"term_{name}": value for name, value in self.terms.items()}
        grades = {f"episodes_{name}": float(count) for name, count in self.grades.items()}
        own = {name: getattr(self, name) for name in names}
        return {**own, **self.learning, **terms, **grades, **self.evaluation}

    def score(self, measure: str) -> float:
        """By which rounds are compared: a measure of the evaluation, the mean return without; -inf if not finite."""
        found = self.evaluation.get(measure, self.mean_return) if measure else self.mean_return
        return found if math.isfinite(found) else -math.inf

    def as_dict(self) -> dict[str, Any]:
        """In JSON's types; numbers that are not finite become null."""
        plain = {**asdict(self), "evaluation": {n: _finite(v) for n, v in self.evaluation.items()}}
        return {name: _finite(value) for name, value in plain.items()}

    @staticmethod
    def of(values: Mapping[str, Any]) -> RoundReport:
        """The inverse of :meth:`as_dict`; null stands for NaN."""
        known: dict[str, Any] = {name: math.nan if value is None else value for name, value in values.items()}
        known["evaluation"] = {n: math.nan if v is None else v for n, v in values["evaluation"].items()}
        return RoundReport(**known)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRound:
    """A finished round.

    Attributes:
        key: of its cell.
        report: how it went.
        score: by which the best round is picked.
    """

    key: str
    report: RoundReport
    score: float


def stored_rounds(store: Store) -> tuple[StoredRound, ...]:
    """The rounds of the training in a store, in order.

    Of a round that was cut short by the end of a training and learned in full when it went on, the longer one counts.
    """
    found: dict[int, StoredRound] = {}
    for key in read_index(store).frame.filter(kind=KIND)["key"]:
        document = store.read_record(key)
        report = RoundReport.of(document["info"]["report"])
        score = report.score(document["cell"]["settings"]["score"])
        if report.round not in found or found[report.round].report.steps < report.steps:
            found[report.round] = StoredRound(key=key, report=report, score=score)
    return tuple(found[number] for number in sorted(found))


def best_round(rounds: Sequence[StoredRound]) -> StoredRound:
    """The round with the highest score, the last one of several."""
    return max(rounds, key=lambda one: (one.score, one.report.round))


def round_ends(*, env_steps: int, round_steps: int, worlds: int, warm_steps: int = 0) -> list[int]:
    """Environment steps after each round of a training.

    All worlds step together, so a round is over at the first multiple of their number that reaches its length; the
    steps that a demonstrator drives at first belong to the first round, however many they are.
    """
    ends: list[int] = []
    steps = 0
    while steps < env_steps:
        goal = steps + min(round_steps, env_steps - steps)
        least = goal if ends else max(goal, warm_steps)
        steps = math.ceil(least / worlds) * worlds
        ends.append(steps)
    return ends
