"""What to learn, with which settings. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_serializer

from giveway.drive.spec import plain_cases
from giveway.sim.case_sets import CaseSet

LearnedName = Literal["ppo", "imitation"]
Split = Literal["train", "all"]
Width = Annotated[int, Field(ge=1, le=1024)]


class LearningSettings(BaseModel):
    """Settings of both learners.

    Attributes:
        hidden: units of the hidden layers of actor and critic.
        rate: learning rate of Adam at the beginning; it falls linearly to a tenth at the end.
        batch: samples per update.
        gamma: PPO, discount per tick of 0.1 s.
        trace: PPO, lambda of the generalized advantage estimate.
        clip: PPO, largest change of a probability that is rewarded.
        epochs: PPO, passes over the ticks of a segment; imitation, passes over the demonstrations in a round.
        segment: PPO, ticks of all worlds between updates.
        deviation: PPO, of the first policy, in units of 2 m/s^2.
        entropy: PPO, weight of the entropy.
        value: PPO, weight of the squared error of the critic.
        grad_clip: largest norm of a gradient.
        reward_scale: PPO, factor of the reward.
        contact_ends: PPO, whether a contact of the ego ends an episode. It does not by default: where only costs are
            left, an end would pay.

    Reference:
        Schulman et al. 2017, arXiv:1707.06347 (PPO); Schulman et al. 2016, arXiv:1506.02438 (advantages); Pinto et al.
        2018, arXiv:1710.06542 (a critic that sees more than the actor); Pomerleau 1989, NIPS 1 (imitation).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    hidden: tuple[Width, ...] = Field(default=(64, 64), min_length=1, max_length=4)
    rate: float = Field(default=1e-3, gt=0, le=1)
    batch: int = Field(default=4096, ge=1)
    gamma: float = Field(default=0.99, ge=0, lt=1)
    trace: float = Field(default=0.95, ge=0, le=1)
    clip: float = Field(default=0.2, gt=0, lt=1)
    epochs: int = Field(default=4, ge=1, le=100)
    segment: int = Field(default=32, ge=2, le=1000)
    deviation: float = Field(default=0.5, gt=0, le=4)
    entropy: float = Field(default=1e-3, ge=0)
    value: float = Field(default=0.5, ge=0)
    grad_clip: float = Field(default=0.5, gt=0)
    reward_scale: float = Field(default=0.2, gt=0)
    contact_ends: bool = False


class PlannerTrainingSpec(BaseModel):
    """What to learn.

    Attributes:
        planner: ``ppo``, or ``imitation`` of a demonstrator.
        cases: case file or folder, or a case set; the bundled set if None.
        data: folder with the recordings of the cases.
        split: ``train`` learns on the training recordings and picks the best round on the validation recordings;
            ``all`` does both on all cases.
        max_cases: at most this many cases, in file order.
        traffic: how other cars drive, as in a drive.
        demonstrator: whom ``imitation`` follows: ``recorded`` drivers, or the planner ``lattice``.
        env_steps: length of the training: ticks of all worlds, or demonstrated ticks seen.
        rounds: number of rounds, after each of which the planner is evaluated and kept.
        worlds: simulated together.
        learning: settings that differ from their defaults.
        seed: root of all random streams.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    planner: LearnedName = "ppo"
    cases: Path | CaseSet | None = None
    data: Path | None = None
    split: Split = "train"
    max_cases: int | None = Field(default=None, ge=1)
    traffic: Literal["clean", "paper"] = "clean"
    demonstrator: Literal["recorded", "lattice"] = "recorded"
    env_steps: int = Field(default=2_000_000, ge=1, le=1_000_000_000)
    rounds: int = Field(default=20, ge=1, le=1000)
    worlds: int = Field(default=512, ge=1, le=4096)
    learning: Mapping[str, Any] = Field(default_factory=dict)
    seed: int = 0

    @field_serializer("cases", when_used="json")
    def _plain_cases(self, given: Path | CaseSet | None) -> str | None:
        return plain_cases(given)
