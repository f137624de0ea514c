"use strict";
// Charts of a page: forest plot, scatter, ratings. One unit is one CSS pixel; drawn again when the width changes.

(function () {
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const NARROW = 460;

  /** An SVG element; attributes are set one by one, so that nothing in them is ever markup. */
  function svg(tag, attributes = {}, text = "") {
    const element = document.createElementNS(NAMESPACE, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== "") element.textContent = text;
    return element;
  }

  function canvas(width, height, alt) {
    return svg("svg", { role: "img", "aria-label": alt, viewBox: `0 0 ${width} ${height}`, width, height });
  }

  const scale = (from, to, a, b) => (value) => a + ((value - from) / (to - from)) * (b - a);
  const ends = (ticks) => [ticks[0], ticks[ticks.length - 1]];
  const plain = (value) => String(+value.toPrecision(6)).replace("-", "−");
  const percent = (value) => `${plain(100 * value)} %`;
  /** As much of a label as fits: without what stands behind the first comma, semicolon or colon. */
  const fitting = (label, room) => (6.4 * label.length <= room ? label : label.split(/[,;:]/)[0]);
  const between = (value, [low, high]) => Math.min(Math.max(value, low), high);

  /** Filled: tied with the best. Hollow: worse. Circle: random splits. Diamond: critical split. */
  function addMark(root, mark, x, y, to, domain) {
    const kind = `${mark.critical ? "critical" : "random"} ${mark.tied ? "filled" : "hollow"}`;
    if (mark.low !== null && mark.high !== null) {
      const [a, b] = [between(mark.low, domain), between(mark.high, domain)];
      root.append(svg("line", { class: `whisker ${kind}`, x1: to(a), x2: to(b), y1: y, y2: y }));
    }
    root.append(mark.critical ? svg("path", { class: `mark ${kind}`, d: `M${x} ${y - 6.5}l6.5 6.5-6.5 6.5-6.5-6.5z` })
      : svg("circle", { class: `mark ${kind}`, cx: x, cy: y, r: 5 }));
  }

  function forest(chart, width) {
    const stacked = width < NARROW, step = 16, format = chart.percent ? percent : plain;
    const longest = Math.max(...chart.rows.map((row) => Math.max(row.label.length, row.note.length * 0.9)));
    const left = stacked ? 0 : Math.min(Math.max(90, 7.4 * longest + 16), 0.42 * width);
    const texts = chart.rows.flatMap((row) => row.marks.map((mark) => mark.text.length));
    const right = Math.max(34, 8 * Math.max(...texts) + 8);
    const most = Math.max(...chart.rows.map((row) => row.marks.length));
    const high = Math.max(most * step, chart.rows.some((row) => row.note) && !stacked ? 34 : 0) + (stacked ? 30 : 10);
    const top = 6, bottom = top + chart.rows.length * high, domain = ends(chart.ticks);
    const to = scale(...domain, left + 10, width - right - 8);
    const root = canvas(width, bottom + 40, chart.alt);
    for (const tick of chart.ticks) {
      root.append(svg("line", { class: "grid", x1: to(tick), x2: to(tick), y1: top, y2: bottom }));
      root.append(svg("text", { class: "dim", x: to(tick), y: bottom + 16, "text-anchor": "middle" }, format(tick)));
    }
    if (chart.chance !== null) {
      root.append(svg("line", { class: "chance", x1: to(chart.chance), x2: to(chart.chance), y1: top, y2: bottom }));
    }
    chart.rows.forEach((row, index) => {
      const start = top + index * high, middle = start + high / 2;
      if (index) root.append(svg("line", { class: "grid", x1: 0, x2: width, y1: start, y2: start }));
      const weight = row.strong ? "strong" : "";
      if (stacked) {
        root.append(svg("text", { class: `halo ${weight}`, x: 0, y: start + 18 }, row.note ? `${row.label} · ${row.note}` : row.label));
      } else {
        root.append(svg("text", { class: weight, x: left - 6, y: middle + (row.note ? -3 : 4), "text-anchor": "end" }, row.label));
        if (row.note) root.append(svg("text", { class: "dim small", x: left - 6, y: middle + 13, "text-anchor": "end" }, row.note));
      }
      row.marks.forEach((mark, k) => {
        const y = (stacked ? start + 26 + step / 2 : middle - (row.marks.length * step) / 2 + step / 2) + k * step;
        if (mark.value !== null) addMark(root, mark, to(between(mark.value, domain)), y, to, domain);
        root.append(svg("text", { class: mark.tied ? "strong" : "dim", x: width, y: y + 4, "text-anchor": "end" }, mark.text));
      });
    });
    root.append(svg("text", { class: "dim", x: (left + width - right) / 2, y: bottom + 34, "text-anchor": "middle" }, fitting(chart.label, width)));
    return root;
  }

  /** Where a label disturbs least: beside, above or below its point. */
  function placed(label, x, y, width, height, taken) {
    const wide = 7.2 * label.length + 4;
    const places = [[10, 4, "start"], [-10, 4, "end"], [10, -10, "start"], [-10, -10, "end"], [10, 18, "start"], [-10, 18, "end"],
      [0, -14, "middle"], [0, 24, "middle"], [12, -26, "start"], [-12, 34, "end"], [12, 34, "start"], [-12, -26, "end"]];
    let best = null;
    for (const [dx, dy, anchor] of places) {
      const start = x + dx - (anchor === "end" ? wide : anchor === "middle" ? wide / 2 : 0);
      const box = [start, y + dy - 12, start + wide, y + dy + 4];
      const outside = Math.max(0, 34 - box[0]) + Math.max(0, box[2] - width) + Math.max(0, -box[1]) + Math.max(0, box[3] - height);
      const covered = taken.reduce((sum, other) => sum + Math.max(0, Math.min(box[2], other[2]) - Math.max(box[0], other[0]))
        * Math.max(0, Math.min(box[3], other[3]) - Math.max(box[1], other[1])), 0);
      const cost = covered + 100 * outside;
      if (best === null || cost < best.cost - 1e-9) best = { cost, box, dx, dy, anchor };
    }
    taken.push(best.box);
    return best;
  }

  function scatter(chart, width) {
    const slim = width < NARROW, height = 246, left = 36, top = 22, bottom = height - 40;
    const far = chart.points.find((point) => point.far), cut = far ? width - (slim ? 74 : 104) : width - 12;
    const toX = scale(...ends(chart.xTicks), left + 8, far ? cut - 12 : cut), toY = scale(...ends(chart.yTicks), bottom, top);
    const x = (point) => (point.far ? width - (slim ? 30 : 44) : toX(point.x));
    const root = canvas(width, height, chart.alt);
    const { band } = chart;
    if (band && band.low !== null) {
      root.append(svg("rect", { class: "band", x: left, width: width - left, y: toY(band.high), height: Math.max(1, toY(band.low) - toY(band.high)) }));
    }
    for (const tick of chart.yTicks) {
      root.append(svg("line", { class: "grid", x1: left, x2: width, y1: toY(tick), y2: toY(tick) }));
      root.append(svg("text", { class: "dim", x: left - 6, y: toY(tick) + 4, "text-anchor": "end" }, plain(tick)));
    }
    for (const tick of chart.xTicks) {
      root.append(svg("line", { class: "grid", x1: toX(tick), x2: toX(tick), y1: top, y2: bottom }));
      root.append(svg("text", { class: "dim", x: toX(tick), y: bottom + 16, "text-anchor": "middle" }, plain(tick)));
    }
    const taken = [];
    if (band) {
      root.append(svg("line", { class: "reference", x1: left, x2: width, y1: toY(band.value), y2: toY(band.value) }));
      const said = `${band.name} ${plain(+band.value.toFixed(2))}`;
      root.append(svg("text", { class: "halo small", x: width - 4, y: toY(band.value) - 6, "text-anchor": "end" }, said));
      taken.push([width - 7 * said.length, toY(band.value) - 20, width, toY(band.value)]);
    }
    if (far) {
      root.append(svg("path", { class: "break", d: `M${cut - 3} ${bottom + 5}l6-10m-1 10l6-10` }));
      root.append(svg("text", { class: "dim", x: x(far), y: bottom + 16, "text-anchor": "middle" }, plain(+far.x.toFixed(1))));
    }
    for (const point of chart.points) {
      const [px, py] = [x(point), toY(point.y)], kind = point.strong ? "random filled" : "quiet";
      if (point.low !== null) root.append(svg("line", { class: `whisker ${kind}`, x1: px, x2: px, y1: toY(point.low), y2: toY(point.high) }));
      root.append(point.fault ? svg("path", { class: "fault", d: `M${px - 5} ${py - 5}l10 10m0-10l-10 10` })
        : svg("circle", { class: `mark ${kind}`, cx: px, cy: py, r: 5 }));
      taken.push([px - 6, py - 6, px + 6, py + 6]);
    }
    if (chart.pair) {
      const [a, b] = chart.pair.slice(0, 2).map((name) => chart.points.find((point) => point.name === name));
      const px = Math.max(x(a), x(b)) + 16, middle = (toY(a.y) + toY(b.y)) / 2, said = chart.pair[2];
      root.append(svg("path", { class: "bracket", d: `M${px - 6} ${toY(a.y)}h6V${toY(b.y)}h-6` }));
      root.append(svg("text", { class: "halo strong", x: px + 5, y: middle + 5 }, said));
      taken.push([px - 7, Math.min(toY(a.y), toY(b.y)), px + 2, Math.max(toY(a.y), toY(b.y))], [px, middle - 8, px + 8 * said.length + 8, middle + 8]);
    }
    for (const point of [...chart.points].sort((a, b) => b.strong - a.strong)) {
      const [px, py] = [x(point), toY(point.y)], at = placed(point.name, px, py, width, bottom, taken);
      root.append(svg("text", { class: `halo ${point.strong ? "strong" : "dim"}`, x: px + at.dx, y: py + at.dy, "text-anchor": at.anchor }, point.name));
    }
    root.append(svg("text", { class: "dim", x: 0, y: 12 }, chart.yLabel));
    root.append(svg("text", { class: "dim", x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, fitting(chart.xLabel, width)));
    return root;
  }

  /** Colors of a scale of n answers among the five of the style sheet. */
  const shade = (k, count) => `l${1 + Math.round((4 * k) / Math.max(1, count - 1))}`;

  function ratings(chart, width) {
    const stacked = width < NARROW, count = chart.options.length, middle = (count - 1) / 2;
    const longest = Math.max(...chart.rows.map((row) => Math.max(row.name.length, row.note.length * 0.9)));
    const left = stacked ? 0 : Math.min(7.4 * longest + 16, 0.36 * width), right = 64, high = stacked ? 50 : 42;
    const shares = chart.rows.map((row) => { const total = row.counts.reduce((a, b) => a + b, 0) || 1; return row.counts.map((c) => c / total); });
    const below = shares.map((s) => s.reduce((sum, share, k) => sum + (k < middle ? share : k === middle ? share / 2 : 0), 0));
    const [least, most] = [Math.max(...below, 0.01), Math.max(...below.map((b) => 1 - b), 0.01)];
    const to = scale(-least, most, left + 6, width - right - 6);
    const end = chart.rows.length * high, root = canvas(width, end + 40, chart.alt);
    chart.rows.forEach((row, index) => {
      const y = index * high + (stacked ? 22 : 6);
      if (stacked) root.append(svg("text", { class: "strong", x: 0, y: y - 6 }, row.note ? `${row.name} · ${row.note}` : row.name));
      else {
        root.append(svg("text", { class: "strong", x: left - 6, y: y + 12, "text-anchor": "end" }, row.name));
        root.append(svg("text", { class: "dim small", x: left - 6, y: y + 28, "text-anchor": "end" }, row.note));
      }
      let at = -below[index];
      shares[index].forEach((share, k) => {
        const [a, b] = [to(at), to(at + share)];
        root.append(svg("rect", { class: shade(k, count), x: a, y, width: Math.max(0, b - a - 1), height: 20 }));
        const said = String(Math.round(100 * share));
        if (b - a > 24) root.append(svg("text", { class: `small on-${shade(k, count)}`, x: (a + b) / 2, y: y + 14, "text-anchor": "middle" }, said));
        at += share;
      });
      root.append(svg("text", { class: "strong", x: width, y: y + 11, "text-anchor": "end" }, row.mean.toFixed(2)));
      if (row.low !== null) root.append(svg("text", { class: "dim small", x: width, y: y + 26, "text-anchor": "end" }, `${row.low.toFixed(1)}–${row.high.toFixed(1)}`));
    });
    root.append(svg("line", { class: "chance", x1: to(0), x2: to(0), y1: 0, y2: end }));
    const wide = (width - left) / count, room = Math.floor(wide / 6.6);
    chart.options.forEach((option, k) => {
      root.append(svg("rect", { class: shade(k, count), x: left + k * wide, y: end + 6, width: wide - 2, height: 8 }));
      const said = option.length <= room ? option : k === 0 || k === count - 1 ? option.split(" ").slice(-1)[0].slice(0, room) : "";
      root.append(svg("text", { class: "dim small", x: left + (k + 0.5) * wide, y: end + 30, "text-anchor": "middle" }, said));
    });
    return root;
  }

  const FORMS = { forest, scatter, ratings };
  window.giveway.drawing = { svg, canvas, scale, ends, plain, between, addMark };

  for (const place of document.querySelectorAll("[data-chart]")) {
    const chart = JSON.parse(place.dataset.chart);
    const shown = place.querySelector(".drawing");
    let last = 0;
    const draw = () => {
      const width = Math.floor(shown.clientWidth);
      if (!width || width === last) return;
      last = width;
      shown.replaceChildren(FORMS[chart.form](chart, width));
    };
    new ResizeObserver(draw).observe(shown);
    window.addEventListener("beforeprint", draw);
    draw();
  }
})();
