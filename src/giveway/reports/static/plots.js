// Timeline, plots and the mind of a driver: own SVG at one unit per CSS pixel, drawn again when the width changes; a frame moves cursors only.
import { CRITICAL_TTC_S, thoughtAt } from "./replay.js";

export function make(tag, attributes = {}, text = "") {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== "") element.textContent = text;
  return element;
}

export function svg(tag, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== "") element.textContent = text;
  return element;
}

/** −1.4, 0.0, +0.6 */
export const signed = (v, digits = 1) => {
  const text = Math.abs(v).toFixed(digits);
  return Number(text) === 0 ? text : `${v < 0 ? "−" : "+"}${text}`;
};

const linear = (a, b, x0, x1) => (v) => x0 + ((v - a) / (b - a || 1)) * (x1 - x0);

function niceStep(span, count) {
  const raw = span / count, power = 10 ** Math.floor(Math.log10(raw));
  return power * [1, 2, 5, 10].find((m) => m * power >= raw - 1e-12);
}

/** Seconds to label between two relative times. */
function seconds(from, to, width) {
  const step = Math.max(1, niceStep(to - from, Math.max(2, width / 64))), list = [];
  for (let t = Math.ceil(from / step - 1e-9) * step; t <= to + 1e-9; t += step) list.push(Math.round(t * 1000) / 1000);
  return list;
}

/** Redraws into an element whenever its width changes, and puts the cursor where it was. */
function live(element, draw, put) {
  let width = 0, time = null;
  const go = () => {
    const now = Math.round(element.clientWidth);
    if (!now || now === width) return;
    width = now;
    draw(now);
    if (time !== null) put(time);
  };
  const observer = new ResizeObserver(go);
  observer.observe(element);
  go();
  return { again() { width = 0; go(); }, stop: () => observer.disconnect(), move(to) { time = to; put(to); } };
}

const NAMES = { contact: "contact", handover: "hand-over", deadlock: "deadlock", guard: "guard", fallback: "fallback", emergency: "emergency", stop: "stops", decision: "decision", note: "" };

/** Name of an event on the timeline. */
export const eventName = (event) => NAMES[event.kind] ?? event.kind;

function eventMark(kind, x, y) {
  if (kind === "contact") return svg("path", { d: `M${x - 5} ${y - 5}l10 10m0-10l-10 10`, class: "gw-cross" });
  if (kind === "handover") return svg("rect", { x: x - 4.5, y: y - 4.5, width: 9, height: 9, class: "gw-handover" });
  if (kind === "guard" || kind === "emergency") return svg("path", { d: `M${x} ${y - 6}l6 10h-12z`, class: "gw-warning" });
  return svg("circle", { cx: x, cy: y, r: kind === "note" ? 3 : 4.5, class: kind === "note" ? "gw-note" : "gw-dot" });
}

/** One row of events per drive under one axis, with the cursor. Options: rows() -> [{tag, events}], range() and zero() in seconds of the recording, eventText() */
export function createTimeline(element, { rows, range, zero, zeroName }) {
  let scale = null, cursor = null, text = null, right = 0;
  const draw = (width) => {
    const list = rows(), [from, to] = range(), left = list.length > 1 ? 22 : 8, height = 24 + list.length * 22;
    right = width;
    scale = linear(from, to, left, width - 16);
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" });
    for (const t of seconds(from - zero(), to - zero(), width)) {
      const x = scale(t + zero());
      root.append(svg("line", { class: "gw-axis", x1: x, x2: x, y1: 6, y2: height - 20 }));
      const name = t === 0 && zeroName() ? zeroName() : `${signed(t, 0)} s`;
      root.append(svg("text", { class: "gw-dim", x: Math.min(Math.max(x, 14), width - 20), y: height - 4, "text-anchor": "middle" }, name));
    }
    list.forEach(({ tag, events }, i) => {
      const y = 16 + i * 22, inside = events.filter((e) => e.time >= from - 1e-6 && e.time <= to + 1e-6);
      root.append(svg("line", { class: "gw-rail", x1: left, x2: width - 16, y1: y, y2: y }));
      if (tag) root.append(svg("text", { class: "gw-b", x: 0, y: y + 4 }, tag));
      let taken = -Infinity;
      inside.forEach((event, k) => {
        const x = scale(event.time), mark = svg("g"), next = k + 1 < inside.length ? scale(inside[k + 1].time) : width;
        mark.append(eventMark(event.kind, x, y), svg("title", {}, `${signed(event.time - zero())} s ${event.label}`));
        const name = eventName(event), room = name.length * 6.8;
        if (name && x + 8 >= taken && x + 8 + room < next - 6) {
          mark.append(svg("text", { class: "gw-halo", x: x + 9, y: y + 4 }, name));
          taken = x + 8 + room;
        }
        root.append(mark);
      });
    });
    cursor = svg("g", { class: "gw-cursor" });
    text = svg("text", { class: "gw-b gw-halo", y: 9 });
    cursor.append(svg("line", { y1: 0, y2: height - 18 }), svg("path", { d: "M-6 0h12l-6 8z" }), text);
    root.append(cursor);
    element.replaceChildren(root);
  };
  const size = live(element, draw, put);
  function put(time) {
    if (!cursor) return;
    const x = scale(time), isRight = x > right - 70;
    cursor.setAttribute("transform", `translate(${x.toFixed(2)} 0)`);
    text.textContent = `${signed(time - zero())} s`;
    text.setAttribute("x", isRight ? -9 : 9);
    text.setAttribute("text-anchor", isRight ? "end" : "start");
  }
  return {
    ...size,
    timeAt(clientX) {
      const box = element.getBoundingClientRect(), [from, to] = range(), x0 = scale(from), x1 = scale(to);
      return from + Math.min(1, Math.max(0, (clientX - box.left - x0) / (x1 - x0))) * (to - from);
    },
  };
}

export const KINDS = [
  { key: "speed", title: "Speed", unit: "m/s", low: 0, top: 4, cruise: true },
  { key: "acceleration", title: "Acceleration", unit: "m/s²", around: 2 },
  { key: "gap", title: "Gap", unit: "m, body to body", low: 0, top: 4, most: 30 },
  { key: "ttc", title: "Time to collision", unit: "s, constant velocity", low: 0, top: 6, most: 6, critical: CRITICAL_TTC_S },
];

/** One plot. lines() -> [{name, values, data, style}], sampled at data.start + i data.dt; range and zero as in the timeline. */
export function createPlot(element, kind, { lines, range, zero, cruise }) {
  let scale = null, height = 150, y = null, cursor = null, dots = [];
  const at = (line, time) => {
    const f = (time - line.data.start) / line.data.dt, i = Math.floor(f + 1e-9), j = Math.min(line.values.length - 1, i + 1), share = Math.max(0, f - i);
    const a = line.values[i], b = line.values[j];
    return a === undefined ? NaN : share < 1e-6 ? a : a + share * (b - a);
  };
  const draw = (width) => {
    const [from, to] = range(), list = lines(), left = 34, right = 50;
    const seen = list.flatMap((line) => [...line.values].filter((v, i) => { const t = line.data.start + i * line.data.dt; return Number.isFinite(v) && t >= from - 1e-9 && t <= to + 1e-9; }));
    const extra = kind.cruise && cruise() ? [cruise()] : [];
    let top = Math.max(kind.top || 0, ...seen, ...extra), low = kind.low ?? Math.min(0, ...seen);
    if (kind.around) [low, top] = [Math.min(-kind.around, low), Math.max(kind.around, top)];
    top = Math.min(top, kind.most || Infinity);
    const step = niceStep(top - low, 3);
    [low, top] = [Math.floor(low / step + 1e-9) * step, Math.ceil(top / step - 1e-9) * step];
    scale = linear(from, to, left, width - right);
    y = linear(low, top, height - 22, 8);
    y.top = top;
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": `${kind.title} over time` });
    if (kind.critical) {
      root.append(svg("rect", { class: "gw-critical", x: left, width: width - right - left, y: y(kind.critical), height: y(0) - y(kind.critical) }));
      root.append(svg("line", { class: "gw-bound", x1: left, x2: width - right, y1: y(kind.critical), y2: y(kind.critical) }), svg("text", { class: "gw-dim gw-halo", x: left + 4, y: y(kind.critical) - 4 }, `${kind.critical} s`));
    }
    for (let v = low; v <= top + 1e-9; v += step) {
      root.append(svg("line", { class: "gw-grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }));
      root.append(svg("text", { class: "gw-dim", x: left - 6, y: y(v) + 4, "text-anchor": "end" }, String(+v.toFixed(2)).replace("-", "−")));
    }
    for (const t of seconds(from - zero(), to - zero(), width - left - right)) root.append(svg("text", { class: "gw-dim", x: scale(t + zero()), y: height - 5, "text-anchor": "middle" }, signed(t, 0)));
    if (zero() >= from && zero() <= to) root.append(svg("line", { class: "gw-ref", x1: scale(zero()), x2: scale(zero()), y1: 8, y2: height - 22 }));
    const ends = [];
    if (kind.cruise && cruise()) {
      root.append(svg("line", { class: "gw-cruise", x1: left, x2: width - right, y1: y(cruise()), y2: y(cruise()) }));
      ends.push({ name: "cruise", y: y(cruise()) });
    }
    for (const line of list) {
      let d = "", pen = false, last = NaN;
      for (let i = 0; i < line.values.length; i++) {
        const t = line.data.start + i * line.data.dt, v = line.values[i];
        if (!(v <= top + 1e-9) || t < from - 1e-9 || t > to + 1e-9) { pen = false; continue; }
        d += `${pen ? "L" : "M"}${scale(t).toFixed(1)} ${y(v).toFixed(1)}`;
        pen = true;
        last = v;
      }
      root.append(svg("path", { class: line.style, d, fill: "none" }));
      if (!Number.isNaN(last)) ends.push({ name: line.name, y: y(last), tag: line.tag });
    }
    ends.sort((a, b) => a.y - b.y);
    for (let i = 1; i < ends.length; i++) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + 16);
    const over = ends.length ? Math.max(0, ends[ends.length - 1].y - (height - 24)) : 0;
    for (const end of ends) {
      const x = width - right + 6;
      if (end.tag) root.append(svg("circle", { class: "gw-dot", cx: x + 8, cy: end.y - over, r: 8 }), svg("text", { class: "gw-tagged", x: x + 8, y: end.y - over + 4, "text-anchor": "middle" }, end.tag));
      else root.append(svg("text", { class: "gw-dim", x, y: end.y - over + 4 }, end.name));
    }
    cursor = svg("line", { class: "gw-cursor", x1: 0, x2: 0, y1: 4, y2: height - 20 });
    dots = list.map((line) => svg("circle", { r: 4, class: line.style === "gw-human" ? "gw-hollow" : "gw-dot" }));
    root.append(cursor, ...dots);
    element.replaceChildren(root);
  };
  function put(time) {
    if (!cursor) return;
    const x = scale(time).toFixed(2);
    cursor.setAttribute("transform", `translate(${x} 0)`);
    lines().forEach((line, k) => {
      const v = at(line, time), isShown = v <= y.top + 1e-9;
      if (!dots[k]) return;
      dots[k].style.display = isShown ? "" : "none";
      if (isShown) dots[k].setAttribute("transform", `translate(${x} ${y(v).toFixed(2)})`);
    });
  }
  return live(element, draw, put);
}

/** Bars of P(partner first | action) and the advantages of the actions with the threshold, side by side. */
function mindChart(thought) {
  const width = 440, chart = svg("svg", { viewBox: `0 0 ${width} 132`, role: "img", "aria-label": thought.sentence });
  const half = 200, gap = 40, count = thought.actions.length, step = half / count, middle = (i) => step * (i + 0.5);
  chart.append(svg("text", { x: 0, y: 12, class: "gw-dim" }, `P(${thought.partner} first | action)`), svg("text", { x: half + gap, y: 12, class: "gw-dim" }, "advantage, threshold dashed"));
  const top = Math.max(thought.threshold * 1.3, ...thought.advantage), low = Math.min(0, ...thought.advantage);
  const height = (a) => 106 - (82 * (a - low)) / (top - low || 1);
  chart.append(svg("polyline", { points: thought.advantage.map((a, i) => `${middle(i) + half + gap},${height(a)}`).join(" "), class: "gw-curve" }));
  thought.actions.forEach((u, i) => {
    const p = thought.p[i] ?? 0, chosen = u !== 0 && u === thought.action;
    chart.append(svg("rect", { x: middle(i) - step * 0.35, y: 106 - 82 * p, width: step * 0.7, height: 82 * p, class: chosen ? "gw-chosen" : "gw-bar" }));
    for (const offset of [0, half + gap]) chart.append(svg("text", { x: middle(i) + offset, y: 124, "text-anchor": "middle" }, u > 0 ? `+${u}` : String(u).replace("-", "−")));
    chart.append(svg("circle", { cx: middle(i) + half + gap, cy: height(thought.advantage[i]), r: chosen ? 5 : 3.5, class: chosen ? "gw-chosen" : "gw-bar" }));
  });
  for (const [x, at, name] of [[0, 106, "gw-base"], [half + gap, height(0), "gw-base"], [half + gap, height(thought.threshold), "gw-threshold"]]) chart.append(svg("line", { x1: x, x2: x + half, y1: at, y2: at, class: name }));
  return chart;
}

/** What the selected mind thinks at a time; a hint until one is selected. */
export function createMind(element, data, selected) {
  const line = make("p", { "aria-live": "polite" }), room = make("div", { class: "gw-thought" });
  element.append(make("h3", {}, "Mind"), line, room);
  let shown;
  return {
    move(time) {
      const id = data.minds.has(selected()) ? selected() : data.minds.has(data.ego) ? data.ego : null;
      const thought = id && thoughtAt(data, id, (time - data.start) / data.dt), key = thought || String(id);
      if (key === shown) return;
      shown = key;
      line.textContent = thought ? thought.sentence : id ? `${id} thinks about nobody now` : `click a car with a mind: ${[...data.minds.keys()].join(", ")}`;
      room.replaceChildren(...(thought ? [mindChart(thought)] : []));
    },
  };
}
