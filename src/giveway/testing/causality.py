"""Nothing after the prediction time may reach a model: replace it by noise and compare to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from giveway.core.samples import GapSamples
from giveway.gaps.extract import SampleRules, admission_of, gaps_from, samples_at
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Extraction
from giveway.gaps.raw import RawGaps

NOISE_M = 50.0


def true_and_forged(
    extraction: Extraction, raw: RawGaps, rules: SampleRules, profile: Profile, rng: np.random.Generator
) -> tuple[GapSamples, GapSamples]:
    """Samples of the gaps, and samples cut at the same prediction times from tracks whose future is noise.

    Roles and frames (``raw.constants``) and the characteristic times stay those of the true tracks: they are labels.
    The inputs of both must be identical.

    Args:
        extraction: turns positions into distances.
        raw: candidate gaps with all their roles.
        rules: prediction time and input length.
        profile: switches; ``paper`` fails by design, because it interpolates with the frame after t_0.
        rng: source of the noise.
    """
    found = gaps_from(extraction, raw, profile)
    t_0 = admission_of(found, rules, profile).t_0_s
    after = raw.time_s > np.repeat(t_0, np.diff(raw.offset))
    xy = raw.xy.copy()
    xy[after] = rng.normal(0.0, NOISE_M, size=xy[after].shape)
    way = None if raw.way_m is None else raw.way_m.copy()
    if way is not None:
        way[after] = rng.normal(0.0, NOISE_M, size=way[after].shape)
    forged = replace(gaps_from(extraction, replace(raw, xy=xy, way_m=way), profile), times=found.times)
    return samples_at(found, rules, profile).samples, samples_at(forged, rules, profile).samples
