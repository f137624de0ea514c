"""The list of a study's clips: which file shows what. Private: raters only ever see content-hash ids."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from giveway.core.errors import StoreError
from giveway.core.files import write_text
from giveway.core.origins import DeclaredBy, Origin
from giveway.study.orders import Stimulus

MANIFEST_FILE = "clips.json"
CLIP_FOLDER = "clips"
CLIP_ID = re.compile(r"^[0-9a-f]{24}$")

UNKNOWN: Literal["unknown"] = "unknown"

ClipRole = Literal["main", "practice"]


class Clip(BaseModel):
    """One clip.

    Attributes:
        clip: content-hash id and file name.
        condition: what the study compares, e.g. ``"recorded"``.
        scene: clips with the same value show the same situation.
        role: for the main block or for practice.
        duration_s: length.
        broken: lower anchor: motion that was broken on purpose.
        video: whether an MP4 file exists beside the canvas document.
        source: where it came from, for the researcher.
        origin: what moved the rated vehicle; ``unknown`` in studies and logs of earlier releases.
        origins: of all vehicles shown, ego first.
        declared_by: who says so, see :mod:`giveway.core.origins`; empty if the origin is unknown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    clip: str
    condition: str
    scene: str
    role: ClipRole = "main"
    duration_s: float
    broken: bool = False
    video: bool = False
    source: dict[str, str | float | int] = {}
    origin: Origin | Literal["unknown"] = UNKNOWN
    origins: tuple[Origin | Literal["unknown"], ...] = ()
    declared_by: DeclaredBy | Literal[""] = ""

    @property
    def stimulus(self) -> Stimulus:
        """What the order needs to know."""
        return Stimulus(clip=self.clip, condition=self.condition, scene=self.scene, broken=self.broken)


def write_manifest(folder: Path, clips: list[Clip]) -> None:
    """Write ``clips.json`` atomically."""
    text = json.dumps([clip.model_dump(mode="json") for clip in clips], indent=1, ensure_ascii=False)
    write_text(folder / MANIFEST_FILE, text + "\n")


def read_manifest(folder: Path) -> list[Clip]:
    """The clips of a study folder; every file must be there.

    Raises:
        StoreError: if the list or a file is missing or damaged.
    """
    path = folder / MANIFEST_FILE
    try:
        clips = [Clip.model_validate(entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except FileNotFoundError:
        raise StoreError(
            "the study folder has no list of clips", where=path, hint="giveway study create --clips DIR --out STUDY"
        ) from None
    except (json.JSONDecodeError, ValidationError, TypeError) as error:
        raise StoreError("the list of clips is damaged", where=path, found=str(error).splitlines()[0]) from None
    for clip in clips:
        if not CLIP_ID.match(clip.clip):
            raise StoreError("a clip has an impossible id", where=path, found=repr(clip.clip))
        missing = [p for p in clip_files(folder, clip) if not p.is_file()]
        if missing:
            raise StoreError("a clip file is missing", where=missing[0], hint="create the study again")
    return clips


def clip_files(folder: Path, clip: Clip) -> list[Path]:
    """The files of a clip: canvas document, and video where it exists."""
    names = [f"{clip.clip}.json", *([f"{clip.clip}.mp4"] if clip.video else [])]
    return [folder / CLIP_FOLDER / name for name in names]
