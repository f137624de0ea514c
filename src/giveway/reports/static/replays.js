"use strict";
// Replays that are part of a page: from the page itself in a single file, else from a data file beside it.

for (const place of document.querySelectorAll("[data-replay]")) {
  const name = place.dataset.replay;
  const inside = [...document.querySelectorAll("script[data-document]")].find((script) => script.dataset.document === name);
  const loaded = inside ? Promise.resolve(JSON.parse(inside.textContent)) : window.giveway.load(name);
  loaded.then(
    (replay) => { place.player = window.giveway.mountPlayer(place, replay, JSON.parse(place.dataset.options)); },
    (error) => { place.append(window.giveway.make("p", { role: "alert" }, error.message)); },
  );
}
