"""Base class for planners of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giveway.planning.protocol import Answer, Episode, PlannerInfo, Situation


class Planner:
    """A planner that drives the ego: derive from it and give a name.

    ::

        class Careful(giveway.Planner, name="careful", version="1"):
            def plan(self, situation):
                ...

    The keywords of the class fill ``info``. Scores compare only within one name and version, so raise the version
    whenever a drive may come out differently.

    A planner may keep state: each episode has an instance of its own, :meth:`reset` begins it, and the calls of
    :meth:`plan` come in order of time. Instances are copies of the object that was given, made before anything was
    planned; a planner that is expensive to copy (a large network) defines ``plan_batch(situations)`` instead, gets
    the situations of all episodes of a tick in one call and tells them apart by ``situation.episode``. A planner that
    does not override :meth:`reset` is taken to have no state.

    An object that does not derive from this class but has the same ``info`` and ``plan`` is accepted as well.
    """

    info: PlannerInfo

    def __init_subclass__(
        cls,
        *,
        name: str = "",
        title: str = "",
        version: str = "1",
        uses_predictions: bool = True,
        parameters: Mapping[str, float] | None = None,
        **more: Any,
    ) -> None:
        super().__init_subclass__(**more)
        if name:
            cls.info = PlannerInfo(
                name=name,
                title=title or name,
                version=version,
                uses_predictions=uses_predictions,
                parameters=dict(parameters or {}),
            )

    def reset(self, episode: Episode) -> None:
        """An episode begins; does nothing unless overridden."""

    def plan(self, situation: Situation) -> Answer:
        """What to do next: a plan along the route, a trajectory or a control; called once per tick."""
        raise NotImplementedError
