"""The 32 configurations as predictors of the benchmark: ``PREDICTORS.get("CM_AIJ11")``.

Every registered name is an attribute of this module, made on demand; there is no file per variant.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.arrays import BoolArray
from giveway.core.errors import DataError, EmptySelectionError, FileFormatError, PredictionError
from giveway.core.predictions import NUM_PATHS, OutputKind, TimeDistribution
from giveway.core.samples import DISTANCES, GapInputs, GapSamples
from giveway.core.seeds import seed_for
from giveway.predictors.commotions.config import MODEL_VERSION, Configuration, Profile, Switches
from giveway.predictors.commotions.encounter import (
    MAX_STEPS,
    Encounters,
    encounters_from_distances,
)
from giveway.predictors.commotions.fitting.fit import FitOptions, fit_parameters
from giveway.predictors.commotions.fitting.optimizers import INITIAL_POINTS
from giveway.predictors.commotions.fitting.result import FittedParameters
from giveway.predictors.commotions.fitting.search import Budget
from giveway.predictors.commotions.losses import TrainingSet
from giveway.predictors.commotions.parameters import DT_S
from giveway.predictors.commotions.simulation import simulate_encounters
from giveway.predictors.protocol import FitCost, PredictorInfo

FILE = "commotions.json"
JOURNALS = "GIVEWAY_FIT_JOURNALS"
"""Environment variable: folder in which every fit keeps a journal to resume from."""

FIT_SWITCHES = {
    "decision_instant": "acceptance",
    "spread_term": "spread_term",
    "second_box": "box_fraction",
    "parameter_bounds": "bounds",
    "search_scale": "search_scale",
    "sobol_points": "sobol_points",
}
"""Switches of the benchmark's profile and the fields of :class:`Switches` that they set."""

REFERENCES = (
    "G. Markkula et al., Explaining human interactions on the road by large-scale integration of computational "
    "psychological theory, PNAS Nexus, 2023",
    "J. F. Schumann et al., Using Models Based on Cognitive Theory to Predict Human Behavior in Traffic: A Case Study, "
    "2023",
)


def info_of(config: Configuration) -> PredictorInfo:
    """Fact sheet of a configuration."""
    return PredictorInfo(
        name=config.name,
        title=f"CM_{{{config.code}}}",
        gives=OutputKind.TIME,
        reads=frozenset({"distances"}),
        takes=frozenset({"gaps"}),
        learns=True,
        history_s=0.2,
        stochastic=True,
        references=REFERENCES,
        version=MODEL_VERSION,
    )


def usable(inputs: GapInputs) -> BoolArray:
    """(N,) samples the model can simulate: D_C, D_A at both instants and L_E, L_T known, T not inside yet."""
    last = inputs.distance[:, :, -2:]
    known = np.isfinite(last[:, :2]).all(axis=(1, 2)) & np.isfinite(last[:, 5:, 1]).all(axis=1)
    return known & (last[:, 1, 1] >= 0) & (last[:, 5:, 1] >= 0).all(axis=1)


def encounters_of(inputs: GapInputs) -> Encounters:
    """Initial states of usable samples; random streams are named after the sample ids.

    Raises:
        DataError: if the inputs are not spaced by 0.2 s or there are less than two.
    """
    if abs(inputs.dt_s - DT_S) > 1e-9 or inputs.distance.shape[2] < 2:
        raise DataError(
            f"the Commotions model needs at least two input instants {DT_S} s apart",
            found=f"{inputs.distance.shape[2]} instants, {inputs.dt_s} s apart",
            hint="extract with n_I >= 2 and dt = 0.2 s",
        )
    distance = dict(zip(DISTANCES, np.moveaxis(inputs.distance, 1, 0), strict=True))
    key = [seed_for(0, "sample", name) % 2**64 for name in inputs.sample_id]
    encounters = encounters_from_distances(
        d_c=distance["D_C"][:, -2:],
        d_a=distance["D_A"][:, -2:],
        l_e=distance["L_E"][:, -1],
        l_t=distance["L_T"][:, -1],
        horizon_s=np.minimum(inputs.num_predict, MAX_STEPS) * DT_S,
        key=np.array(key, dtype=np.uint64),
    )
    return replace(encounters, closes_s=np.minimum(inputs.horizon_s, MAX_STEPS * DT_S))


def training_set(samples: GapSamples) -> TrainingSet:
    """The usable part of the samples.

    Raises:
        EmptySelectionError: if nothing is left.
    """
    keep = usable(samples.inputs)
    if not keep.any():
        raise EmptySelectionError(
            "no sample can be simulated",
            where=f"{samples.dataset}, {samples.prediction_time} gaps",
            found=f"{samples.num_samples} samples, all with missing distances or T already inside",
            hint="extract with the clean profile, which drops samples with missing inputs",
        )
    kept = samples.take(keep)
    return TrainingSet(
        encounters=encounters_of(kept.inputs), accepted=kept.truth.accepted, t_accept_s=kept.truth.t_accept_s
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedCommotions:
    """A configuration with its θ.

    Attributes:
        info: fact sheet.
        parameters: θ, loss, provenance.
        share_accepted: of the training samples; predicted where a sample cannot be simulated.
        switches: as fitted.
        num_paths: n_p per prediction.
    """

    info: PredictorInfo
    parameters: FittedParameters
    share_accepted: float
    switches: Switches
    num_paths: int = NUM_PATHS

    def predict(self, inputs: GapInputs, rng: np.random.Generator) -> TimeDistribution:
        """Share of accepting paths and deciles of their times.

        Samples that cannot be simulated get a defined answer: T inside already, accepted at once; distances missing,
        the share of accepted training samples and no times.
        """
        seed = int(rng.integers(2**63))
        probability = np.full(inputs.num_samples, self.share_accepted)
        quantile = np.full((inputs.num_samples, 9), np.nan)
        inside = inputs.distance[:, 1, -1] < 0
        probability[inside], quantile[inside] = 1.0, 0.0
        keep = usable(inputs)
        if keep.any():
            outcome = simulate_encounters(
                encounters_of(inputs.take(keep)),
                self.parameters.theta,
                self.parameters.config,
                num_paths=self.num_paths,
                seed=seed,
                step_count=self.switches.step_count,
                acceptance=self.switches.acceptance,
            )
            probability[keep], quantile[keep] = outcome.probability, outcome.quantiles_s()
        if not np.isfinite(probability).all():
            raise PredictionError(f"{self.info.name} predicted something that is no probability")
        return TimeDistribution(p=probability, quantile_s=quantile)

    def save(self, folder: Path) -> None:
        """θ with units and provenance as JSON."""
        provenance = {**self.parameters.provenance, "share_accepted": self.share_accepted}
        replace(self.parameters, provenance=provenance).save(folder / FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommotionsPredictor:
    """Recipe of one configuration.

    Attributes:
        config: variant.
        switches: published or corrected behavior.
        options: of the fit; its seed is drawn from the generator given to :meth:`fit`.
        journals: folder for journals of fits; None looks at the environment variable ``GIVEWAY_FIT_JOURNALS``.
    """

    config: Configuration
    switches: Switches = field(default_factory=Switches)
    options: FitOptions = field(default_factory=FitOptions)
    journals: Path | None = None

    @property
    def info(self) -> PredictorInfo:
        """Fact sheet."""
        return info_of(self.config)

    @property
    def switches_read(self) -> frozenset[str]:
        """Switches of the benchmark's profile that :meth:`configured` reads."""
        return frozenset({"commotions", "commotions_evaluations", "dt_free", "speed_prior", *FIT_SWITCHES})

    def with_profile(self, profile: Profile) -> CommotionsPredictor:
        """The same configuration as published (``"paper"``), as printed, or corrected (``"clean"``)."""
        printed = profile == "printed"
        config = replace(
            self.config,
            dt_free="both" if printed else "jerk_control",
            speed_prior="speed" if printed else "free_speed",
        )
        return replace(self, config=config, switches=Switches.of(profile))

    def configured(self, switches: Mapping[str, Any]) -> CommotionsPredictor:
        """As the switches of the benchmark's profile say; one that is not named has the value of ``clean``."""
        profiles: dict[str, Profile] = {"published": "paper", "printed": "printed"}
        named = profiles.get(str(switches.get("commotions")))
        base = self.switches if named is None else Switches.of(named)
        plain = self.switches if named is None else Switches()
        read = {own: switches.get(name, getattr(plain, own)) for name, own in FIT_SWITCHES.items()}
        readings = {name: switches[name] for name in ("dt_free", "speed_prior") if name in switches}
        recipe = replace(self, config=replace(self.config, **readings), switches=replace(base, **read))
        evaluations = switches.get("commotions_evaluations")
        if evaluations is None:
            return recipe
        initial = min(INITIAL_POINTS, evaluations // 2)
        budgets = (Budget(initial=initial, further=evaluations - initial),) * self.config.stages
        return replace(recipe, options=replace(recipe.options, budgets=budgets))

    def fit(self, samples: GapSamples, rng: np.random.Generator) -> FittedCommotions:
        """Fit θ to the usable training samples; one class only is allowed, for times carry information too."""
        training = training_set(samples)
        options = replace(self.options, seed=int(rng.integers(2**31)))
        folder = self.journals or (Path(os.environ[JOURNALS]) if os.environ.get(JOURNALS) else None)
        if folder is not None and options.journal is None:
            name = f"{self.config.name}-{options.seed}-{training.fingerprint()[:16]}.jsonl"
            options = replace(options, journal=folder / name)
        parameters = fit_parameters(training, self.config, switches=self.switches, options=options)
        return FittedCommotions(
            info=self.info,
            parameters=parameters,
            share_accepted=float(training.accepted.mean()),
            switches=self.switches,
        )

    def fit_cost(self, samples: GapSamples) -> FitCost:
        """See :class:`giveway.predictors.protocol.Costed`."""
        from giveway.predictors.commotions.fitting.cost import fit_cost

        return fit_cost(training_set(samples), self.config, self.switches, self.options)

    def load(self, folder: Path) -> FittedCommotions:
        """Read what :meth:`FittedCommotions.save` wrote.

        Raises:
            FileFormatError: if the folder holds no or another model.
        """
        parameters = FittedParameters.load(folder / FILE)
        if parameters.config.name != self.config.name:
            raise FileFormatError(
                "the folder holds another configuration",
                where=folder / FILE,
                found=parameters.config.name,
                hint=f"load it with {parameters.config.name}",
            )
        return FittedCommotions(
            info=self.info,
            parameters=parameters,
            share_accepted=float(parameters.provenance.get("share_accepted", 0.5)),
            switches=parameters.switches or self.switches,
        )


def __getattr__(name: str) -> Any:
    if name.startswith("CM_"):
        return CommotionsPredictor(config=Configuration.from_name(name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
