"""The numbers of a store of generated tests."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.scene import Scene
from giveway.core.test_result import TestResult
from giveway.data import DATASETS
from giveway.generate.failures import StoredCampaign, stored_campaigns, stored_failures
from giveway.metrics import measure_campaign
from giveway.metrics.motion_distances import distances, joined, motion_values

SYNTHETIC = "synthetic recordings of this package"
SYNTHETIC_SEED = 7
MAX_SCENES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Recorded motion to compare with.

    Attributes:
        name: for the report.
        values: quantity to values.
        vehicles: how many.
    """

    name: str
    values: Mapping[str, FloatArray]
    vehicles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSummary:
    """Attributes:
    campaign: its tests.
    measures: effect, plausibility, diversity.
    realism: distances to the recorded motion.
    kinds: failure kind to how many failures and how many that count.
    """

    campaign: StoredCampaign
    measures: Mapping[str, float]
    realism: Mapping[str, float]
    kinds: Mapping[str, tuple[int, int]]


def recorded_reference(root: Path | None, dataset: str = "interaction") -> Reference:
    """Motion of recorded vehicles.

    Args:
        root: data root; without one, synthetic recordings are made and used.
        dataset: registered adapter.

    Raises:
        DatasetLayoutError: nothing readable there.
    """
    if root is not None:
        return _reference(str(root), _scenes(dataset, root))
    from giveway.synth.interaction.files import SYNTHESIZER
    from giveway.synth.protocol import Size

    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        SYNTHESIZER.write(made, seed=SYNTHETIC_SEED, size=Size(count=1, minutes=1.0, variant=None))
        return _reference(SYNTHETIC, _scenes("interaction", made))


def _scenes(dataset: str, root: Path) -> Iterator[Scene]:
    adapter = DATASETS.get(dataset)
    for recording in list(adapter.recordings(root))[:MAX_SCENES]:
        yield from adapter.scenes(recording)


def _reference(name: str, scenes: Iterable[Scene]) -> Reference:
    parts: list[dict[str, FloatArray]] = []
    vehicles = 0
    for scene in scenes:
        parts.append(motion_values(scene.tracks))
        vehicles += scene.tracks.num_agents
    return Reference(name=name, values=joined(parts), vehicles=vehicles)


def summarize(out: Path, reference: Reference | None) -> list[CampaignSummary]:
    """All campaigns of a store.

    Args:
        out: the store.
        reference: recorded motion; None leaves realism out.
    """
    found: list[CampaignSummary] = []
    for campaign in stored_campaigns(out):
        kinds: dict[str, tuple[int, int]] = {}
        for result in campaign.results:
            if result.failed:
                failures, counting = kinds.get(result.kind, (0, 0))
                kinds[result.kind] = (failures + 1, counting + result.counts)
        found.append(
            CampaignSummary(
                campaign=campaign,
                measures=measure_campaign(campaign.results),
                realism={} if reference is None else distances(generated_values(out, campaign), reference.values),
                kinds=dict(sorted(kinds.items(), key=lambda item: (-item[1][1], -item[1][0], item[0]))),
            )
        )
    return found


def graded(results: Sequence[TestResult]) -> dict[str, int]:
    """Number of failures by grade, those at fault also where they are avoidable; near misses last."""
    count = Counter(result.grade for result in results)
    avoidable = sum(result.at_fault and result.avoidable for result in results)
    rest = {grade: count[grade] for grade in ("B", "C", "D", "near miss")}
    return {"A": count["A"], "A and avoidable": avoidable, **rest}


def generated_values(out: Path, campaign: StoredCampaign) -> dict[str, FloatArray]:
    """Motion of the learning cars over all tests of a campaign."""

    def parts() -> Iterator[dict[str, FloatArray]]:
        for test in stored_failures(out, campaign, everything=True):
            yield motion_values(test.tracks, np.char.startswith(test.tracks.ids, "car"))

    return joined(parts())
