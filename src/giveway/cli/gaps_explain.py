"""``giveway gaps explain``: look into the Commotions model at one encounter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from giveway.cli.output import print_json
from giveway.core.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from giveway.core.samples import GapSamples
    from giveway.predictors.commotions.config import Configuration
    from giveway.predictors.commotions.fitting.result import FittedParameters

PARAMETERS = typer.Option(None, "--parameters", help="Fitted parameters (JSON); else fitted to the other samples.")
OUT = typer.Option(Path("explain"), "--out", "-o", help="Folder for the picture, the page and the parameters.")


def explain(
    sample: str = typer.Option(..., "--sample", help="Id of the sample, as in the file of samples."),
    model: str = typer.Option(..., "--model", help="CM_IIJ11 ... CM_ANA22."),
    samples: Path = typer.Option(Path("samples.parquet"), "--samples", help="Written by: giveway gaps extract --out."),
    t0: str | None = typer.Option(None, "--t0", help="initial, constant or critical; constant if the file has it."),
    parameters: Path | None = PARAMETERS,
    path: int = typer.Option(0, "--path", help="Which simulated path, 0 to 99."),
    seed: int = typer.Option(0, "--seed", help="Of the noise, and of the fit."),
    out: Path = OUT,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document, with every number of the picture."),
) -> None:
    """Draw what the simulated driver saw, believed, valued and did in one encounter (PNG and HTML)."""
    from giveway.gaps.explanation import document_of, summary_of, write_page
    from giveway.gaps.files import read_samples
    from giveway.predictors.commotions.config import Configuration, Switches
    from giveway.predictors.commotions.explain import check_path
    from giveway.predictors.commotions.explain import explain as explain_path
    from giveway.predictors.commotions.picture import draw_explanation
    from giveway.predictors.commotions.predictor import encounters_of, usable

    config = Configuration.from_name(model)
    if not samples.exists():
        raise UsageError(
            "there is no file of samples",
            where=samples,
            found="nothing",
            hint="giveway gaps extract --dataset NAME --root FOLDER --out samples.parquet, or --samples FILE",
        )
    everything = read_samples(samples, t0 or _prediction_time(samples))
    index = _index_of(sample, everything, samples)
    one = everything.take(slice(index, index + 1))
    if not usable(one.inputs)[0]:
        raise UsageError(
            "this sample cannot be simulated",
            where=sample,
            found="distances are missing, or T is inside the contested space at t_0",
        )
    encounters = encounters_of(one.inputs)
    check_path(encounters, 0, path=path)
    fitted = _parameters(parameters, config, everything, index, seed, quiet=as_json)
    switches = fitted.switches or Switches()
    explanation = explain_path(
        encounters, 0, fitted.theta, fitted.config, path=path, seed=seed, step_count=switches.step_count
    )
    truth = one.truth
    observed = f"accepted after {truth.t_accept_s[0]:.2f} s" if truth.accepted[0] else "rejected"
    stem = f"{sample}-{config.name}-{path}".replace("/", "_").replace("\\", "_").replace(" ", "_")
    picture, page, theta = (out / f"{stem}{suffix}" for suffix in (".png", ".html", ".parameters.json"))
    draw_explanation(explanation, picture, title=sample, observed=observed)
    write_page(explanation, page, title=sample, observed=observed)
    fitted.save(theta)
    if as_json:
        files = {"picture": picture, "page": page, "parameters": theta}
        print_json({"ok": True, "sample": sample, "observed": observed, **files, **document_of(explanation)})
        return
    typer.echo(summary_of(explanation, observed))
    for file in (picture, page, theta):
        typer.echo(f"  {file}")


def _prediction_time(file: Path) -> str | None:
    """Constant gaps if the file holds them, else its first kind; None leaves complaints to the reader of samples."""
    from giveway.core.checked import read_parquet
    from giveway.core.errors import FileFormatError

    try:
        kinds = read_parquet(file, columns=["prediction_time"])["prediction_time"].unique().sort()
    except FileFormatError:
        return None
    return None if kinds.is_empty() else "constant" if "constant" in kinds else str(kinds[0])


def _index_of(sample: str, samples: GapSamples, file: Path) -> int:
    ids = [str(name) for name in samples.inputs.sample_id]
    if sample not in ids:
        raise UnknownNameError("sample", sample, ids, where=file)
    return ids.index(sample)


def _parameters(
    file: Path | None, config: Configuration, samples: GapSamples, index: int, seed: int, *, quiet: bool
) -> FittedParameters:
    """From a file, or fitted to all samples but the one to be explained."""
    import numpy as np

    from giveway.predictors.commotions.fitting.fit import FitOptions, fit_parameters
    from giveway.predictors.commotions.fitting.result import FittedParameters
    from giveway.predictors.commotions.fitting.trace import TraceLines
    from giveway.predictors.commotions.predictor import training_set

    if file is not None:
        fitted = FittedParameters.load(file)
        if fitted.config.name != config.name:
            raise UsageError("these parameters belong to another model", where=file, found=fitted.config.name)
        return fitted
    others = np.arange(samples.num_samples) != index
    training = training_set(samples.take(others))
    return fit_parameters(
        training, config, options=FitOptions(seed=seed), on_trace=None if quiet else TraceLines(config.name)
    )
