"""How long a grid will take: what single fits cost on this machine, times the number and length of the samples.

The published sample counts stand for the published datasets. Times are those of one core of this machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from giveway.core.predictions import OutputKind
from giveway.experiments import Cell
from giveway.experiments.files import canonical_json
from giveway.gaps.calibration import Calibration, calibration
from giveway.gaps.cells import needs_paths, sample_switches
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.profile import Profile, as_profile
from giveway.metrics import METRICS

PUBLISHED_SIZES: Mapping[tuple[str, str], tuple[int, int]] = {
    ("lgap", "initial"): (700, 716),
    ("lgap", "constant"): (375, 205),
    ("lgap", "critical"): (227, 397),
    ("round", "initial"): (789, 2164),
    ("round", "constant"): (381, 556),
    ("round", "critical"): (147, 2810),
    ("leeds", "initial"): (99, 942),
    ("leeds", "constant"): (41, 108),
    ("leeds", "critical"): (0, 942),
}
"""(adapter, prediction time) to accepted and rejected samples; Schumann et al. 2023 (supplement), table I."""

TRAIN_SHARE = 0.8
UNKNOWN_SIZE = (150, 350)
STEPS_IF_UNKNOWN = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyCost:
    """Attributes:
    name: family of models, e.g. ``"CM"``.
    fits: how many of them.
    seconds: on one core, in all.
    longest_s: the most expensive fit.
    measured: what was timed, in words; the rest is extrapolated.
    """

    name: str
    fits: int
    seconds: float
    longest_s: float
    measured: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Attributes:
    cells: how many.
    families: cost by family of models, conditional path models apart.
    calibration_s: how long it took to find out.
    """

    cells: int
    families: tuple[FamilyCost, ...]
    calibration_s: float

    @property
    def core_seconds(self) -> float:
        """On one core."""
        return sum(f.seconds for f in self.families)

    def seconds(self, workers: int) -> float:
        """On so many workers, one core each; no shorter than the longest fit."""
        longest = max((f.longest_s for f in self.families), default=0.0)
        return max(self.core_seconds / max(workers, 1), longest)


def estimate(cells: list[Cell], say: Callable[[str], None] = lambda text: None, *, fresh: bool = False) -> Estimate:
    """Expected time of the cells of one grid; see :func:`estimates`."""
    return estimates([cells], say, fresh=fresh)[0][0]


def estimates(
    grids: Sequence[list[Cell]], say: Callable[[str], None] = lambda text: None, *, fresh: bool = False
) -> tuple[list[Estimate], Estimate]:
    """Expected time of every grid alone, and of all in one store, where what they share is computed once.

    Args:
        grids: cells of each.
        say: called with one line before each calibration.
        fresh: measure again what an earlier call on this machine has measured.
    """
    began = time.perf_counter()
    with calibration(say, fresh=fresh) as known:
        parts = [_estimate(cells, known) for cells in grids]
        union = list({cell.key: cell for cells in grids for cell in cells}.values())
        together = parts[0] if len(parts) == 1 else _estimate(union, known)
    return parts, replace(together, calibration_s=time.perf_counter() - began)


def _estimate(cells: list[Cell], known: Calibration) -> Estimate:
    began = time.perf_counter()
    seen: set[tuple[object, ...]] = set()
    costs: dict[str, list[float]] = {}
    measured: dict[str, dict[str, None]] = {}

    def add(name: str, model: str, profile: Profile, cell: Cell, num: int) -> None:
        dataset = str(cell.params["dataset"])
        steps = known.mean_steps(dataset, cell.params["t0"]) or STEPS_IF_UNKNOWN
        cost = known.cost(model, profile, dataset, cell.settings.get("training", {}))
        costs.setdefault(name, []).append(cost.seconds(TRAIN_SHARE * num * steps))
        if cost.measured:
            measured.setdefault(name, {})[cost.measured] = None

    for cell in cells:
        profile = as_profile(cell.settings["switches"])
        model = str(cell.params["model"])
        size = _size(cell, known)
        add(family(model), model, profile, cell, sum(size))
        for key, num in _conditional_fits(cell, profile, size):
            if key not in seen:
                seen.add(key)
                paths = str(cell.settings["conversion"]["paths"])
                add(f"{family(paths)} (conditional paths)", paths, profile, cell, num)
    families = tuple(
        FamilyCost(
            name=name,
            fits=len(values),
            seconds=sum(values),
            longest_s=max(values),
            measured=tuple(measured.get(name, ())),
        )
        for name, values in costs.items()
    )
    return Estimate(cells=len(cells), families=families, calibration_s=time.perf_counter() - began)


def _size(cell: Cell, known: Calibration) -> tuple[int, int]:
    """Accepted and rejected samples of the cell's dataset: generated, published, or a guess."""
    params = cell.params
    found = known.generated_size(params["dataset"], params["t0"]) if params["synthetic"] else None
    adapter = EXTRACTIONS.get(params["dataset"]).info.dataset
    return found or PUBLISHED_SIZES.get((adapter, params["t0"]), UNKNOWN_SIZE)


def family(model: str) -> str:
    """``"CM_AIJ21"`` to ``"CM"``, ``"TPP_paper"`` to ``"T++"``; others are families of their own."""
    if model.startswith(("T++", "TPP")):
        return "T++"
    return "CM" if model.startswith("CM_") else model


def _conditional_fits(cell: Cell, profile: Profile, size: tuple[int, int]) -> list[tuple[tuple[object, ...], int]]:
    """What the conditional path models of a cell are kept under, and from how many samples they learn."""
    params, metrics = cell.params, cell.settings["metrics"]
    if not needs_paths(params["model"], profile, metrics):
        return []
    needs = {METRICS.get(name).info.needs for name in metrics}
    read = sample_switches(params["dataset"], params["t0"])
    shared = {name: value for name, value in cell.settings["switches"].items() if name in read}
    training = canonical_json([shared, cell.settings.get("training", {})])
    place: tuple[object, ...] = (*(params[k] for k in ("dataset", "t0", "n_input")), cell.data, training)
    if profile.conditional_training == "training":
        place += (params["split"], params["repetition"])
    labels = ("accepted", "rejected") if OutputKind.TRAJECTORIES in needs else ("accepted",)
    return [((*place, label), num) for label, num in zip(labels, size, strict=False)]
