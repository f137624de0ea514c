// Roads and road users on a canvas. Colors come from the tokens of the style sheet; roles keep theirs everywhere:
// ego blue with a bar on the roof, who has priority or is met orange, others gray, recorded humans dashed, predictions purple.

const TOKENS = ["ego", "prio", "pred", "car", "ghost", "fault", "road", "verge", "edge", "mark", "outline", "ink", "ink-2", "surface", "sunken", "accent"];

/** Colors as they apply to an element now; scheme "light" or "dark" overrides the theme of the page. */
export function readColors(element, scheme) {
  const probe = document.createElement("i"), found = {};
  probe.hidden = true;
  if (scheme) probe.style.colorScheme = scheme;
  (element.parentElement || document.body).append(probe);
  for (const name of TOKENS) {
    probe.style.color = `var(--${name})`;
    found[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return found;
}

/** From meters to CSS pixels, y up, turned by an angle. */
export function makeView(x, y, angle, px, w, h) {
  const c = Math.cos(angle), s = Math.sin(angle);
  return {
    x, y, angle, px, w, h,
    at: (mx, my) => [w / 2 + px * (c * (mx - x) - s * (my - y)), h / 2 - px * (s * (mx - x) + c * (my - y))],
    world: (qx, qy) => { const u = (qx - w / 2) / px, v = (h / 2 - qy) / px; return { x: x + c * u + s * v, y: y - s * u + c * v }; },
  };
}

function shape(list, closed) {
  const path = new Path2D();
  for (const p of list) {
    for (let i = 0; i < p.x.length; i++) path[i ? "lineTo" : "moveTo"](p.x[i], p.y[i]);
    if (closed) path.closePath();
  }
  return path;
}

/** Everything of a map that never moves, as few paths in meters. */
function roadPaths(map) {
  const lines = new Map();
  for (const line of map.lines) {
    const isCurb = /curbstone|guard_rail|road_border/.test(line.type), isStop = line.type === "stop_line";
    if (!isCurb && !isStop && !/^line_|pedestrian/.test(line.type)) continue;
    const width = isStop ? 0.4 : line.type === "line_thick" ? 0.25 : 0.15, dashed = line.subtype === "dashed";
    const key = `${isCurb ? "edge" : "mark"} ${width} ${dashed ? 1 : 0}`;
    lines.set(key, [...(lines.get(key) || []), line]);
  }
  const arrows = [], teeth = [];
  for (let i = 0; i < map.arrows.x.length; i++) {
    const c = Math.cos(map.arrows.h[i]), s = Math.sin(map.arrows.h[i]);
    const at = (u, v) => [map.arrows.x[i] + c * u - s * v, map.arrows.y[i] + s * u + c * v];
    const tips = [at(-0.8, 0.7), at(0, 0), at(-0.8, -0.7)];
    arrows.push({ x: tips.map((p) => p[0]), y: tips.map((p) => p[1]) });
  }
  for (const { x, y } of map.teeth) {
    const length = Math.hypot(x[1] - x[0], y[1] - y[0]), ux = (x[1] - x[0]) / length, uy = (y[1] - y[0]) / length;
    const count = Math.max(2, Math.floor(length / 0.65)), step = length / count;
    // Triangles point against the traffic, which runs to the left of the line from left to right.
    for (let k = 0; k < count; k++) {
      const a = k * step + 0.07, b = (k + 1) * step - 0.07, m = (a + b) / 2;
      teeth.push({ x: [x[0] + ux * a, x[0] + ux * b, x[0] + ux * m + uy * 0.8], y: [y[0] + uy * a, y[0] + uy * b, y[0] + uy * m - ux * 0.8] });
    }
  }
  return {
    lanes: shape(map.lanes, true), keepouts: shape(map.keepouts, true), arrows: shape(arrows, false), teeth: shape(teeth, true),
    lines: [...lines].map(([key, list]) => { const [color, width, dashed] = key.split(" "); return { color, width: Number(width), dashed: dashed === "1", path: shape(list, false) }; }),
  };
}

function paintRoad(ctx, paths, colors, px) {
  const pixel = 1 / px;
  ctx.lineJoin = "round";
  // Outline all lanes, then fill all: only the outer edge of the union stays.
  ctx.strokeStyle = colors.edge;
  ctx.lineWidth = Math.max(2 * pixel, 0.5);
  ctx.stroke(paths.lanes);
  ctx.fillStyle = ctx.strokeStyle = colors.road;
  ctx.lineWidth = pixel;
  ctx.fill(paths.lanes);
  ctx.stroke(paths.lanes);
  ctx.fillStyle = colors.verge;
  ctx.fill(paths.keepouts);
  for (const line of paths.lines) {
    ctx.strokeStyle = colors[line.color];
    ctx.lineWidth = Math.max(line.width, 1.2 * pixel);
    ctx.setLineDash(line.dashed ? [1.5, 1.5] : []);
    ctx.stroke(line.path);
  }
  ctx.setLineDash([]);
  ctx.strokeStyle = ctx.fillStyle = colors.mark;
  ctx.lineWidth = Math.max(0.16, 1.5 * pixel);
  ctx.stroke(paths.arrows);
  ctx.fill(paths.teeth);
}

/** The road, drawn once into a larger picture from which frames are cut while the scale stays. */
export function createRoad(map) {
  const paths = map && roadPaths(map), tile = document.createElement("canvas");
  let made = null;

  function paint(target, view, colors, ratio, width, height) {
    const c = Math.cos(view.angle) * view.px * ratio, s = Math.sin(view.angle) * view.px * ratio;
    target.setTransform(1, 0, 0, 1, 0, 0);
    target.fillStyle = colors.verge;
    target.fillRect(0, 0, width, height);
    if (!paths) return;
    target.setTransform(c, -s, -s, -c, width / 2 - c * view.x + s * view.y, height / 2 + s * view.x + c * view.y);
    paintRoad(target, paths, colors, view.px);
  }

  return function draw(ctx, view, colors, ratio) {
    const width = ctx.canvas.width, height = ctx.canvas.height;
    if (view.angle) {
      paint(ctx, view, colors, ratio, width, height);
      return;
    }
    const wide = Math.round(width * 1.6), tall = Math.round(height * 1.6), scale = view.px * ratio;
    const shift = () => [Math.round((width - wide) / 2 + (made.x - view.x) * scale), Math.round((height - tall) / 2 - (made.y - view.y) * scale)];
    const fits = made && made.px === view.px && made.colors === colors && tile.width === wide && tile.height === tall;
    let [dx, dy] = fits ? shift() : [1, 1];
    if (dx > 0 || dy > 0 || dx + wide < width || dy + tall < height) {
      made = { x: view.x, y: view.y, px: view.px, colors };
      if (tile.width !== wide || tile.height !== tall) Object.assign(tile, { width: wide, height: tall });
      paint(tile.getContext("2d"), view, colors, ratio, wide, tall);
      [dx, dy] = shift();
    }
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.drawImage(tile, dx, dy);
  };
}

export function drawText(ctx, text, x, y, { color, halo, align = "center", bold = false, size = 13 }) {
  ctx.font = `${bold ? 600 : 400} ${size}px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif`;
  ctx.textAlign = align;
  ctx.textBaseline = "alphabetic";
  ctx.lineJoin = "round";
  ctx.lineWidth = 4;
  ctx.strokeStyle = halo;
  ctx.strokeText(text, x, y);
  ctx.fillStyle = color;
  ctx.fillText(text, x, y);
}

/** A road user: rounded body with a windscreen, a disc for pedestrians and cyclists. Roles differ not by color alone. */
export function drawAgent(ctx, view, agent, state, colors, { role, handed = false, thinks = false, selected = false }) {
  const l = agent.length * view.px, w = agent.width * view.px, round = Math.min(w * 0.32, 7);
  const [x, y] = view.at(state.x, state.y);
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(-state.h - view.angle);
  const body = () => { ctx.beginPath(); if (agent.vulnerable) ctx.arc(0, 0, Math.max(l, w, 6) / 2, 0, 7); else ctx.roundRect(-l / 2, -w / 2, l, w, round); };
  body();
  if (role === "ghost") {
    ctx.setLineDash([5, 4]);
    ctx.strokeStyle = colors.ghost;
    ctx.lineWidth = 1.8;
    ctx.stroke();
    ctx.restore();
    return;
  }
  ctx.fillStyle = colors[role === "ego" || role === "prio" ? role : "car"];
  ctx.strokeStyle = handed ? colors.ghost : colors.outline;
  ctx.lineWidth = handed ? 3 : 1;
  ctx.fill();
  ctx.stroke();
  if (!agent.vulnerable) {
    ctx.fillStyle = colors.surface;
    ctx.globalAlpha = 0.75;
    ctx.beginPath();
    ctx.roundRect(l * 0.14, -w * 0.36, l * 0.13, w * 0.72, 2);
    ctx.fill();
    ctx.globalAlpha = 1;
    if (role === "ego") ctx.fillRect(-l * 0.3, -w * 0.09, l * 0.34, Math.max(2, w * 0.18));
    if (thinks) { ctx.beginPath(); ctx.arc(-l * 0.1, 0, Math.max(2, w * 0.16), 0, 7); ctx.fill(); }
  }
  if (selected) {
    ctx.beginPath();
    ctx.roundRect(-l / 2 - 5, -w / 2 - 5, l + 10, w + 10, round + 4);
    ctx.strokeStyle = colors.accent;
    ctx.lineWidth = 2;
    ctx.stroke();
  }
  ctx.restore();
}

/** Predictions: one stroke per mode, wider and stronger the more probable, a dot every half second; standing still is a ring. */
export function drawFan(ctx, view, fan, state, agent, colors) {
  ctx.lineCap = ctx.lineJoin = "round";
  const isPlan = fan.kind === "plan";
  ctx.strokeStyle = ctx.fillStyle = isPlan ? colors.ego : colors.pred;
  fan.paths.forEach((path, k) => {
    const p = fan.p[k] ?? 1, count = path.x.length;
    if (!count) return;
    ctx.globalAlpha = isPlan ? 1 : 0.35 + 0.65 * p;
    if (!isPlan && Math.hypot(path.x[count - 1] - state.x, path.y[count - 1] - state.y) < 0.5) {
      ctx.lineWidth = 2.5;
      ctx.beginPath();
      ctx.arc(...view.at(state.x, state.y), (agent.length / 2 + 1) * view.px, 0, 7);
      ctx.stroke();
      return;
    }
    ctx.lineWidth = isPlan ? 3 : 1.5 + 4 * p;
    ctx.beginPath();
    ctx.moveTo(...view.at(state.x, state.y));
    for (let i = 1; i < count; i++) ctx.lineTo(...view.at(path.x[i], path.y[i]));
    ctx.stroke();
    if (isPlan) return;
    ctx.globalAlpha = 0.5 + 0.5 * p;
    ctx.beginPath();
    for (let i = 1; i < count; i++) {
      const [x, y] = view.at(path.x[i], path.y[i]), radius = 2.4 + 1.4 * p;
      ctx.moveTo(x + radius, y);
      ctx.arc(x, y, radius, 0, 7);
    }
    ctx.fill();
  });
  ctx.globalAlpha = 1;
}

/** The sign of a contact: a cross with a halo, the only red thing in a picture. */
export function drawCross(ctx, x, y, r, colors) {
  ctx.lineCap = "round";
  for (const [color, width] of [[colors.surface, 7], [colors.fault, 3.5]]) {
    ctx.strokeStyle = color;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.moveTo(x - r, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.moveTo(x + r, y - r);
    ctx.lineTo(x - r, y + r);
    ctx.stroke();
  }
}

export function drawScaleBar(ctx, view, colors) {
  const meters = [1, 2, 5, 10, 20, 50, 100, 200].find((m) => m * view.px >= 60) || 500, length = meters * view.px;
  const x = view.w - 12 - length, y = view.h - 12;
  ctx.strokeStyle = colors["ink-2"];
  ctx.lineWidth = 1.5;
  ctx.lineCap = "butt";
  ctx.beginPath();
  ctx.moveTo(x, y - 4);
  ctx.lineTo(x, y);
  ctx.lineTo(x + length, y);
  ctx.lineTo(x + length, y - 4);
  ctx.stroke();
  drawText(ctx, `${meters} m`, x + length / 2, y - 6, { color: colors["ink-2"], halo: colors.verge, size: 12 });
}

/** At the rim of the picture: where somebody who matters is, outside of it. */
export function drawBeyond(ctx, view, x, y, text, color, halo) {
  const [px, py] = [Math.min(view.w - 10, Math.max(10, x)), Math.min(view.h - 10, Math.max(24, y))];
  const turn = Math.atan2(y - py, x - px);
  ctx.save();
  ctx.translate(px, py);
  ctx.rotate(turn);
  ctx.fillStyle = color;
  ctx.beginPath();
  ctx.moveTo(4, 0);
  ctx.lineTo(-12, -9);
  ctx.lineTo(-12, 9);
  ctx.fill();
  ctx.restore();
  const align = px < view.w * 0.3 ? "left" : px > view.w * 0.7 ? "right" : "center";
  drawText(ctx, text, px, py < 40 ? py + 26 : py - 14, { color, halo, bold: true, align });
}

/** The area that a mind thinks about, hatched, and where it takes its partner to be, with a bar of one deviation. */
export function drawThought(ctx, view, thought, own, partner, colors) {
  const [ax, ay] = view.at(thought.area[0], thought.area[1]), [bx, by] = view.at(thought.area[2], thought.area[3]);
  const length = Math.hypot(bx - ax, by - ay), half = (own.width / 2) * view.px;
  ctx.save();
  ctx.strokeStyle = colors.pred;
  ctx.lineWidth = 1.5;
  ctx.translate(ax, ay);
  ctx.rotate(Math.atan2(by - ay, bx - ax));
  ctx.beginPath();
  ctx.rect(0, -half, length, 2 * half);
  ctx.stroke();
  ctx.clip();
  ctx.beginPath();
  for (let at = -2 * half; at < length; at += 6) {
    ctx.moveTo(at, -half);
    ctx.lineTo(at + 2 * half, half);
  }
  ctx.stroke();
  ctx.restore();
  if (!partner) return;
  const [gx, gy, lx, ly, hx, hy] = thought.ghost;
  ctx.save();
  ctx.strokeStyle = colors.pred;
  ctx.lineWidth = 3;
  ctx.beginPath();
  ctx.moveTo(...view.at(lx, ly));
  ctx.lineTo(...view.at(hx, hy));
  ctx.stroke();
  ctx.lineWidth = 1.8;
  ctx.setLineDash([3, 3]);
  ctx.translate(...view.at(gx, gy));
  ctx.rotate(-partner.state.h - view.angle);
  ctx.strokeRect((-partner.agent.length / 2) * view.px, (-partner.agent.width / 2) * view.px, partner.agent.length * view.px, partner.agent.width * view.px);
  ctx.restore();
}
