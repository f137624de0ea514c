"""The gap-acceptance benchmark as an experiment: a grid of datasets, times, splits and models becomes cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from giveway.experiments import Artifacts, Cell, CellFailure, CellResult, Context, Inputs
from giveway.gaps.cells import cells_of, needs_paths, sample_switches
from giveway.gaps.evaluate import evaluate_cell
from giveway.gaps.profile import CONVERSION_SWITCHES, PROFILES
from giveway.gaps.recipes import switches_read
from giveway.gaps.sources import sources_for
from giveway.gaps.spec import RunSpec
from giveway.gaps.splits import SPLITS

SETTINGS = ("sampling", "conversion", "metrics", "switches", "training")
"""What release 0.1 kept among the parameters of a cell."""


class GapsExperiment:
    """See :mod:`giveway.experiments.contract`."""

    name = "gaps"
    Spec = RunSpec

    def resolve(self, spec: RunSpec, roots: Mapping[str, Path | str], artifacts: Artifacts) -> Inputs:
        """Fingerprint the recordings of the user, generate the others.

        Raises:
            UsageError: if a data root is lacking.
            DatasetLayoutError: if a root holds another dataset.
        """
        sources = sources_for(spec, roots, artifacts)
        made = [name for name, source in sources.items() if source.is_synthetic and name in spec.synthetic]
        return Inputs(
            fingerprints={name: source.data for name, source in sources.items()},
            machine={
                "roots": {name: source.address for name, source in sources.items()},
                "synthetic": {name: spec.synthetic[name].model_dump() for name in made},
            },
            found=sources,
        )

    def cells(self, spec: RunSpec, inputs: Inputs) -> Sequence[Cell]:
        """Every combination of the grid that is not left out, in the order of the tables."""
        return cells_of(spec, inputs.found)

    def evaluate(self, batch: Sequence[Cell], context: Context) -> Iterator[tuple[Cell, CellResult | CellFailure]]:
        """Samples, split, fit, predict, convert, measure; cells come one by one."""
        for cell in batch:
            yield cell, evaluate_cell(cell, context)

    def upgraded(self, cell: Mapping[str, Any]) -> Cell:
        """A cell of release 0.1, whose key held every switch, with those that it reads."""
        params = dict(cell["params"])
        old = {name: params.pop(name) for name in SETTINGS if name in params}
        profile = PROFILES[params["profile"]].with_switches(
            **{n: v for n, v in old["switches"].items() if n not in ("group_split", "ddof", "critical_bound")}
        )
        model, paths = params["model"], old["conversion"]["paths"]
        converts = needs_paths(model, profile, old["metrics"])
        read = sample_switches(params["dataset"], params["t0"]) | SPLITS.get(params["split"]).info.switches
        read |= switches_read(model) | (CONVERSION_SWITCHES | switches_read(paths) if converts else frozenset())
        old["switches"] = {name: value for name, value in old["switches"].items() if name in read}
        versions = dict(cell["versions"])
        if not converts:
            del old["conversion"]
            versions = {name: value for name, value in versions.items() if name != paths or name == model}
        return Cell(kind=cell["kind"], params=params, settings=old, data=cell["data"], versions=versions)


GAPS = GapsExperiment()
