"""Traffic on a network of paths: car following, giving way, and the gaps people take.

Longitudinal control is the Intelligent Driver Model (Treiber, Hennecke, Helbing 2000, Phys. Rev. E 62:1805) with
limited jerk. Who must give way slows down for a line, decides once per approaching car by a logistic rule and, if
it accepts, goes after a reaction time. Cars with priority follow whoever has entered before them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.synth._traffic_kernel import run_traffic
from giveway.synth.humans import Population, draw_boldness, draw_drivers
from giveway.synth.network import Network

MAX_ACTIVE = 96
DRAWS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """V vehicles in order of appearance.

    Attributes:
        path: (V,) which path.
        enter_s: (V,) earliest time at the beginning of the path, ascending.
        length_m: (V,).
        width_m: (V,).
        boldness: (V,) trait.
        reaction_s: (V,).
        accel_mps2: (V,).
        pace: (V,) factor on the speeds of the network.
        offset_m: (V,) lateral offset from the path.
    """

    path: IntArray
    enter_s: FloatArray
    length_m: FloatArray
    width_m: FloatArray
    boldness: FloatArray
    reaction_s: FloatArray
    accel_mps2: FloatArray
    pace: FloatArray
    offset_m: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """One row per car somebody had to decide about.

    Attributes:
        target: (D,) vehicle T that gives way.
        ego: (D,) vehicle E it decided about; -1 if nobody was near.
        time_s: (D,) when it decided.
        gap_s: (D,) time until E arrives at its present speed.
        distance_m: (D,) distance of E from the zone.
        probability: (D,) 0 where it could not have made it.
        accepted: (D,) what was drawn.
    """

    target: IntArray
    ego: IntArray
    time_s: FloatArray
    gap_s: FloatArray
    distance_m: FloatArray
    probability: FloatArray
    accepted: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion:
    """Rows of all vehicles, sorted by vehicle, then step.

    Attributes:
        vehicle: (M,) row of the fleet.
        step: (M,) index of the instant.
        s_m: (M,) position along the path.
        v_mps: (M,).
        a_mps2: (M,) constant until the next step up to a linear change.
        dt_s: step.
    """

    vehicle: IntArray
    step: IntArray
    s_m: FloatArray
    v_mps: FloatArray
    a_mps2: FloatArray
    dt_s: float


def draw_fleet(
    rng: np.random.Generator, *, path: IntArray, enter_s: FloatArray, length_m: FloatArray, width_m: FloatArray
) -> Fleet:
    """Drivers for vehicles of given path and size; sorts by time."""
    order = np.argsort(enter_s, kind="stable")
    count = order.size
    boldness = draw_boldness(rng, count)
    drivers = draw_drivers(rng, boldness)
    return Fleet(
        path=path[order],
        enter_s=enter_s[order],
        length_m=length_m[order],
        width_m=width_m[order],
        boldness=boldness,
        reaction_s=drivers.reaction_s,
        accel_mps2=drivers.accel_mps2,
        pace=np.clip(1.0 + 0.06 * boldness + 0.04 * rng.standard_normal(count), 0.8, 1.2),
        offset_m=np.clip(0.12 * rng.standard_normal(count), -0.25, 0.25),
    )


def simulate(
    network: Network,
    fleet: Fleet,
    people: Population,
    rng: np.random.Generator,
    *,
    steps: int,
    dt_s: float,
    look_ahead_m: float = 16.0,
) -> tuple[Motion, Decisions]:
    """Run the traffic for ``steps`` steps of ``dt_s``; people begin to decide ``look_ahead_m`` before their line."""
    draws = rng.random((fleet.path.size, DRAWS))
    rows, decided = run_traffic(
        network.origin,
        network.speed,
        network.length,
        network.line,
        network.projection,
        network.gives_way,
        network.merges,
        network.zone_in,
        network.zone_out,
        network.other_in,
        network.other_out,
        fleet.path,
        fleet.enter_s,
        fleet.length_m,
        fleet.boldness,
        fleet.reaction_s,
        fleet.accel_mps2,
        fleet.pace,
        draws,
        people.coefficients(),
        steps,
        dt_s,
        MAX_ACTIVE,
        look_ahead_m,
    )
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    rows = rows[order]
    motion = Motion(
        vehicle=rows[:, 0].astype(np.int64),
        step=rows[:, 1].astype(np.int64),
        s_m=rows[:, 2],
        v_mps=rows[:, 3],
        a_mps2=rows[:, 4],
        dt_s=dt_s,
    )
    decisions = Decisions(
        target=decided[:, 0].astype(np.int64),
        ego=decided[:, 1].astype(np.int64),
        time_s=decided[:, 2],
        gap_s=decided[:, 3],
        distance_m=decided[:, 4],
        probability=decided[:, 5],
        accepted=decided[:, 6] > 0.5,
    )
    return motion, decisions
