"use strict";
// Dark or light for everything on the page: data-theme on the root. The button overrides the system and is remembered.

(function () {
  const button = document.getElementById("theme"), root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const remembered = () => { try { return localStorage.getItem("giveway-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  if (["dark", "light"].includes(remembered())) root.dataset.theme = remembered();
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("giveway-theme", root.dataset.theme); } catch { /* not allowed for this file */ }
    show();
  });
  system.addEventListener("change", show);
  show();
})();
