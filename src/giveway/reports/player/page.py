"""One HTML file with player and data inside; opens from disk, asks no other host for anything."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any


def static_text(name: str) -> str:
    """Text of a file beside this module: ``player.js`` or ``player.css``."""
    return resources.files("giveway.reports.player").joinpath(name).read_text(encoding="utf-8")


def embed_json(value: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can close the element or open a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def replay_page(document: Mapping[str, Any], *, options: Mapping[str, Any] | None = None) -> str:
    """A self-contained replay.

    Args:
        document: made by :func:`giveway.reports.player.document.replay_document`.
        options: options of ``mountPlayer`` in ``player.js``, e.g. ``{"frame": "ego"}``.

    Returns:
        HTML text. A content security policy forbids every request.
    """
    title = html.escape(str(document.get("title") or "Replay"))
    module = static_text("player.js")
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>
{static_text("player.css")}
body {{ margin: 0; }}
.giveway-player {{ height: 100vh; }}
</style>
</head>
<body>
<main class="giveway-player" id="player"></main>
<noscript>This replay is drawn by a script; please allow scripts for this file.</noscript>
<script type="application/json" id="replay">{embed_json(document)}</script>
<script type="application/json" id="options">{embed_json(dict(options or {}))}</script>
<script type="module">
{module}
const read = (id) => JSON.parse(document.getElementById(id).textContent);
window.givewayPlayer = mountPlayer(document.getElementById("player"), read("replay"), read("options"));
</script>
</body>
</html>
"""
