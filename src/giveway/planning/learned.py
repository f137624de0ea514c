"""Planners that were learned: a small network from what the planner sees to an acceleration. Driving needs no torch.

A checkpoint is one sealed safetensors file: weights as tensors, facts as JSON in its header.
``giveway drive train --planner ppo`` and ``--planner imitation`` write them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from giveway import __version__
from giveway.core.arrays import FloatArray
from giveway.core.checked import Expect, read_weights
from giveway.core.dense import Float32Array, dense
from giveway.core.errors import FileFormatError, UsageError
from giveway.core.sealed_files import weights_bytes
from giveway.core.seals import sha256_of_bytes
from giveway.planning import features
from giveway.planning.builtin import cruise_plan
from giveway.planning.features import NUM_FEATURES, features_of
from giveway.planning.limits import EGO_BOUNDS
from giveway.planning.protocol import Plan, PlannerInfo, Situation

FORMAT, VERSION = "giveway-planner", 1
MAX_BYTES = 16 * 1024 * 1024
DT_S = 0.1
ACCEL_UNIT_MPS2 = 2.0
"""The network's output times this is the acceleration that the car goes to."""

GAIN = 0.25
"""Share of the way to it that the car goes in a tick: a time constant of 0.35 s, which makes noise smooth."""

CHECKPOINT = Expect(
    error=FileFormatError, what="the learned planner", hint="train again: giveway drive train --planner"
)
TITLES = {"ppo": "PPO", "imitation": "imitation"}


def next_accel(output: Any, accel_mps2: Any) -> Any:
    """Acceleration of the coming tick; numbers or arrays.

        a' = a + clip(0.25 (clip(2 u, -8, 3) - a), -1.6, 1.6)

    Args:
        output: u, of the network.
        accel_mps2: a, of the last tick.
    """
    now, reach = np.asarray(accel_mps2, dtype=np.float64), EGO_BOUNDS.max_jerk_mps3 * DT_S
    wanted = np.clip(
        ACCEL_UNIT_MPS2 * np.asarray(output, dtype=np.float64), -EGO_BOUNDS.max_brake_mps2, EGO_BOUNDS.max_accel_mps2
    )
    return now + np.clip(GAIN * (wanted - now), -reach, reach)


def output_for(after_mps2: FloatArray, accel_mps2: FloatArray) -> FloatArray:
    """The inverse of :func:`next_accel`, within what can be asked for: what the network should have said."""
    wanted = accel_mps2 + (after_mps2 - accel_mps2) / GAIN
    return np.clip(wanted, -EGO_BOUNDS.max_brake_mps2, EGO_BOUNDS.max_accel_mps2) / ACCEL_UNIT_MPS2


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedPlanner:
    """Drives by a trained network; one object serves all episodes.

    Attributes:
        name: how it was trained, ``ppo`` or ``imitation``.
        layers: weight (a, b) and bias (b,) of each layer, rectified in between.
        facts: about the training, for people.
    """

    name: str
    layers: tuple[tuple[Float32Array, Float32Array], ...]
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def info(self) -> PlannerInfo:
        """Fact sheet; the version names the weights."""
        return PlannerInfo(
            name=self.name,
            title=TITLES.get(self.name, self.name),
            version=f"{VERSION}-{self.fingerprint}",
            uses_predictions=False,
            parameters={"env_steps": float(self.facts.get("env_steps", 0)), "seed": float(self.facts.get("seed", 0))},
        )

    @property
    def fingerprint(self) -> str:
        """Short text that tells weights apart."""
        return sha256_of_bytes(b"".join(np.ascontiguousarray(a, "<f4").tobytes() for p in self.layers for a in p))[:12]

    def outputs(self, seen: Float32Array) -> Float32Array:
        """(N,) of the network for features (N, F); a row depends on nothing but itself."""
        x = np.ascontiguousarray(seen, dtype=np.float32)[None]
        for n, (weight, bias) in enumerate(self.layers):
            x = dense(x, weight[None], bias[None, None], n < len(self.layers) - 1)
        return x[0, :, 0]

    def plan(self, situation: Situation) -> Plan:
        """Keep the acceleration that the network asks for."""
        return self.plan_batch([situation])[0]

    def plan_batch(self, situations: Sequence[Situation]) -> list[Plan]:
        """The same for the situations of all episodes of a tick."""
        outputs = self.outputs(np.stack([features_of(one) for one in situations]))
        return [_plan(one, float(next_accel(u, one.accel_mps2))) for one, u in zip(situations, outputs, strict=True)]


def _plan(seen: Situation, accel: float) -> Plan:
    accel = min(max(accel, -EGO_BOUNDS.max_brake_mps2), EGO_BOUNDS.max_accel_mps2)
    s = cruise_plan(seen.s_m, seen.speed_mps, accel, max(seen.desired_speed_mps, seen.speed_mps))
    return Plan(s_m=s, speed_mps=max(seen.speed_mps + accel * DT_S, 0.0))


def planner_bytes(planner: LearnedPlanner) -> bytes:
    """Content of a checkpoint."""
    arrays = {}
    for n, (weight, bias) in enumerate(planner.layers):
        arrays |= {f"weight.{n}": np.ascontiguousarray(weight, "<f4"), f"bias.{n}": np.ascontiguousarray(bias, "<f4")}
    header = {
        "format": FORMAT,
        "version": str(VERSION),
        "features": str(features.VERSION),
        "giveway": __version__,
        "planner": planner.name,
        "facts": json.dumps(dict(planner.facts), sort_keys=True),
    }
    return weights_bytes(arrays, header, purpose="writing a planner")


def load_planner(file: Path, name: str) -> LearnedPlanner:
    """Read a checkpoint.

    Args:
        file: of ``giveway drive train --planner``.
        name: how the planner has to be trained.

    Raises:
        UsageError: no such file, or a planner of another name.
        FileFormatError: it is damaged, of another kind, or for other features.
    """
    if not file.is_file():
        raise UsageError("there is no learned planner here", where=file, hint=f"giveway drive train --planner {name}")
    tensors, header = read_weights(file, limit=MAX_BYTES, expect=CHECKPOINT, purpose="reading a planner")
    known = {"format": FORMAT, "version": str(VERSION), "features": str(features.VERSION)}
    odd = [f"{key} {header.get(key)!r}, known {value!r}" for key, value in known.items() if header.get(key) != value]
    if odd:
        raise FileFormatError("not a planner that this release can drive with", where=file, found="; ".join(odd))
    if header.get("planner") != name:
        raise UsageError(
            "the file holds another planner", where=file, found=header.get("planner"), hint=f"{header['planner']}:FILE"
        )
    try:
        layers = tuple((tensors[f"weight.{n}"], tensors[f"bias.{n}"]) for n in range(len(tensors) // 2))
        _check(layers)
        return LearnedPlanner(name=name, layers=layers, facts=json.loads(header["facts"]))
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError("not a readable planner", where=file, found=error, hint="train again") from error


def _check(layers: Sequence[tuple[Any, Any]]) -> None:
    widths = [NUM_FEATURES, *(weight.shape[1] for weight, _ in layers)]
    fits = all(
        weight.shape == (a, b) and bias.shape == (b,)
        for (weight, bias), (a, b) in zip(layers, pairwise(widths), strict=True)
    )
    if not fits or widths[-1] != 1 or len(widths) < 2:
        raise ValueError(f"layers of {widths} units")
    if not all(array.dtype == np.float32 and np.isfinite(array).all() for pair in layers for array in pair):
        raise ValueError("weights that are not finite")


@dataclass(frozen=True, slots=True)
class LearnedMaker:
    """Maker of planners that need a file."""

    name: str

    def __call__(self) -> LearnedPlanner:
        """Refuse: without a file there are no weights."""
        raise UsageError(
            f"the planner {self.name} needs a file",
            where=self.name,
            hint=f"{self.name}:FILE, of giveway drive train --planner {self.name}",
        )

    def load(self, file: Path) -> LearnedPlanner:
        """See :func:`load_planner`."""
        return load_planner(file, self.name)


class PpoMaker(LearnedMaker):
    """``ppo:FILE``: learned by reward (Schulman et al. 2017); ``giveway drive train --planner ppo`` writes the file."""


class ImitationMaker(LearnedMaker):
    """``imitation:FILE``: a clone of recorded drivers; ``giveway drive train --planner imitation`` writes the file."""


PPO, IMITATION = PpoMaker("ppo"), ImitationMaker("imitation")
