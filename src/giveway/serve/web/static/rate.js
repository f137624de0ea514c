// The main block: one item per page view, each answer saved at once.
import { bindKeys, createStage, getJson, texts } from "./clip.js";
import { createQueue } from "./queue.js";

const byId = (id) => document.getElementById(id);
/** The printed form: its own words, a link to every video, and answers at any time. */
const published = texts.form === "published";
const form = byId("form"), answers = byId("answers"), submit = byId("submit"), status = byId("status");
const formToken = document.querySelector("meta[name=form-token]").content;

const stage = createStage({ onEnded: () => allow() });
const queue = createQueue({
  name: `giveway:${texts.study}:${texts.rater}`,
  formToken,
  onChange(waiting, problem) {
    const notice = byId("notice");
    notice.hidden = !problem;
    if (problem === "offline") notice.textContent = texts.rate_offline.replace("%n", waiting);
    if (problem === "paused") notice.textContent = texts.rate_paused;
    if (problem === "lost") notice.textContent = texts.rate_lost;
  },
});

let items = [], total = 0, current = null, shownAt = 0;
const visible = { ms: 0, since: document.hidden ? 0 : performance.now() };

document.addEventListener("visibilitychange", () => {
  const now = performance.now();
  if (document.hidden) visible.ms += now - visible.since;
  visible.since = now;
});

const visibleMs = () => visible.ms + (document.hidden ? 0 : performance.now() - visible.since);

function allow() {
  answers.disabled = false;
  if (!form.elements.rating.value) status.textContent = texts.rate_ready || "";
}

/** Clips that come next are fetched ahead, so that a short loss of connection is not noticed. */
function fetchAhead() {
  for (const item of items.slice(1, 3)) if (item.clip) fetch(`/clips/${item.clip}.json`, { credentials: "same-origin" }).catch(() => {});
}

async function next() {
  current = items[0] || null;
  if (!current) {
    await queue.empty();
    return leave();
  }
  form.reset();
  answers.disabled = true;
  submit.disabled = true;
  submit.textContent = texts.rate_submit;
  const number = total - items.length + 1;
  byId("title").textContent = texts.rate_title.replace("%n", number).replace("%t", total);
  Object.assign(visible, { ms: 0, since: performance.now() });
  shownAt = performance.now();
  if (published) await showPublished(number);
  else await showOwn(number);
  byId("title").focus({ preventScroll: true });
  window.scrollTo({ top: 0 });
}

/** A section of the printed form: number, link, video; the answer does not wait for the video. */
async function showPublished(number) {
  byId("section").textContent = texts.section_title.replace("%s", number + 1).replace("%t", total + 1);
  const link = byId("link");
  link.href = new URL(`/v/${current.clip}`, location.href).href;
  link.textContent = link.href;
  allow();
  await stage.show(current);
  fetchAhead();
}

/** A page of our own: progress, and a clip that is played in full before it is judged, or an attention check. */
async function showOwn(number) {
  byId("progress").value = number - 1;
  const isCheck = "check" in current;
  byId("clip-part").hidden = isCheck;
  byId("roles").hidden = isCheck;
  byId("instruction").hidden = !isCheck;
  if (isCheck) {
    stage.clear();
    byId("instruction").textContent = texts.check_instruction.replace("%o", texts.options[current.check - 1]);
    allow();
  } else {
    status.textContent = texts.rate_wait;
    await stage.show(current);
    fetchAhead();
  }
}

async function leave() {
  const response = await fetch("/api/finish", {
    method: "POST", credentials: "same-origin", headers: { "X-CSRF": formToken },
  }).catch(() => null);
  if (!response || !response.ok) {
    setTimeout(leave, 3000);
    return;
  }
  const target = (await response.json()).next;
  // Another tab may have taken an item that this one does not know of: then ask again.
  if (target === "/rate") load();
  else location.assign(target);
}

async function load() {
  // Taken before asking: an answer may be saved after the server made its list and before the list is here.
  const given = queue.positions();
  let session;
  try {
    session = await getJson("/api/session");
  } catch (error) {
    byId("notice").hidden = false;
    byId("notice").textContent = error.status === 401 ? texts.rate_lost : texts.rate_offline.replace("%n", given.size);
    if (error.status !== 401) setTimeout(load, 3000);
    return;
  }
  if (!given.size) byId("notice").hidden = true;
  total = session.total;
  items = session.items.filter((item) => !given.has(item.position));
  if (!published) byId("progress").max = total;
  next();
}

answers.addEventListener("change", () => {
  submit.disabled = false;
  status.textContent = "";
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const rating = Number(form.elements.rating.value);
  if (submit.disabled || answers.disabled || !rating || !current) return;
  submit.disabled = true;
  submit.textContent = texts.rate_saving;
  queue.add({
    position: current.position,
    rating,
    rt_ms: Math.round(performance.now() - shownAt),
    visible_ms: Math.round(visibleMs()),
    ...stage.counts(),
  });
  items.shift();
  next();
});

bindKeys(stage, form);
queue.flush();
load();
