/** The view of what a team has to mend: each finding with the file and line. Found in the background; nobody's answer waits. */
import { read, send } from "./api.js";
import { copyButton } from "./copying.js";
import { announce, byId, counted, h } from "./dom.js";
import { icon } from "./icons.js";
import { sentence } from "./outcome.js";
import { visible } from "./visible-text.js";
import { agoText, plainName } from "./wording.js";

/**
 * @typedef {{file?: string, line?: number, level: string, kind: string, message: string, times?: number, url?: string, repositoryUrl?: string}} Finding
 * @typedef {{name: string, state: "waiting" | "computing" | "ready" | "failed" | "missing", message?: string,
 *   findings?: Finding[], count?: number, checked?: number, of?: string}} Section
 * @typedef {{state: "unchecked" | "computing" | "ready", since: string, sections: Section[]}} Health
 */

const EVERY_MS = 1_000;
/** Findings that are shown at first. */
const SOME = 10;

/** @type {Record<string, {title: string, hint: string, none: string}>} */
const SECTIONS = {
  alerts: { title: "Alerts without a runbook", hint: "When it fires, nobody gets steps. Write a runbook, or link one in the rule.", none: "Every alert finds its runbook." },
  drift: { title: "Procedures that no longer fit", hint: "Commands, links and owners that don’t exist, and reviews of more than a year ago.", none: "Commands, links, owners and review dates fit." },
  reviews: { title: "Runbooks that were never reviewed", hint: "Add last_reviewed to the front matter once somebody has gone through it.", none: "Every runbook has a review date." },
  lint: { title: "Text to look at", hint: "Secrets, hidden characters and text aimed at a model.", none: "No secret, no hidden character, nothing aimed at a model." },
  questions: { title: "Questions that found nothing", hint: "Somebody asked this, and nothing is documented.", none: "Something was found for every question." },
};

export class HealthView {
  title = "Health";
  #timer = 0;
  #shown = "";
  /** @type {Set<string>} sections that are shown in full */
  #open = new Set();

  constructor() {
    this.element = byId("health-view");
    this.heading = h("h1", { tabindex: "-1" }, "Health");
    this.since = h("p", { class: "since", role: "status" }, "\u00a0");
    this.again = h("button", { type: "button", onclick: () => this.#begin() }, icon("retry"), "Check again");
    this.body = h("div", { class: "health" });
    this.element.append(h("div", { class: "health-head" }, h("div", {}, this.heading, this.since), this.again), this.body);
  }

  async show() {
    this.element.hidden = false;
    await this.#refresh();
  }

  hide() {
    this.element.hidden = true;
    clearTimeout(this.#timer);
  }

  async #begin() {
    this.#open.clear();
    await this.#refresh(() => send("/api/health", {}));
  }

  /** @param {() => Promise<Health>} [ask] */
  async #refresh(ask = () => read("/api/health")) {
    clearTimeout(this.#timer);
    try {
      let health = await ask();
      if (health.state === "unchecked") health = await send("/api/health", {});
      this.#fill(health);
      if (health.state === "computing" && !this.element.hidden) this.#timer = setTimeout(() => this.#refresh(), EVERY_MS);
    } catch (error) {
      this.since.textContent = /** @type {Error} */ (error).message;
    }
  }

  /** @param {Health} health */
  #fill(health) {
    const now = JSON.stringify(health);
    if (now === this.#shown) return;
    const before = this.element.dataset.state;
    this.#shown = now;
    this.element.dataset.state = health.state;
    this.again.disabled = health.state === "computing";
    this.since.textContent = health.state === "computing" ? "Checking in the background. Answers don’t wait for it." : `Checked ${agoText(health.since, Date.now())}, ${health.since.slice(11, 16)} UTC.`;
    const focused = this.body.contains(document.activeElement) ? document.activeElement?.id : "";
    this.body.replaceChildren(...health.sections.map((section) => this.#section(section)));
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    if (before === "computing" && health.state === "ready") announce(`Checked: ${counted(health.sections.reduce((sum, { count = 0 }) => sum + count, 0), "finding")}`);
  }

  /** @param {Section} section */
  #section(section) {
    const { name, state, count = 0 } = section;
    const { title } = SECTIONS[name] ?? { title: plainName(name) };
    return h("section", { class: "health-section", "aria-labelledby": `health-${name}`, "data-state": state, "data-found": count > 0 },
      h("h2", { id: `health-${name}` }, title, badge(section)), this.#words(section));
  }

  /** @param {Section} section @returns {import("./dom.js").Child[]} */
  #words({ name, state, message = "", findings = [], count = 0, checked = 0, of = "" }) {
    const { hint, none } = SECTIONS[name] ?? { hint: "", none: "Nothing found." };
    if (state === "missing") return [h("p", { class: "hint" }, message)];
    if (state === "failed") return [h("p", { class: "notice" }, icon("warning"), h("span", {}, h("strong", {}, "Not checked."), " ", ...visible(sentence(message))))];
    if (state !== "ready") return [h("p", { class: "hint" }, state === "computing" ? "Checking …" : "Waiting …")];
    const looked = `${counted(checked, of)} checked.`;
    if (!count) return [h("p", { class: "hint" }, `${none} ${looked}`)];
    const isOpen = this.#open.has(name);
    const shown = isOpen ? findings : findings.slice(0, SOME);
    return [
      h("p", { class: "hint" }, `${hint} ${looked}`),
      h("ul", { class: "health-findings" }, shown.map(row)),
      findings.length > SOME ? h("button", { type: "button", class: "quiet", id: `more-${name}`, "aria-expanded": String(isOpen), onclick: () => this.#toggle(name) }, isOpen ? "Show fewer" : `Show all ${findings.length}`) : null,
      count > findings.length ? h("p", { class: "hint" }, `${count - findings.length} more: the command line lists them all.`) : null,
    ];
  }

  /** @param {string} name */
  #toggle(name) {
    if (!this.#open.delete(name)) this.#open.add(name);
    const health = JSON.parse(this.#shown);
    this.#shown = "";
    this.#fill(health);
  }
}

/** @param {Section} section */
function badge({ state, count = 0 }) {
  if (state === "computing") return h("span", { class: "spinner", role: "img", "aria-label": "Checking" });
  if (state !== "ready") return null;
  return count ? h("span", { class: "badge" }, count) : h("span", { class: "badge good" }, icon("tick"), h("span", { class: "visually-hidden" }, "nothing found"));
}

/** @param {Finding} finding */
function row({ file, line, level, kind, message, times, url, repositoryUrl }) {
  const place = file && [h("span", { class: "path" }, ...visible(file)), `:${line}`];
  return h("li", { class: `is-${level}` },
    h("p", {}, file ? null : icon("search"), ...visible(file ? sentence(message) : message), times && times > 1 ? ` (${times} times)` : ""),
    h("p", { class: "where" },
      place ? (url ? h("a", { href: url }, place) : h("span", {}, place)) : h("a", { href: `/?${new URLSearchParams({ q: message })}` }, "Ask again"),
      h("span", { class: "tag" }, plainName(kind.replaceAll("-", "_"))),
      repositoryUrl ? h("a", { href: repositoryUrl, rel: "noopener noreferrer", target: "_blank" }, "Edit", icon("open")) : null,
      file ? copyButton("Copy place", () => `${file}:${line}`, "place") : null));
}
