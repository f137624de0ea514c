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

  /** The place of a replay: one player at a time, and only of what was asked for last. */
  class ReplayArea {
    constructor() {
      this.area = make("div", { class: "replay" });
      this.player = null;
      this.ticket = 0;
    }

    /** Show something else; a file that is still on its way is no longer wanted. */
    put(...content) {
      this.ticket += 1;
      if (this.player) this.player.destroy();
      this.player = null;
      this.area.replaceChildren(...content);
    }

    say(text) {
      this.put(make("p", { class: "note", role: "status" }, text));
    }

    /** Resolves to whether the replay was still wanted when it came. Rivals: [name, file] of other drives of the case. */
    show(file, rivals = []) {
      this.say("Loading …");
      const { ticket } = this;
      return load(file).then((replay) => {
        if (ticket !== this.ticket) return false;
        const stage = make("div");
        this.put(make("h3", {}, "Replay"), stage);
        const view = replay.view ? { frame: "ego", span: replay.view.span, up: replay.view.up } : {};
        this.player = window.giveway.mountPlayer(stage, replay, { ...view, rivals: rivals.map(([name, other]) => ({ name, load: () => load(other) })) });
        stage.dataset.ready = "true";
        return true;
      }, (error) => {
        if (ticket === this.ticket) this.put(make("p", { class: "warning", role: "alert" }, error.message));
        return false;
      });
    }
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
            if (found) replay.show(found).then((isShown) => { if (isShown) replay.area.scrollIntoView({ block: "nearest" }); });
            else replay.say("This sample has no replay here.");
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

  /** What a browser has open beside it: one replay area for all rows, and a number that counts openings and closings. */
  const opened = new WeakMap();

  function stateOf(browser) {
    if (!opened.has(browser)) opened.set(browser, { replay: new ReplayArea(), ticket: 0 });
    return opened.get(browser);
  }

  function panelOf(browser, state) {
    let panel = browser.split.querySelector(".panel");
    if (!panel) {
      panel = make("section", { class: "panel", "aria-label": "Details", tabindex: "-1" });
      browser.split.append(panel);
    }
    browser.split.classList.add("open");
    const close = make("button", { type: "button", class: "close" }, "Close");
    close.addEventListener("click", () => {
      state.ticket += 1;
      state.replay.put();
      panel.remove();
      browser.split.classList.remove("open");
      history.replaceState(null, "", location.pathname + location.search);
    });
    panel.replaceChildren(close);
    delete panel.dataset.key;
    return panel;
  }

  window.giveway.showDetails = function (row, browser) {
    const { data } = browser;
    const key = data.keys[row];
    const state = stateOf(browser);
    const { replay } = state;
    const ticket = ++state.ticket;
    replay.put();
    const panel = panelOf(browser, state);
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
      if (ticket !== state.ticket) return;
      const found = chunk[key];
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
      if (found.replay) replay.show(found.replay, found.rivals);
    }, (error) => { if (ticket === state.ticket) finish([make("p", { class: "warning", role: "alert" }, error.message)]); });
  };
})();
