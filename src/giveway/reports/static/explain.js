"use strict";
// One encounter of the cognitive driver model, step by step.

(function () {
  const get = (id) => document.getElementById(id);
  const data = JSON.parse(get("explained").textContent);
  const last = data.time_s.length - 1;
  const slider = get("step");
  slider.max = last;
  const fixed = (x, n) => (x === null ? "–" : x.toFixed(n));

  // E drives along x from the left, T along y from above; the conflict point is the origin.
  const farthest = Math.max(...data.chi_m.map((c) => Math.max(Math.abs(c[0]), 1.4 * Math.abs(c[1]))), 15);
  get("scene").setAttribute("viewBox", `${-farthest - 4} ${-farthest * 0.62 - 4} ${farthest + 18} ${farthest * 0.62 + 16}`);

  function car(x, y, alongX, style) {
    const [w, h] = alongX ? [5, 2] : [2, 5];
    return `<rect x="${x - w / 2}" y="${y - h / 2}" width="${w}" height="${h}" rx="0.6" ${style}/>`;
  }

  function show(i) {
    const [chiE, chiT] = data.chi_m[i], [cE, cT] = data.half_extent_m, head = data.target;
    const le = 2 * cE - 5, lt = 2 * cT - 5;
    get("scene").innerHTML =
      `<rect x="${-farthest - 4}" y="-2" width="${farthest + 18}" height="4" fill="var(--road)"/>` +
      `<rect x="-2" y="${-farthest * 0.62 - 4}" width="4" height="${farthest * 0.62 + 16}" fill="var(--road)"/>` +
      `<rect x="${-le / 2}" y="${-lt / 2}" width="${Math.max(le, 0.5)}" height="${Math.max(lt, 0.5)}" fill="var(--warn-line)" opacity="0.6"/>` +
      car(-chiE, 0, true, 'fill="var(--prio)"') + car(0, -chiT, false, 'fill="var(--ego)"') +
      car(-head.percept[i][0], 0, true, 'fill="none" stroke="var(--prio)" stroke-width="0.35" stroke-dasharray="0.9 0.6"');
    get("time").textContent = `${data.time_s[i].toFixed(1)} s`;
    get("belief").innerHTML =
      `<span class="ego">E</span> is ${fixed(chiE - cE, 1)} m away at ${fixed(data.v_mps[i][0], 1)} m/s; ` +
      `<span class="target">T</span> sees ${fixed(head.observed_m[i] - cE, 1)} m, estimates ` +
      `${fixed(head.estimate[i][0] - cE, 1)} ± ${fixed(head.deviation[i][0], 1)} m, acts on ` +
      `${fixed(head.percept[i][0] - cE, 1)} m and ${fixed(head.percept[i][1], 1)} m/s.`;
    const best = head.advantage[i].indexOf(Math.max(...head.advantage[i]));
    get("actions").innerHTML = data.actions.map((u, k) => {
      const kind = k === best && head.act[i] ? "done" : k === best ? "best" : "";
      const sign = u > 0 ? "+" : "";
      return `<tr class="${kind}"><th>${sign}${u} ${data.action_unit}</th><td>${fixed(head.p_first[i][k], 3)}</td>` +
        `<td>${head.advantage[i][k].toExponential(2)}</td><td>${(100 * head.advantage[i][k] / data.threshold).toFixed(0)} %</td></tr>`;
    }).join("");
  }

  let timer = null;
  function stop() { clearInterval(timer); timer = null; get("play").textContent = "Play"; }
  slider.addEventListener("input", () => show(Number(slider.value)));
  get("play").addEventListener("click", () => {
    if (timer) { stop(); return; }
    if (Number(slider.value) === last) slider.value = 0;
    get("play").textContent = "Pause";
    timer = setInterval(() => {
      if (Number(slider.value) >= last) { stop(); return; }
      slider.value = Number(slider.value) + 1;
      show(Number(slider.value));
    }, 400);
  });
  show(0);
})();
