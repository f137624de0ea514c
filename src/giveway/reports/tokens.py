"""Colors of the pages for renderers that are no browser: films, pictures, figures."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import Literal

Theme = Literal["light", "dark"]

_COLOR = re.compile(r"--([a-z0-9-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)")


@lru_cache
def colors(theme: Theme = "light") -> dict[str, str]:
    """Name of a token in ``static/tokens.css`` to its color ``#rrggbb``, e.g. ``colors()["ego"]``."""
    text = resources.files("giveway.reports").joinpath("static", "tokens.css").read_text(encoding="utf-8")
    return {name: dark if theme == "dark" else light for name, light, dark in _COLOR.findall(text)}
