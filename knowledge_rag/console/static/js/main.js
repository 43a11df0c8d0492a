/** Starts the page. */
import { AskView } from "./ask-view.js";
import { DocumentsView } from "./documents-view.js";
import { byId, h } from "./dom.js";
import { icon } from "./icons.js";
import { LazyView } from "./lazy-view.js";
import { Router } from "./router.js";

startTheme(byId("theme"));

const ask = new AskView();
const dashboard = new LazyView("dashboard-view", "Dashboard", async () => new (await import("./dashboard-view.js")).DashboardView());
const documents = new DocumentsView();
const verify = new LazyView("verify-view", "Verify", async () => new (await import("./verify-view.js")).VerifyView());
const health = new LazyView("health-view", "Health", async () => new (await import("./health-view.js")).HealthView());
const file = new LazyView("document-view", "Document", async () => new (await import("./document-view.js")).DocumentView({ back: backToAnswer }));

new Router((url) => {
  if (url.pathname.startsWith("/doc/")) return file;
  if (url.pathname === "/documents") return documents;
  if (url.pathname === "/verify") return verify;
  if (url.pathname === "/health") return health;
  return url.pathname === "/dashboard" ? dashboard : ask;
});

/** @returns {HTMLElement | null} the way to the answer that a document was opened from */
function backToAnswer() {
  if (!ask.hasAnswer) return null;
  return h("a", { class: "back-link", href: ask.address, "aria-label": "Back to the answer" }, icon("back"), h("span", {}, "Back to the answer"));
}

/** Dark and light: the system's choice until a reader makes one. @param {HTMLElement} button switches it */
function startTheme(button) {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
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
