"use strict";
// What opens beside a table: parameters, measurements, samples and the replay of one row.

(function () {
  const { load, make, number } = window.giveway;

  const plain = (value) => (typeof value === "number" ? number(value) : typeof value === "string" ? value : JSON.stringify(value));

  function facts(title, values) {
    const entries = Object.entries(values || {}).filter(([, value]) => value !== null && value !== "");
    if (!entries.length) return [];
    const list = make("dl", { class: "facts" });
    for (const [name, value] of entries) {
      const item = make("div");
      item.append(make("dt", {}, name), make("dd", {}, plain(value).slice(0, 2000)));
      list.append(item);
    }
    return [make("h3", {}, title), list];
  }

  function measurements(rows) {
    if (!rows || !rows.length) return [];
    const table = make("table");
    table.append(make("thead"), make("tbody"));
    const head = make("tr");
    for (const title of ["metric", "value", "samples", "note"]) head.append(make("th", { scope: "col", class: title === "value" || title === "samples" ? "n" : null }, title));
    table.tHead.append(head);
    for (const row of rows) {
      const line = make("tr");
      line.append(make("td", {}, row.metric), make("td", { class: "n" }, number(row.value)), make("td", { class: "n" }, String(row.num_samples)), make("td", {}, row.note || ""));
      table.tBodies[0].append(line);
    }
    const scroll = make("div", { class: "scroll" });
    scroll.append(table);
    return [make("h3", {}, "Measurements"), scroll];
  }

  /** A place for a replay, and the function that fills it. */
  function replayArea() {
    const area = make("div", { class: "replay" });
    let player = null;
    const show = (file) => {
      area.replaceChildren(make("p", { class: "note", role: "status" }, "Loading …"));
      return load(file).then((replay) => {
        if (player) player.destroy();
        const stage = make("div");
        area.replaceChildren(make("h3", {}, "Replay"), stage);
        const theme = document.documentElement.dataset.theme || "auto";
        const follow = replay.ego ? { frame: "ego", span: 90 } : {};
        const view = replay.view ? { frame: "ego", span: replay.view.span, up: replay.view.up } : follow;
        player = window.giveway.mountPlayer(stage, replay, { theme, ...view });
        stage.dataset.ready = "true";
      }, (error) => area.replaceChildren(make("p", { class: "warning", role: "alert" }, error.message)));
    };
    document.addEventListener("giveway-theme", () => { if (player) player.show({ theme: document.documentElement.dataset.theme }); });
    return { area, show };
  }

  function samples(file, replay) {
    const place = make("div");
    const title = make("h3", {}, "Samples");
    const button = make("button", { type: "button" }, "Show the samples");
    place.append(title, button);
    button.addEventListener("click", () => {
      button.disabled = true;
      load(file).then((data) => {
        const table = make("div", { class: "browser" });
        place.replaceChildren(title, make("p", { class: "note" }, data.replays && data.replays.some(Boolean) ? "Click a sample to watch it; replays exist for the worst predicted ones." : ""), table);
        const inner = new window.giveway.Browser(table, data, {
          onChoose: (row) => {
            const found = data.replays && data.replays[row];
            if (found) replay.show(found).then(() => replay.area.scrollIntoView({ block: "nearest" }));
            else replay.area.replaceChildren(make("p", { class: "note", role: "status" }, "This sample has no replay here."));
          },
        });
        table.giveway = inner;
        if (data.replays && data.replays.some(Boolean)) {
          inner.sortBy(0);
        }
      }, (error) => place.append(make("p", { class: "warning", role: "alert" }, error.message)));
    });
    return place;
  }

  function panelOf(browser) {
    let panel = browser.split.querySelector(".panel");
    if (!panel) {
      panel = make("section", { class: "panel", "aria-label": "Details", tabindex: "-1" });
      browser.split.append(panel);
    }
    browser.split.classList.add("open");
    const close = make("button", { type: "button", class: "close" }, "Close");
    close.addEventListener("click", () => {
      panel.remove();
      browser.split.classList.remove("open");
      history.replaceState(null, "", location.pathname + location.search);
    });
    panel.replaceChildren(close);
    return panel;
  }

  window.giveway.showDetails = function (row, browser) {
    const { data } = browser;
    const key = data.keys[row];
    const panel = panelOf(browser);
    const replay = replayArea();
    history.replaceState(null, "", `#${encodeURIComponent(key)}`);
    const summary = Object.fromEntries(data.columns.map((column) => [column.title, window.giveway.textOf(column, row)]));
    const finish = (parts) => {
      const label = data.columns.filter((column) => column.kind !== "number").slice(0, 6).map((column) => window.giveway.textOf(column, row));
      panel.append(make("h2", {}, label.join(", ") || key), replay.area, ...parts);
      panel.dataset.key = key;
    };
    if (!data.details) {
      finish(facts("Values", summary));
      if (data.replays && data.replays[row]) replay.show(data.replays[row]);
      return;
    }
    const file = `${data.details.folder}/${key.slice(0, data.details.digits) || "all"}.js`;
    load(file).then((chunk) => {
      const found = chunk[key];
      if (browser.chosen !== row) return;
      if (found.problem) {
        finish([make("p", { class: "warning" }, found.problem)]);
        return;
      }
      finish([
        ...measurements(found.measurements),
        ...(found.samples ? [samples(found.samples, replay)] : []),
        ...facts("Parameters", found.parameters),
        ...facts("More", found.info),
        ...facts("Versions", { data: found.data, ...found.versions, key: found.key }),
      ]);
      if (found.replay) replay.show(found.replay);
    }, (error) => finish([make("p", { class: "warning", role: "alert" }, error.message)]));
  };
})();
