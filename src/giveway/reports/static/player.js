// Draws a giveway-replay document on a canvas. No dependencies, no network.
//
//   createPlayer(canvas, replay, options)  bare canvas: play, pause, seek, events; for clips
//   mountPlayer(element, replay, options)  the same with controls; for people
//
// Options: frame "map" | "ego", ego (agent id), up "north" | "ego" (orientation in the ego frame),
// span (meters across the shorter side in the ego frame), labels true | false, theme "auto" | "light" | "dark",
// speed (1), fixed true (no zoom, pan or selection).

const SUPPORTED = 1;

const THEMES = {
  light: {
    back: "#f4f4f1", lane: "#dcdcd8", keepout: "#cfe3cf", curb: "#6b7076", marking: "#ffffff", stop: "#b3382c",
    other: "#7d848c", vulnerable: "#009e73", ego: "#0072b2", rated: "#d55e00", edge: "#2b2f33", text: "#1c1e21",
    prediction: "#cc79a7", plan: "#0072b2", thought: "#8a4f00",
  },
  dark: {
    back: "#16181b", lane: "#2b2f34", keepout: "#22362a", curb: "#8b929a", marking: "#c9ccd0", stop: "#f0705f",
    other: "#9aa1a9", vulnerable: "#3fc79a", ego: "#56b4e9", rated: "#e69f00", edge: "#0d0e10", text: "#eceef0",
    prediction: "#e7a5c9", plan: "#56b4e9", thought: "#f0e442",
  },
};

/** Undo the difference coding: integers to numbers in the unit of the document. */
function decode(values, unit) {
  const out = new Float64Array(values.length);
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    sum += values[i];
    out[i] = sum * unit;
  }
  return out;
}

function decodePoints(points, unit) {
  return { x: decode(points.x, unit), y: decode(points.y, unit) };
}

/** Check the format and turn the document into typed arrays. */
export function readReplay(replay) {
  if (!replay || replay.format !== "giveway-replay") throw new Error("not a giveway replay");
  if (replay.version > SUPPORTED) throw new Error(`replay version ${replay.version} is newer than this player (${SUPPORTED})`);
  const unit = replay.unit;
  const agents = replay.agents.map((agent) => ({
    ...agent,
    segments: agent.segments.map((s) => ({
      start: s.start, end: s.start + s.x.length,
      x: decode(s.x, unit), y: decode(s.y, unit), h: decode(s.h, replay.angleUnit),
    })),
  }));
  const map = replay.map && {
    lanes: replay.map.lanes.map((p) => decodePoints(p, unit)),
    keepouts: replay.map.keepouts.map((p) => decodePoints(p, unit)),
    lines: replay.map.lines.map((l) => ({ type: l.type, subtype: l.subtype, ...decodePoints(l, unit) })),
  };
  const fans = new Map();
  for (const fan of replay.fans) {
    const list = fans.get(fan.frame) || [];
    list.push({ ...fan, paths: fan.paths.map((p) => decodePoints(p, unit)) });
    fans.set(fan.frame, list);
  }
  const minds = new Map();
  for (const row of replay.minds || []) {
    if (!minds.has(row.agent)) minds.set(row.agent, new Map());
    minds.get(row.agent).set(row.frame, row);
  }
  return { ...replay, agents, map, fans, minds, duration: (replay.frames - 1) * replay.dt };
}

/** State of an agent at a (fractional) frame, or null while it is absent; dx, dy are null for an agent seen only once. */
export function stateAt(agent, frame) {
  const whole = Math.floor(frame);
  for (const s of agent.segments) {
    if (whole < s.start || frame > s.end - 1) continue;
    const i = Math.min(whole - s.start, s.x.length - 1);
    const j = Math.min(i + 1, s.x.length - 1);
    const f = frame - whole;
    // The way of one frame; the last frame has none of its own and takes the one before.
    const from = Math.min(i, s.x.length - 2), isKnown = from >= 0;
    return {
      x: s.x[i] + f * (s.x[j] - s.x[i]), y: s.y[i] + f * (s.y[j] - s.y[i]), h: s.h[i] + f * (s.h[j] - s.h[i]),
      dx: isKnown ? s.x[from + 1] - s.x[from] : null, dy: isKnown ? s.y[from + 1] - s.y[from] : null,
    };
  }
  return null;
}

function bounds(data) {
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  const grow = (xs, ys) => {
    for (let i = 0; i < xs.length; i++) {
      x0 = Math.min(x0, xs[i]); x1 = Math.max(x1, xs[i]);
      y0 = Math.min(y0, ys[i]); y1 = Math.max(y1, ys[i]);
    }
  };
  if (data.map) for (const p of [...data.map.lanes, ...data.map.lines]) grow(p.x, p.y);
  for (const a of data.agents) for (const s of a.segments) grow(s.x, s.y);
  if (x0 > x1) return { x: 0, y: 0, width: 50, height: 50 };
  return { x: (x0 + x1) / 2, y: (y0 + y1) / 2, width: x1 - x0 + 8, height: y1 - y0 + 8 };
}

function trace(ctx, points, closed) {
  ctx.beginPath();
  for (let i = 0; i < points.x.length; i++) {
    if (i) ctx.lineTo(points.x[i], points.y[i]);
    else ctx.moveTo(points.x[i], points.y[i]);
  }
  if (closed) ctx.closePath();
}

function drawMap(ctx, map, colors, pixel) {
  ctx.fillStyle = colors.lane;
  for (const lane of map.lanes) {
    trace(ctx, lane, true);
    ctx.fill();
    ctx.strokeStyle = colors.lane;
    ctx.lineWidth = pixel;
    ctx.stroke();
  }
  ctx.fillStyle = colors.keepout;
  for (const area of map.keepouts) {
    trace(ctx, area, true);
    ctx.fill();
  }
  for (const line of map.lines) {
    const isCurb = /curbstone|guard_rail|road_border/.test(line.type);
    const isStop = line.type === "stop_line";
    if (!isCurb && !isStop && !/line_|pedestrian/.test(line.type)) continue;
    ctx.strokeStyle = isStop ? colors.stop : isCurb ? colors.curb : colors.marking;
    ctx.lineWidth = Math.max(isStop ? 0.4 : line.type === "line_thick" ? 0.25 : 0.15, pixel);
    ctx.setLineDash(line.subtype === "dashed" ? [2, 2] : []);
    trace(ctx, line, false);
    ctx.stroke();
  }
  ctx.setLineDash([]);
}

function drawAgent(ctx, agent, state, colors, pixel) {
  const { length, width } = agent;
  ctx.save();
  ctx.translate(state.x, state.y);
  ctx.rotate(state.h);
  ctx.fillStyle = agent.role !== "other" ? colors[agent.role] || colors.other : agent.vulnerable ? colors.vulnerable : colors.other;
  ctx.strokeStyle = colors.edge;
  ctx.lineWidth = Math.max(0.12, pixel);
  ctx.beginPath();
  if (agent.vulnerable) {
    ctx.arc(0, 0, Math.max(length, width) / 2, 0, 2 * Math.PI);
  } else {
    ctx.rect(-length / 2, -width / 2, length, width);
  }
  ctx.fill();
  ctx.stroke();
  if (!agent.vulnerable) {
    // A bar near the front tells the direction without relying on color.
    ctx.beginPath();
    ctx.moveTo(length * 0.25, -width * 0.35);
    ctx.lineTo(length * 0.25, width * 0.35);
    ctx.lineWidth = Math.max(0.25, 1.5 * pixel);
    ctx.stroke();
  }
  ctx.restore();
}

function drawFans(ctx, fans, colors, pixel) {
  for (const fan of fans) {
    ctx.strokeStyle = fan.kind === "plan" ? colors.plan : colors.prediction;
    fan.paths.forEach((path, k) => {
      const count = path.x.length;
      for (let i = 1; i < count; i++) {
        // Fades with time; probability sets the weight of a mode.
        ctx.globalAlpha = Math.max(0.08, (fan.p[k] ?? 1) * (1 - i / (count + 1)));
        ctx.lineWidth = Math.max(fan.kind === "plan" ? 0.5 : 0.3, 1.5 * pixel);
        ctx.beginPath();
        ctx.moveTo(path.x[i - 1], path.y[i - 1]);
        ctx.lineTo(path.x[i], path.y[i]);
        ctx.stroke();
      }
    });
  }
  ctx.globalAlpha = 1;
}

/** The last decision of a mind at a frame: one is made every second frame; null if it thought about nobody. */
export function thoughtAt(data, id, frame) {
  const rows = data.minds.get(id), whole = Math.floor(frame + 1e-6);
  return (rows && (rows.get(whole) || rows.get(whole - 1))) || null;
}

/** The area that a mind thinks about, hatched, and where it takes its partner to be, with a bar of one deviation. */
function drawThought(ctx, thought, own, partner, colors, pixel) {
  const [x0, y0, x1, y1] = thought.area;
  const length = Math.hypot(x1 - x0, y1 - y0), half = own.width / 2;
  ctx.save();
  ctx.translate(x0, y0);
  ctx.rotate(Math.atan2(y1 - y0, x1 - x0));
  ctx.strokeStyle = colors.thought;
  ctx.lineWidth = Math.max(0.08, pixel);
  ctx.strokeRect(0, -half, length, 2 * half);
  ctx.beginPath();
  ctx.rect(0, -half, length, 2 * half);
  ctx.clip();
  ctx.beginPath();
  for (let at = -2 * half; at < length; at += 0.5) {
    ctx.moveTo(at, -half);
    ctx.lineTo(at + 2 * half, half);
  }
  ctx.stroke();
  ctx.restore();
  if (!partner) return;
  const [gx, gy, lx, ly, hx, hy] = thought.ghost;
  ctx.strokeStyle = colors.thought;
  ctx.lineWidth = Math.max(0.25, 2 * pixel);
  ctx.beginPath();
  ctx.moveTo(lx, ly);
  ctx.lineTo(hx, hy);
  ctx.stroke();
  ctx.save();
  ctx.translate(gx, gy);
  ctx.rotate(partner.state.h);
  ctx.setLineDash([0.5, 0.35]);
  ctx.lineWidth = Math.max(0.15, 1.5 * pixel);
  ctx.strokeRect(-partner.agent.length / 2, -partner.agent.width / 2, partner.agent.length, partner.agent.width);
  ctx.restore();
}

/** A player on a bare canvas. Emits "frame", "ended" and "select" on `events`. */
export function createPlayer(canvas, replay, options = {}) {
  const data = readReplay(replay);
  const ctx = canvas.getContext("2d");
  const home = bounds(data);
  const events = new EventTarget();
  const view = {
    frame: options.frame || (data.ego && options.frame !== "map" && options.fixed ? "ego" : "map"),
    ego: options.ego || data.ego || null,
    up: options.up || "north",
    span: options.span || 80,
    labels: options.labels ?? true,
    ids: options.ids ?? false,
    theme: options.theme || "auto",
    zoom: 1, dx: 0, dy: 0,
  };
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let time = 0, speed = options.speed || 1, playing = false, last = 0, handle = 0;

  const palette = () => THEMES[view.theme === "auto" ? (dark.matches ? "dark" : "light") : view.theme];
  const frameNow = () => Math.min(data.frames - 1, time / data.dt);

  /** Canvas transform for the current view: meters to pixels, y up. */
  function camera(width, height) {
    const ego = view.ego !== null && view.frame === "ego" ? data.agents.find((a) => a.id === view.ego) : null;
    let center = home, angle = 0, scale;
    if (ego) {
      const first = ego.segments[0], end = ego.segments[ego.segments.length - 1];
      const state = stateAt(ego, Math.min(Math.max(frameNow(), first.start), end.end - 1));
      if (state) {
        center = state;
        angle = view.up === "ego" ? Math.PI / 2 - state.h : 0;
      }
      scale = Math.min(width, height) / view.span;
    } else {
      scale = Math.min(width / home.width, height / home.height);
    }
    return { x: center.x, y: center.y, angle, scale: scale * view.zoom };
  }

  function toWorld(cam, px, py, width, height) {
    const x = (px - width / 2 - view.dx) / cam.scale, y = -(py - height / 2 - view.dy) / cam.scale;
    const c = Math.cos(-cam.angle), s = Math.sin(-cam.angle);
    return { x: cam.x + c * x - s * y, y: cam.y + s * x + c * y };
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth || canvas.width, height = canvas.clientHeight || canvas.height;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const colors = palette();
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = colors.back;
    ctx.fillRect(0, 0, width, height);
    const cam = camera(width, height);
    ctx.translate(width / 2 + view.dx, height / 2 + view.dy);
    ctx.scale(cam.scale, -cam.scale);
    ctx.rotate(cam.angle);
    ctx.translate(-cam.x, -cam.y);
    const pixel = 1 / cam.scale;
    if (data.map) drawMap(ctx, data.map, colors, pixel);
    const frame = frameNow();
    drawFans(ctx, data.fans.get(Math.floor(frame)) || [], colors, pixel);
    const visible = [];
    for (const agent of data.agents) {
      const state = stateAt(agent, frame);
      if (state) visible.push([agent, state]);
    }
    visible.sort((a, b) => (a[0].role === "other" ? 0 : 1) - (b[0].role === "other" ? 0 : 1));
    for (const [agent, state] of visible) {
      const role = agent.id === view.ego && agent.role === "other" ? "ego" : agent.role;
      drawAgent(ctx, { ...agent, role }, state, colors, pixel);
    }
    const thought = thoughtAt(data, view.ego, frame);
    if (thought) {
      const [own] = visible.find(([agent]) => agent.id === view.ego) || [];
      const [agent, state] = visible.find(([other]) => other.id === thought.partner) || [];
      if (own) drawThought(ctx, thought, own, agent && { agent, state }, colors, pixel);
    }
    drawLabels(visible, cam, width, height, ratio, colors);
  }

  function drawLabels(visible, cam, width, height, ratio, colors) {
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.font = "600 13px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    for (const [agent, state] of visible) {
      const text = view.labels && agent.label ? agent.label : view.ids ? agent.id : "";
      if (!text) continue;
      const c = Math.cos(cam.angle), s = Math.sin(cam.angle), x = state.x - cam.x, y = state.y - cam.y;
      const px = width / 2 + view.dx + cam.scale * (c * x - s * y);
      const py = height / 2 + view.dy - cam.scale * (s * x + c * y);
      const offset = Math.max(10, (cam.scale * agent.length) / 2 + 4);
      ctx.lineWidth = 3;
      ctx.strokeStyle = colors.back;
      ctx.strokeText(text, px + offset, py);
      ctx.fillStyle = colors.text;
      ctx.fillText(text, px + offset, py);
    }
  }

  function emit(name, detail) {
    events.dispatchEvent(new CustomEvent(name, { detail }));
  }

  function tick(now) {
    handle = 0;
    if (!playing) return;
    time = Math.min(data.duration, time + (Math.min(250, now - last) / 1000) * speed);
    last = now;
    draw();
    emit("frame", { time });
    if (time >= data.duration) {
      playing = false;
      emit("ended", {});
      return;
    }
    handle = requestAnimationFrame(tick);
  }

  const player = {
    data, events, view, draw,
    get time() { return time; },
    get playing() { return playing; },
    get speed() { return speed; },
    set speed(value) { speed = value; },
    play() {
      if (playing) return;
      if (time >= data.duration) time = 0;
      playing = true;
      last = performance.now();
      handle = requestAnimationFrame(tick);
      emit("frame", { time });
    },
    pause() {
      playing = false;
      emit("frame", { time });
    },
    seek(to) {
      time = Math.min(data.duration, Math.max(0, to));
      draw();
      emit("frame", { time });
    },
    show(changes) {
      Object.assign(view, changes);
      draw();
    },
    pick(px, py) {
      const width = canvas.clientWidth, height = canvas.clientHeight;
      const at = toWorld(camera(width, height), px, py, width, height);
      let best = null, distance = Infinity;
      for (const agent of data.agents) {
        const state = stateAt(agent, frameNow());
        if (!state) continue;
        const d = Math.hypot(state.x - at.x, state.y - at.y);
        if (d < distance && d < Math.max(agent.length, 3)) [best, distance] = [{ agent, state }, d];
      }
      return best;
    },
    destroy() {
      playing = false;
      if (handle) cancelAnimationFrame(handle);
      observer.disconnect();
      dark.removeEventListener("change", draw);
    },
  };
  const observer = new ResizeObserver(draw);
  observer.observe(canvas);
  dark.addEventListener("change", draw);
  draw();
  return player;
}

function make(tag, attributes = {}, text = "") {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

function svg(tag, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.textContent = text;
  return element;
}

/** Bars of P(partner first | action) and the advantages of the actions with the threshold, side by side. */
function mindChart(thought) {
  const chart = svg("svg", { viewBox: "0 0 320 104", preserveAspectRatio: "xMinYMin", role: "img", "aria-label": thought.sentence });
  const count = thought.actions.length, step = 140 / count, middle = (i) => 14 + step * (i + 0.5);
  chart.append(svg("text", { x: 4, y: 10 }, `P(${thought.partner} first | action)`));
  chart.append(svg("text", { x: 172, y: 10 }, "advantage, threshold dashed"));
  const top = Math.max(thought.threshold * 1.3, ...thought.advantage), low = Math.min(0, ...thought.advantage);
  const height = (a) => 84 - (66 * (a - low)) / (top - low || 1);
  thought.actions.forEach((u, i) => {
    const p = thought.p[i] ?? 0, chosen = u !== 0 && u === thought.action;
    chart.append(svg("rect", { x: middle(i) - step * 0.35, y: 84 - 66 * p, width: step * 0.7, height: 66 * p, class: chosen ? "gw-chosen" : "gw-bar" }));
    for (const offset of [0, 164]) chart.append(svg("text", { x: middle(i) + offset, y: 98, "text-anchor": "middle" }, u > 0 ? `+${u}` : String(u).replace("-", "\u2212")));
    chart.append(svg("circle", { cx: middle(i) + 164, cy: height(thought.advantage[i]), r: chosen ? 4 : 2.5, class: chosen ? "gw-chosen" : "gw-bar" }));
  });
  chart.append(svg("polyline", { points: thought.advantage.map((a, i) => `${middle(i) + 164},${height(a)}`).join(" "), class: "gw-curve" }));
  chart.append(svg("line", { x1: 178, x2: 318, y1: height(thought.threshold), y2: height(thought.threshold), class: "gw-threshold" }));
  chart.append(svg("line", { x1: 14, x2: 154, y1: 84, y2: 84, class: "gw-axis" }), svg("line", { x1: 178, x2: 318, y1: height(0), y2: height(0), class: "gw-axis" }));
  return chart;
}

/** What the selected mind thinks now; hint until one is selected. */
function mindPanel(player) {
  const panel = make("div", { class: "gw-mind" }), line = make("p", { "aria-live": "polite" }), room = make("div");
  panel.append(line, room);
  let shown;
  const refresh = () => {
    const thought = thoughtAt(player.data, player.view.ego, player.time / player.data.dt);
    const key = thought || player.view.ego;
    if (key === shown) return;
    shown = key;
    const hint = player.data.minds.has(player.view.ego) ? `${player.view.ego} thinks about nobody now` : `click a car with a mind: ${[...player.data.minds.keys()].join(", ")}`;
    line.textContent = thought ? thought.sentence : hint;
    room.replaceChildren(...(thought ? [mindChart(thought)] : []));
  };
  for (const name of ["frame", "select", "ended"]) player.events.addEventListener(name, refresh);
  refresh();
  return panel;
}

function bindPointer(player, canvas, stage, tip) {
  const { view } = player;
  let drag = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const factor = Math.exp(-event.deltaY * 0.0015);
    const px = event.offsetX - canvas.clientWidth / 2, py = event.offsetY - canvas.clientHeight / 2;
    const zoom = Math.min(40, Math.max(0.2, view.zoom * factor));
    const ratio = zoom / view.zoom;
    player.show({ zoom, dx: px - (px - view.dx) * ratio, dy: py - (py - view.dy) * ratio });
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, dx: view.dx, dy: view.dy, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      drag.moved ||= Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 4;
      if (drag.moved) player.show({ dx: drag.dx + event.clientX - drag.x, dy: drag.dy + event.clientY - drag.y });
      return;
    }
    const hit = player.pick(event.offsetX, event.offsetY);
    tip.hidden = !hit;
    if (!hit) return;
    const speed = hit.state.dx === null ? "" : `\n${(Math.hypot(hit.state.dx, hit.state.dy) / player.data.dt).toFixed(1)} m/s`;
    tip.textContent = `${hit.agent.label || hit.agent.id} (${hit.agent.kind.replaceAll("_", " ")})${speed}`;
    tip.style.left = `${Math.min(event.offsetX + 14, stage.clientWidth - 130)}px`;
    tip.style.top = `${event.offsetY + 14}px`;
  });
  canvas.addEventListener("pointerup", (event) => {
    const clicked = drag && !drag.moved;
    drag = null;
    if (!clicked) return;
    const hit = player.pick(event.offsetX, event.offsetY);
    player.show({ ego: hit ? hit.agent.id : player.data.ego });
    player.events.dispatchEvent(new CustomEvent("select", { detail: { id: hit ? hit.agent.id : null } }));
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
}

/** A player with controls: play, scrub, speed, frame, labels; keyboard: space, arrows, Home, End, F, L, M (next mind). */
export function mountPlayer(element, replay, options = {}) {
  element.classList.add("giveway-player");
  const stage = make("div", { class: "gw-stage" });
  const canvas = make("canvas", { role: "img", "aria-label": "Top view of traffic", tabindex: "0" });
  const tip = make("div", { class: "gw-tip" });
  tip.hidden = true;
  stage.append(canvas, tip);
  if (replay.title) element.append(make("div", { class: "gw-title" }, replay.title));
  element.append(stage);
  let player;
  try {
    player = createPlayer(canvas, replay, options);
  } catch (error) {
    element.append(make("p", { class: "gw-error", role: "alert" }, String(error.message || error)));
    return null;
  }
  const { data, view } = player;
  const play = make("button", { type: "button" }, "Play");
  const scrub = make("input", { type: "range", min: "0", max: String(data.frames - 1), step: "1", value: "0", "aria-label": "Time" });
  const marks = make("div", { class: "gw-marks", "aria-hidden": "true" });
  const clock = make("span", { class: "gw-time" });
  const rate = make("select", { "aria-label": "Speed" });
  for (const value of [0.25, 0.5, 1, 2, 4]) rate.append(make("option", { value: String(value), ...(value === player.speed && { selected: "" }) }, `${value}×`));
  const frame = make("button", { type: "button", "aria-pressed": String(view.frame === "ego"), title: "Follow the selected road user (click one to select it)" }, "Follow");
  const labels = make("button", { type: "button", "aria-pressed": String(view.ids) }, "Labels");
  const reset = make("button", { type: "button" }, "Reset view");
  for (const event of data.events) {
    const mark = make("span", { "data-kind": event.kind, title: `${event.time.toFixed(1)} s ${event.label}` });
    mark.style.left = `${Math.min(100, Math.max(0, (100 * (event.time - data.start)) / (data.duration || 1)))}%`;
    marks.append(mark);
  }
  const slider = make("div", { class: "gw-scrub" });
  slider.append(scrub, marks);
  const controls = make("div", { class: "gw-controls" });
  controls.append(play, slider, clock, rate, frame, labels, reset);
  element.append(controls);
  if (data.minds.size) element.append(mindPanel(player));

  const toggle = () => (player.playing ? player.pause() : player.play());
  const follow = () => {
    const next = view.frame === "ego" ? "map" : "ego";
    player.show({ frame: next, ego: view.ego ?? data.agents[0]?.id ?? null, zoom: 1, dx: 0, dy: 0 });
    frame.setAttribute("aria-pressed", String(next === "ego"));
  };
  const showIds = () => {
    player.show({ ids: !view.ids });
    labels.setAttribute("aria-pressed", String(view.ids));
  };
  const nextMind = () => {
    const ids = [...data.minds.keys()];
    if (!ids.length) return;
    player.show({ ego: ids[(ids.indexOf(view.ego) + 1) % ids.length] });
    player.events.dispatchEvent(new CustomEvent("select", { detail: { id: view.ego } }));
  };
  const step = (frames) => { player.pause(); player.seek(player.time + frames * data.dt); };
  const refresh = () => {
    play.textContent = player.playing ? "Pause" : "Play";
    scrub.value = String(Math.round(player.time / data.dt));
    clock.textContent = `${(data.start + player.time).toFixed(1)} s of ${(data.start + data.duration).toFixed(1)} s`;
  };
  play.addEventListener("click", toggle);
  frame.addEventListener("click", follow);
  labels.addEventListener("click", showIds);
  reset.addEventListener("click", () => player.show({ zoom: 1, dx: 0, dy: 0 }));
  rate.addEventListener("change", () => { player.speed = Number(rate.value); });
  scrub.addEventListener("input", () => player.seek(Number(scrub.value) * data.dt));
  player.events.addEventListener("frame", refresh);
  player.events.addEventListener("ended", refresh);
  const keys = { " ": toggle, ArrowRight: () => step(1), ArrowLeft: () => step(-1), Home: () => player.seek(0), End: () => player.seek(data.duration), f: follow, l: showIds, m: nextMind };
  element.addEventListener("keydown", (event) => {
    if (event.target !== canvas && event.target !== element) return;
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  if (!options.fixed) bindPointer(player, canvas, stage, tip);
  refresh();
  return player;
}
