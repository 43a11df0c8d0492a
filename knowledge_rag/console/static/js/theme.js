/** Dark and light: the system's choice until a reader makes one. */
import { icon } from "./icons.js";

const dark = window.matchMedia("(prefers-color-scheme: dark)");

/** @param {HTMLButtonElement} button switches it */
export function startTheme(button) {
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const show = () => {
    button.replaceChildren(icon(isDark() ? "sun" : "moon"));
    button.setAttribute("aria-label", isDark() ? "Use the light theme" : "Use the dark theme");
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // kept for this page only
    }
    show();
  });
  dark.addEventListener("change", show);
  show();
}
