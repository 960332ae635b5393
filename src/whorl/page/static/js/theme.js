// Light or dark before the first paint: what was chosen here last, else what the system prefers.
(() => {
  const root = document.documentElement;
  let chosen = null;
  try { chosen = localStorage.getItem("whorl-theme"); } catch { /* storage may be forbidden; the system's choice stands */ }
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;

  addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", () => {
      const dark = matchMedia("(prefers-color-scheme: dark)").matches;
      const now = root.dataset.theme ?? (dark ? "dark" : "light");
      root.dataset.theme = now === "dark" ? "light" : "dark";
      try { localStorage.setItem("whorl-theme", root.dataset.theme); } catch { /* kept for this visit only */ }
      dispatchEvent(new Event("themechange"));
    });
  });
})();
