"""Frames of a film: a replay document in the colors and with the camera of the canvas, drawn by Pillow.

The road is drawn once per film into one large picture; a frame is a cut-out of it with the road users on top, at twice
the size and then halved, which smooths edges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import MissingDependencyError
from giveway.reports.tokens import Theme, colors

OVERSAMPLE = 2
MAX_ROAD_PX = 12_000
CLIP_S = (-3.0, 1.0)
"""From when to when a film with an event lasts, relative to it [s]; as in ``replay.js``."""
STILL_S = (-2.0, 0.5)
"""When the camera stands still, if cars are large enough then, relative to the event [s]; as in ``stage.js``."""
CAR_PX, MIN_PX_PER_M, MAX_PX_PER_M = 36.0, 8.5, 24.0
"""Least length of the ego, least and largest scale; as in ``stage.js``."""
CURBS = ("curbstone", "guard_rail", "road_border")

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Camera:
    """Where a frame looks: center [m], rotation [rad] of the world, pixels per meter and size of the large frame."""

    x: float
    y: float
    angle: float
    scale: float
    size: tuple[int, int]

    def pixels(self, points: FloatArray) -> list[Point]:
        dx, dy = points[:, 0] - self.x, points[:, 1] - self.y
        c, s = math.cos(self.angle), math.sin(self.angle)
        px = self.size[0] / 2 + self.scale * (c * dx - s * dy)
        py = self.size[1] / 2 - self.scale * (s * dx + c * dy)
        return list(zip(px.tolist(), py.tolist(), strict=True))

    def box(self, x: float, y: float, heading: float, corners: FloatArray) -> list[Point]:
        """Points given in the coordinates of a car."""
        c, s = math.cos(heading), math.sin(heading)
        return self.pixels(corners @ np.array([[c, s], [-s, c]]) + [x, y])


class Frames:
    """Draws the frames of one document."""

    def __init__(
        self,
        document: Mapping[str, Any],
        *,
        size: tuple[int, int],
        theme: Theme = "light",
        focus: Mapping[str, Any] | None = None,
    ) -> None:
        try:
            from PIL import ImageFont
        except ImportError as error:
            raise MissingDependencyError("PIL", extra="video", purpose="drawing a film") from error
        self.colors = colors(theme)
        self.document = document
        self.size = (size[0] * OVERSAMPLE, size[1] * OVERSAMPLE)
        self.start, self.dt = float(document["start"]), float(document["dt"])
        self.view = document.get("view")
        num, unit, angle = int(document["frames"]), float(document["unit"]), float(document["angleUnit"])
        self.num_instants, self.unit = num, unit
        self.agents = [_decoded(a, a["segments"], unit, angle, num) for a in document["agents"]]
        self.agents.sort(key=lambda a: {"other": 0, "prio": 1}.get(a["role"], 2))
        self.by_id = {a["id"]: a for a in self.agents}
        self.ghosts = {
            a["id"]: _decoded(a, a["recorded"], unit, angle, num) for a in document["agents"] if "recorded" in a
        }
        self.ego = self.by_id.get(str(document["ego"]))
        self.contact = document.get("encounter")
        self.focus = focus or self.contact
        self.partner = self.by_id.get((self.focus or {}).get("partner", ""))
        self.font = ImageFont.load_default(13 * OVERSAMPLE)
        self.scale, self.home = self._framing()
        self.fans: dict[int, list[Any]] = {}
        for fan in document["fans"]:
            self.fans.setdefault(int(fan["frame"]), []).append(fan)
        self.road, self.road_origin, self.road_scale = self._draw_road(document.get("map"))

    def _framing(self) -> tuple[float, FloatArray | None]:
        """Pixels per meter of the large frame, and its center; None if it follows."""
        if self.view:
            return min(self.size) / float(self.view["span"]), None
        width, height = (side / OVERSAMPLE for side in self.size)
        least = max(MIN_PX_PER_M, CAR_PX / max(2.0, self.ego["length"])) if self.ego else 0.0
        event = self.focus
        if self.ego and not event:
            return max(least, min(width, height) / 45) * OVERSAMPLE, None
        first, last = 0, self.num_instants - 1
        if event:
            zero = float(event["time"]) - self.start
            first, last = (min(max(round((zero + t) / self.dt), 0), last) for t in STILL_S)
        met = [self.ego, self.ghosts.get(self.ego["id"]), self.partner] if self.ego else self.agents
        xy = np.concatenate([np.stack([a["x"], a["y"]], axis=1)[first : last + 1] for a in met if a is not None])
        low, high = np.nanmin(xy, axis=0), np.nanmax(xy, axis=0)
        fit = min(width / (high[0] - low[0] + 11), height / (high[1] - low[1] + 11))
        scale = min(MAX_PX_PER_M, max(least, float(fit)))
        return scale * OVERSAMPLE, (low + high) / 2 if scale <= fit + 1e-9 else None

    def _camera(self, instant: float) -> _Camera:
        if self.ego is None:
            center = np.zeros(2) if self.home is None else self.home
            return _Camera(x=float(center[0]), y=float(center[1]), angle=0.0, scale=self.scale, size=self.size)
        x, y, heading = _last_state(self.ego, instant)
        if self.view:
            angle = math.pi / 2 - heading if self.view["up"] == "ego" else 0.0
            return _Camera(x=x, y=y, angle=angle, scale=self.scale, size=self.size)
        other = _state(self.partner, instant) if self.partner else None
        wanted = self.home
        if wanted is None:
            wanted = np.array([x, y]) if other is None else (np.array([x, y]) + np.array(other[:2])) / 2
        room = np.maximum(np.array(self.size) / self.scale / 2 - [7.0, 6.0], 0.0)
        at = np.clip(wanted, np.array([x, y]) - room, np.array([x, y]) + room)
        return _Camera(x=float(at[0]), y=float(at[1]), angle=0.0, scale=self.scale, size=self.size)

    def image(self, time_s: float) -> Any:
        """One frame, at a time of the recording."""
        from PIL import ImageDraw

        instant = min(max((time_s - self.start) / self.dt, 0.0), self.num_instants - 1.0)
        camera = self._camera(instant)
        image = self._background(camera)
        pen = ImageDraw.Draw(image, "RGBA")
        for fan in self.fans.get(math.floor(instant + 1e-6), []):
            self._draw_fan(pen, fan, instant, camera)
        visible = [(a, state) for a in self.agents if (state := _state(a, instant)) is not None]
        for agent, state in visible:
            handed = "handedOver" in agent and instant >= agent["handedOver"]
            self._draw_agent(pen, agent, state, camera, handed=handed)
        ghost = None if self.ego is None else self.ghosts.get(self.ego["id"])
        if ghost is not None and (state := _state(ghost, instant)) is not None:
            outline = camera.box(*state, _outline(ghost["length"], ghost["width"]))
            for dash in _dashes([*outline, outline[0]], 5 * OVERSAMPLE):
                pen.line(dash, fill=self.colors["ghost"], width=2 * OVERSAMPLE)
        for agent, state in visible:
            self._label(pen, agent, state, camera)
        self._draw_event(pen, time_s, camera)
        return image.reduce(OVERSAMPLE)

    def _draw_event(self, pen: Any, time_s: float, camera: _Camera) -> None:
        """Clock, name, and a cross where and since there is contact; nothing in a study."""
        if self.view:
            return
        event = self.contact
        clock = time_s - (float(self.focus["time"]) if self.focus else self.start)
        words = [self.document.get("name") or "", f"{clock:+.1f} s"]
        self._text(pen, (12 * OVERSAMPLE, 18 * OVERSAMPLE), "  ".join(w for w in words if w), "ink", "lm")
        if not event or event["kind"] != "contact" or time_s < float(event["time"]) - 1e-6 or self.ego is None:
            return
        instant = (float(event["time"]) - self.start) / self.dt
        other = self.by_id.get(event["partner"])
        met = [_last_state(a, instant)[:2] for a in (self.ego, other) if a is not None]
        ((px, py),) = camera.pixels(np.mean(np.array(met), axis=0)[None])
        r = 11 * OVERSAMPLE
        for color, width in (("surface", 7), ("fault", 4)):
            for sign in (1, -1):
                ends = [(px - r, py - sign * r), (px + r, py + sign * r)]
                pen.line(ends, fill=self.colors[color], width=width * OVERSAMPLE)

    def _text(self, pen: Any, at: Point, text: str, color: str, anchor: str) -> None:
        pen.text(
            at,
            text,
            font=self.font,
            anchor=anchor,
            fill=self.colors[color],
            stroke_width=2 * OVERSAMPLE,
            stroke_fill=self.colors["road"],
        )

    def _label(self, pen: Any, agent: Mapping[str, Any], state: tuple[float, float, float], camera: _Camera) -> None:
        ((px, py),) = camera.pixels(np.array([state[:2]]))
        turned = state[2] + camera.angle
        reach = (abs(math.sin(turned)) * agent["length"] + abs(math.cos(turned)) * agent["width"]) / 2 * camera.scale
        is_main = not self.view and (agent is self.ego or agent is self.partner)
        text = agent["label"] or ("ego" if agent is self.ego and not self.view else agent["id"] if is_main else "")
        if not text:
            return
        color = "ink" if self.view else agent["role"] if agent["role"] in ("ego", "prio") else "ink-2"
        below = agent["role"] == "ego"
        offset = (reach + 12 * OVERSAMPLE) * (1 if below else -1)
        self._text(pen, (px, py + offset), text, color, "mm")

    def _draw_fan(self, pen: Any, fan: Mapping[str, Any], instant: float, camera: _Camera) -> None:
        agent = self.by_id.get(fan["agent"])
        state = None if agent is None else _state(agent, instant)
        if agent is None or state is None:
            return
        is_plan = fan["kind"] == "plan"
        color = self.colors["ego" if is_plan else "pred"]
        for path, p in zip(fan["paths"], fan["p"], strict=True):
            xy = np.stack([np.cumsum(path["x"]), np.cumsum(path["y"])], axis=1) * self.unit
            if not len(xy):
                continue
            xy[0] = state[:2]
            alpha = 255 if is_plan else round(255 * (0.35 + 0.65 * p))
            fill = f"{color}{alpha:02x}"
            if not is_plan and math.hypot(*(xy[-1] - xy[0])) < 0.5:
                ((px, py),) = camera.pixels(xy[:1])
                r = (agent["length"] / 2 + 1) * camera.scale
                pen.ellipse((px - r, py - r, px + r, py + r), outline=fill, width=round(2.5 * OVERSAMPLE))
                continue
            points = camera.pixels(xy)
            pen.line(points, fill=fill, width=round((3 if is_plan else 1.5 + 4 * p) * OVERSAMPLE), joint="curve")
            for px, py in [] if is_plan else points[1:]:
                r = (2.4 + 1.4 * p) * OVERSAMPLE
                pen.ellipse((px - r, py - r, px + r, py + r), fill=fill)

    def _background(self, camera: _Camera) -> Any:
        """Cut the view out of the road picture: frame pixel -> world -> road pixel, one affine map."""
        from PIL import Image

        if self.road is None:
            return Image.new("RGB", self.size, self.colors["verge"])
        c, s, ratio = math.cos(camera.angle), math.sin(camera.angle), self.road_scale / camera.scale
        # world - center = R(-angle) (u, -v) / scale with u, v measured from the middle of the frame
        a, b, d, e = c * ratio, -s * ratio, s * ratio, c * ratio
        x0 = (camera.x - self.road_origin[0]) * self.road_scale
        y0 = (self.road_origin[1] - camera.y) * self.road_scale
        u, v = self.size[0] / 2, self.size[1] / 2
        return self.road.transform(
            self.size,
            Image.Transform.AFFINE,
            (a, b, x0 - a * u - b * v, d, e, y0 - d * u - e * v),
            resample=Image.Resampling.BILINEAR,
            fillcolor=self.colors["verge"],
        )

    def _draw_road(self, road: Mapping[str, Any] | None) -> tuple[Any, Point, float]:
        from PIL import Image, ImageDraw

        if road is None:
            return None, (0.0, 0.0), 1.0
        met = [a for a in (self.ego, self.partner) if a is not None] or self.agents
        path = np.concatenate([np.stack([a["x"], a["y"]], axis=1) for a in met])
        path = path[np.isfinite(path).all(axis=1)]
        reach = max(self.size) / self.scale * 0.75
        low, high = path.min(axis=0) - reach, path.max(axis=0) + reach
        scale = min(self.scale, MAX_ROAD_PX / float((high - low).max()))
        width, height = (math.ceil(v * scale) for v in (high - low))
        image = Image.new("RGB", (width, height), self.colors["verge"])
        pen = ImageDraw.Draw(image)

        def pixels(xy: FloatArray) -> list[Point]:
            px, py = (xy[:, 0] - low[0]) * scale, (high[1] - xy[:, 1]) * scale
            return list(zip(px.tolist(), py.tolist(), strict=True))

        def decoded(points: Mapping[str, list[int]]) -> FloatArray:
            return np.stack([np.cumsum(points["x"]), np.cumsum(points["y"])], axis=1) * self.unit

        lanes = [pixels(decoded(lane)) for lane in road["lanes"]]
        for lane in lanes:  # outline all, then fill all: only the outer edge of the union stays
            pen.line([*lane, lane[0]], fill=self.colors["edge"], width=max(2 * OVERSAMPLE, round(0.5 * scale)))
        for lane in lanes:
            pen.polygon(lane, fill=self.colors["road"], outline=self.colors["road"])
        for area in road["keepouts"]:
            pen.polygon(pixels(decoded(area)), fill=self.colors["verge"])
        for line in road["lines"]:
            style = _line_style(line["type"])
            if style is None:
                continue
            color, width_m = style
            points = pixels(decoded(line))
            pieces = _dashes(points, 1.5 * scale) if line["subtype"] == "dashed" else [points]
            for piece in pieces:
                thick = max(OVERSAMPLE, round(width_m * scale))
                pen.line(piece, fill=self.colors[color], width=thick, joint="curve")
        for tooth in (t for ends in road.get("teeth", ()) for t in _teeth(decoded(ends))):
            pen.polygon(pixels(tooth), fill=self.colors["mark"])
        if "arrows" in road:
            for (x, y), h in zip(decoded(road["arrows"]), np.cumsum(road["arrows"]["h"]) * 0.001, strict=True):
                c, s = math.cos(h), math.sin(h)
                tips = np.array([[-0.8, 0.7], [0.0, 0.0], [-0.8, -0.7]]) @ np.array([[c, s], [-s, c]]) + [x, y]
                pen.line(pixels(tips), fill=self.colors["mark"], width=max(OVERSAMPLE, round(0.16 * scale)))
        return image, (float(low[0]), float(high[1])), scale

    def _draw_agent(
        self,
        pen: Any,
        agent: Mapping[str, Any],
        state: tuple[float, float, float],
        camera: _Camera,
        *,
        handed: bool = False,
    ) -> None:
        length, width, role = agent["length"], agent["width"], agent["role"]
        color = self.colors[role if role in ("ego", "prio") else "car"]
        edge = {
            "outline": self.colors["ghost" if handed else "outline"],
            "width": (3 if handed else 1) * OVERSAMPLE,
        }
        if agent["vulnerable"]:
            ((px, py),) = camera.pixels(np.array([state[:2]]))
            radius = max(max(length, width) * camera.scale, 6 * OVERSAMPLE) / 2
            pen.ellipse((px - radius, py - radius, px + radius, py + radius), fill=color, **edge)
            return
        pen.polygon(camera.box(*state, _rounded(length, width)), fill=color, **edge)
        screen = _outline(0.13 * length, 0.72 * width) + np.array([0.205 * length, 0.0])
        pen.polygon(camera.box(*state, screen), fill=f"{self.colors['surface']}bf")
        if role == "ego":
            roof = _outline(0.34 * length, 0.18 * width) - [0.13 * length, 0.0]
            pen.polygon(camera.box(*state, roof), fill=self.colors["surface"])


def _outline(length: float, width: float) -> FloatArray:
    return np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]]) * [length / 2, width / 2]


def _rounded(length: float, width: float) -> FloatArray:
    """Outline with corners of a radius of a third of the width."""
    r = min(0.32 * width, 0.4)
    turn = np.linspace(0.0, np.pi / 2, 5)
    arc = np.stack([np.cos(turn), np.sin(turn)], axis=1) * r
    corners = _outline(length - 2 * r, width - 2 * r)[[0, 3, 2, 1]]
    turned = [arc, arc[:, ::-1] * [-1, 1], -arc, arc[:, ::-1] * [1, -1]]
    return np.concatenate([corner + part for corner, part in zip(corners, turned, strict=True)])


def _teeth(ends: FloatArray) -> Iterator[FloatArray]:
    """Triangles across a lane that point against its traffic."""
    across = ends[1] - ends[0]
    length = float(np.hypot(*across))
    along = across / length
    count = max(2, int(length / 0.65))
    for k in range(count):
        a, b = k * length / count + 0.07, (k + 1) * length / count - 0.07
        tip = along * (a + b) / 2 + 0.8 * np.array([along[1], -along[0]])
        yield ends[0] + np.stack([along * a, along * b, tip])


def _line_style(kind: str) -> tuple[str, float] | None:
    if kind in CURBS:
        return "edge", 0.15
    if kind == "stop_line":
        return "mark", 0.4
    if kind.startswith(("line_", "pedestrian")):
        return "mark", 0.25 if kind == "line_thick" else 0.15
    return None


def _dashes(points: list[Point], length: float) -> list[list[Point]]:
    """Every second stretch of ``length`` pixels along a line."""
    xy = np.array(points)
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(xy, axis=0).T))])
    pieces: list[list[Point]] = []
    for start in np.arange(0.0, along[-1], 2 * length):
        stop = min(start + length, along[-1])
        at = np.concatenate([[start], along[(along > start) & (along < stop)], [stop]])
        xs, ys = np.interp(at, along, xy[:, 0]), np.interp(at, along, xy[:, 1])
        pieces.append(list(zip(xs.tolist(), ys.tolist(), strict=True)))
    return pieces


def _decoded(
    agent: Mapping[str, Any], pieces: Sequence[Mapping[str, Any]], unit: float, angle_unit: float, num_instants: int
) -> dict[str, Any]:
    facts = {name: agent[name] for name in ("id", "label", "vulnerable", "handedOver") if name in agent}
    decoded: dict[str, Any] = {
        **facts,
        "role": "prio" if agent["role"] == "rated" else agent["role"],
        "length": float(agent["length"]),
        "width": float(agent["width"]),
        **{name: np.full(num_instants, np.nan) for name in "xyh"},
    }
    for piece in pieces:
        part = slice(piece["start"], piece["start"] + len(piece["x"]))
        decoded["x"][part] = np.cumsum(piece["x"]) * unit
        decoded["y"][part] = np.cumsum(piece["y"]) * unit
        decoded["h"][part] = np.cumsum(piece["h"]) * angle_unit
    return decoded


def _state(agent: Mapping[str, Any], instant: float) -> tuple[float, float, float] | None:
    low = math.floor(instant + 1e-9)
    high, share = min(low + 1, agent["x"].size - 1), max(instant - low, 0.0)
    values = [(1 - share) * agent[n][low] + (share * agent[n][high] if share > 1e-9 else 0.0) for n in "xyh"]
    return None if math.isnan(values[0]) else (float(values[0]), float(values[1]), float(values[2]))


def _last_state(agent: Mapping[str, Any], instant: float) -> tuple[float, float, float]:
    """Where somebody is, or was when last or first seen."""
    now = _state(agent, instant)
    if now is not None:
        return now
    seen = np.flatnonzero(~np.isnan(agent["x"]))
    before = seen[seen <= instant]
    at = float(before[-1] if before.size else seen[0])
    return _state(agent, at) or (0.0, 0.0, 0.0)
