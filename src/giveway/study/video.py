"""Clips as MP4 files (H.264), drawn from the same document and in the same colors as on the canvas.

The road is drawn once per clip into one large picture; a frame is a cut-out of it with the vehicles on top, at twice
the size and then halved, which smooths edges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import MissingDependencyError, StoreError
from giveway.core.files import write_atomically

SIDE_PX = 640
FRAME_RATE_HZ = 25
OVERSAMPLE = 2
MAX_ROAD_PX = 12_000
COLORS = {
    "back": "#f4f4f1",
    "lane": "#dcdcd8",
    "keepout": "#cfe3cf",
    "curb": "#6b7076",
    "marking": "#ffffff",
    "stop": "#b3382c",
    "other": "#7d848c",
    "vulnerable": "#009e73",
    "ego": "#0072b2",
    "rated": "#d55e00",
    "edge": "#2b2f33",
    "text": "#1c1e21",
}
"""The light theme of the canvas player (Okabe-Ito colors, distinguishable with every kind of color blindness)."""
CURBS = ("curbstone", "guard_rail", "road_border")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Camera:
    """Where a frame looks: center [m], rotation [rad] of the world, pixels per meter of the oversampled frame."""

    x: float
    y: float
    angle: float
    scale: float
    side: int

    def pixels(self, points: FloatArray) -> list[tuple[float, float]]:
        dx, dy = points[:, 0] - self.x, points[:, 1] - self.y
        c, s = math.cos(self.angle), math.sin(self.angle)
        px = self.side / 2 + self.scale * (c * dx - s * dy)
        py = self.side / 2 - self.scale * (s * dx + c * dy)
        return list(zip(px.tolist(), py.tolist(), strict=True))


def write_video(document: Mapping[str, Any], path: Path) -> None:
    """Render a clip document into an MP4 file.

    Args:
        document: made by :func:`giveway.study.clips.clip_document`.
        path: file to write; appears only when complete.

    Raises:
        MissingDependencyError: without imageio-ffmpeg or Pillow.
        StoreError: if the encoder fails.
    """
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise MissingDependencyError("imageio_ffmpeg", extra="video", purpose="writing MP4 clips") from error
    frames = _Frames(document)
    with write_atomically(path) as temporary:
        writer = imageio_ffmpeg.write_frames(
            str(temporary),
            (SIDE_PX, SIDE_PX),
            fps=FRAME_RATE_HZ,
            codec="libx264",
            pix_fmt_out="yuv420p",
            quality=None,  # pyright: ignore[reportArgumentType]  # None is documented: the rate factor below decides
            macro_block_size=1,
            ffmpeg_log_level="error",
            # No encoder settings or dates in the file; playable before it is complete.
            output_params=[
                "-f",
                "mp4",
                "-crf",
                "26",
                "-preset",
                "fast",
                "-movflags",
                "+faststart",
                "-map_metadata",
                "-1",
                "-fflags",
                "+bitexact",
                "-flags:v",
                "+bitexact",
                "-bsf:v",
                "filter_units=remove_types=6",
            ],
        )
        try:
            writer.send(None)
            for index in range(frames.count):
                writer.send(frames.draw(index))
            writer.close()
        except OSError as error:
            raise StoreError("the video encoder failed", where=path, found=str(error).strip()[-400:]) from None


class _Frames:
    """Draws the frames of one document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        try:
            from PIL import ImageFont
        except ImportError as error:
            raise MissingDependencyError("PIL", extra="video", purpose="drawing clips") from error
        self.dt = float(document["dt"])
        self.num_instants = int(document["frames"])
        self.count = math.floor((self.num_instants - 1) * self.dt * FRAME_RATE_HZ) + 1
        self.up = document["view"]["up"]
        self.side = SIDE_PX * OVERSAMPLE
        self.scale = self.side / float(document["view"]["span"])
        unit, angle_unit = float(document["unit"]), float(document["angleUnit"])
        self.agents = [_decode_agent(agent, unit, angle_unit, self.num_instants) for agent in document["agents"]]
        self.agents.sort(key=lambda a: a["role"] != "other")
        self.ego = next(a for a in self.agents if a["role"] == "ego")
        self.font = ImageFont.load_default(13 * OVERSAMPLE)
        self.road, self.road_origin, self.road_scale = self._draw_road(document.get("map"), unit)

    def draw(self, index: int) -> bytes:
        """RGB bytes of one video frame."""
        return self.image(index).tobytes()

    def image(self, index: int) -> Any:
        """One video frame."""
        from PIL import ImageDraw

        instant = min(index / FRAME_RATE_HZ / self.dt, self.num_instants - 1)
        x, y, heading = _state(self.ego, instant) or _state(self.ego, 0) or (0.0, 0.0, 0.0)
        camera = _Camera(
            x=x, y=y, angle=math.pi / 2 - heading if self.up == "ego" else 0.0, scale=self.scale, side=self.side
        )
        image = self._background(camera)
        pen = ImageDraw.Draw(image)
        visible = [(agent, state) for agent in self.agents if (state := _state(agent, instant)) is not None]
        for agent, state in visible:
            _draw_agent(pen, agent, state, camera)
        for agent, state in visible:
            if agent["label"]:
                ((px, py),) = camera.pixels(np.array([state[:2]]))
                offset = camera.scale * agent["length"] / 2 + 4 * OVERSAMPLE
                pen.text(
                    (px + offset, py),
                    agent["label"],
                    font=self.font,
                    anchor="lm",
                    fill=COLORS["text"],
                    stroke_width=2 * OVERSAMPLE,
                    stroke_fill=COLORS["back"],
                )
        return image.reduce(OVERSAMPLE)

    def _background(self, camera: _Camera) -> Any:
        """Cut the view out of the road picture: frame pixel -> world -> road pixel, one affine map."""
        from PIL import Image

        if self.road is None:
            return Image.new("RGB", (self.side, self.side), COLORS["back"])
        c, s, half, ratio = (
            math.cos(camera.angle),
            math.sin(camera.angle),
            self.side / 2,
            self.road_scale / camera.scale,
        )
        # world - center = R(-angle) (u, -v) / scale with u, v measured from the middle of the frame
        a, b = c * ratio, -s * ratio
        d, e = s * ratio, c * ratio
        x0 = (camera.x - self.road_origin[0]) * self.road_scale
        y0 = (self.road_origin[1] - camera.y) * self.road_scale
        data = (a, b, x0 - (a + b) * half, d, e, y0 - (d + e) * half)
        return self.road.transform(
            (self.side, self.side),
            Image.Transform.AFFINE,
            data,
            resample=Image.Resampling.BILINEAR,
            fillcolor=COLORS["back"],
        )

    def _draw_road(self, road: Mapping[str, Any] | None, unit: float) -> tuple[Any, tuple[float, float], float]:
        from PIL import Image, ImageDraw

        if road is None:
            return None, (0.0, 0.0), 1.0
        path = np.stack([self.ego["x"], self.ego["y"]], axis=1)
        path = path[np.isfinite(path).all(axis=1)]
        reach = self.side / self.scale * 0.75
        low, high = path.min(axis=0) - reach, path.max(axis=0) + reach
        scale = min(self.scale, MAX_ROAD_PX / float((high - low).max()))
        width, height = (math.ceil(v * scale) for v in (high - low))
        image = Image.new("RGB", (width, height), COLORS["back"])
        pen = ImageDraw.Draw(image)

        def pixels(points: Mapping[str, list[int]]) -> list[tuple[float, float]]:
            px = (np.cumsum(points["x"]) * unit - low[0]) * scale
            py = (high[1] - np.cumsum(points["y"]) * unit) * scale
            return list(zip(px.tolist(), py.tolist(), strict=True))

        for lane in road["lanes"]:
            pen.polygon(pixels(lane), fill=COLORS["lane"])
        for area in road["keepouts"]:
            pen.polygon(pixels(area), fill=COLORS["keepout"])
        for line in road["lines"]:
            style = _line_style(line["type"])
            if style is None:
                continue
            color, width_m = style
            points = pixels(line)
            pieces = _dashes(points, 2.0 * scale) if line["subtype"] == "dashed" else [points]
            for piece in pieces:
                pen.line(piece, fill=color, width=max(OVERSAMPLE, round(width_m * scale)), joint="curve")
        return image, (float(low[0]), float(high[1])), scale


def _line_style(kind: str) -> tuple[str, float] | None:
    if kind in CURBS:
        return COLORS["curb"], 0.15
    if kind == "stop_line":
        return COLORS["stop"], 0.4
    if kind.startswith(("line_", "pedestrian")):
        return COLORS["marking"], 0.25 if kind == "line_thick" else 0.15
    return None


def _dashes(points: list[tuple[float, float]], length: float) -> list[list[tuple[float, float]]]:
    """Every second stretch of ``length`` pixels along a line."""
    xy = np.array(points)
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(xy, axis=0).T))])
    pieces: list[list[tuple[float, float]]] = []
    for start in np.arange(0.0, along[-1], 2 * length):
        stop = min(start + length, along[-1])
        at = np.concatenate([[start], along[(along > start) & (along < stop)], [stop]])
        xs, ys = np.interp(at, along, xy[:, 0]), np.interp(at, along, xy[:, 1])
        pieces.append(list(zip(xs.tolist(), ys.tolist(), strict=True)))
    return pieces


def _decode_agent(agent: Mapping[str, Any], unit: float, angle_unit: float, num_instants: int) -> dict[str, Any]:
    decoded: dict[str, Any] = {
        "role": agent["role"],
        "label": agent["label"],
        "vulnerable": agent["vulnerable"],
        "length": float(agent["length"]),
        "width": float(agent["width"]),
        **{name: np.full(num_instants, np.nan) for name in "xyh"},
    }
    for segment in agent["segments"]:
        part = slice(segment["start"], segment["start"] + len(segment["x"]))
        decoded["x"][part] = np.cumsum(segment["x"]) * unit
        decoded["y"][part] = np.cumsum(segment["y"]) * unit
        decoded["h"][part] = np.cumsum(segment["h"]) * angle_unit
    return decoded


def _state(agent: Mapping[str, Any], instant: float) -> tuple[float, float, float] | None:
    low = math.floor(instant)
    high, share = min(low + 1, agent["x"].size - 1), instant - low
    values = [(1 - share) * agent[n][low] + (share * agent[n][high] if share > 0 else 0.0) for n in "xyh"]
    return None if math.isnan(values[0]) else (float(values[0]), float(values[1]), float(values[2]))


def _draw_agent(pen: Any, agent: Mapping[str, Any], state: tuple[float, float, float], camera: _Camera) -> None:
    x, y, heading = state
    length, width = agent["length"], agent["width"]
    color = COLORS["vulnerable"] if agent["role"] == "other" and agent["vulnerable"] else COLORS[agent["role"]]
    line = max(OVERSAMPLE, round(0.12 * camera.scale))
    if agent["vulnerable"]:
        ((px, py),) = camera.pixels(np.array([[x, y]]))
        radius = max(length, width) / 2 * camera.scale
        pen.ellipse(
            (px - radius, py - radius, px + radius, py + radius), fill=color, outline=COLORS["edge"], width=line
        )
        return
    c, s = math.cos(heading), math.sin(heading)
    rotate = np.array([[c, s], [-s, c]])
    corners = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]]) * [length / 2, width / 2]
    pen.polygon(camera.pixels(corners @ rotate + [x, y]), fill=color, outline=COLORS["edge"], width=line)
    bar = np.array([[length * 0.25, -width * 0.35], [length * 0.25, width * 0.35]])
    pen.line(camera.pixels(bar @ rotate + [x, y]), fill=COLORS["edge"], width=max(3, round(0.25 * camera.scale)))
