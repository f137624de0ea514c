"use strict";
// Tables of up to hundreds of thousands of rows: columns stay arrays, only one page of rows is ever in the document.

(function () {
  const { load, make, number } = window.giveway;
  const PAGE = 50;
  const MAX_CHOICES = 60;
  const KEY_DIGITS = 16;

  const textOf = (column, row) => {
    if (column.kind === "choice") return column.codes[row] === null ? "–" : String(column.labels[column.codes[row]]);
    const value = column.values[row];
    return column.kind === "number" ? number(value) : value ?? "–";
  };
  /** Pages keep the first digits of the keys of cells; whole ones, and longer beginnings, are cut to them. */
  const shortKey = (text) => (/^[0-9a-f]{17,64}$/.test(text) ? text.slice(0, KEY_DIGITS) : text);
  /** A function from row to whether a column holds the words; null if it holds them nowhere. Labels are looked at once. */
  const finder = (column, words) => {
    if (column.kind === "text") return (row) => column.values[row] !== null && String(column.values[row]).toLowerCase().includes(words);
    if (column.kind !== "choice" || column.of === "number") return null;
    const found = column.labels.map((label) => String(label).toLowerCase().includes(words));
    return found.includes(true) ? (row) => column.codes[row] !== null && found[column.codes[row]] : null;
  };
  /** Arrays compare fast: codes follow the order of their labels. */
  const sortKeys = (column) => (column.kind === "choice" ? column.codes : column.values);

  class Browser {
    constructor(element, data, options = {}) {
      this.element = element;
      this.data = data;
      this.options = options;
      this.order = Uint32Array.from({ length: data.rows }, (_, i) => i);
      this.shown = this.order;
      this.sorted = { column: -1, down: false };
      this.page = 0;
      this.chosen = -1;
      this.build();
      this.update();
    }

    build() {
      const { data } = this;
      this.controls = make("div", { class: "controls" });
      this.filters = [];
      data.columns.forEach((column, index) => {
        if (column.kind !== "choice" || column.labels.length < 2 || column.labels.length > MAX_CHOICES) return;
        const label = make("label", {}, column.title);
        const select = make("select");
        select.append(make("option", { value: "" }, "all"));
        column.labels.forEach((text, code) => select.append(make("option", { value: String(code) }, String(text))));
        label.append(select);
        this.controls.append(label);
        this.filters.push([index, select]);
      });
      const label = make("label", {}, "search");
      this.search = make("input", { type: "search", placeholder: "key or text" });
      label.append(this.search);
      this.controls.append(label);
      this.status = make("p", { class: "note", role: "status" });
      this.table = make("table");
      const head = make("tr");
      data.columns.forEach((column, index) => {
        const cell = make("th", { scope: "col", class: this.isNumber(column) ? "n" : null });
        const button = make("button", { type: "button" }, column.title);
        button.addEventListener("click", () => this.sortBy(index));
        cell.append(button);
        head.append(cell);
      });
      this.table.append(make("thead"), make("tbody"));
      this.table.tHead.append(head);
      this.pager = make("div", { class: "controls" });
      this.back = make("button", { type: "button" }, "Previous");
      this.forth = make("button", { type: "button" }, "Next");
      this.where = make("span");
      this.pager.append(this.back, this.where, this.forth);
      this.split = make("div", { class: "split" });
      const left = make("div");
      const scroll = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" });
      scroll.append(this.table);
      left.append(this.status, scroll, this.pager);
      this.split.append(left);
      this.element.replaceChildren(this.controls, this.split);
      this.controls.addEventListener("input", () => { this.page = 0; this.update(); });
      this.back.addEventListener("click", () => { this.page -= 1; this.draw(); });
      this.forth.addEventListener("click", () => { this.page += 1; this.draw(); });
      const body = this.table.tBodies[0];
      const open = (event) => {
        const row = event.target.closest("tr");
        if (row && row.dataset.row !== undefined) this.choose(Number(row.dataset.row));
      };
      body.addEventListener("click", open);
      body.addEventListener("keydown", (event) => { if (event.key === "Enter") open(event); });
    }

    isNumber(column) {
      return column.kind === "number" || column.of === "number";
    }

    sortBy(index) {
      this.sorted = { column: index, down: this.sorted.column === index && !this.sorted.down };
      [...this.table.tHead.rows[0].cells].forEach((cell, n) => {
        if (n === index) cell.setAttribute("aria-sort", this.sorted.down ? "descending" : "ascending");
        else cell.removeAttribute("aria-sort");
      });
      this.page = 0;
      this.update();
    }

    /** Filter, then sort. */
    update() {
      const { data } = this;
      const active = this.filters.filter(([, select]) => select.value !== "").map(([index, select]) => [data.columns[index].codes, Number(select.value)]);
      const words = this.search.value.trim().toLowerCase();
      const key = shortKey(words);
      const finders = words ? data.columns.map((column) => finder(column, words)).filter(Boolean) : [];
      const keep = [];
      for (let row = 0; row < data.rows; row++) {
        let ok = true;
        for (const [codes, code] of active) if (codes[row] !== code) { ok = false; break; }
        if (ok && words) {
          ok = (data.keys && data.keys[row].startsWith(key)) || finders.some((has) => has(row));
        }
        if (ok) keep.push(row);
      }
      const { column, down } = this.sorted;
      if (column >= 0) {
        const keys = sortKeys(data.columns[column]);
        const sign = down ? -1 : 1;
        keep.sort((a, b) => {
          const x = keys[a], y = keys[b];
          if (x === null || y === null) return (x === null) - (y === null) || a - b;
          return x < y ? -sign : x > y ? sign : a - b;
        });
      }
      this.shown = keep;
      this.draw();
    }

    draw() {
      const { data, shown } = this;
      const pages = Math.max(1, Math.ceil(shown.length / PAGE));
      this.page = Math.min(Math.max(0, this.page), pages - 1);
      const part = shown.slice(this.page * PAGE, (this.page + 1) * PAGE);
      this.table.tBodies[0].replaceChildren(...part.map((row) => {
        const line = make("tr", { tabindex: "0", "data-row": String(row), "aria-selected": String(row === this.chosen) });
        for (const column of data.columns) line.append(make("td", { class: this.isNumber(column) ? "n" : null }, textOf(column, row)));
        if (data.replays && data.replays[row]) line.classList.add("has-replay");
        return line;
      }));
      this.status.textContent = shown.length === data.rows ? `${data.rows.toLocaleString("en")} rows` : `${shown.length.toLocaleString("en")} of ${data.rows.toLocaleString("en")} rows`;
      this.where.textContent = `page ${this.page + 1} of ${pages}`;
      this.back.disabled = this.page === 0;
      this.forth.disabled = this.page === pages - 1;
      this.pager.hidden = pages === 1;
    }

    /** Show only rows with a value of a column, as if it had been chosen from its list. */
    filterBy(title, value) {
      const found = this.filters.find(([index]) => this.data.columns[index].title === title);
      const option = found && [...found[1].options].find((o) => o.textContent === value);
      if (!option) return;
      found[1].value = option.value;
      this.update();
    }

    choose(row) {
      this.chosen = row;
      for (const line of this.table.tBodies[0].rows) line.setAttribute("aria-selected", String(Number(line.dataset.row) === row));
      if (this.options.onChoose) this.options.onChoose(row, this);
    }
  }

  window.giveway.Browser = Browser;
  window.giveway.textOf = textOf;

  window.addEventListener("DOMContentLoaded", () => {
    for (const element of document.querySelectorAll(".browser")) {
      load(element.dataset.source).then(
        (data) => {
          const browser = new Browser(element, data, { onChoose: window.giveway.showDetails });
          element.giveway = browser;
          const wanted = shortKey(decodeURIComponent(location.hash.slice(1)));
          const row = wanted && data.keys ? data.keys.indexOf(wanted) : -1;
          if (row >= 0) browser.choose(row);
          else if (wanted.includes("=")) browser.filterBy(...wanted.split("=", 2));
          element.dataset.ready = "true";
        },
        (error) => element.replaceChildren(make("p", { class: "warning", role: "alert" }, `${error.message}; the site is incomplete.`)),
      );
    }
  });
})();
