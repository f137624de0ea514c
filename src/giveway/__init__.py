"""Give Way: how well machines understand drivers who must share a piece of road.

Four applications over one data model: ``gaps`` (open-loop benchmark), ``drive`` (closed loop), ``generate`` (critical
traffic) and ``study`` (human ratings)::

    import giveway as gw

    results = gw.run_gaps("quick", "results", predictors=["LR_1D", "CV"])
    results.table(metric="auc")
    gw.Results.open("results").frame(metric="auc")

Every function does what the command of the same purpose does and returns :class:`Results` where a command would print
a table. Names are imported when they are first used, so ``import giveway`` is fast.

**Stability.** The names in ``__all__``, their arguments and what their docstrings say are promised: within a minor
release nothing of it changes, and a name or argument is deprecated, with a warning that names its successor, for one
minor release before it goes. Everything else (submodules, classes that are not listed here, the layout of stores) may
change without notice; stores are read by later releases or refused with a sentence.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from giveway.components import register
    from giveway.core.case import Case
    from giveway.core.errors import GivewayError
    from giveway.core.lanes import LaneMap
    from giveway.core.log import DriveLog
    from giveway.core.predictions import Prediction
    from giveway.core.samples import GapSamples
    from giveway.core.scene import Scene
    from giveway.core.tracks import AgentKind, Tracks
    from giveway.data.opening import OpenDataset, datasets, open_dataset
    from giveway.drive.learning.train import train_planner
    from giveway.drive.run import run_drive
    from giveway.experiments.engines import DaskEngine, LocalEngine
    from giveway.gaps.run import extract_gaps, run_gaps
    from giveway.generate.run import find_failures
    from giveway.generate.train import train_traffic
    from giveway.metrics.metric import metric
    from giveway.planning.base import Planner
    from giveway.predictors.base import Predictor
    from giveway.reports.find import cite, report
    from giveway.reports.results import Results
    from giveway.serve.web.calls import analyze_study, create_study, serve_study
    from giveway.sim.case_sets import CaseSet
    from giveway.sim.drivers.base import Driver
    from giveway.stats.agreement_of import agreement
    from giveway.synth.opening import synthesize

os.environ.setdefault("NUMBA_DISABLE_INTEL_SVML", "1")  # its functions differ in the last bit; before numba is imported

__version__ = "0.2.0"

__all__ = [
    "AgentKind",
    "Case",
    "CaseSet",
    "DaskEngine",
    "DriveLog",
    "Driver",
    "GapSamples",
    "GivewayError",
    "LaneMap",
    "LocalEngine",
    "OpenDataset",
    "Planner",
    "Prediction",
    "Predictor",
    "Results",
    "Scene",
    "Tracks",
    "__version__",
    "agreement",
    "analyze_study",
    "cite",
    "create_study",
    "datasets",
    "extract_gaps",
    "find_failures",
    "metric",
    "open_dataset",
    "register",
    "report",
    "run_drive",
    "run_gaps",
    "serve_study",
    "synthesize",
    "train_planner",
    "train_traffic",
]

_HOMES = {
    "components": ("register",),
    "core.errors": ("GivewayError",),
    "core.lanes": ("LaneMap",),
    "core.predictions": ("Prediction",),
    "core.samples": ("GapSamples",),
    "core.scene": ("Scene",),
    "core.tracks": ("AgentKind", "Tracks"),
    "data.opening": ("OpenDataset", "datasets", "open_dataset"),
    "synth.opening": ("synthesize",),
    "drive.learning.train": ("train_planner",),
    "drive.run": ("run_drive",),
    "gaps.run": ("extract_gaps", "run_gaps"),
    "generate.run": ("find_failures",),
    "generate.train": ("train_traffic",),
    "metrics.metric": ("metric",),
    "planning.base": ("Planner",),
    "sim.drivers.base": ("Driver",),
    "predictors.base": ("Predictor",),
    "reports.find": ("cite", "report"),
    "reports.results": ("Results",),
    "experiments.engines": ("DaskEngine", "LocalEngine"),
    "sim.case_sets": ("CaseSet",),
    "core.case": ("Case",),
    "core.log": ("DriveLog",),
    "stats.agreement_of": ("agreement",),
    "serve.web.calls": ("analyze_study", "create_study", "serve_study"),
}
"""Module to the public names it defines; they are imported on first use."""
_MODULE_OF = {name: f"giveway.{module}" for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'giveway' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
