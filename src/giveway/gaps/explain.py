"""A look into the Commotions model at one encounter of a file of samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.checked import read_parquet
from giveway.core.errors import FileFormatError, UnknownNameError, UsageError
from giveway.core.samples import GapSamples
from giveway.gaps.explanation import document_of, summary_of, write_page
from giveway.gaps.files import read_samples
from giveway.predictors.commotions.config import Configuration, Switches
from giveway.predictors.commotions.explain import check_path
from giveway.predictors.commotions.explain import explain as explain_path
from giveway.predictors.commotions.fitting.fit import FitOptions, fit_parameters
from giveway.predictors.commotions.fitting.result import FittedParameters
from giveway.predictors.commotions.picture import draw_explanation
from giveway.predictors.commotions.predictor import encounters_of, training_set, usable


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """Attributes:
    observed: what the human did.
    files: picture, page and parameters.
    numbers: every number of the picture.
    summary: a few lines.
    """

    observed: str
    files: dict[str, Path]
    numbers: dict[str, Any]
    summary: str


def explain_sample(
    sample: str,
    predictor: str,
    *,
    samples: Path,
    out: Path,
    t0: str | None = None,
    parameters: Path | None = None,
    path: int = 0,
    seed: int = 0,
    on_trace: Callable[[Any], None] | None = None,
) -> Explained:
    """Draw what the simulated driver saw, believed, valued and did in one encounter, as PNG and HTML.

    Args:
        sample: id in the file of samples.
        predictor: configuration of the model, ``CM_IIJ11`` to ``CM_ANA22``.
        samples: written by ``giveway gaps extract --out``.
        out: folder for picture, page and parameters.
        t0: prediction time; constant if the file has it.
        parameters: fitted parameters; fitted to the other samples without it.
        path: which simulated trajectory, 0 to 99.
        seed: of the noise, and of the fit.
        on_trace: told how far the fit is.

    Raises:
        UsageError, UnknownNameError: a sample that is not there or cannot be simulated.
    """
    config = Configuration.from_name(predictor)
    if not samples.exists():
        raise UsageError(
            "there is no file of samples",
            where=samples,
            found="nothing",
            hint="giveway gaps extract FOLDER --dataset NAME --out samples.parquet, or --samples FILE",
        )
    everything = read_samples(samples, t0 or _prediction_time(samples))
    ids = [str(name) for name in everything.inputs.sample_id]
    if sample not in ids:
        raise UnknownNameError("sample", sample, ids, where=samples)
    index = ids.index(sample)
    one = everything.take(slice(index, index + 1))
    if not usable(one.inputs)[0]:
        raise UsageError(
            "this sample cannot be simulated",
            where=sample,
            found="distances are missing, or T is inside the contested space at t_0",
        )
    encounters = encounters_of(one.inputs)
    check_path(encounters, 0, path=path)
    fitted = _parameters(parameters, config, everything, index, seed, on_trace)
    switches = fitted.switches or Switches()
    explanation = explain_path(
        encounters, 0, fitted.theta, fitted.config, path=path, seed=seed, step_count=switches.step_count
    )
    truth = one.truth
    observed = f"accepted after {truth.t_accept_s[0]:.2f} s" if truth.accepted[0] else "rejected"
    stem = f"{sample}-{config.name}-{path}".replace("/", "_").replace("\\", "_").replace(" ", "_")
    ends = {"picture": ".png", "page": ".html", "parameters": ".parameters.json"}
    files = {name: out / f"{stem}{end}" for name, end in ends.items()}
    draw_explanation(explanation, files["picture"], title=sample, observed=observed)
    write_page(explanation, files["page"], title=sample, observed=observed)
    fitted.save(files["parameters"])
    return Explained(
        observed=observed, files=files, numbers=document_of(explanation), summary=summary_of(explanation, observed)
    )


def _prediction_time(file: Path) -> str | None:
    """Constant gaps if the file holds them, else its first kind; None leaves complaints to the reader of samples."""
    try:
        kinds = read_parquet(file, columns=["prediction_time"])["prediction_time"].unique().sort()
    except FileFormatError:
        return None
    return None if kinds.is_empty() else "constant" if "constant" in kinds else str(kinds[0])


def _parameters(
    file: Path | None,
    config: Configuration,
    samples: GapSamples,
    index: int,
    seed: int,
    on_trace: Callable[[Any], None] | None,
) -> FittedParameters:
    """From a file, or fitted to all samples but the one to be explained."""
    if file is not None:
        fitted = FittedParameters.load(file)
        if fitted.config.name != config.name:
            raise UsageError("these parameters belong to another model", where=file, found=fitted.config.name)
        return fitted
    others = np.arange(samples.num_samples) != index
    return fit_parameters(training_set(samples.take(others)), config, options=FitOptions(seed=seed), on_trace=on_trace)
