"""Base class for planners of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giveway.planning.protocol import Plan, PlannerInfo, Situation


class Planner:
    """A planner that drives the ego: derive from it and give a name.

    ::

        class Careful(giveway.Planner, name="careful", version="1"):
            def plan(self, situation):
                ...

    The keywords of the class fill ``info``. Scores compare only within one name and version, so raise the version
    whenever a drive may come out differently. A planner keeps no state between calls. An object that does not derive
    from this class but has the same ``info`` and ``plan`` is accepted as well.
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

    def plan(self, situation: Situation) -> Plan:
        """The next five seconds; called once per tick."""
        raise NotImplementedError
