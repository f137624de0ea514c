"""Small rating studies on synthetic worlds, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from giveway.core.origins import Origin
from giveway.core.scene import Scene
from giveway.study.creation import Plan, create_study
from giveway.study.design import parse_design
from giveway.study.sources import Source
from giveway.study.templates import published_plan
from giveway.testing import worlds


def world_source(condition: str, num: int, *, offset_s: float = 0.0, stands_for: Origin = Origin.SYNTHETIC) -> Source:
    """Crossings in which the second car arrives 1 to 3 s after the first; every one is a little different.

    ``stands_for`` is the origin that a test wants them to have.
    """
    return Source(
        condition=condition,
        folder=Path(condition),
        readers=tuple(partial(_crossing, condition, n, offset_s, stands_for) for n in range(num)),
    )


def _crossing(condition: str, number: int, offset_s: float, stands_for: Origin) -> Iterator[Scene]:
    first = 2.0 + 0.05 * number
    scene = worlds.crossing(arrival_s=(first, first + 1.0 + offset_s + 0.1 * (number % 10)), duration_s=6.0)
    name = f"crossing {number}"
    provenance = replace(scene.provenance, recording=f"{condition}/{name}", origin=stands_for, declared_by="user")
    roles = {"ego": "2", "rated": "1", "start_s": 0.0, "situation": name}
    yield replace(scene, provenance=provenance, attributes=roles)


def synthetic_study(
    folder: Path,
    *,
    num_clips: int = 8,
    num_anchors: int = 2,
    seconds: float = 0.5,
    video: bool = False,
    conditions: tuple[str, str] = ("generated", "recorded"),
    recorded: str | None = None,
    **design: Any,
) -> Path:
    """Create a study of two conditions in a folder; further arguments go into the declaration.

    One condition stands for recorded traffic: the one that ``recorded`` names, else the one called so, if any. The
    clips are far shorter than a real study's, so that a browser gets through them in seconds.
    """
    content: dict[str, Any] = {"id": "synthetic", **design}
    content["clips"] = {"duration_s": seconds, "player": "video" if video else "canvas", **design.get("clips", {})}
    first, second = conditions
    real = recorded or "recorded"
    stands_for = {name: Origin.RECORDED if name == real else Origin.GENERATED for name in conditions}
    sources = [
        world_source(first, num_clips, offset_s=0.5, stands_for=stands_for[first]),
        world_source(second, num_clips + 8, stands_for=stands_for[second]),
    ]
    plan = Plan(num_clips=num_clips, num_anchors=num_anchors, video=video, recorded=recorded)
    create_study(sources, folder, parse_design(content, where="test"), plan)
    return folder


def published_study(folder: Path, *, num_worlds: int = 40, **design: Any) -> Path:
    """Create a study of the printed form, with clips of half a second; ``num_worlds`` crossings per condition."""
    content, plan = published_plan({"id": "published", "clips": {"duration_s": 0.5}, "order": {"seed": 0}}, Plan())
    sources = [world_source("generated", num_worlds, offset_s=0.5), world_source("recorded", num_worlds)]
    create_study(sources, folder, parse_design({**content, **design}, where="test"), plan)
    return folder
