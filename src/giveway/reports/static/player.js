// A replay for people: one or two drives on one clock, with legend, timeline, plots, keyboard and sentences. No dependencies, no network.
//
//   mountPlayer(element, replay, options)  replay: one document, or {"drives": [documents]} of the same case
//
// Options: those of stage.js, and rivals [{name, load}] (further drives of the case; load() resolves to a document),
// start (seconds after the event at which the replay opens).
//
// Keys: space, arrows (shift: a second), Home, End, E (event), [ and ] (events), W (whole drive), F (follow), L (labels),
// H, P, N (human, predictions, plan), M (next mind), + - 0 (zoom).
import { focusedOn, readReplay, seriesOf, stateAt } from "./replay.js";
import { clipOf, createClock, createStage } from "./stage.js";
import { createMind, createPlot, createTimeline, eventName, KINDS, make, signed, svg } from "./plots.js";

/** A document, or several; the map of the first serves those that leave it out. */
function documentsOf(replay) {
  if (!replay || !replay.drives) return [replay];
  const [first] = replay.drives;
  return replay.drives.map((one) => (one.map === undefined ? { ...one, map: first.map } : one));
}

function icon(...parts) {
  const root = svg("svg", { viewBox: "0 0 34 14", "aria-hidden": "true" });
  root.append(...parts);
  return root;
}

const body = (name) => svg("rect", { x: 4, y: 1, width: 26, height: 12, rx: 3, class: name });

/** What is to be seen in these drives, and the switch that hides it, if there is one. */
function legendOf(all) {
  const entries = [], agents = all.flatMap((data) => data.agents), names = Object.assign({}, ...all.map((data) => data.roleNames));
  const roleOf = (data, agent) => (agent.role === "other" && agent.id === data.ego ? "ego" : agent.role);
  const roles = new Set(all.flatMap((data) => data.agents.map((agent) => roleOf(data, agent))));
  const drivers = [...new Set(agents.filter((a) => a.role === "other" && a.driver && a.driver !== "ego" && a.driver !== "replay").map((a) => a.driver))].sort();
  const others = agents.filter((a) => a.role === "other" && !a.vulnerable);
  if (roles.has("ego")) entries.push([names.ego || "ego", icon(body("gw-ego"), svg("rect", { x: 9, y: 6, width: 9, height: 2.4, class: "gw-roof" }))]);
  if (roles.has("prio")) entries.push([names.prio || "car it meets", icon(body("gw-prio"))]);
  if (others.length) entries.push([drivers.length ? `others (${drivers.join(", ")}${others.some((a) => a.driver === "replay") ? ", replay" : ""})` : roles.has("ego") ? "others" : "vehicles", icon(body("gw-car"))]);
  if (agents.some((a) => a.handedOver !== undefined)) entries.push(["handed over: driven, no longer replayed", icon(body("gw-handed"))]);
  if (agents.some((a) => a.vulnerable)) entries.push(["pedestrian or cyclist", icon(svg("circle", { cx: 17, cy: 7, r: 5.5, class: "gw-car" }))]);
  if (all.some((data) => data.minds.size)) entries.push(["has a mind: click it", icon(body("gw-car"), svg("circle", { cx: 15, cy: 7, r: 2.6, class: "gw-roof" }))]);
  if (all.some((data) => (data.byId.get(data.ego) || {}).recorded)) entries.push(["recorded human", icon(body("gw-ghost")), "human"]);
  const fans = all.flatMap((data) => [...data.fans.values()].flat());
  if (fans.some((fan) => fan.kind === "prediction")) entries.push(["prediction, dot every 0.5 s, ring: stands still", icon(svg("path", { d: "M2 7h24M2 7l24-5M2 7l24 5", class: "gw-pred" }), svg("circle", { cx: 29, cy: 7, r: 3.5, class: "gw-pred" })), "predictions"]);
  if (fans.some((fan) => fan.kind === "plan")) entries.push(["plan", icon(svg("path", { d: "M2 7h30", class: "gw-plan" })), "plan"]);
  return entries;
}

const nameOf = (data, id) => (id === data.ego ? "ego" : /^\d/.test(id) ? `${(data.byId.get(id) || {}).vulnerable ? "pedestrian or cyclist" : "car"} ${id}` : id);
const known = (v) => Number.isFinite(v);

function bindPointer(player, canvas, stage, tip) {
  const { view } = stage;
  let drag = null;
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return; // the page scrolls
    event.preventDefault();
    player.zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX - canvas.clientWidth / 2, event.offsetY - canvas.clientHeight / 2);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, dx: view.dx, dy: view.dy, moved: false };
    if (event.pointerType === "mouse") canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag && event.pointerType === "mouse") {
      drag.moved ||= Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 4;
      if (drag.moved) player.show({ dx: drag.dx + event.clientX - drag.x, dy: drag.dy + event.clientY - drag.y });
      return;
    }
    const hit = stage.pick(event.offsetX, event.offsetY);
    tip.hidden = !hit;
    if (!hit) return;
    const { agent, state } = hit, speed = known(state.v) ? `\n${state.v.toFixed(1)} m/s` : "", driver = agent.driver ? `, ${agent.driver}` : "";
    tip.textContent = `${agent.label || agent.id} (${agent.kind.replaceAll("_", " ")}${driver})${speed}`;
    tip.style.left = `${Math.max(0, Math.min(event.offsetX + 14, canvas.clientWidth - 150))}px`;
    tip.style.top = `${event.offsetY + 14}px`;
  });
  canvas.addEventListener("pointerup", (event) => {
    const clicked = drag && !drag.moved;
    drag = null;
    if (!clicked) return;
    const hit = stage.pick(event.offsetX, event.offsetY);
    player.select(hit && hit.agent.id !== stage.data.ego ? hit.agent.id : null);
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
}

/** Mounts the player; null and a sentence on the page if the document cannot be shown. */
export function mountPlayer(element, replay, options = {}) {
  element.classList.add("giveway-player");
  let read;
  try {
    read = documentsOf(replay).map(readReplay);
  } catch (error) {
    element.append(make("p", { class: "gw-error", role: "alert" }, String(error.message || error)));
    return null;
  }
  const drives = [...read.map((data) => ({ name: data.name, data })), ...(options.rivals || [])];
  const events = new EventTarget(), slots = [], first = read[0];
  const state = { chosen: read.length > 1 ? [0, 1] : [0], whole: false, selected: null };
  const datas = () => slots.map((slot) => slot.data);

  const title = make("h2", { class: "gw-title" }, first.title || ""), lead = make("p", { class: "gw-lead" });
  const legend = make("ul", { class: "gw-legend", "aria-label": "Legend" }), duo = make("div", { class: "gw-duo" });
  const transport = make("div", { class: "gw-transport" }), plots = make("div", { class: "gw-plots" }), more = make("div", { class: "gw-more" });
  const live = make("p", { class: "gw-hidden", "aria-live": "polite" });
  const notices = [...new Set(read.map((data) => data.notice).filter(Boolean))].map((text) => make("p", { class: "gw-notice" }, text));
  element.replaceChildren(...(first.title ? [title] : []), ...notices, lead, legend, duo, transport, plots, more, live);

  const button = (text, attributes = {}) => make("button", { type: "button", ...attributes }, text);
  const play = button("▶ Play", { class: "gw-primary" });
  const back = button("‹", { class: "gw-icon", "aria-label": "One step back" }), forth = button("›", { class: "gw-icon", "aria-label": "One step forward" });
  const timeline = make("div", { class: "gw-time", role: "slider", tabindex: "0", "aria-label": "Time" });
  const rate = make("select", { "aria-label": "Playback speed" });
  for (const value of [0.25, 0.5, 1, 2, 4]) rate.append(make("option", { value: String(value), ...(value === (options.speed || 1) && { selected: "" }) }, `${value}×`));
  const whole = button("Whole drive", { "aria-pressed": "false", title: "All of the recording, not only the seconds around the event (W)" });
  const follow = button("Follow", { "aria-pressed": "false", title: "Keep the ego or the selected road user in the middle (F)" });
  const labels = button("Labels", { "aria-pressed": "false", title: "Names of all road users (L)" });
  const fitAgain = button("Reset view", { title: "Zoom and place as in the beginning (0)" });
  const left = make("div", { class: "gw-row" }), right = make("div", { class: "gw-row" });
  left.append(play, back, forth, rate);
  right.append(whole, follow, labels, fitAgain);
  transport.append(left, timeline, right);

  // One clock in seconds of the recording; zero is the event: a contact before a near miss before the closest approach, A before B.
  const worst = (chosen = datas()) => chosen.map((data) => data.encounter).filter(Boolean).sort((a, b) => rankOf(a) - rankOf(b))[0] || null;
  const rankOf = (encounter) => ({ contact: 0, "near miss": 1 }[encounter.kind] ?? 2);
  const zero = () => (worst() ? worst().time : first.start);
  const bounds = () => [Math.min(...datas().map((d) => d.start)), Math.max(...datas().map((d) => d.start + d.duration))];
  function range() {
    const [from, to] = bounds();
    if (state.whole || !worst()) return [from, to];
    const clip = clipOf({ ...first, encounter: worst(), start: from, duration: to - from });
    return [from + clip[0], from + clip[1]];
  }

  const drawAll = () => { for (const slot of slots) slot.stage.draw(clock.time - slot.data.start); };
  const clock = createClock([0, 0], events, () => { drawAll(); moveAll(); });
  clock.speed = options.speed || 1;

  let axis = null, charts = [], mind = null, said = "";
  const lines = (key) => slots.flatMap((slot, k) => {
    const tag = slots.length > 1 ? "AB"[k] : "", { series, data } = slot;
    if (!series) return [];
    const human = k === 0 && series.human && series.human[key] && slot.stage.view.human ? [{ name: "human", values: series.human[key], data, style: "gw-human" }] : [];
    return [...human, ...(series.driven[key] ? [{ name: series.subject, tag, values: series.driven[key], data, style: k ? "gw-line-b" : "gw-line-a" }] : [])];
  });

  /** What is to be seen now, in a sentence. */
  function sentence(time = clock.time) {
    const words = slots.map((slot, k) => {
      const { data, series } = slot, ego = data.byId.get(data.ego), frame = (time - data.start) / data.dt;
      const own = ego && stateAt(ego, frame), other = data.partner && stateAt(data.partner, frame), parts = [];
      if (own && known(own.v)) parts.push(`ego ${own.v.toFixed(1)} m/s`);
      if (other && known(other.v)) parts.push(`${nameOf(data, data.partner.id)} ${other.v.toFixed(1)} m/s`);
      const value = (key) => (series && series.of === data.ego && series.driven[key] ? series.driven[key][Math.round(frame)] : NaN);
      if (known(value("gap"))) parts.push(`gap ${value("gap").toFixed(1)} m`);
      if (known(value("ttc"))) parts.push(`time to collision ${value("ttc").toFixed(1)} s`);
      if (!parts.length) parts.push(`${data.agents.filter((a) => stateAt(a, frame)).length} road users`);
      return `${slots.length > 1 ? `${"AB"[k]}: ` : ""}${parts.join(", ")}`;
    });
    return `${signed(time - zero())} s. ${words.join("; ")}`;
  }

  function moveAll() {
    const { time } = clock;
    if (axis) axis.move(time);
    for (const chart of charts) chart.move(time);
    if (mind) mind.move(time);
  }

  function refresh() {
    play.textContent = clock.playing ? "❚❚ Pause" : "▶ Play";
    timeline.setAttribute("aria-valuenow", (clock.time - zero()).toFixed(1));
    if (clock.playing) return;
    const text = sentence();
    timeline.setAttribute("aria-valuetext", text);
    if (said && text !== said) live.textContent = text;
    said = text;
  }
  for (const name of ["frame", "ended"]) events.addEventListener(name, refresh);

  function fillLead() {
    const found = worst(), owner = slots.find((slot) => slot.data.encounter === found);
    if (!found) { lead.textContent = ""; lead.hidden = true; return; }
    lead.hidden = false;
    const { data } = owner, contact = data.events.find((event) => event.kind === "contact" && Math.abs(event.time - found.time) < 0.15);
    const whom = found.partner ? ` of ego and ${nameOf(data, found.partner)}` : "";
    lead.textContent = `Zero of the clock: ${contact ? contact.label : found.kind + whom}, ${found.time.toFixed(1)} s after the recording begins${slots.length > 1 && owner.data.name ? ` (${owner.data.name})` : ""}.`;
  }

  function fillLegend() {
    const toggles = { human: "H", predictions: "P", plan: "N" };
    legend.replaceChildren(...legendOf(datas()).map(([name, picture, toggle]) => {
      const item = make("li"), content = toggle ? button("", { "aria-pressed": String(slots[0].stage.view[toggle]), title: `Show or hide (${toggles[toggle]})` }) : item;
      content.append(picture, make("span", {}, name));
      if (toggle) {
        content.addEventListener("click", () => flip(toggle));
        content.dataset.toggle = toggle;
        item.append(content);
      }
      return item;
    }));
  }

  function flip(name) {
    const on = !slots[0].stage.view[name];
    for (const slot of slots) slot.stage.view[name] = on;
    const pressed = legend.querySelector(`[data-toggle="${name}"]`);
    if (pressed) pressed.setAttribute("aria-pressed", String(on));
    if (name === "human") for (const chart of charts) chart.again();
    drawAll();
    moveAll();
  }

  function describe(data) {
    const counts = data.agents.length, met = data.partner ? ` meets ${nameOf(data, data.partner.id)}` : "";
    const end = data.verdict ? `; ${data.verdict.text}` : "";
    return `Top view of ${counts} road users${data.byId.has(data.ego) ? `; the ego${data.name ? ` (${data.name})` : ""}${met}` : ""}${end}`;
  }

  /** The stage of one drive: name or choice, verdict, canvas. */
  function makeSlot(k, data) {
    const box = make("section", { class: "gw-stage", "aria-label": slotName(k, data) }), top = make("div", { class: "gw-top" });
    const canvas = make("canvas", { role: "img", tabindex: "0", "aria-label": describe(data) }), tip = make("div", { class: "gw-tip" });
    tip.hidden = true;
    if (drives.length > 1) {
      if (state.chosen.length > 1) top.append(make("b", { class: "gw-tag", "aria-hidden": "true" }, "AB"[k]));
      const select = make("select", { "aria-label": `Drive ${"AB"[k]}` });
      drives.forEach((drive, n) => select.append(make("option", { value: String(n), ...(n === state.chosen[k] && { selected: "" }) }, drive.name || `drive ${n + 1}`)));
      select.addEventListener("change", () => choose(k, Number(select.value)));
      top.append(select);
    } else if (data.name) top.append(make("b", {}, data.name));
    if (data.verdict) top.append(make("span", { class: data.verdict.bad ? "gw-badge gw-bad" : "gw-badge" }, `${data.verdict.bad ? "✕ " : ""}${data.verdict.text}`));
    if (drives.length > 1 && k === state.chosen.length - 1) {
      const pair = button(state.chosen.length > 1 ? "Close B" : "Compare", { class: "gw-compare" });
      pair.addEventListener("click", () => (state.chosen.length > 1 ? close() : choose(1, drives.findIndex((_, n) => n !== state.chosen[0]))));
      top.append(pair);
    }
    box.append(...(top.children.length ? [top] : []), canvas, tip);
    duo.append(box);
    const stage = createStage(canvas, data, options, () => stage && stage.draw(clock.time - data.start));
    if (slots[0]) for (const name of ["human", "predictions", "plan", "ids", "frame", "zoom", "selected"]) stage.view[name] = slots[0].stage.view[name];
    const slot = { box, canvas, stage, data, series: null };
    slots.push(slot);
    if (!options.fixed) bindPointer(player, canvas, stage, tip);
  }
  const slotName = (k, data) => `${state.chosen.length > 1 ? `${"AB"[k]}: ` : ""}${data.name || data.title || "Replay"}`;

  function measure() {
    for (const slot of slots) {
      const { data } = slot, subject = data.byId.get(data.ego) || data.byId.get(state.selected);
      slot.series = subject ? { ...seriesOf(data, subject), of: subject.id, subject: subject.id === data.ego ? "ego" : subject.id } : null;
    }
  }

  function fillPlots() {
    for (const chart of charts) chart.stop();
    charts = [];
    plots.replaceChildren();
    const partners = [...new Set(datas().map((data) => data.partner && data.partner.id).filter(Boolean))];
    for (const kind of KINDS) {
      if (!lines(kind.key).length) continue;
      const card = make("div", { class: "gw-card" }), head = make("h3", {}, kind.key === "gap" && partners.length === 1 ? `Gap to ${nameOf(first, partners[0])}` : kind.title), chart = make("div", { class: "gw-chart" });
      head.append(make("span", {}, kind.unit));
      card.append(head, chart);
      plots.append(card);
      charts.push(createPlot(chart, kind, { lines: () => lines(kind.key), range, zero, cruise: () => slots[0].series && slots[0].series.cruise }));
    }
  }

  function fillMore() {
    more.replaceChildren();
    mind = null;
    if (slots[0].data.minds.size) {
      const panel = make("section", { class: "gw-mind gw-card" });
      more.append(panel);
      mind = createMind(panel, slots[0].data, () => state.selected);
    }
    const list = slots.flatMap((slot, k) => slot.data.events.map((event) => ({ ...event, tag: slots.length > 1 ? `${"AB"[k]} ` : "" }))).sort((a, b) => a.time - b.time);
    if (list.length) {
      const box = make("details", { class: "gw-events" }), items = make("ol");
      box.append(make("summary", {}, `${list.length} event${list.length > 1 ? "s" : ""}`), items);
      for (const event of list) {
        const item = make("li"), go = button(`${event.tag}${signed(event.time - zero())} s ${eventName(event)}`);
        go.addEventListener("click", () => reach(event.time));
        item.append(go, make("span", {}, ` ${event.label}`));
        items.append(item);
      }
      more.append(box);
    }
    const keys = make("details", { class: "gw-keys" });
    keys.append(make("summary", {}, "Keyboard"), make("p", {}, "Space: play or pause. Left, right: one step, with Shift one second. Home, End: start, end. E: event. [ and ]: previous, next event. W: whole drive. F: follow. L: labels. H, P, N: human, predictions, plan. M: next mind. +, −, 0: zoom. Click a road user: its recording, its mind."));
    more.append(keys);
  }

  /** Everything anew for the drives that are chosen. */
  function build() {
    const time = clock.time, isFirst = !slots.length;
    const was = slots.map((slot) => slot.stage.view);
    for (const slot of slots) slot.stage.destroy();
    slots.length = 0;
    duo.replaceChildren();
    duo.classList.toggle("gw-two", state.chosen.length > 1);
    const chosen = state.chosen.map((n) => drives[n].data), focus = chosen.length > 1 ? worst(chosen) : null;
    chosen.forEach((data, k) => makeSlot(k, focusedOn(data, focus)));
    if (was[0]) for (const slot of slots) Object.assign(slot.stage.view, was[0]);
    measure();
    clock.range = range();
    if (axis) axis.stop();
    axis = createTimeline(timeline, { rows: () => slots.map((slot, k) => ({ tag: slots.length > 1 ? "AB"[k] : "", events: slot.data.events })), range, zero, zeroName: () => (worst() ? "event" : "") });
    fillLead();
    fillLegend();
    fillPlots();
    fillMore();
    if (!worst()) whole.hidden = true;
    else whole.hidden = range()[0] <= bounds()[0] + 1e-9 && range()[1] >= bounds()[1] - 1e-9 && !state.whole;
    follow.hidden = labels.hidden = false;
    setLimits();
    clock.seek(isFirst ? (options.start === undefined ? clock.range[0] : zero() + options.start) : time);
  }

  function setLimits() {
    timeline.setAttribute("aria-valuemin", (clock.range[0] - zero()).toFixed(1));
    timeline.setAttribute("aria-valuemax", (clock.range[1] - zero()).toFixed(1));
  }

  async function choose(k, n) {
    const drive = drives[n];
    try {
      if (!drive.data) {
        const loaded = await drive.load();
        if (!element.isConnected || slots.length === 0) return;
        drive.data = readReplay(loaded);
      }
    } catch (error) {
      live.textContent = String(error.message || error);
      return;
    }
    state.chosen[k] = n;
    build();
  }
  function close() { state.chosen.length = 1; build(); }

  function setWhole(on) {
    state.whole = on;
    whole.setAttribute("aria-pressed", String(on));
    clock.range = range();
    setLimits();
    axis.again();
    for (const chart of charts) chart.again();
    clock.seek(clock.time);
  }
  /** Go to a time, leaving the clip if it lies outside. */
  function reach(time) {
    clock.pause();
    if (time < clock.range[0] - 1e-9 || time > clock.range[1] + 1e-9) setWhole(true);
    clock.seek(time);
  }

  const toggle = () => (clock.playing ? clock.pause() : clock.play());
  const step = (frames) => { clock.pause(); clock.seek(Math.round((clock.time - first.start) / first.dt + frames) * first.dt + first.start); };
  const setFollow = () => {
    const on = slots[0].stage.view.frame !== "ego", fallback = first.ego || state.selected || (first.agents[0] || {}).id;
    if (on && !first.ego && !state.selected && fallback) player.select(fallback);
    player.show({ frame: on ? "ego" : "auto", zoom: 1, dx: 0, dy: 0 });
    follow.setAttribute("aria-pressed", String(on));
  };
  const showIds = () => { player.show({ ids: !slots[0].stage.view.ids }); labels.setAttribute("aria-pressed", String(slots[0].stage.view.ids)); };
  const nextMind = () => {
    const ids = [...slots[0].data.minds.keys()];
    if (ids.length) player.select(ids[(ids.indexOf(state.selected) + 1) % ids.length]);
  };
  const nextEvent = (way) => {
    const times = slots.flatMap((slot) => slot.data.events.map((event) => event.time)).sort((a, b) => a - b), now = clock.time;
    const found = way > 0 ? times.find((t) => t > now + 1e-3) : times.reverse().find((t) => t < now - 1e-3);
    if (found !== undefined) reach(found);
  };

  const player = {
    events, clock, slots, drives, state, sentence, select, choose,
    get data() { return slots[0].data; },
    get view() { return slots[0].stage.view; },
    get stage() { return slots[0].stage; },
    /** Seconds since the start of the replay. */
    get time() { return clock.time - first.start; },
    get playing() { return clock.playing; },
    get speed() { return clock.speed; },
    set speed(value) { clock.speed = value; },
    play: () => clock.play(),
    pause: () => clock.pause(),
    seek(to) { const time = first.start + to; if (time < clock.range[0] - 1e-9 || time > clock.range[1] + 1e-9) setWhole(true); clock.seek(time); },
    show(changes) { for (const slot of slots) Object.assign(slot.stage.view, changes); drawAll(); },
    zoom(factor, px = 0, py = 0) {
      const { view } = player, zoom = Math.min(20, Math.max(0.1, view.zoom * factor)), ratio = zoom / view.zoom;
      player.show({ zoom, dx: px - (px - view.dx) * ratio, dy: py - (py - view.dy) * ratio });
    },
    pick: (px, py) => slots[0].stage.pick(px, py),
    destroy() {
      clock.stop();
      axis.stop();
      for (const chart of charts) chart.stop();
      for (const slot of slots) slot.stage.destroy();
      slots.splice(1);
    },
  };
  function select(id) {
    state.selected = id;
    player.show({ selected: id });
    if (!slots[0].data.byId.has(slots[0].data.ego)) { measure(); fillPlots(); }
    moveAll();
    if (id !== null) {
      const agent = slots[0].data.byId.get(id);
      const parts = [nameOf(slots[0].data, id), agent.driver, agent.recorded ? "its recording is dashed" : ""].filter(Boolean);
      live.textContent = `selected: ${parts.join(", ")}`;
    }
    events.dispatchEvent(new CustomEvent("select", { detail: { id } }));
  }

  play.addEventListener("click", toggle);
  back.addEventListener("click", () => step(-1));
  forth.addEventListener("click", () => step(1));
  whole.addEventListener("click", () => setWhole(!state.whole));
  follow.addEventListener("click", setFollow);
  labels.addEventListener("click", showIds);
  fitAgain.addEventListener("click", () => player.show({ zoom: 1, dx: 0, dy: 0 }));
  rate.addEventListener("change", () => { clock.speed = Number(rate.value); });
  let dragging = false;
  timeline.addEventListener("pointerdown", (event) => { dragging = true; timeline.setPointerCapture(event.pointerId); clock.pause(); clock.seek(axis.timeAt(event.clientX)); });
  timeline.addEventListener("pointermove", (event) => { if (dragging) clock.seek(axis.timeAt(event.clientX)); });
  for (const name of ["pointerup", "pointercancel"]) timeline.addEventListener(name, () => { dragging = false; });
  const keys = {
    " ": toggle, ArrowRight: (e) => step(e.shiftKey ? Math.round(1 / first.dt) : 1), ArrowLeft: (e) => step(e.shiftKey ? -Math.round(1 / first.dt) : -1),
    Home: () => clock.seek(clock.range[0]), End: () => clock.seek(clock.range[1]), e: () => reach(zero()), "[": () => nextEvent(-1), "]": () => nextEvent(1),
    w: () => { if (!whole.hidden) setWhole(!state.whole); }, f: setFollow, l: showIds, m: nextMind, h: () => flip("human"), p: () => flip("predictions"), n: () => flip("plan"),
    "+": () => player.zoom(1.25), "=": () => player.zoom(1.25), "-": () => player.zoom(0.8), 0: () => player.show({ zoom: 1, dx: 0, dy: 0 }),
  };
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input, textarea")) return;
    if (event.target.matches("button, summary") && (event.key === " " || event.key === "Enter")) return;
    const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
  build();
  return player;
}
