"""Cases of a drive as Gymnasium environments of the ego."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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
    driver: str | None = None,
    traffic: Literal["clean", "paper"] = "paper",
    max_cases: int | None = None,
) -> EgoCases:
    """Cases in which the ego acts.

    Args:
        cases: file or folder of cases, or a case set; the bundled ones if None.
        data: folder with their recordings.
        driver: of the other cars that are not on replay; as the cases say if None.
        traffic: how other cars drive, as in a drive.
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
        traffic=traffic,
    )
    plan = planned(spec)
    return prepared_for_ego(plan.cases, plan.source, driver=driver, traffic=traffic)


def prepared_for_ego(
    cases: Sequence[Case], source: SceneSource, *, driver: str | None = None, traffic: str = "paper"
) -> EgoCases:
    """The same from cases that have been read."""
    roads: dict[tuple[str, str], PreparedMap | None] = {}
    prepared_roads(cases, source, roads)
    prepared = [prepare(case, source.scene_of(case), reacts=traffic == "clean") for case in cases]
    return ego_cases(prepared, [roads[case.dataset, case.site] for case in cases], driver=driver)


def make_ego_env(
    cases: Any = None,
    data: Any = None,
    *,
    driver: str | None = None,
    traffic: Literal["clean", "paper"] = "paper",
    max_cases: int | None = None,
    **options: Any,
) -> EgoEnv:
    """``giveway/Ego-v0``: :func:`cases_for_ego`, and the options of :class:`giveway.sim.views.ego.EgoEnv`."""
    from giveway.sim.views.ego import EgoEnv

    return EgoEnv(cases_for_ego(cases, data, driver=driver, traffic=traffic, max_cases=max_cases), **options)


def make_ego_vector_env(
    num_envs: int = 1,
    cases: Any = None,
    data: Any = None,
    *,
    driver: str | None = None,
    traffic: Literal["clean", "paper"] = "paper",
    max_cases: int | None = None,
    **options: Any,
) -> EgoVectorEnv:
    """The same for ``gymnasium.make_vec``; see :class:`giveway.sim.views.ego.EgoVectorEnv`."""
    from giveway.sim.views.ego import EgoVectorEnv

    chosen = cases_for_ego(cases, data, driver=driver, traffic=traffic, max_cases=max_cases)
    return EgoVectorEnv(chosen, num_envs, **options)
