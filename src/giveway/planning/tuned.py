"""Built-in planners with other parameters, ``tuned:FILE``; ``giveway generate harden`` writes such files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveway.core.checked import Expect, read_json
from giveway.core.errors import FileFormatError, UsageError

if TYPE_CHECKING:
    from giveway.planning.protocol import Planner

FILE = Expect(error=FileFormatError, what="the parameters of a planner", hint="giveway generate harden writes them")


class TunedMaker:
    """Built-in planner whose parameters come from a file: ``planner``, and those of its ``parameters`` that differ."""

    def __call__(self) -> Planner:
        """There is no tuned planner without a file."""
        raise UsageError(
            "a tuned planner needs its file", where="tuned", hint="tuned:FILE, from giveway generate harden"
        )

    def load(self, path: Path) -> Planner:
        """The planner of a file.

        Raises:
            FileFormatError: no planner with parameters, an unknown parameter, or one that is not a number.
        """
        from giveway.planning import make_planner

        document = read_json(path, expect=FILE)
        try:
            planner: Any = make_planner(str(document["planner"]))
            values = {str(name): float(value) for name, value in document["parameters"].items()}
            if not all(map(math.isfinite, values.values())):
                raise ValueError("a parameter that is not finite")
            planner.parameters = planner.parameters._replace(**values)
        except (KeyError, AttributeError, TypeError, ValueError) as error:
            raise FileFormatError("these are not parameters of a planner", where=path, found=str(error)) from error
        return planner


TUNED = TunedMaker()
