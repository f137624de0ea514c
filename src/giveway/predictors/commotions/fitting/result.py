"""A fitted parameter set as a small JSON document with units and provenance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from giveway.core.checked import Expect, read_sealed
from giveway.core.errors import FileFormatError, UsageError
from giveway.core.sealed_files import write_document
from giveway.predictors.commotions.config import Configuration, Switches
from giveway.predictors.commotions.parameters import PARAMETERS, Theta

FORMAT = "giveway-commotions-parameters"
VERSION = 1
PARAMETERS_FILE = Expect(
    error=FileFormatError,
    what="the file of fitted parameters of the Commotions model",
    hint="fit again, or give a file written by giveway",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Best point of one stage of the search."""

    theta: Theta
    loss: float
    error: float
    evaluations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedParameters:
    """θ and where it came from.

    Attributes:
        theta: natural units.
        config: variant it belongs to.
        loss: observed loss on the training set, mean over paths of the sum over samples.
        loss_error: its standard error over paths.
        stages: best point of every stage.
        provenance: data fingerprint, seed, budgets, switches, version, seconds.
    """

    theta: Theta
    config: Configuration
    loss: float
    loss_error: float
    stages: tuple[Stage, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def switches(self) -> Switches | None:
        """What the fit was made with; None if the provenance does not say."""
        return Switches(**self.provenance["switches"]) if "switches" in self.provenance else None

    def save(self, path: Path) -> None:
        """Write atomically."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "model": self.config.name,
            "actions": list(self.config.action_set),
            "theta": {
                p.name: {"value": self.theta.as_dict()[p.name], "unit": p.unit, "symbol": p.symbol} for p in PARAMETERS
            },
            "loss": {"value": self.loss, "standard_error": self.loss_error},
            "stages": [
                {"theta": s.theta.as_dict(), "loss": s.loss, "error": s.error, "evaluations": s.evaluations}
                for s in self.stages
            ],
            "provenance": dict(self.provenance),
        }
        write_document(path, document, indent=2)

    @classmethod
    def load(cls, path: Path) -> FittedParameters:
        """Read what :meth:`save` wrote.

        Raises:
            FileFormatError: for anything else, and for a θ that cannot be simulated.
        """
        try:
            document = read_sealed(path, expect=PARAMETERS_FILE).document
            if document["format"] != FORMAT or document["version"] != VERSION:
                raise ValueError(f"format {document['format']!r}, version {document['version']!r}")
            config = Configuration.from_name(document["model"])
            actions = tuple(float(u) for u in document["actions"])
            if actions != config.action_set:
                config = replace(config, actions=actions)
            theta = {p.name: float(document["theta"][p.name]["value"]) for p in PARAMETERS}
            provenance = dict(document["provenance"])
            readings = {name: provenance[name] for name in ("dt_free", "speed_prior") if name in provenance}
            config = replace(config, **readings)
            Switches(**provenance.get("switches", {}))  # complain now rather than when they are needed
            return cls(
                theta=_simulable(theta, path),
                config=config,
                loss=float(document["loss"]["value"]),
                loss_error=float(document["loss"]["standard_error"]),
                stages=tuple(
                    Stage(
                        theta=Theta(**s["theta"]),
                        loss=float(s["loss"]),
                        error=float(s["error"]),
                        evaluations=int(s["evaluations"]),
                    )
                    for s in document["stages"]
                ),
                provenance=provenance,
            )
        except (OSError, ValueError, KeyError, TypeError, UsageError) as error:
            raise FileFormatError(
                "no fitted parameters of the Commotions model can be read",
                where=path,
                found=error.what if isinstance(error, UsageError) else f"{type(error).__name__}: {error}",
                hint="fit again, or give a file written by giveway",
            ) from error


def _simulable(values: Mapping[str, float], path: Path) -> Theta:
    """θ whose numbers are finite and whose ΔT lies in its range.

    Others may lie outside of theirs: with ``stage_winner = "logarithms"`` they are logarithms, which ΔT never is.
    """
    for name, value in values.items():
        if not math.isfinite(value):
            raise FileFormatError(
                "a fitted parameter is no finite number", where=path, found=f"{name} = {value:g}", hint="fit again"
            )
    (action,) = (p for p in PARAMETERS if p.name == "delta_t_action")
    duration = values[action.name]
    if not action.contains(duration):
        raise FileFormatError(
            "a fitted parameter is outside its range",
            where=path,
            found=f"{action.name} = {duration:g}",
            hint="between {:g} and {:g} ".format(*action.allowed) + action.unit,
        )
    return Theta(**{**values, action.name: action.clip(duration)})
