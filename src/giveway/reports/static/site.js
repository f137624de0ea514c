"use strict";
// What every page needs: data files, dark and light, tables that sort and filter. No dependencies, no network.

window.giveway = (function () {
  const loaded = new Map();
  const waiting = new Map();

  /** Called by data files. */
  function data(name, value) {
    loaded.set(name, value);
    for (const [resolve] of waiting.get(name) || []) resolve(value);
    waiting.delete(name);
  }

  /** The value in a data file beside the page; a script element, because pages on disk may not fetch. */
  function load(name) {
    if (loaded.has(name)) return Promise.resolve(loaded.get(name));
    return new Promise((resolve, reject) => {
      const first = !waiting.has(name);
      if (first) waiting.set(name, []);
      waiting.get(name).push([resolve, reject]);
      if (!first) return;
      const script = document.createElement("script");
      script.src = name;
      const fail = () => {
        for (const [, refuse] of waiting.get(name) || []) refuse(new Error(`${name} cannot be read`));
        waiting.delete(name);
      };
      script.addEventListener("error", fail);
      script.addEventListener("load", () => { if (!loaded.has(name)) fail(); script.remove(); });
      document.head.append(script);
    });
  }

  function make(tag, attributes = {}, text = "") {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
    }
    if (text !== "") element.textContent = text;
    return element;
  }

  /** A number for people, at most six digits. */
  function number(value) {
    if (value === null || value === undefined) return "–";
    if (Number.isInteger(value)) return String(value);
    return Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-4) ? value.toExponential(3) : String(+value.toPrecision(5));
  }

  return { data, load, make, number };
})();

(function () {
  const { make } = window.giveway;

  function orderOf(cell) {
    if (cell.dataset.order === undefined) return cell.textContent;
    return cell.dataset.order === "" ? null : Number(cell.dataset.order);
  }

  function compare(a, b) {
    if (a === null || b === null) return (a === null) - (b === null);
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  }

  function sortTable(table, column, head) {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].map((row) => [orderOf(row.cells[column]), row]);
    rows.sort((x, y) => {
      if (x[0] === null || y[0] === null) return compare(x[0], y[0]); // missing values last, whichever way
      return down ? -compare(x[0], y[0]) : compare(x[0], y[0]);
    });
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  function addFilters(table) {
    const columns = (table.dataset.filters || "").split(" ").filter(Boolean).map(Number);
    const selects = [];
    const controls = make("div", { class: "controls" });
    for (const column of columns) {
      const values = [...new Set([...table.tBodies[0].rows].map((row) => row.cells[column].textContent))];
      if (values.length < 2) continue;
      values.sort(compare);
      const title = table.tHead.rows[0].cells[column].textContent;
      const label = make("label", {}, title);
      const select = make("select");
      select.append(make("option", { value: "" }, "all"), ...values.map((v) => make("option", { value: v }, v)));
      label.append(select);
      controls.append(label);
      selects.push([column, select]);
    }
    if (!selects.length) return;
    const apply = () => {
      for (const row of table.tBodies[0].rows) {
        row.hidden = selects.some(([column, select]) => select.value && row.cells[column].textContent !== select.value);
      }
    };
    controls.addEventListener("change", apply);
    table.parentElement.before(controls);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => sortTable(table, column, head));
    });
    addFilters(table);
  }
})();
