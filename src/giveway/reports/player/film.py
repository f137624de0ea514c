"""Replays as MP4 (H.264) or GIF files, drawn from the same documents as on the canvas."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from giveway.core.errors import MissingDependencyError, StoreError
from giveway.core.files import write_atomically
from giveway.reports.player.frames import CLIP_S, Frames
from giveway.reports.tokens import Theme

FRAME_RATE_HZ = 25
GIF_RATE_HZ = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FilmStyle:
    """Attributes:
    size: width and height of one drive in pixels, both even.
    theme: light or dark.
    whole: the whole drive instead of the seconds around its event.
    speed: 2 shows everything twice as fast.
    """

    size: tuple[int, int] = (960, 540)
    theme: Theme = "light"
    whole: bool = False
    speed: float = 1.0


CLIP_STYLE = FilmStyle(size=(640, 640), whole=True)
"""Of the clips of a study, whose documents say where the camera is."""


def write_film(path: Path, documents: Sequence[Mapping[str, Any]], style: FilmStyle | None = None) -> None:
    """Write one film; several drives stand side by side on one clock.

    Args:
        path: ``.mp4`` or ``.gif``; appears only when complete.
        documents: made by :func:`giveway.reports.player.document.replay_document`, of one case if there are several.
        style: size, colors, length.

    Raises:
        MissingDependencyError: without imageio-ffmpeg or Pillow.
        StoreError: if the encoder fails.
    """
    style = style or FilmStyle()
    focus = _worst(documents)
    drawings = [Frames(document, size=style.size, theme=style.theme, focus=focus) for document in documents]
    is_gif = path.suffix == ".gif"
    rate = GIF_RATE_HZ if is_gif else FRAME_RATE_HZ
    first, last = _clip(documents, whole=style.whole)
    count = math.floor((last - first) / style.speed * rate + 1e-6) + 1
    pictures = (_joined([d.image(first + n * style.speed / rate) for d in drawings]) for n in range(count))
    with write_atomically(path) as temporary:
        (_write_gif if is_gif else _write_mp4)(temporary, pictures, path)


def _clip(documents: Sequence[Mapping[str, Any]], *, whole: bool) -> tuple[float, float]:
    """First and last time [s] of the recording; around the worst event of all drives."""
    start = min(float(d["start"]) for d in documents)
    end = max(float(d["start"]) + (int(d["frames"]) - 1) * float(d["dt"]) for d in documents)
    event = _worst(documents)
    if whole or event is None:
        return start, end
    zero = float(event["time"])
    return max(start, zero + CLIP_S[0]), min(end, zero + CLIP_S[1])


def _worst(documents: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The event that all drives look at: a contact before a near miss before others, the first drive before others."""
    rank = {"contact": 0, "near miss": 1}
    events = [d["encounter"] for d in documents if d.get("encounter")]
    return min(events, key=lambda e: rank.get(e["kind"], 2), default=None)


def _joined(pictures: Sequence[Any]) -> Any:
    if len(pictures) == 1:
        return pictures[0]
    from PIL import Image

    width, height = pictures[0].size
    joined = Image.new("RGB", (len(pictures) * width, height))
    for k, picture in enumerate(pictures):
        joined.paste(picture, (k * width, 0))
    return joined


def _write_gif(temporary: Path, pictures: Iterator[Any], path: Path) -> None:
    first = next(pictures)
    palette = first.quantize(128)
    rest = [picture.quantize(palette=palette, dither=0) for picture in pictures]
    palette.save(temporary, format="GIF", save_all=True, append_images=rest, duration=round(1000 / GIF_RATE_HZ), loop=0)


def _write_mp4(temporary: Path, pictures: Iterator[Any], path: Path) -> None:
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise MissingDependencyError("imageio_ffmpeg", extra="video", purpose="writing a film") from error
    first = next(pictures)
    # No encoder settings or dates in the file; playable before it is complete.
    quiet = "-map_metadata -1 -fflags +bitexact -flags:v +bitexact -bsf:v filter_units=remove_types=6"
    writer = imageio_ffmpeg.write_frames(
        str(temporary),
        first.size,
        fps=FRAME_RATE_HZ,
        codec="libx264",
        pix_fmt_out="yuv420p",
        quality=None,  # pyright: ignore[reportArgumentType]  # None is documented: the rate factor below decides
        macro_block_size=1,
        ffmpeg_log_level="error",
        output_params=f"-f mp4 -crf 24 -preset fast -movflags +faststart {quiet}".split(),
    )
    try:
        writer.send(None)
        writer.send(first.tobytes())
        for picture in pictures:
            writer.send(picture.tobytes())
        writer.close()
    except OSError as error:
        raise StoreError("the video encoder failed", where=path, found=str(error).strip()[-400:]) from None
