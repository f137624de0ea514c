"""Cases of a drive as Gymnasium environments of the ego."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveway.drive.scenes import SceneSource, prepared_roads
from giveway.drive.spec import DriveSpec, planned
from giveway.roads.queries import PreparedMap
from giveway.sim.case_sets import CaseSet
from giveway.sim.prepare import prepare
from giveway.sim.views.ego_batch import EgoCases, ego_cases

if TYPE_CHECKING:
    from giveway.core.case import Case
    from giveway.sim.views.ego import EgoEnv, EgoVectorEnv


def cases_for_ego(
    cases: Path | str | CaseSet | None = None,
    data: Path | str | None = None,
    *,
    traffic: str | None = None,
    max_cases: int | None = None,
) -> EgoCases:
    """Cases in which the ego acts.

    Args:
        cases: file or folder of cases, or a case set; the bundled ones if None.
        data: folder with their recordings.
        traffic: driver of the other cars that are not on replay; as the cases say if None.
        max_cases: take at most this many, in order.

    Raises:
        FileFormatError, DataError: cases or recordings that cannot be read.
        UnknownNameError: a driver that is not registered.
    """
    spec = DriveSpec(
        predictors=("echo",),
        cases=Path(cases) if isinstance(cases, str) else cases,
        data=None if data is None else Path(data),
        max_cases=max_cases,
    )
    plan = planned(spec)
    return prepared_for_ego(plan.cases, plan.source, traffic=traffic)


def prepared_for_ego(cases: Sequence[Case], source: SceneSource, *, traffic: str | None = None) -> EgoCases:
    """The same from cases that have been read."""
    roads: dict[tuple[str, str], PreparedMap | None] = {}
    prepared_roads(cases, source, roads)
    prepared = [prepare(case, source.scene_of(case)) for case in cases]
    return ego_cases(prepared, [roads[case.dataset, case.site] for case in cases], traffic=traffic)


def make_ego_env(cases: Any = None, data: Any = None, *, traffic: str | None = None, **options: Any) -> EgoEnv:
    """``giveway/Ego-v0``; see :class:`giveway.sim.views.ego.EgoEnv` for the options."""
    from giveway.sim.views.ego import EgoEnv

    limit = options.pop("max_cases", None)
    return EgoEnv(cases_for_ego(cases, data, traffic=traffic, max_cases=limit), **options)


def make_ego_vector_env(
    num_envs: int = 1, cases: Any = None, data: Any = None, *, traffic: str | None = None, **options: Any
) -> EgoVectorEnv:
    """``giveway/Ego-v0`` for ``gymnasium.make_vec``; see :class:`giveway.sim.views.ego.EgoVectorEnv`."""
    from giveway.sim.views.ego import EgoVectorEnv

    limit = options.pop("max_cases", None)
    return EgoVectorEnv(cases_for_ego(cases, data, traffic=traffic, max_cases=limit), num_envs, **options)
