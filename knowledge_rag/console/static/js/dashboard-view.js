/** The dashboard: counts since the console was started. */
import { read } from "./api.js";
import { figures, tiles } from "./dashboard-parts.js";
import { byId, h } from "./dom.js";
import { icon } from "./icons.js";

const EVERY_MS = 10_000;

export class DashboardView {
  title = "Dashboard";
  #timer = 0;
  #shown = "";

  constructor() {
    this.element = byId("dashboard-view");
    this.heading = h("h1", { tabindex: "-1" }, "Dashboard");
    this.since = h("p", { class: "since" }, "\u00a0");
    this.body = h("div", { class: "dashboard" });
    this.element.append(this.heading, this.since, this.body);
  }

  async show() {
    this.element.hidden = false;
    await this.#refresh();
  }

  hide() {
    this.element.hidden = true;
    clearTimeout(this.#timer);
  }

  async #refresh() {
    clearTimeout(this.#timer);
    try {
      this.#fill(await read("/api/metrics"));
    } catch (error) {
      this.#tell(/** @type {Error} */ (error));
    }
    if (!this.element.hidden) this.#timer = setTimeout(() => this.#refresh(), EVERY_MS);
  }

  /** @param {import("./dashboard-parts.js").Metrics} metrics */
  #fill(metrics) {
    const now = JSON.stringify(metrics);
    if (now === this.#shown) return;
    this.#shown = now;
    const yet = metrics.asks.total ? "" : " No question has been asked since.";
    this.since.textContent = `Since this console was started, ${when(metrics.since)}.${yet}`;
    this.body.replaceChildren(tiles(metrics), figures(metrics));
  }

  /** @param {Error} error */
  #tell(error) {
    this.#shown = "";
    this.body.replaceChildren(h("div", { class: "outcome", "data-kind": "failed" },
      h("div", { class: "outcome-mark" }, icon("offline")),
      h("div", { class: "outcome-words" }, h("p", {}, h("strong", {}, "No figures"), " ", error.message)),
      h("button", { type: "button", class: "retry", onclick: () => this.#refresh() }, icon("retry"), "Try again")));
  }
}

/** @param {string} time ISO 8601 */
function when(time) {
  return new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}
