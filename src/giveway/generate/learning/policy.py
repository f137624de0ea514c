"""A trained policy: the actors of k cars, without anything that only learning needs.

One safetensors file: weights as tensors, facts as JSON in its header. Reading and driving need no torch.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from giveway import __version__
from giveway.core import elementary
from giveway.core.checked import Expect, read_weights
from giveway.core.dense import Float32Array, dense
from giveway.core.errors import StoreError, UsageError
from giveway.core.sealed_files import weights_bytes
from giveway.experiments import Store
from giveway.experiments.store import STORE_FILE
from giveway.generate.learning.rounds import POLICY_FILE, best_round, stored_rounds

FORMAT = "giveway-policy"
VERSION = 1
CHOICES = (6, 8, 0, 2, 3, 5)
"""Maneuvers of a discrete policy as numbers of the worlds: {right, keep, left} x {brake, go}, as published."""
MAX_BYTES = 64 * 1024 * 1024
POLICY = Expect(
    error=StoreError, what="the policy", hint="train again, or install giveway again if it is a shipped one"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInfo:
    """What a policy is for.

    Attributes:
        cars: k.
        observation: numbers each car sees.
        action: numbers each car decides.
        world: name and version of what the numbers mean, as the environment gives it.
        hidden: units of the hidden layers.
        shared: one actor for all cars, told which car it drives.
        steps: environment steps it was trained for.
        seed: of the training.
        made: further facts for people: road, ego, reward, algorithm.
    """

    cars: int
    observation: int
    action: int
    world: str
    hidden: tuple[int, ...]
    shared: bool = False
    steps: int = 0
    seed: int = 0
    made: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_discrete(self) -> bool:
        """Whether outputs are those of maneuvers, the largest of which is done."""
        return "maneuvers actions" in self.world


class Policy:
    """Drives k cars from what they see.

    Args:
        info: facts.
        theta: (k or 1, P) parameters as in :class:`~giveway.generate.learning.networks.StackedNetwork`.
        mean: (k, o) subtracted from observations.
        deviation: (k, o) they are divided by.
    """

    def __init__(self, info: PolicyInfo, theta: Float32Array, mean: Float32Array, deviation: Float32Array) -> None:
        self.info = info
        self.theta, self.mean, self.deviation = theta, mean, deviation
        inputs = info.observation + (info.cars if info.shared else 0)
        self._layers = _layers(theta, (inputs, *info.hidden, info.action))

    def act(self, observations: Float32Array) -> Float32Array:
        """(W, k, a) actions in (-1, 1) for observations (W, k, o), or (W, k, 1) numbers of maneuvers."""
        x = ((observations - self.mean) / self.deviation).astype(np.float32).swapaxes(0, 1)
        k, worlds = x.shape[0], x.shape[1]
        if self.info.shared:
            who = np.broadcast_to(np.eye(k, dtype=np.float32)[:, None, :], (k, worlds, k))
            x = np.concatenate([x, who], axis=2).reshape(1, k * worlds, -1)
        for n, (weight, bias) in enumerate(self._layers):
            x = dense(np.ascontiguousarray(x), weight, bias, n < len(self._layers) - 1)
        if self.info.is_discrete:
            best = x.reshape(k, worlds, self.info.action).swapaxes(0, 1).argmax(axis=2)
            return np.array(CHOICES, dtype=np.float32)[best][..., None]
        return (
            elementary.tanh(x.astype(np.float64)).astype(np.float32).reshape(k, worlds, self.info.action).swapaxes(0, 1)
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 over parameters and facts."""
        digest = hashlib.sha256(json.dumps(_facts(self.info), sort_keys=True).encode())
        for array in (self.theta, self.mean, self.deviation):
            digest.update(np.ascontiguousarray(array, dtype="<f4").tobytes())
        return digest.hexdigest()

    def check(self, *, cars: int, observation: int, action: int, world: str) -> None:
        """Refuse a world that this policy was not trained for.

        Raises:
            UsageError: naming what differs.
        """
        info = self.info
        pairs = {
            "cars": (info.cars, cars),
            "observed numbers": (info.observation, observation),
            "action numbers": (info.action, action),
            "observation": (info.world, world),
        }
        wrong = [
            f"{name}: trained for {there}, asked for {here}" for name, (there, here) in pairs.items() if there != here
        ]
        if wrong:
            raise UsageError(
                "the policy was trained for another world",
                where="--policy",
                found="; ".join(wrong),
                hint="give the settings it was trained with, or train one: giveway generate train --help",
            )


def policy_bytes(policy: Policy) -> bytes:
    """Content of a policy file."""
    tensors = {"theta": policy.theta, "mean": policy.mean, "deviation": policy.deviation}
    header = {
        "format": FORMAT,
        "version": str(VERSION),
        "giveway": __version__,
        "info": json.dumps(_facts(policy.info)),
    }
    arrays = {n: np.ascontiguousarray(t, dtype=np.float32) for n, t in tensors.items()}
    return weights_bytes(arrays, header, purpose="writing a policy")


def load_policy(path: Path) -> Policy:
    """Read a policy file, or the best policy of a training folder.

    Raises:
        UsageError: there is none.
        StoreError: it is damaged, of another kind or newer.
    """
    file = _best_policy(path) if path.is_dir() else path
    if not file.is_file():
        raise UsageError(
            "there is no policy here", where=path, found="no such file", hint="giveway generate train --out P"
        )
    tensors, header = read_weights(file, limit=MAX_BYTES, expect=POLICY, purpose="reading a policy")
    try:
        if header.get("format") != FORMAT:
            raise ValueError(f"format {header.get('format')!r}")
        if int(header["version"]) > VERSION:
            raise StoreError(
                "the policy was written by a newer version",
                where=file,
                found=f"version {header['version']}, known up to {VERSION}",
                hint="upgrade giveway",
            )
        return _assemble(json.loads(header["info"]), tensors)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError("not a readable policy", where=file, found=error, hint="train again") from error


def _best_policy(folder: Path) -> Path:
    """File of the best policy of a training; trainings of release 0.1 have it in their folder."""
    if (folder / POLICY_FILE).is_file() or not (folder / STORE_FILE).is_file():
        return folder / POLICY_FILE
    store = Store(folder)
    rounds = stored_rounds(store)
    return store.attachments(best_round(rounds).key) / POLICY_FILE if rounds else folder / POLICY_FILE


def _assemble(facts: dict[str, Any], tensors: Mapping[str, Any]) -> Policy:
    values: dict[str, Any] = {**facts, "hidden": tuple(int(n) for n in facts["hidden"])}
    info = PolicyInfo(**values)
    shapes = {name: tuple(tensors[name].shape) for name in ("theta", "mean", "deviation")}
    inputs = info.observation + (info.cars if info.shared else 0)
    sizes = (inputs, *info.hidden, info.action)
    parameters = sum(a * b + b for a, b in itertools.pairwise(sizes))
    expected = {
        "theta": (1 if info.shared else info.cars, parameters),
        "mean": (info.cars, info.observation),
        "deviation": (info.cars, info.observation),
    }
    if shapes != expected:
        raise ValueError(f"tensors {shapes} do not fit {expected}")
    if not all(np.isfinite(tensors[name]).all() for name in expected):
        raise ValueError("weights that are not finite")
    return Policy(info, tensors["theta"], tensors["mean"], tensors["deviation"])


def _layers(theta: Float32Array, sizes: Sequence[int]) -> list[tuple[Float32Array, Float32Array]]:
    layers: list[tuple[Float32Array, Float32Array]] = []
    at, n = 0, theta.shape[0]
    for a, b in itertools.pairwise(sizes):
        weight = theta[:, at : at + a * b].reshape(n, a, b)
        bias = theta[:, at + a * b : at + a * b + b].reshape(n, 1, b)
        layers.append((np.ascontiguousarray(weight), np.ascontiguousarray(bias)))
        at += a * b + b
    return layers


def _facts(info: PolicyInfo) -> dict[str, Any]:
    return json.loads(json.dumps({**asdict(info), "made": dict(info.made)}))
