"""What an application tells the engine: a specification becomes cells, cells become results.

::

    class Spec(BaseModel): ...                      # frozen, extra="forbid"; the same from TOML, options and Python

    class Mine:
        name = "mine"                               # kind of its cells; registered in EXPERIMENTS
        Spec = Spec

        def resolve(self, spec, roots, artifacts):  # the only part that looks for data
            return Inputs(fingerprints={"lgap": ...}, machine={"roots": {...}}, found=...)

        def cells(self, spec, inputs):              # pure, complete, in the order of the tables
            return [Cell(kind="mine", params={...}, settings={...}, data=..., versions={...})]

        def evaluate(self, batch, context):         # on a worker; yields each result as soon as it is there
            for cell in batch:
                yield cell, CellResult(measurements=(...), samples=..., attachments={"log.parquet": ...})

    summary = run(MINE, spec, "folder", roots={"lgap": "recordings"}, engine=LocalEngine(2))

**Batches.** Cells with the same ``group`` may come in one batch, in any number and order: an evaluation must give the
same bytes for each of them. Cells without group or chain come alone; only their records name the artifacts they used.

**Chains.** Cells with the same ``chain`` come in one batch, all of them in order, the finished ones included:
``context.known(cell)`` gives the result of a finished cell, which the evaluation uses instead of computing and does not
yield. The others are yielded in order. A cell that fails ends its chain; the later ones stay missing. What an
unfinished chain needs to go on (weights, optimizers) is kept in ``context.scratch(name)``.

**Failures.** ``yield cell, CellFailure(error=..., message=...)`` marks one cell of a batch as failed. An exception ends
the batch: cells of a group that were not yielded are then tried one by one.

**Rules.** An evaluation depends on its cells only; ``context.machine`` says *where* to find things and never changes a
result. It draws randomness from :func:`giveway.core.seeds.stream` and returns nothing about time or machine. Then
results are the same bytes for any engine, number of workers, batch size and number of interruptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import BaseModel

from giveway.core.registry import Registry
from giveway.experiments.artifacts import Artifacts
from giveway.experiments.cells import Cell, CellFailure, CellResult

if TYPE_CHECKING:
    from giveway.experiments.engine import Context

S = TypeVar("S", bound=BaseModel)

Evaluation = Callable[[Sequence[Cell], "Context"], Iterator[tuple[Cell, CellResult | CellFailure]]]
"""Evaluates a batch of cells, see the module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What the data of an experiment amounts to.

    Attributes:
        fingerprints: name of an input to a digest of its content; kept with every run.
        machine: plain values that workers need to find it: folders, device, threads. They never change a result.
        found: what :meth:`Experiment.cells` needs of it; not sent to workers.
    """

    fingerprints: Mapping[str, str] = field(default_factory=dict[str, str])
    machine: Mapping[str, Any] = field(default_factory=dict[str, Any])
    found: Any = None


class Experiment(Protocol[S]):
    """An application of the engine, see the module."""

    @property
    def name(self) -> str:
        """Its name in :data:`EXPERIMENTS`."""
        ...

    @property
    def Spec(self) -> type[S]:
        """Model of its specifications."""
        ...

    def resolve(self, spec: S, roots: Mapping[str, Path | str], artifacts: Artifacts) -> Inputs:
        """Find the data, make what the specification asks to be synthesized, fingerprint both."""
        ...

    def cells(self, spec: S, inputs: Inputs) -> Sequence[Cell]:
        """All cells, in the order of the tables."""
        ...

    def evaluate(self, batch: Sequence[Cell], context: Context) -> Iterator[tuple[Cell, CellResult | CellFailure]]:
        """Results of a batch, one after the other."""
        ...


EXPERIMENTS: Registry[Experiment[Any]] = Registry(
    "experiment",
    {
        "gaps": "giveway.gaps.experiment:GAPS",
        "drive": "giveway.drive.experiment:DRIVE",
        "realism": "giveway.drive.realism:REALISM",
        "planner_training": "giveway.drive.learning.experiment:PLANNER_TRAINING",
        "campaign": "giveway.generate.experiment:CAMPAIGN",
        "training": "giveway.generate.training:TRAINING",
    },
    group="giveway.experiments",
)
"""Experiments by name; workers import them by it."""
