"""A training from its beginning or last state to its end: rounds, evaluation, state."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from giveway.core.errors import StoreError
from giveway.generate.learning.checkpoint import State, read_state, restore, write_state
from giveway.generate.learning.policy import Policy
from giveway.generate.learning.rounds import RoundReport
from giveway.generate.learning.training import Tick, Training
from giveway.predictors.torch_setup import one_torch_thread

Evaluate = Callable[[Policy], Mapping[str, float]]
"""Measures of a policy without noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A finished round.

    Attributes:
        report: how it went.
        policy: the policy after it.
    """

    report: RoundReport
    policy: Policy


def learn_rounds(
    training: Training,
    ends: Sequence[int],
    state: Path,
    *,
    first: int = 1,
    evaluate: Evaluate | None = None,
    on_tick: Callable[[Tick], None] | None = None,
) -> Generator[Round]:
    """Learn round after round, each of which is yielded once its state is on disk.

    A state that was written after round ``first`` or an earlier one is gone on from: its own round is yielded first.
    Any other, or a damaged one, is deleted, and all rounds are learned from the beginning. Either way every round is
    the same to the bit.

    Args:
        training: at its beginning.
        ends: environment steps after each round, see :func:`giveway.generate.learning.rounds.round_ends`.
        state: folder for what is needed to go on.
        first: number of the first round that is wanted, from 1.
        evaluate: asked after each round.
        on_tick: told after every step.
    """
    with one_torch_thread():
        found = _usable(state, ends, first)
        if found is not None:
            yield Round(report=restore(training, found), policy=training.policy())
            del found  # as large as the replay
        else:
            shutil.rmtree(state, ignore_errors=True)
            state.mkdir(parents=True)
        while training.rounds < len(ends):
            report = training.run_round(ends[training.rounds] - training.steps, on_tick)
            policy = training.policy()
            if evaluate is not None:
                report = replace(report, evaluation=dict(evaluate(policy)))
            write_state(state, training, report)
            yield Round(report=report, policy=policy)


def _usable(folder: Path, ends: Sequence[int], first: int) -> State | None:
    """A state of this training that is whole and not past the first round that is wanted."""
    try:
        state = read_state(folder)
    except StoreError:
        return None
    if state is None or state.rounds > min(first, len(ends)) or ends[state.rounds - 1] != state.steps:
        return None
    return state
