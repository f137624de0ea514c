"""The model as a driver in a simulation: look, think, accelerate, one step of 0.2 s at a time, many cars at once.

::

    drivers = new_drivers(theta, "CM_AIJ11", view, seed=1)
    while running:
        drivers, acceleration = step_drivers(drivers, view)
        view = simulator.move(acceleration)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray
from giveway.core.errors import UsageError
from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.encounter import UintArray, content_keys
from giveway.predictors.commotions.parameters import BASE_SPEED_MPS, YIELD_PENALTY, Theta


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What A cars meet at one instant, each with one other vehicle; (A,) arrays.

    Attributes:
        chi: own distance of the center to the conflict point, negative beyond it [m].
        v: own speed [m/s].
        a: own acceleration of the step before [m/s²].
        half_extent: half of the contested space as seen by the own center, (L + l)/2 [m].
        other_chi: the same of the other vehicle [m].
        other_v: its speed; used for its free speed only, the model does not see it [m/s].
        other_a: its acceleration of the step before [m/s²].
        other_half_extent: its half-extent [m].
        has_priority: whether the own car has the right of way; the other has it otherwise.
    """

    chi: FloatArray
    v: FloatArray
    a: FloatArray
    half_extent: FloatArray
    other_chi: FloatArray
    other_v: FloatArray
    other_a: FloatArray
    other_half_extent: FloatArray
    has_priority: BoolArray

    def checked(self) -> View:
        """The same with every array 1D, of one length and finite.

        Raises:
            UsageError: naming the array that is not.
        """
        arrays = {f.name: np.atleast_1d(np.asarray(getattr(self, f.name))) for f in fields(self)}
        num = arrays["chi"].shape
        for name, array in arrays.items():
            if array.shape != num or len(num) != 1:
                raise UsageError("arrays of a view differ in shape", where=name, found=f"{array.shape}, chi {num}")
            if name != "has_priority" and not np.isfinite(array.astype(np.float64)).all():
                raise UsageError("a view holds a number that is not finite", where=name, found=str(array))
        return View(**arrays)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drivers:
    """A cars with their beliefs, plans and accumulated values; made by :func:`new_drivers`, never changed.

    Attributes:
        theta: θ of all of them.
        config: variant; whether E is interactive is for the simulator to decide.
        seed: of the noise.
        v_free: (A, 2) own free speed and that of the other, fixed at the first instant [m/s].
        step: steps made so far.
        state: rows of the kernel.
        mind: accumulators of the kernel.
        key: (A,) names of the random streams.
        silent: no noise.
    """

    theta: Theta
    config: Configuration
    seed: int
    v_free: FloatArray
    step: int
    state: FloatArray
    mind: AnyArray
    key: UintArray
    silent: bool


def new_drivers(
    theta: Mapping[str, float] | Theta,
    config: str | Configuration,
    view: View,
    *,
    seed: int = 0,
    key: UintArray | None = None,
    silent: bool = False,
) -> Drivers:
    """Drivers who see ``view`` as their first instant (1.2, 1.3, 2.4).

    Args:
        theta: parameters in natural units.
        config: a name such as ``"CM_AIJ11"`` or a configuration.
        view: the first instant; its speeds fix the free speeds.
        seed: of the noise.
        key: (A,) names of the random streams; None derives them from the view.
        silent: no noise, for tests.
    """
    from giveway.predictors.commotions.kernel.constants import NUM_STATE_ROWS, P11, P22, X1, X2
    from giveway.predictors.commotions.kernel.lanes import WIDTH

    theta = Theta.checked(theta)
    configuration = config if isinstance(config, Configuration) else Configuration.from_name(config)
    view = view.checked()
    speeds = np.stack([view.v, view.other_v], axis=1)
    base = np.maximum(BASE_SPEED_MPS, speeds) if configuration.adjusted_speed else np.full_like(speeds, BASE_SPEED_MPS)
    v_free = theta.v_free_rel * base
    num = len(view.chi)
    groups = -(-num // WIDTH)
    state = np.zeros((groups, 2 * NUM_STATE_ROWS * WIDTH))
    distance = np.abs(view.other_chi)
    _write(state, X1, distance)
    _write(state, X2, v_free[:, 1])
    _write(state, P11, (theta.sigma_r0_pos_rel * distance) ** 2)
    _write(state, P22, (theta.sigma_r0_speed_rel * v_free[:, 1]) ** 2)
    rows = np.stack([view.chi, view.v, view.other_chi, view.other_v], axis=1)
    return Drivers(
        theta=theta,
        config=configuration,
        seed=seed,
        v_free=v_free,
        step=0,
        state=state,
        mind=np.zeros((groups, 3 * len(configuration.action_set) * WIDTH), dtype=np.float64),
        key=content_keys(rows) if key is None else key,
        silent=silent,
    )


def step_drivers(drivers: Drivers, view: View) -> tuple[Drivers, FloatArray]:
    """One application of f_CM (2.1): the drivers after it, and the acceleration each applies for the next 0.2 s.

    The draws of a car are those of a simulated path with the same key and seed, path 0: of T if it has to yield,
    of E if it has priority.

    Returns:
        The drivers with updated minds, and (A,) accelerations [m/s²].
    """
    from giveway.predictors.commotions.kernel.agents import step_groups
    from giveway.predictors.commotions.kernel.constants import (
        CHI,
        NUM_STATE_ROWS,
        V_FREE,
        A,
        C,
        V,
        constants_of,
    )
    from giveway.predictors.commotions.kernel.lanes import WIDTH

    view = view.checked()
    num = len(drivers.key)
    if len(view.chi) != num:
        raise UsageError("the view holds another number of cars", where="view", found=f"{len(view.chi)}, drivers {num}")
    known = constants_of(drivers.theta, drivers.config, np.float64)
    state, mind = drivers.state.copy(), drivers.mind.copy()
    other = NUM_STATE_ROWS
    for row, values in (
        (CHI, view.chi),
        (V, view.v),
        (A, view.a),
        (C, view.half_extent),
        (V_FREE, drivers.v_free[:, 0]),
        (other + CHI, view.other_chi),
        (other + V, view.other_v),
        (other + A, view.other_a),
        (other + C, view.other_half_extent),
        (other + V_FREE, drivers.v_free[:, 1]),
    ):
        _write(state, row, values)
    counters = np.zeros((len(state), 4 * WIDTH), dtype=np.uint32)
    _write(counters, 0, (drivers.key & np.uint64(0xFFFFFFFF)).astype(np.uint32))
    _write(counters, 1, (drivers.key >> np.uint64(32)).astype(np.uint32))
    _write(counters, 3, (2 * drivers.step + np.where(view.has_priority, 0, 1)).astype(np.uint32))
    penalty = np.zeros((len(state), 2 * WIDTH))
    _write(penalty, 0, np.where(view.has_priority, 0.0, YIELD_PENALTY))
    _write(penalty, 1, np.where(view.has_priority, YIELD_PENALTY, 0.0))
    acceleration = np.zeros((len(state), WIDTH))
    word = drivers.seed % 2**64
    step_groups(
        state,
        mind,
        counters,
        penalty,
        known.value,
        known.wide,
        known.sight,
        known.ramps,
        known.zero_action,
        known.jerk,
        np.array([word % 2**32, word >> 32], dtype=np.uint32),
        drivers.silent,
        acceleration,
    )
    return replace(drivers, state=state, mind=mind, step=drivers.step + 1), acceleration.ravel()[:num]


def _write(table: AnyArray, row: int, values: AnyArray) -> None:
    """Put one number per car into a row; unused lanes repeat the last car, so that they stay harmless."""
    from giveway.predictors.commotions.kernel.lanes import WIDTH

    lanes = len(table) * WIDTH
    padded = np.concatenate([values, np.repeat(values[-1:], lanes - len(values))])
    table[:, row * WIDTH : (row + 1) * WIDTH] = padded.reshape(-1, WIDTH)
