"""The list of a study's clips: which file shows what. Private: raters only ever see content-hash ids."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from giveway.core.checked import Expect, known_sha256, open_document, read_bytes, read_json, sha256_of_file
from giveway.core.errors import StoreError
from giveway.core.origins import DeclaredBy, Origin
from giveway.core.sealed_files import write_document
from giveway.study.clips import clip_id
from giveway.study.orders import Stimulus

MANIFEST_FILE = "clips.json"
CLIP_FOLDER = "clips"
FORMAT = "giveway-clips 2"
MANIFEST_BYTES = 256 << 20
CLIP_BYTES = 64 << 20
MANIFEST = Expect(error=StoreError, what="the list of clips", hint="restore clips.json, or create the study again")
CLIP = Expect(error=StoreError, what="a clip of the study", hint="restore the file, or create the study again")
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
    """Write ``clips.json`` atomically, sealed, with the digests of the videos; drawings are named after theirs."""
    videos = {clip.clip: sha256_of_file(folder / CLIP_FOLDER / f"{clip.clip}.mp4") for clip in clips if clip.video}
    document = {"format": FORMAT, "videos": videos, "clips": [clip.model_dump(mode="json") for clip in clips]}
    write_document(folder / MANIFEST_FILE, document, indent=1)


def read_manifest(folder: Path) -> list[Clip]:
    """The clips of a study folder; every file must be there.

    Raises:
        StoreError: if the list or a file is missing or damaged.
    """
    path = folder / MANIFEST_FILE
    try:
        clips = [Clip.model_validate(entry) for entry in _document(folder)["clips"]]
    except (ValidationError, TypeError, KeyError) as error:
        raise StoreError("the list of clips is damaged", where=path, found=str(error).splitlines()[0]) from None
    for clip in clips:
        if not CLIP_ID.match(clip.clip):
            raise StoreError("a clip has an impossible id", where=path, found=repr(clip.clip))
        missing = [p for p in clip_files(folder, clip) if not p.is_file()]
        if missing:
            raise StoreError("a clip file is missing", where=missing[0], hint="create the study again")
    return clips


def check_clips(folder: Path, clips: Iterable[Clip]) -> None:
    """Compare every clip with its digest.

    Raises:
        StoreError: naming the first file that is not what was written.
    """
    for clip in clips:
        read_drawing(folder, clip.clip)
        if clip.video:
            check_video(folder, clip.clip)


def read_drawing(folder: Path, clip: str) -> bytes:
    """The canvas document of a clip, compared with the digest that it is named after.

    Raises:
        StoreError: if it is not what was written.
    """
    path = folder / CLIP_FOLDER / f"{clip}.json"
    content = read_bytes(path, limit=CLIP_BYTES, expect=CLIP)
    if clip_id(content) != clip:
        CLIP.refuse(path, "is not what was written", f"SHA-256 {clip_id(content)}…")
    return content


def check_video(folder: Path, clip: str) -> None:
    """Compare the video of a clip with the digest in the manifest; studies of release 0.1 have none.

    Raises:
        StoreError: if it is not what was written.
    """
    path = folder / CLIP_FOLDER / f"{clip}.mp4"
    expected = _document(folder).get("videos")
    if expected is not None and known_sha256(path) != expected.get(clip):
        CLIP.refuse(path, "is not what was written", "another SHA-256")


def _document(folder: Path) -> dict[str, Any]:
    """The checked manifest; a list, as release 0.1 wrote it, has no digests."""
    path = folder / MANIFEST_FILE
    if not path.exists():
        raise StoreError(
            "the study folder has no list of clips", where=path, hint="giveway study create DIR --out STUDY"
        )
    data = read_bytes(path, limit=MANIFEST_BYTES, expect=MANIFEST)
    if data.lstrip()[:1] != b"[":
        return open_document(data, path, expect=MANIFEST, needs_seal=True).document
    return {"clips": read_json(path, limit=MANIFEST_BYTES, expect=MANIFEST)}


def clip_files(folder: Path, clip: Clip) -> list[Path]:
    """The files of a clip: canvas document, and video where it exists."""
    names = [f"{clip.clip}.json", *([f"{clip.clip}.mp4"] if clip.video else [])]
    return [folder / CLIP_FOLDER / name for name in names]
