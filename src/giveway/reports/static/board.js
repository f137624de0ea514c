"use strict";
// Leaderboards: a forest plot in every row. A row opens the strip of its cases, a case its replay and all answers.

(function () {
  const { load, make, drawing: { svg, canvas, scale, ends, plain, between, addMark } } = window.giveway;
  const DOT = 6, STEP = 13, EVEN = 0.5;
  const SPLITS = { critical: "Critical cases", random: "A random split" };

  /** A column of a per-sample file as an array. */
  function valuesOf(data, title) {
    const column = data.columns.find((c) => c.title === title);
    if (!column) return null;
    return column.kind === "choice" ? column.codes.map((code) => (code === null ? null : column.labels[code])) : column.values;
  }

  /** Cases of a cell: identifier, what happened, what was predicted, where the replay is. */
  function casesOf(data) {
    const [ids, happened, p] = ["sample_id", "accepted", "p"].map((title) => valuesOf(data, title));
    if (!ids || !happened || !p) return null;
    return ids.map((id, k) => ({ id, yes: String(happened[k]) === "true", p: p[k], replay: data.replays ? data.replays[k] : null }))
      .filter((c) => c.p !== null).sort((a, b) => a.p - b.p || (a.id < b.id ? -1 : 1));
  }

  function plot(place, chart, row) {
    const width = Math.floor(place.clientWidth), height = Math.max(place.clientHeight, 18 * row.marks.length + 8), domain = ends(chart.ticks);
    if (width < 40) return;
    const to = scale(...domain, 8, width - 8);
    const said = row.marks.map((m) => `${m.critical ? "critical split" : "random splits"} ${m.text}`).join(", ");
    const root = canvas(width, height, `${row.name}: ${said || "no value"}`);
    for (const tick of chart.ticks) root.append(svg("line", { class: "grid", x1: to(tick), x2: to(tick), y1: 0, y2: height }));
    if (chart.chance !== null) root.append(svg("line", { class: "chance", x1: to(chart.chance), x2: to(chart.chance), y1: 0, y2: height }));
    row.marks.forEach((mark, k) => {
      const y = height / 2 + 18 * (k - (row.marks.length - 1) / 2);
      if (!mark.critical) for (const value of row.repeats) root.append(svg("line", { class: "repeat", x1: to(value), x2: to(value), y1: y - 5, y2: y + 5 }));
      addMark(root, mark, to(between(mark.value, domain)), y, to, domain);
    });
    place.replaceChildren(root);
  }

  function axis(place, chart) {
    const width = Math.floor(place.clientWidth), to = scale(...ends(chart.ticks), 8, width - 8);
    const root = svg("svg", { viewBox: `0 0 ${width} 34`, width, height: 34, "aria-hidden": "true" });
    chart.ticks.forEach((tick, k) => {
      const anchor = k === 0 ? "start" : k === chart.ticks.length - 1 ? "end" : "middle";
      root.append(svg("text", { class: "dim", x: to(tick) + (k === 0 ? -6 : anchor === "end" ? 6 : 0), y: 14, "text-anchor": anchor }, plain(tick)));
    });
    if (chart.chance !== null) root.append(svg("text", { class: "dim", x: Math.max(to(chart.chance), 24), y: 30, "text-anchor": "middle" }, "chance"));
    place.replaceChildren(root);
  }

  /** Every case of one model: predicted probability along x, what happened in two lanes; wrong sides are shaded. */
  class Strip {
    constructor(cases, outcomes, name, onChoose) {
      Object.assign(this, { cases, outcomes, name, onChoose, chosen: -1 });
      this.place = make("div", { class: "strip", tabindex: "0", role: "slider", "aria-label": `Cases of ${name}, by predicted probability`,
        "aria-valuemin": "1", "aria-valuemax": String(cases.length), "aria-valuenow": "1", "aria-valuetext": "no case chosen" });
      this.place.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
        const to = event.key === "Home" ? 0 : event.key === "End" ? cases.length - 1 : step ? (this.chosen < 0 ? 0 : this.chosen + step) : null;
        if (to === null || to < 0 || to >= cases.length) return;
        event.preventDefault();
        this.choose(to);
      });
      this.place.addEventListener("click", (event) => {
        const { left, top } = this.place.getBoundingClientRect();
        const [x, y] = [event.clientX - left, event.clientY - top];
        const far = this.at.map(([a, b]) => (a - x) ** 2 + (b - y) ** 2), nearest = far.indexOf(Math.min(...far));
        if (far[nearest] < 400) this.choose(nearest);
      });
      new ResizeObserver(() => this.draw()).observe(this.place);
    }

    draw() {
      const width = Math.floor(this.place.clientWidth);
      if (!width) return;
      const slim = width < 420, left = slim ? 8 : 104, to = scale(0, 1, left + 10, width - 14), taken = new Map();
      const lanes = [true, false].map((yes) => this.cases.filter((c) => c.yes === yes));
      const stack = (k) => { const c = this.cases[k], place = `${c.yes}${Math.round(to(c.p) / STEP)}`, n = taken.get(place) || 0; taken.set(place, n + 1); return n; };
      const rows = this.cases.map((_, k) => stack(k));
      const deep = [true, false].map((yes) => Math.max(2, ...rows.filter((_, k) => this.cases[k].yes === yes).map((n) => n + 1)));
      const head = slim ? 22 : 6, high = deep.map((n) => n * STEP + 12), tops = [head, head + high[0] + head + 6];
      const end = tops[1] + high[1], root = canvas(width, end + 40, `Predicted probability of ${this.cases.length} cases by ${this.name}`);
      [[0, 0, EVEN], [1, EVEN, 1]].forEach(([lane, a, b]) => root.append(svg("rect", { class: "wrong", x: to(a), width: to(b) - to(a), y: tops[lane], height: high[lane] })));
      lanes.forEach((lane, k) => {
        const [x, y] = slim ? [0, tops[k] - 6] : [0, tops[k] + 16];
        root.append(svg("text", { class: "strong", x, y }, this.outcomes[k]), svg("text", { class: "dim", x: slim ? 110 : 0, y: slim ? y : y + 17 }, `${lane.length} cases`));
      });
      root.append(svg("line", { class: "chance", x1: to(EVEN), x2: to(EVEN), y1: head, y2: end }));
      for (const tick of [0, 0.25, 0.5, 0.75, 1]) root.append(svg("text", { class: "dim", x: to(tick), y: end + 16, "text-anchor": "middle" }, plain(tick)));
      root.append(svg("text", { class: "dim", x: (to(0) + to(1)) / 2, y: end + 34, "text-anchor": "middle" }, "predicted probability"));
      this.at = this.cases.map((c, k) => [to(c.p), tops[c.yes ? 0 : 1] + 10 + rows[k] * STEP]);
      this.dots = this.cases.map((c, k) => svg("circle", { class: `mark random ${c.yes ? "filled" : "hollow"}`, cx: this.at[k][0], cy: this.at[k][1], r: DOT - 1 }));
      root.append(...this.dots);
      this.place.replaceChildren(root);
      this.show();
    }

    show() {
      (this.dots || []).forEach((dot, k) => { dot.classList.toggle("chosen", k === this.chosen); dot.setAttribute("r", k === this.chosen ? DOT + 2 : DOT - 1); });
    }

    choose(k) {
      this.chosen = k;
      const c = this.cases[k];
      this.place.setAttribute("aria-valuenow", String(k + 1));
      this.place.setAttribute("aria-valuetext", `${c.id}: ${this.outcomes[c.yes ? 0 : 1]}, predicted ${c.p.toFixed(2)}`);
      this.show();
      this.onChoose(c);
    }
  }

  /** What all models said about one case. */
  function answers(found, outcomes) {
    const table = make("table", { class: "answers" });
    const head = make("tr");
    for (const title of ["model", "predicted", ""]) head.append(make("th", { scope: "col", class: title === "predicted" ? "n" : null }, title));
    table.append(make("thead"), make("tbody"));
    table.tHead.append(head);
    for (const [name, c] of found) {
      const line = make("tr");
      const right = (c.p >= EVEN) === c.yes;
      line.append(make("th", { scope: "row" }, name), make("td", { class: "n" }, c.p.toFixed(2)), make("td", right ? {} : { class: "bad" }, right ? "right" : `✕ says: ${outcomes[c.p >= EVEN ? 0 : 1]}`));
      table.tBodies[0].append(line);
    }
    return table;
  }

  class Drill {
    constructor(place, chart) {
      Object.assign(this, { place, chart, ticket: 0, player: null });
    }

    clear() {
      this.ticket += 1;
      if (this.player) this.player.destroy();
      this.player = null;
    }

    close() {
      this.clear();
      this.place.hidden = true;
      this.place.replaceChildren();
    }

    open(row, split) {
      this.clear();
      const { ticket } = this, { outcomes } = this.chart;
      this.place.hidden = false;
      this.place.replaceChildren(make("p", { class: "note", role: "status" }, "Loading …"));
      load(row.cells[split]).then((data) => {
        if (ticket !== this.ticket) return;
        const cases = casesOf(data);
        if (!cases || !cases.length) { this.place.replaceChildren(make("p", { class: "note" }, "This model gives no probabilities of single cases.")); return; }
        const took = cases.filter((c) => c.yes), found = took.filter((c) => c.p >= EVEN).length;
        const left = make("div"), right = make("div", { class: "case", "aria-live": "polite" });
        const choose = make("div", { class: "segments", role: "group", "aria-label": "Split" });
        for (const name of Object.keys(SPLITS).filter((s) => row.cells[s])) {
          const button = make("button", { type: "button", "aria-pressed": String(name === split) }, SPLITS[name]);
          button.addEventListener("click", () => this.open(row, name));
          choose.append(button);
        }
        const strip = new Strip(cases, outcomes, row.name, (c) => this.showCase(c, split, right));
        left.append(choose, make("h3", {}, `${row.name} finds ${found} of ${took.length} accepted gaps`), strip.place,
          make("p", { class: "note" }, "Click a dot, or use ← and →. Shaded: wrong side of 0.5."));
        right.append(make("p", { class: "note" }, "Choose a case to see what every model said about it."));
        this.place.replaceChildren(left, right);
        this.place.dataset.ready = row.name;
        strip.draw();
      }, (error) => {
        if (ticket === this.ticket) this.place.replaceChildren(make("p", { class: "warning", role: "alert" }, error.message));
      });
    }

    showCase(c, split, place) {
      if (this.player) this.player.destroy();
      this.player = null;
      const wanted = (this.case = c), { ticket } = this;
      const others = this.chart.rows.filter((row) => row.cells[split]);
      Promise.allSettled(others.map((row) => load(row.cells[split]))).then((loaded) => {
        if (ticket !== this.ticket || wanted !== this.case) return;
        const found = loaded.map((r, k) => [others[k].name, r.status === "fulfilled" ? (casesOf(r.value) || []).find((o) => o.id === c.id) : null]).filter(([, o]) => o);
        const stage = make("div", { class: "replay" });
        place.replaceChildren(make("h3", {}, `${c.id}: ${this.chart.outcomes[c.yes ? 0 : 1]}`), answers(found, this.chart.outcomes), stage);
        place.dataset.case = c.id;
        if (!c.replay) { stage.append(make("p", { class: "note" }, "No replay: this site holds those of the worst predicted cases.")); return; }
        load(c.replay).then((replay) => {
          if (ticket !== this.ticket || wanted !== this.case) return;
          this.player = window.giveway.mountPlayer(stage, replay, {});
          stage.dataset.ready = "true";
        }, (error) => stage.append(make("p", { class: "warning", role: "alert" }, error.message)));
      });
    }
  }

  const boards = [...document.querySelectorAll("[data-board]")];
  for (const board of boards) {
    const chart = JSON.parse(board.dataset.board), table = board.querySelector("table"), drill = new Drill(board.querySelector(".drill"), chart);
    const lines = [...table.tBodies[0].rows], foot = table.tFoot.querySelector(".plot");
    const draw = () => { lines.forEach((line, k) => plot(line.querySelector(".plot"), chart, chart.rows[k])); axis(foot, chart); };
    let last = 0;
    new ResizeObserver(() => { const width = foot.clientWidth; if (width && width !== last) { last = width; draw(); } }).observe(table);
    lines.forEach((line, k) => {
      const button = line.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const wasOpen = button.getAttribute("aria-expanded") === "true";
        for (const other of table.querySelectorAll("tbody button")) { other.setAttribute("aria-expanded", "false"); other.closest("tr").classList.remove("open"); }
        if (wasOpen) { drill.close(); return; }
        button.setAttribute("aria-expanded", "true");
        line.classList.add("open");
        drill.open(chart.rows[k], chart.rows[k].cells.critical ? "critical" : Object.keys(chart.rows[k].cells)[0]);
      });
      line.addEventListener("click", (event) => { if (!event.target.closest("button")) button.click(); });
    });
  }

  /** One board at a time. */
  if (boards.length > 1) {
    const choose = make("div", { class: "segments", role: "group", "aria-label": "Dataset" });
    const show = (chosen) => {
      boards.forEach((board, k) => { board.hidden = k !== chosen; choose.children[k].setAttribute("aria-pressed", String(k === chosen)); });
    };
    boards.forEach((board, k) => {
      const button = make("button", { type: "button" }, board.dataset.title);
      button.addEventListener("click", () => show(k));
      choose.append(button);
    });
    boards[0].before(choose);
    show(0);
  }
})();
