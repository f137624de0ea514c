// Reads a giveway-replay document (versions 1 and 2) into typed arrays, and computes what the plots show. No drawing.

const SUPPORTED = 2;
export const CLIP_BEFORE_S = 3;
export const CLIP_AFTER_S = 1;
export const CRITICAL_TTC_S = 0.95;

/** Undo the difference coding: integers to numbers in the unit of the document. */
function decode(values, unit, out = new Float64Array(values.length), at = 0) {
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    sum += values[i];
    out[at + i] = sum * unit;
  }
  return out;
}

function points(value, unit) {
  return { x: decode(value.x, unit), y: decode(value.y, unit) };
}

/** Pieces of motion as arrays over all frames, NaN while absent. Speeds come from the document, else from positions. */
function motion(pieces, replay) {
  const empty = () => new Float64Array(replay.frames).fill(NaN);
  const out = { x: empty(), y: empty(), h: empty(), v: empty() };
  for (const piece of pieces) {
    const { start } = piece, count = piece.x.length;
    decode(piece.x, replay.unit, out.x, start);
    decode(piece.y, replay.unit, out.y, start);
    decode(piece.h, replay.angleUnit, out.h, start);
    if (piece.v) {
      decode(piece.v, replay.speedUnit, out.v, start);
      continue;
    }
    for (let i = start; i < start + count && count > 1; i++) {
      const a = Math.max(start, i - 1), b = Math.min(start + count - 1, i + 1);
      out.v[i] = Math.hypot(out.x[b] - out.x[a], out.y[b] - out.y[a]) / ((b - a) * replay.dt);
    }
  }
  return out;
}

/** Check the format and turn the document into typed arrays. Version 1 knows no encounter, ghosts, speeds or drivers. */
export function readReplay(replay) {
  if (!replay || replay.format !== "giveway-replay") throw new Error("not a giveway replay");
  if (replay.version > SUPPORTED) throw new Error(`replay version ${replay.version} is newer than this player (${SUPPORTED})`);
  const { unit } = replay;
  const agents = replay.agents.map((agent) => ({
    ...agent, role: agent.role === "rated" ? "prio" : agent.role, ...motion(agent.segments, replay),
    recorded: agent.recorded ? { ...agent, role: "ghost", ...motion(agent.recorded, replay) } : null,
  }));
  const map = replay.map && {
    lanes: replay.map.lanes.map((p) => points(p, unit)),
    keepouts: replay.map.keepouts.map((p) => points(p, unit)),
    lines: replay.map.lines.map((l) => ({ type: l.type, subtype: l.subtype, ...points(l, unit) })),
    arrows: replay.map.arrows ? { ...points(replay.map.arrows, unit), h: decode(replay.map.arrows.h, replay.angleUnit) } : { x: [], y: [], h: [] },
    teeth: (replay.map.teeth || []).map((p) => points(p, unit)),
  };
  const fans = new Map();
  for (const fan of replay.fans) {
    const list = fans.get(fan.frame) || [];
    list.push({ ...fan, paths: fan.paths.map((p) => points(p, unit)) });
    fans.set(fan.frame, list);
  }
  const minds = new Map();
  for (const row of replay.minds || []) {
    if (!minds.has(row.agent)) minds.set(row.agent, new Map());
    minds.get(row.agent).set(row.frame, row);
  }
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  const events = replay.events.map((e) => ({ ...e, kind: e.kind === "collision" ? "contact" : e.kind })).sort((a, b) => a.time - b.time);
  const data = { ...replay, agents, map, fans, minds, events, byId, roleNames: replay.roleNames || {}, duration: (replay.frames - 1) * replay.dt };
  data.encounter = replay.encounter || impliedEncounter(data);
  data.partner = (data.encounter && byId.get(data.encounter.partner)) || null;
  return data;
}

/** The same drive beside others: all look at one event and one partner, if it is there. */
export function focusedOn(data, encounter) {
  return encounter ? { ...data, focus: encounter, partner: data.byId.get(encounter.partner) || data.partner } : data;
}

/** Version 1: a collision on the timeline, with the car marked as rated or else the nearest one. */
function impliedEncounter(data) {
  const contact = data.events.find((event) => event.kind === "contact"), ego = data.byId.get(data.ego);
  if (!contact || !ego || data.version !== 1) return null;
  const frame = Math.min(data.frames - 1, Math.max(0, Math.round((contact.time - data.start) / data.dt)));
  const others = data.agents.filter((a) => a !== ego && !Number.isNaN(a.x[frame]));
  const away = (a) => Math.hypot(a.x[frame] - ego.x[frame], a.y[frame] - ego.y[frame]) - (a.role === "prio" ? 1e6 : 0);
  others.sort((a, b) => away(a) - away(b));
  return { time: contact.time, kind: "contact", partner: others.length ? others[0].id : "" };
}

/** State of an agent at a (fractional) frame, or null while it is absent; v is NaN if nobody knows it. */
export function stateAt(agent, frame) {
  const i = Math.floor(frame + 1e-9), f = Math.max(0, frame - i);
  if (!(i >= 0 && i < agent.x.length) || Number.isNaN(agent.x[i])) return null;
  const j = f > 1e-9 ? i + 1 : i;
  if (j >= agent.x.length || Number.isNaN(agent.x[j])) return null;
  const mix = (a) => a[i] + f * (a[j] - a[i]);
  return { x: mix(agent.x), y: mix(agent.y), h: mix(agent.h), v: mix(agent.v) };
}

/** The last decision of a mind at a frame: one is made every second frame; null if it thought about nobody. */
export function thoughtAt(data, id, frame) {
  const rows = data.minds.get(id), whole = Math.floor(frame + 1e-6);
  return (rows && (rows.get(whole) || rows.get(whole - 1))) || null;
}

const rect = (agent, i) => ({ x: agent.x[i], y: agent.y[i], c: Math.cos(agent.h[i]), s: Math.sin(agent.h[i]), l: agent.length / 2, w: agent.width / 2 });

/** First time from now on at which both boxes, moved on at constant velocity, overlap; Infinity if they miss.
    Gap over closing rate would call a car that waits beside the road critical. */
function overlapTime(a, b, wx, wy) {
  let enter = -Infinity, leave = Infinity;
  for (const { c, s } of [a, b]) {
    for (const [nx, ny] of [[c, s], [-s, c]]) {
      const shadow = (o) => o.l * Math.abs(nx * o.c + ny * o.s) + o.w * Math.abs(ny * o.c - nx * o.s);
      const reach = shadow(a) + shadow(b), at = (b.x - a.x) * nx + (b.y - a.y) * ny, rate = wx * nx + wy * ny;
      if (Math.abs(rate) < 1e-9) {
        if (Math.abs(at) > reach) return Infinity;
        continue;
      }
      const low = (-reach - at) / rate, high = (reach - at) / rate;
      enter = Math.max(enter, Math.min(low, high));
      leave = Math.min(leave, Math.max(low, high));
    }
  }
  return enter <= leave && leave >= 0 ? Math.max(0, enter) : Infinity;
}

/** Distance of two boxes that do not overlap: some corner of one is nearest to the other. */
function boxGap(a, b) {
  let best = Infinity;
  for (const [p, q] of [[a, b], [b, a]]) {
    for (const [i, j] of [[1, 1], [1, -1], [-1, -1], [-1, 1]]) {
      const dx = p.x + i * p.l * p.c - j * p.w * p.s - q.x, dy = p.y + i * p.l * p.s + j * p.w * p.c - q.y;
      best = Math.min(best, Math.hypot(Math.max(0, Math.abs(q.c * dx + q.s * dy) - q.l), Math.max(0, Math.abs(q.c * dy - q.s * dx) - q.w)));
    }
  }
  return best;
}

/** Gap and time to collision of two agents over all frames; NaN where one is absent, Infinity where they miss. */
export function pairSeries(first, second) {
  const frames = first.x.length, gap = new Float64Array(frames).fill(NaN), ttc = new Float64Array(frames).fill(NaN);
  for (let i = 0; i < frames; i++) {
    if (Number.isNaN(first.x[i]) || Number.isNaN(second.x[i])) continue;
    const a = rect(first, i), b = rect(second, i);
    const touching = overlapTime(a, b, 0, 0) === 0;
    gap[i] = touching ? 0 : boxGap(a, b);
    ttc[i] = overlapTime(a, b, second.v[i] * b.c - first.v[i] * a.c, second.v[i] * b.s - first.v[i] * a.s);
  }
  return { gap, ttc };
}

/** Change of speed, central differences [m/s²]. */
function acceleration(agent, dt) {
  return agent.v.map((_, i, v) => {
    const a = Number.isNaN(v[i - 1] ?? NaN) ? i : i - 1, b = Number.isNaN(v[i + 1] ?? NaN) ? i : i + 1;
    return b > a ? (v[b] - v[a]) / ((b - a) * dt) : NaN;
  });
}

/** What is plotted of one drive: the ego (or a selected agent), the recorded human, each against the car that is met. */
export function seriesOf(data, subject = data.byId.get(data.ego)) {
  if (!subject) return null;
  const partner = data.partner === subject ? null : data.partner, human = subject.recorded;
  const of = (agent, other) => ({ speed: agent.v, acceleration: acceleration(agent, data.dt), ...(other ? pairSeries(agent, other) : {}) });
  return { driven: of(subject, partner), human: human && of(human, partner && (partner.recorded || partner)), cruise: subject.id === data.ego ? data.cruise ?? null : null };
}
