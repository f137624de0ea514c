// One replay on one canvas: camera, clock, who is where. The controls are in player.js; clips of a study use this alone.
//
//   createPlayer(canvas, replay, options)  bare canvas: play, pause, seek, events
//
// Options: frame "auto" (encounter, else the ego, else everything) | "ego" | "map", span (meters across the shorter side in the
// ego frame), up "north" | "ego", theme "light" | "dark" (the page's without it), labels true | false, speed (1), fixed true
// (no zoom, pan, selection, scale bar, ghosts).
import { readReplay, stateAt, thoughtAt, CLIP_AFTER_S, CLIP_BEFORE_S } from "./replay.js";
import { createRoad, drawAgent, drawBeyond, drawCross, drawFan, drawScaleBar, drawText, drawThought, makeView, readColors } from "./scene.js";

/** The camera stands still during these seconds around the event, if cars are large enough then. */
const STILL_S = [-2, 0.5];
const CAR_PX = 36, MIN_PX_PER_M = 8.5, MAX_PX_PER_M = 24;

/** From when to when a replay is about its event, as seconds since its start; all of it without one. */
export function clipOf(data) {
  const encounter = data.focus || data.encounter;
  if (!encounter) return [0, data.duration];
  const zero = encounter.time - data.start;
  return [Math.max(0, zero - CLIP_BEFORE_S), Math.min(data.duration, zero + CLIP_AFTER_S)];
}

function grow(box, xs, ys, from = 0, to = xs.length - 1) {
  for (let i = from; i <= to; i++) {
    if (Number.isNaN(xs[i])) continue;
    box.x0 = Math.min(box.x0, xs[i]); box.x1 = Math.max(box.x1, xs[i]);
    box.y0 = Math.min(box.y0, ys[i]); box.y1 = Math.max(box.y1, ys[i]);
  }
}

/** Where the camera stands: around everything, and around ego, its ghost and the car it meets around the event. */
function places(data) {
  const none = () => ({ x0: Infinity, x1: -Infinity, y0: Infinity, y1: -Infinity });
  const done = (box, margin) => (box.x0 > box.x1 ? { x: 0, y: 0, width: 50, height: 50 }
    : { x: (box.x0 + box.x1) / 2, y: (box.y0 + box.y1) / 2, width: box.x1 - box.x0 + margin, height: box.y1 - box.y0 + margin });
  const all = none(), near = none();
  if (data.map) for (const p of [...data.map.lanes, ...data.map.lines]) grow(all, p.x, p.y);
  for (const agent of data.agents) grow(all, agent.x, agent.y);
  const ego = data.byId.get(data.ego), focus = data.focus || data.encounter;
  const frame = (t) => Math.min(data.frames - 1, Math.max(0, Math.round((focus.time + t - data.start) / data.dt)));
  if (!ego || !focus) return { all: done(all, 8), near: null };
  for (const who of [ego, ego.recorded, data.partner]) if (who) grow(near, who.x, who.y, frame(STILL_S[0]), frame(STILL_S[1]));
  return { all: done(all, 8), near: done(near, 11) };
}

/** Something that runs: time in seconds from 0 to an end. Emits "frame" and "ended". */
export function createClock(range, events, draw) {
  let time = range[0], last = 0, handle = 0;
  const emit = (name) => events.dispatchEvent(new CustomEvent(name, { detail: { time } }));
  function tick(now) {
    handle = 0;
    if (!clock.playing) return;
    time = Math.min(clock.range[1], time + (Math.min(250, Math.max(0, now - last)) / 1000) * clock.speed);
    last = now;
    draw();
    emit("frame");
    if (time >= clock.range[1]) {
      clock.playing = false;
      emit("ended");
      return;
    }
    handle = requestAnimationFrame(tick);
  }
  const clock = {
    range, speed: 1, playing: false,
    get time() { return time; },
    play() {
      if (clock.playing) return;
      if (time >= clock.range[1] - 1e-9) time = clock.range[0];
      clock.playing = true;
      last = performance.now();
      handle = requestAnimationFrame(tick);
      emit("frame");
    },
    pause() { clock.playing = false; emit("frame"); },
    seek(to) {
      time = Math.min(clock.range[1], Math.max(clock.range[0], to));
      draw();
      emit("frame");
    },
    stop() { clock.playing = false; if (handle) cancelAnimationFrame(handle); },
  };
  return clock;
}

/** Draws a read replay at any time. `view` holds what can be switched; `redraw` is called when size or theme changes. */
export function createStage(canvas, data, options = {}, redraw = () => {}) {
  const ctx = canvas.getContext("2d"), home = places(data), road = createRoad(data.map);
  const ego = data.byId.get(data.ego) || null;
  const view = {
    frame: options.frame || (options.fixed && ego ? "ego" : "auto"), up: options.up || "north", span: options.span || 0,
    theme: options.theme || null, labels: options.labels ?? true, ids: options.ids ?? false,
    human: !options.fixed, predictions: true, plan: true, selected: null, zoom: 1, dx: 0, dy: 0,
  };
  let colors = null, shown = null;
  const fresh = () => { colors = null; redraw(); };
  const print = (event) => { colors = event.type === "beforeprint" ? readColors(canvas, "light") : null; redraw(); };

  const clampTo = (wanted, must, room) => Math.min(must + Math.max(room, 0), Math.max(must - Math.max(room, 0), wanted));

  /** Fixed around the encounter if cars are large enough, else between ego and partner; never without the ego. */
  function camera(frame, w, h) {
    const who = (view.selected && view.frame === "ego" && data.byId.get(view.selected)) || ego;
    const state = who && lastState(who, frame);
    const least = who ? Math.max(MIN_PX_PER_M, CAR_PX / Math.max(2, who.vulnerable ? 4.5 : who.length)) : MIN_PX_PER_M;
    const place = view.frame === "map" || !who ? home.all : home.near;
    let { x, y } = home.all, px = Math.min(w / home.all.width, h / home.all.height);
    let angle = 0;
    if (view.frame === "ego" && state) {
      ({ x, y } = state);
      px = view.span ? Math.min(w, h) / view.span : Math.max(least, Math.min(w, h) / 45);
      angle = view.up === "ego" ? Math.PI / 2 - state.h : 0;
    } else if (view.frame === "auto" && state) {
      const fit = place ? Math.min(w / place.width, h / place.height) : Math.min(w, h) / 45;
      px = Math.min(MAX_PX_PER_M, Math.max(least, fit));
      const other = data.partner && stateAt(data.partner, frame);
      ({ x, y } = place && px <= fit + 1e-9 ? place : other ? { x: (state.x + other.x) / 2, y: (state.y + other.y) / 2 } : state);
      x = clampTo(x, state.x, w / px / 2 - 7);
      y = clampTo(y, state.y, h / px / 2 - 6);
    }
    px *= view.zoom;
    const c = Math.cos(angle), s = Math.sin(angle), u = view.dx / px, v = view.dy / px;
    return makeView(x - c * u + s * v, y + s * u + c * v, angle, px, w, h);
  }

  /** Where somebody is, or was when last or first seen. */
  function lastState(agent, frame) {
    const now = stateAt(agent, frame);
    if (now) return now;
    for (let i = Math.min(agent.x.length - 1, Math.floor(frame)); i >= 0; i--) if (!Number.isNaN(agent.x[i])) return stateAt(agent, i);
    const first = agent.x.findIndex((x) => !Number.isNaN(x));
    return first < 0 ? null : stateAt(agent, first);
  }

  const handed = (agent, frame) => agent.handedOver !== undefined && frame >= agent.handedOver;
  const paced = (text, state) => (Number.isNaN(state.v) ? text : `${text} ${state.v.toFixed(1)} m/s`);
  const roleOf = (agent) => (agent.role === "other" && agent.id === data.ego ? "ego" : agent.role);

  function label(agent, state, cam) {
    const role = roleOf(agent), [x, y] = cam.at(state.x, state.y);
    const main = !options.fixed && (role === "ego" || agent === data.partner);
    const name = role === "ego" && agent.id === data.ego && !options.fixed ? agent.label || "ego" : agent.label || agent.id;
    const color = role === "ego" ? colors.ego : role === "prio" ? colors.prio : colors["ink-2"];
    if (x < -4 || y < -4 || x > cam.w + 4 || y > cam.h + 4) {
      if (main) {
        const away = ego && agent !== ego ? stateAt(ego, shown.frame) : null;
        const far = away ? `, ${Math.round(Math.hypot(away.x - state.x, away.y - state.y))} m` : "";
        drawBeyond(ctx, cam, x, y, paced(name, state) + far, color, colors.verge);
      }
      return;
    }
    const text = main ? paced(name, state) : view.labels && agent.label ? agent.label : view.ids || agent.id === view.selected ? agent.id : "";
    if (!text) return;
    const reach = (Math.abs(Math.sin(state.h + cam.angle)) * agent.length + Math.abs(Math.cos(state.h + cam.angle)) * agent.width) / 2 * cam.px;
    const below = role === "ego";
    drawText(ctx, text, x, below ? y + reach + 16 : y - reach - 6, { color: options.fixed ? colors.ink : color, halo: colors.road, bold: main || options.fixed });
  }

  function draw(time) {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const w = canvas.clientWidth || canvas.width, h = canvas.clientHeight || canvas.height;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    colors ||= readColors(canvas, view.theme);
    const frame = Math.min(data.frames - 1, Math.max(0, time / data.dt)), cam = camera(frame, w, h);
    shown = { cam, frame };
    road(ctx, cam, colors, ratio);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const visible = [];
    for (const agent of data.agents) {
      const state = stateAt(agent, frame);
      if (state) visible.push([agent, state]);
    }
    const rank = ([agent]) => ({ other: 0, prio: 1, ego: 2 }[roleOf(agent)]);
    visible.sort((a, b) => rank(a) - rank(b));
    for (const fan of data.fans.get(Math.floor(frame + 1e-6)) || []) {
      if (!(fan.kind === "plan" ? view.plan : view.predictions)) continue;
      const agent = data.byId.get(fan.agent), state = agent && stateAt(agent, frame);
      if (state) drawFan(ctx, cam, fan, state, agent, colors);
    }
    for (const [agent, state] of visible) {
      drawAgent(ctx, cam, agent, state, colors, { role: roleOf(agent), handed: handed(agent, frame), thinks: data.minds.has(agent.id), selected: agent.id === view.selected });
    }
    for (const agent of data.agents) {
      if (!agent.recorded || !(agent.id === view.selected || (view.human && agent.id === data.ego))) continue;
      const ghost = stateAt(agent.recorded, frame);
      if (ghost) drawAgent(ctx, cam, agent, ghost, colors, { role: "ghost" });
    }
    const thinker = data.minds.has(view.selected) ? view.selected : data.ego, thought = thoughtAt(data, thinker, frame);
    if (thought) {
      const [agent, state] = visible.find(([other]) => other.id === thought.partner) || [];
      drawThought(ctx, cam, thought, data.byId.get(thinker), agent && { agent, state }, colors);
    }
    for (const [agent, state] of visible) label(agent, state, cam);
    if (options.fixed) return;
    const { encounter } = data;
    if (encounter && encounter.kind === "contact" && ego && data.start + time >= encounter.time - 1e-6) {
      const at = (who) => lastState(who, (encounter.time - data.start) / data.dt), met = data.byId.get(encounter.partner), a = at(ego), b = met && at(met);
      if (a) drawCross(ctx, ...cam.at(b ? (a.x + b.x) / 2 : a.x, b ? (a.y + b.y) / 2 : a.y), 11, colors);
    }
    drawScaleBar(ctx, cam, colors);
  }

  function pick(px, py) {
    if (!shown) return null;
    const at = shown.cam.world(px, py);
    let best = null, distance = Infinity;
    for (const agent of data.agents) {
      const state = stateAt(agent, shown.frame);
      if (!state) continue;
      const d = Math.hypot(state.x - at.x, state.y - at.y);
      if (d < distance && d < Math.max(agent.length, 3)) [best, distance] = [{ agent, state }, d];
    }
    return best;
  }

  const dark = window.matchMedia("(prefers-color-scheme: dark)"), size = new ResizeObserver(() => redraw()), theme = new MutationObserver(fresh);
  size.observe(canvas);
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  dark.addEventListener("change", fresh);
  for (const name of ["beforeprint", "afterprint"]) window.addEventListener(name, print);
  function destroy() {
    size.disconnect();
    theme.disconnect();
    dark.removeEventListener("change", fresh);
    for (const name of ["beforeprint", "afterprint"]) window.removeEventListener(name, print);
  }
  return { data, view, draw, pick, destroy, get scale() { return shown ? shown.cam.px : 0; }, where: (id) => { const s = stateAt(data.byId.get(id), shown.frame); return s && shown.cam.at(s.x, s.y); } };
}

/** A player on a bare canvas. Emits "frame" and "ended" on `events`; time counts from the start of the replay. */
export function createPlayer(canvas, replay, options = {}) {
  const data = readReplay(replay), events = new EventTarget();
  const stage = createStage(canvas, data, options, () => stage && clock && stage.draw(clock.time));
  const clock = createClock([0, data.duration], events, () => stage.draw(clock.time));
  clock.speed = options.speed || 1;
  stage.draw(0);
  return Object.assign(clock, { data, events, view: stage.view, draw: () => stage.draw(clock.time), destroy() { clock.stop(); stage.destroy(); } });
}
