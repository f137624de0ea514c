"""Who drives the surrounding cars in a test: a trained policy, or one of the baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import FloatArray
from giveway.core.errors import UnknownNameError
from giveway.core.seeds import stream
from giveway.generate.learning.policy import Policy
from giveway.generate.protocol import Scenes
from giveway.generate.worlds import Worlds

Float32Array = NDArray[np.float32]

HOLD = 5
"""Steps for which a random action is held; drawn anew each step it would average out to nothing."""


class CarDriver(Protocol):
    """Drives the learning cars of W worlds; what it does in one never depends on the others.

    Attributes:
        name: for tables.
        genes_per_car: numbers in [0, 1] by which a search steers what each car does; 0 if it cannot.
    """

    name: str
    genes_per_car: int

    def begin(self, worlds: Worlds, scenes: Scenes, seeds: Sequence[int], genes: FloatArray) -> None:
        """New episodes: per world one scene, one seed and (k, genes_per_car) genes."""
        ...

    def act(self, worlds: Worlds, observations: Float32Array, step: int) -> FloatArray:
        """(W, k, 2) actions, or (W, k) numbers of maneuvers."""
        ...


class PolicyDriver:
    """A trained policy.

    Args:
        policy: the actors.
        name: for tables.
    """

    genes_per_car = 0

    def __init__(self, policy: Policy, name: str = "policy") -> None:
        self.policy, self.name = policy, name

    def begin(self, worlds: Worlds, scenes: Scenes, seeds: Sequence[int], genes: FloatArray) -> None:
        """Nothing to prepare."""

    def act(self, worlds: Worlds, observations: Float32Array, step: int) -> FloatArray:
        """What the actors want."""
        return self.policy.act(observations).astype(np.float64)


class NaturalDriver:
    """Ordinary drivers: follow the car ahead, keep to the lane."""

    name = "idm"
    genes_per_car = 0

    def begin(self, worlds: Worlds, scenes: Scenes, seeds: Sequence[int], genes: FloatArray) -> None:
        """Nothing to prepare."""

    def act(self, worlds: Worlds, observations: Float32Array, step: int) -> FloatArray:
        """Intelligent driver model."""
        return np.asarray(worlds.natural_actions(), dtype=np.float64)


class ReplayDriver:
    """No attack: what ordinary drivers did around an ordinary ego in the same scene, replayed without looking."""

    name = "no_attack"
    genes_per_car = 0

    def __init__(self) -> None:
        self._actions = np.zeros((0, 0, 0, 2))
        self._lengths = np.zeros(0, dtype=np.int64)

    def begin(self, worlds: Worlds, scenes: Scenes, seeds: Sequence[int], genes: FloatArray) -> None:
        """Drive the scenes once with an IDM ego and remember what the cars did, and for how long."""
        quiet = Worlds(replace(worlds.settings, ego="idm"), n_worlds=scenes.num_scenes, road=worlds.road)
        quiet.reset(scenes, seed=0)
        taken: list[FloatArray] = []
        done = np.zeros(scenes.num_scenes, dtype=np.bool_)
        lengths = np.zeros(scenes.num_scenes, dtype=np.int64)
        while not done.all():
            taken.append(np.asarray(quiet.natural_actions(), dtype=np.float64))
            lengths += ~done
            done = quiet.step(taken[-1]).done
        quiet.close()
        self._actions, self._lengths = np.array(taken), lengths

    def act(self, worlds: Worlds, observations: Float32Array, step: int) -> FloatArray:
        """The remembered actions; ordinary driving in worlds where they have run out."""
        replayed = step < self._lengths
        if replayed.all():
            return self._actions[step]
        natural = np.asarray(worlds.natural_actions(), dtype=np.float64)
        if not replayed.any():
            return natural
        return np.where(replayed[:, None, None], self._actions[step], natural)


class RandomDriver:
    """Uniform random actions, each held for half a second."""

    name = "random_actions"
    genes_per_car = 0

    def __init__(self) -> None:
        self._rngs: list[np.random.Generator] = []
        self._held = np.zeros((0, 0, 2))

    def begin(self, worlds: Worlds, scenes: Scenes, seeds: Sequence[int], genes: FloatArray) -> None:
        """One generator per world."""
        self._rngs = [stream(seed, "random actions") for seed in seeds]

    def act(self, worlds: Worlds, observations: Float32Array, step: int) -> FloatArray:
        """The action of this half second."""
        if step % HOLD == 0:
            drawn = np.array([rng.uniform(-1.0, 1.0, (worlds.n_cars, 2)) for rng in self._rngs])
            self._held = np.floor(0.5 * (drawn[..., 0] + 1.0) * worlds.n_actions) if worlds.n_actions else drawn
        return self._held


class ProgramDriver:
    """Ordinary drivers who do one thing each: at some time, for some time, with some pedal and to some side.

    A search over its genes and the initial scene is what random search and CMA-ES do without learning.
    """

    name = "program"
    genes_per_car = 4

    def __init__(self) -> None:
        self._genes = np.zeros((0, 0, 4))

    def begin(self, worlds: Worlds, scenes: Scenes, seeds: Sequence[int], genes: FloatArray) -> None:
        """Genes of each car: begin, duration (0.5 to 4 s), pedal, side."""
        self._genes = genes

    def act(self, worlds: Worlds, observations: Float32Array, step: int) -> FloatArray:
        """Ordinary driving outside the time of the manoeuvre."""
        actions = worlds.natural_actions()
        begin = self._genes[..., 0] * 0.8 * worlds.settings.steps
        lasts = 5 + self._genes[..., 1] * 35
        now = (step >= begin) & (step < begin + lasts)
        return np.where(now[..., None], 2.0 * self._genes[..., 2:] - 1.0, actions)


def baselines() -> dict[str, Callable[[], CarDriver]]:
    """Drivers that need no training, by name."""
    from giveway.generate.drivers.cutting_in import CutInDriver
    from giveway.generate.drivers.maneuvers import ManeuverDriver

    return {
        "no_attack": ReplayDriver,
        "idm": NaturalDriver,
        "random_actions": RandomDriver,
        "program": ProgramDriver,
        "cut_in": CutInDriver,
        "maneuver": ManeuverDriver,
    }


def baseline(name: str) -> CarDriver:
    """A driver that needs no training.

    Raises:
        UnknownNameError: nothing of that name.
    """
    makers = baselines()
    if name not in makers:
        raise UnknownNameError("driver", name, makers)
    return makers[name]()
