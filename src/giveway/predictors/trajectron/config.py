"""Everything that decides what a trained Trajectron++ is, in one value."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any

from giveway.core.errors import ConfigError, UnknownNameError

_COUNTS = ("epochs", "batch_size", "num_modes", "history_size", "future_size", "prior_size", "decoder_size")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectronConfig:
    """Sizes, schedules and switches; the defaults are the `clean` profile.

    Attributes:
        standardize: positions relative to T's pose at t_0 and divided by fixed scales, plus where the acceptance
            boundary lies; False feeds raw scenario coordinates (`paper`). Switch ``tpp-standardise``.
        mode_per_path: one latent value per sampled path; False draws a component anew for every step (`paper`).
            Switch ``tpp-mode``.
        epochs: passes over the training samples, at most.
        updates: whole epochs until about so many updates are done, whatever the number of samples; 0 leaves it to
            ``epochs``.
        batch_size: samples per update.
        num_modes: K, values of the categorical latent variable.
        history_size: hidden size of history, edge and influence encoders.
        future_size: hidden size of one direction of the future encoder.
        prior_size: hidden size of p(z | x).
        decoder_size: hidden size of the decoder.
        dropout: in the encoders.
        prior_dropout: in p(z | x).
        learning_rate: at the first update.
        learning_rate_decay: factor per update.
        gradient_clip: bound on each entry of the gradient.
        kl_min: free bits; KL below this costs nothing more.
        log_p_max: bound on the log density of one step, so that easy samples do not dominate.
        log_sigma_max: bound on the log standard deviation of a control.
        radius_vehicle_m: attention radius for vehicles.
        radius_vulnerable_m: attention radius for pedestrians and cyclists.
        mode_spread: factor on the initial weights of the latent value in the decoder. With 1, the usual start, modes
            begin close together and may end as one wide Gaussian; about 10 keeps apart what is known to be of several
            kinds, at the price of unlikely modes that die out slowly.
        annealing: factor on the time scales of the two schedules in updates; 1 as published, less for short training.
        validation_share: share of the training samples that is held out to tell how well training goes; 0 for none.
        patience: end training when the error on held-out samples did not improve for so many epochs, and keep the best
            weights; 0 (the default) trains all epochs, and so do samples too few to hold one out.
    """

    standardize: bool = True
    mode_per_path: bool = True
    epochs: int = 200
    updates: int = 0
    batch_size: int = 50
    num_modes: int = 25
    history_size: int = 32
    future_size: int = 32
    prior_size: int = 32
    decoder_size: int = 128
    dropout: float = 0.25
    prior_dropout: float = 0.1
    learning_rate: float = 0.003
    learning_rate_decay: float = 0.9999
    gradient_clip: float = 1.0
    kl_min: float = 0.07
    log_p_max: float = 6.0
    log_sigma_max: float = 40.0
    radius_vehicle_m: float = 150.0
    radius_vulnerable_m: float = 25.0
    mode_spread: float = 1.0
    annealing: float = 1.0
    validation_share: float = 0.0
    patience: int = 0

    def __post_init__(self) -> None:
        if self.patience > 0 and self.validation_share == 0.0:
            raise ConfigError(
                "early stopping needs samples to validate on",
                where="validation_share",
                found=self.validation_share,
                hint="hold out a part of the training samples, e.g. 0.1",
            )
        for names, least in ((_COUNTS, 1), (("updates", "patience"), 0)):
            for name in names:
                if getattr(self, name) < least:
                    raise ConfigError(
                        f"Trajectron++ setting {name!r} is out of range",
                        found=getattr(self, name),
                        hint=f"{least} or more",
                    )
        for name, low, high in (("validation_share", 0.0, 0.9), ("annealing", 1e-3, 1e3), ("dropout", 0.0, 0.99)):
            if not low <= getattr(self, name) <= high:
                raise ConfigError(
                    f"Trajectron++ setting {name!r} is out of range",
                    found=getattr(self, name),
                    hint=f"{low} to {high}",
                )

    def to_json(self) -> str:
        """Canonical text: sorted keys, so that equal configurations are equal text."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @staticmethod
    def from_mapping(values: dict[str, Any]) -> TrajectronConfig:
        """Read what :meth:`to_json` wrote.

        Raises:
            UnknownNameError: for a key that does not exist.
            ConfigError: for a value of the wrong type.
        """
        fields = {f.name: f for f in dataclasses.fields(TrajectronConfig)}
        for name, value in values.items():
            if name not in fields:
                raise UnknownNameError("Trajectron++ setting", name, fields)
            expected = type(getattr(_DEFAULTS, name))
            if not isinstance(value, expected) and not (expected is float and isinstance(value, int)):
                raise ConfigError(
                    f"Trajectron++ setting {name!r} has the wrong type",
                    found=repr(value),
                    hint=f"give a {expected.__name__}",
                )
        return TrajectronConfig(**values)


_DEFAULTS = TrajectronConfig()

PAPER = TrajectronConfig(standardize=False, mode_per_path=False)
"""As published: raw coordinates, a latent component per step."""

CLEAN = TrajectronConfig()
"""Standardized inputs, one latent value per path."""

SMALL = TrajectronConfig(
    updates=200,
    num_modes=8,
    decoder_size=32,
    learning_rate=0.01,
    learning_rate_decay=0.986,
    annealing=0.2,
)
"""A smaller decoder, eight modes and 200 updates with schedules to match: seconds instead of an hour per training."""


def kl_weight(iteration: int, annealing: float = 1.0) -> float:
    """Annealed weight of the KL term: ``100 sigmoid((i - 400) / 100)``, with i divided by ``annealing``."""
    return 100.0 * _sigmoid((iteration / annealing - 400) / 100)


def logit_clamp(iteration: int, annealing: float = 1.0) -> float:
    """Bound on the centered logits of z during training: ``0.05 + 4.95 sigmoid((i - 300) / 60)``, likewise."""
    return 0.05 + 4.95 * _sigmoid((iteration / annealing - 300) / 60)


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value)) if value >= 0 else math.exp(value) / (1.0 + math.exp(value))
