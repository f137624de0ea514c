// One clip on the page: a canvas drawing or a video, played in full before it can be judged.
import { createPlayer } from "./stage.js";

const byId = (id) => document.getElementById(id);

export const texts = JSON.parse(byId("texts").textContent);

/** Fetch JSON; an answer that is no success is an error. */
export async function getJson(url) {
  const response = await fetch(url, { credentials: "same-origin" });
  if (!response.ok) throw Object.assign(new Error(url), { status: response.status });
  return response.json();
}

/** The stage of a page. `onEnded` is called after each full playback. */
export function createStage({ onEnded }) {
  const canvas = byId("canvas"), video = byId("video"), failed = byId("failed");
  const play = byId("play"), bar = byId("clip-progress");
  // The ticket changes with every clip: what was begun for the one before must not touch the next.
  const state = { plays: 0, playedMs: 0, playing: false, since: 0, player: null, load: null, url: "", ticket: 0 };

  const isVideo = () => !video.hidden;

  function mark(playing) {
    if (playing === state.playing) return;
    const now = performance.now();
    if (!playing) state.playedMs += now - state.since;
    state.since = now;
    state.playing = playing;
    play.disabled = playing;
    play.textContent = playing ? texts.rate_playing : state.plays ? texts.rate_replay : texts.rate_play;
  }

  function ended() {
    state.plays += 1;
    mark(false);
    bar.value = 1;
    onEnded();
  }

  function start() {
    if (state.playing || play.disabled) return;
    if (isVideo()) {
      const ticket = state.ticket;
      video.currentTime = 0;
      // An abort is no failure: the system paused the video, or the next clip is being loaded.
      video.play().catch((error) => { if (error.name !== "AbortError" && ticket === state.ticket) fallBack(); });
    } else if (state.player) {
      state.player.seek(0);
      state.player.play();
      mark(true);
    }
  }

  /** Draw the clip whose video does not play. */
  function fallBack() {
    if (!isVideo()) return;
    mark(false);
    video.hidden = true;
    loadDrawing();
  }

  video.addEventListener("loadeddata", () => { play.disabled = state.playing; });
  video.addEventListener("playing", () => mark(true));
  // At its end a video pauses, too; before it, somebody else paused it (a call, another tab), and Play starts it again.
  video.addEventListener("pause", () => { if (!video.ended) mark(false); });
  video.addEventListener("ended", ended);
  video.addEventListener("timeupdate", () => { if (video.duration) bar.value = video.currentTime / video.duration; });
  video.addEventListener("error", () => { if (isVideo() && video.hasAttribute("src")) fallBack(); });
  play.addEventListener("click", start);
  byId("retry").addEventListener("click", () => state.load && state.load());

  function clear() {
    if (state.player) state.player.destroy();
    if (video.hasAttribute("src")) {
      video.removeAttribute("src");
      video.load();  // ends a replay that still runs, and its events
    }
    Object.assign(state, { plays: 0, playedMs: 0, playing: false, player: null, ticket: state.ticket + 1 });
    failed.hidden = true;
    play.disabled = true;
    play.textContent = texts.rate_play;
    bar.value = 0;
  }

  function drawn(replay) {
    video.hidden = true;
    canvas.hidden = false;
    state.player = createPlayer(canvas, replay, { fixed: true, frame: "ego", theme: "light", ...replay.view });
    state.player.events.addEventListener("ended", ended);
    state.player.events.addEventListener("frame", (event) => {
      bar.value = state.player.data.duration ? event.detail.time / state.player.data.duration : 1;
    });
    play.disabled = false;
  }

  async function loadDrawing() {
    const ticket = state.ticket;
    try {
      const replay = await getJson(state.url);
      if (ticket === state.ticket) drawn(replay);
    } catch (error) {
      if (ticket === state.ticket) failed.hidden = false;
    }
  }

  /** Show a clip of the study: {clip, video}, or any replay document under a URL. */
  async function show(source) {
    state.url = source.url || `/clips/${source.clip}.json`;
    state.load = () => show(source);
    clear();
    if (source.video && texts.player === "video" && video.canPlayType("video/mp4")) {
      canvas.hidden = true;
      video.hidden = false;
      video.src = `/clips/${source.clip}.mp4`;
      video.load();
    } else {
      await loadDrawing();
    }
  }

  function counts() {
    const running = state.playing ? performance.now() - state.since : 0;
    return { plays: state.plays, played_ms: Math.round(state.playedMs + running) };
  }

  return { show, start, counts, clear };
}

/** Number keys choose an option, P plays; typing elsewhere is left alone. */
export function bindKeys(stage, form) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches && event.target.matches("textarea, select, input:not([type=radio])");
    if (typing) return;
    if (event.key === "p" || event.key === "P") {
      event.preventDefault();
      stage.start();
      return;
    }
    const radio = /^[1-9]$/.test(event.key) && form.querySelector(`input[type=radio][value="${event.key}"]`);
    if (radio && !radio.matches(":disabled")) {
      event.preventDefault();
      radio.checked = true;
      radio.focus();
      radio.dispatchEvent(new Event("change", { bubbles: true }));
    }
    if (event.key === "Enter" && event.target.matches && event.target.matches("input[type=radio]")) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
}
