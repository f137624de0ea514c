"use strict";
// Replays that are part of a page: from the page itself in a single file, else from a data file beside it. A strip shows
// four moments, 3, 2 and 1 s before the event and the event itself, and opens the player on demand.

(function () {
  const { load, make, mountPlayer, createPlayer } = window.giveway;
  const MOMENTS_S = [-3, -2, -1, 0];

  function strip(place, replay, open) {
    const frames = make("div", { class: "frames" });
    const button = make("button", { type: "button" }, "Watch");
    place.append(frames, make("p", { class: "note" }, place.dataset.strip), button);
    const event = replay.encounter ? replay.encounter.time - (replay.start || 0) : null;
    for (const moment of MOMENTS_S) {
      const figure = make("figure"), canvas = make("canvas", { "aria-hidden": "true" });
      const said = moment ? `${moment} s`.replace("-", "\u2212") : (replay.encounter && replay.encounter.kind === "contact" ? "contact" : "end");
      figure.append(canvas, make("figcaption", {}, said));
      frames.append(figure);
      const player = createPlayer(canvas, replay, { frame: "auto", labels: false });
      player.seek(Math.max(0, (event ?? player.data.duration) + moment));
    }
    button.addEventListener("click", () => { place.replaceChildren(); place.removeAttribute("data-strip"); open(); });
  }

  for (const place of document.querySelectorAll("[data-replay]")) {
    const name = place.dataset.replay;
    const inside = [...document.querySelectorAll("script[data-document]")].find((script) => script.dataset.document === name);
    const loaded = inside ? Promise.resolve(JSON.parse(inside.textContent)) : load(name);
    loaded.then(
      (replay) => {
        const open = () => { place.player = mountPlayer(place, replay, JSON.parse(place.dataset.options)); };
        if (place.dataset.strip === undefined) open();
        else strip(place, replay, open);
      },
      (error) => { place.append(make("p", { role: "alert" }, error.message)); },
    );
  }
})();
