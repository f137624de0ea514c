"""One set of colors for browser, film and figures."""

from __future__ import annotations

import re
from pathlib import Path

import giveway
from giveway.reports.tokens import colors

SOURCE = Path(giveway.__file__).parent


def test_the_tokens_are_those_of_the_design() -> None:
    light, dark = colors("light"), colors("dark")
    assert (light["ego"], dark["ego"]) == ("#0067a8", "#5ab2f0")
    assert (light["prio"], dark["prio"]) == ("#c85200", "#ff9a4f")
    assert (light["pred"], dark["pred"]) == ("#741f6b", "#f2c1ea")
    assert (light["fault"], dark["fault"]) == ("#b3261e", "#ff8a80")
    assert light.keys() == dark.keys()


def relative_luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_can_be_read_on_the_surface() -> None:
    for theme in ("light", "dark"):
        found = colors(theme)
        for name in ("ink", "ink-2", "ego", "prio", "fault", "accent"):
            a, b = sorted((relative_luminance(found[name]), relative_luminance(found["surface"])))
            assert (b + 0.05) / (a + 0.05) >= 4.4, (theme, name)


def test_replays_and_pictures_write_no_color_of_their_own() -> None:
    files = [*(SOURCE / "reports/player").glob("*.py"), SOURCE / "drive/replay.py", SOURCE / "drive/gallery.py"]
    files += [SOURCE / "reports/drawing.py", SOURCE / "reports/inline_pictures.py"]
    files += [
        SOURCE / f"reports/static/{name}" for name in ("scene.js", "stage.js", "plots.js", "player.js", "player.css")
    ]
    for file in files:
        assert not re.findall(r"#[0-9a-fA-F]{6}\b", file.read_text(encoding="utf-8")), file
