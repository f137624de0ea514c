"""The smallest world with a gap in it: E drives along +x, T waits at y > 0 and may cross y = 0 before E comes.

For tests of models and of the benchmark itself; everything is known in closed form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.samples import GapSamples
from giveway.core.scene import Scene
from giveway.core.seeds import stream
from giveway.gaps.extract import FoundGaps, SampleRules, gaps_from, samples_at
from giveway.gaps.prediction_time import Choice
from giveway.gaps.profile import CLEAN, Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import Description, OneSample, RawGaps, empty_distances, line_boundary, stack

ROLES = ("E", "T", "1", "2")
LENGTH_M = 5.0
WIDTH_M = 3.5
MISSING_M = 500.0
STEP_S = 0.04
DURATION_S = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Extraction of this world: distances are coordinates."""

    info: ExtractionInfo

    def enumerate(self, scenes: Iterable[Scene], profile: Profile) -> Candidates:
        """This world is made by :func:`crossing_gaps`, not read from scenes."""
        raise TypeError("this world is made by crossing_gaps, not read from scenes")

    def describe(self, raw: RawGaps, profile: Profile) -> Description:
        """D_C = -x_E, D_A = y_T, D_1 and D_2 along x; L_E, L_T one lane."""
        ego, target, ahead, behind = (raw.xy[:, raw.roles.index(role)] for role in ROLES)
        distance = empty_distances(len(raw.time_s))
        distance[:, 0] = -ego[:, 0]
        distance[:, 1] = target[:, 1]
        distance[:, 2] = ahead[:, 0] - ego[:, 0] - LENGTH_M
        distance[:, 3] = ego[:, 0] - behind[:, 0] - LENGTH_M
        distance[:, 4] = np.nan
        distance[:, 5:] = WIDTH_M
        return Description(valid=np.ones(len(raw.time_s), dtype=bool), distance=distance, missing_m=MISSING_M)

    def complete(
        self, xy: FloatArray, roles: tuple[str, ...], constants: Mapping[str, FloatArray], profile: Profile
    ) -> FloatArray:
        """Absent agents stay NaN."""
        return xy


CROSSING = Crossing(
    info=ExtractionInfo(name="crossing", title="Crossing", dataset="crossing", situation="forged straight crossing")
)


def crossing_gaps(num: int, *, seed: int = 0) -> RawGaps:
    """``num`` gaps: E at constant speed, T accepts large gaps more often, 1 and 2 are there half of the time.

    T stands at y = 3 m until it goes (reaction about 0.8 s after the gap opens at time 0, or 0.5 s after E has passed).
    """
    return stack(
        [_one(i, stream(seed, "crossing", i)) for i in range(num)],
        roles=ROLES,
        vulnerable=(),
        boundary=line_boundary(num, (0.0, 1.0), 0.0),
    )


def _one(number: int, rng: np.random.Generator) -> OneSample:
    time = np.arange(0.0, DURATION_S, STEP_S)
    speed, gap = rng.uniform(8, 14), rng.uniform(3, 9)
    goes = rng.random() < 1 / (1 + elementary.exp(-2.0 * (gap - 6)))
    start = 1.6 + rng.lognormal(elementary.log(0.8), 0.3) if goes else gap + 0.5
    xy = np.full((len(time), len(ROLES), 2), np.nan)
    xy[:, 0] = np.stack([speed * (time - gap), np.full(len(time), -WIDTH_M / 2)], axis=1)
    driven = np.where(time > start, rng.uniform(1.5, 3) * np.maximum(time - start, 0) ** 2 / 2, 0.0)
    xy[:, 1] = np.stack([0.3 * driven, 3.0 - driven], axis=1)
    for role in (2, 3):
        if rng.random() < 0.5:
            shift = rng.uniform(20, 60) * (1 if role == 2 else -1)
            xy[:, role] = xy[:, 0] + [shift, 0.0]
    return OneSample(
        sample_id=f"crossing/{number:05d}",
        group=f"driver{number % 17}",
        location=f"site{number % 3}",
        time_s=time,
        xy=xy,
        constants={"speed": speed, "gap": gap},
    )


def crossing_found(num: int, *, seed: int = 0, profile: Profile = CLEAN) -> FoundGaps:
    """The same with characteristic times."""
    return gaps_from(CROSSING, crossing_gaps(num, seed=seed), profile)


def crossing_samples(
    num: int = 60, *, choice: Choice = "constant", num_input: int = 3, seed: int = 0, profile: Profile = CLEAN
) -> GapSamples:
    """Samples of this world, both classes present from about 30 gaps on."""
    rules = SampleRules(choice=choice, num_input=num_input)
    return samples_at(crossing_found(num, seed=seed, profile=profile), rules, profile).samples
