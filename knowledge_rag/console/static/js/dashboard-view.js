/**
 * The dashboard: counts since the console was started.
 *
 * @typedef {object} Metrics as `/api/metrics` returns them; null where there is nothing to divide by yet
 * @property {string} since ISO 8601
 * @property {{total: number, running: number, outcomes: Record<string, number>}} asks
 * @property {{reasons: Record<string, number>, p95Ms: number | null}} retrieval
 * @property {{citationRate: number | null, density: number | null, sourceCoverage: number | null, invalidReferences: number,
 *   warningRate: number | null, warnings: Record<string, number>}} answers
 * @property {{source: string, citations: number}[]} sources
 */
import { read } from "./api.js";
import { documentUrl } from "./citations.js";
import { byId, h, svg } from "./dom.js";
import { icon } from "./icons.js";
import { kindText, plainName } from "./wording.js";

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

  /** @param {Metrics} metrics */
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

/** @type {Record<string, string>} */
const OUTCOMES = {
  ok: "Answered", no_steps: "No documented steps", no_match: "Nothing documented", no_advice: "No answer that could be proven",
  degraded: "Knowledge base unavailable", left: "Stopped by the reader", refused: "Refused", timeout: "Took too long", internal: "Failed",
};

/** @param {Metrics} metrics */
function tiles({ asks, retrieval, answers }) {
  /** @param {string} name @param {string} how @param {string} note */
  const ended = (name, how, note) => {
    const number = asks.outcomes[how] ?? 0;
    return tile(name, percent(asks.total ? number / asks.total : null), asks.total ? `${number} of ${asks.total}${note}` : "no question yet");
  };
  return h("dl", { class: "tiles" },
    tile("Questions", String(asks.total), asks.running ? `${asks.running} being answered` : "since the start"),
    ended("Answered", "ok", " questions"),
    ended("No documented steps", "no_steps", "; passages came back"),
    ended("Nothing documented", "no_match", "; nothing came back"),
    ended("Unavailable", "degraded", "; it could not be searched"),
    tile("Search time", time(retrieval.p95Ms), "95 of 100 are faster; aim 2 s"),
    tile("Citation rate", percent(answers.citationRate), `of answers with sources${answers.density ? `; ${answers.density.toFixed(1)} citations in 100 words` : ""}`),
    tile("Source coverage", percent(answers.sourceCoverage), "of found sources are cited"),
    tile("Warning rate", percent(answers.warningRate), "of answers"),
    tile("Invalid references", String(answers.invalidReferences), "removed before they were shown"));
}

/** @param {string} name @param {string} value @param {string} note */
function tile(name, value, note) {
  return h("div", { class: "tile" }, h("dt", {}, name), h("dd", { class: "tile-value" }, value), h("dd", { class: "tile-note" }, note));
}

/** @param {Metrics} metrics */
function figures({ asks, retrieval, answers, sources }) {
  return h("div", { class: "figures" },
    counts("Outcomes of questions", "How each question ended", asks.outcomes, (name) => OUTCOMES[name] ?? plainName(name)),
    counts("Why it was unavailable", "Reasons of searches that failed", retrieval.reasons, plainName),
    counts("Warnings by kind", "What the checks of answers found", answers.warnings, kindText),
    mostCited(sources));
}

/**
 * @param {string} title
 * @param {string} note
 * @param {Record<string, number>} numbers
 * @param {(name: string) => string} named
 */
function counts(title, note, numbers, named) {
  const rows = Object.entries(numbers).map(([name, value]) => ({ label: named(name), value }));
  rows.sort((a, b) => b.value - a.value);
  return figure(title, note, bars(rows));
}

/** @param {{source: string, citations: number}[]} sources */
function mostCited(sources) {
  const rows = sources.map(({ source, citations }) => ({ label: source, value: citations, href: documentUrl(source) }));
  return figure("Most-cited sources", "How often answers cite a file", bars(rows));
}

/** @param {number | null} share */
function percent(share) {
  return share === null ? "–" : `${Math.round(share * 100)} %`;
}

/** @param {number | null} milliseconds */
function time(milliseconds) {
  if (milliseconds === null) return "–";
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${Number((milliseconds / 1000).toFixed(1))} s`;
}

/**
 * @param {string} title
 * @param {string} note what it counts, in a few words
 * @param {HTMLElement | null} chart null where there is nothing to draw yet
 */
function figure(title, note, chart) {
  return h("section", { class: "figure", "aria-label": title },
    h("h2", {}, title),
    h("p", { class: "hint" }, note),
    chart ?? h("p", { class: "nothing-yet" }, "Nothing yet"));
}

/**
 * Bars beside labels and numbers, the longest one as wide as there is room; a screen reader reads them as a list.
 * @param {{label: string, value: number, href?: string}[]} rows
 */
function bars(rows) {
  const most = Math.max(...rows.map(({ value }) => value));
  if (!rows.length || most <= 0) return null;
  return h("ul", { class: "bars" }, rows.map(({ label, value, href }) =>
    h("li", {},
      h("span", { class: "bar-label" }, href ? h("a", { href }, label) : label),
      h("span", { class: "bar-value" }, String(value)),
      svg("svg", { class: "bar", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { class: "bar-part", width: (100 * value) / most, height: 6 })))));
}
