"""The benchmark in one call: data, cells, run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from giveway.experiments import Cell, Executor, Progress, Rerun, RunSummary, Store, compute
from giveway.gaps.cells import FUNCTION, cells_of
from giveway.gaps.sources import Source, sources_for
from giveway.gaps.spec import RunSpec

BYTES_PER_CELL = 25_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """Attributes:
    spec: the grid.
    cells: what will be computed.
    sources: recordings by adapter.
    """

    spec: RunSpec
    cells: list[Cell]
    sources: Mapping[str, Source]

    def count_by(self, name: str) -> dict[str, int]:
        """Cells per value of a parameter, in order of appearance."""
        return dict(Counter(str(cell.params[name]) for cell in self.cells))

    def expected_bytes(self) -> int:
        """A rough guess of the size of the results, without cached samples."""
        return BYTES_PER_CELL * len(self.cells)


def plan_run(spec: RunSpec, store: Store, roots: Mapping[str, Path | str]) -> PlannedRun:
    """Fingerprint or generate the recordings and lay out the cells.

    Raises:
        UsageError: if a data root is lacking.
        DatasetLayoutError: if a root holds another dataset.
    """
    sources = sources_for(spec, roots, store.artifacts)
    return PlannedRun(spec=spec, cells=cells_of(spec, sources), sources=sources)


def run_benchmark(
    planned: PlannedRun,
    store: Store,
    *,
    executor: Executor | None = None,
    rerun: Rerun = "missing",
    limit: int | None = None,
    max_hours: float | None = None,
    progress: Progress | None = None,
    device: str = "cpu",
) -> RunSummary:
    """Compute every cell that has no result yet; run it again to resume.

    ``device`` is where networks are trained; results of another device agree up to rounding and are not told apart.
    """
    return compute(
        planned.cells,
        experiment=FUNCTION,
        store=store,
        engine=executor,
        spec=planned.spec.model_dump(mode="json"),
        machine={
            "roots": {name: source.address for name, source in planned.sources.items()},
            "synthetic": {
                name: planned.spec.synthetic[name].model_dump()
                for name, source in planned.sources.items()
                if source.is_synthetic and name in planned.spec.synthetic
            },
            "device": device,
        },
        rerun=rerun,
        limit=limit,
        max_hours=max_hours,
        progress=progress,
    )
