"""A dense merge: a ramp that joins a road on which cars drive at short distances, slowly."""

from __future__ import annotations

import numpy as np

from giveway.core.case import Car, Case, Role
from giveway.core.scene import Scene
from giveway.testing.drive_scenes import HASH, DrivenCar, scene_of

JOIN_X_M = 1000.0
"""Where the ramp has become the road."""

RADIUS_M = 120.0


def ramp() -> list[tuple[float, float]]:
    """An arc that is tangent to the road y = 1000 at ``JOIN_X_M``, and the road beyond."""
    angles = np.linspace(0.45, 0.0, 25)
    arc = [(JOIN_X_M - RADIUS_M * np.sin(a), 1000.0 - RADIUS_M * (1.0 - np.cos(a))) for a in angles]
    return [*arc, (JOIN_X_M + 150.0, 1000.0)]


def dense_merge(
    *, cars: int = 14, speed_mps: float = 4.0, spacing_m: float = 11.0, ego_speed_mps: float = 1.0
) -> Scene:
    """Cars one behind the other on the road, and a recorded ego so slow that all of them pass before it."""
    first = JOIN_X_M - 10.0
    stream = [
        DrivenCar(id=f"c{n}", points=((first - spacing_m * n, 1000.0), (1400.0, 1000.0)), speed_mps=speed_mps)
        for n in range(cars)
    ]
    return scene_of([DrivenCar(id="ego", points=ramp(), speed_mps=ego_speed_mps), *stream], duration_s=90.0)


def merge_case(*, cars: int = 14, seconds: float = 14.0, with_priority: bool = True, case_id: str = "merge") -> Case:
    """The ego joins the road; the stream is recorded, and predicted."""
    return Case(
        id=case_id,
        dataset="testing",
        recording="crossing",
        site="crossing",
        tracks_sha256=HASH,
        start_s=1.0,
        end_s=1.0 + seconds,
        cars=(
            Car(id="ego", role=Role.EGO),
            *(Car(id=f"c{n}", role=Role.REPLAY, predicted=True) for n in range(cars)),
        ),
        right_of_way=tuple(f"c{n}" for n in range(cars)) if with_priority else (),
    )
