/** What the dashboard shows, of what `/api/metrics` tells. */
import { documentUrl } from "./citations.js";
import { bars, columns, figure, table } from "./charts.js";
import { h } from "./dom.js";
import { kindText, plainName } from "./wording.js";

/** @type {Record<string, string>} */
const OUTCOMES = {
  ok: "Answered", no_steps: "No documented steps", no_match: "Nothing documented", no_advice: "No answer that could be proven",
  degraded: "Knowledge base unavailable", left: "Stopped by the reader", refused: "Refused", timeout: "Took too long", internal: "Failed",
};

/** @param {any} metrics */
export function tiles({ asks, retrieval, answers, clicks, visits, reports }) {
  const ended = (/** @type {string} */ name, /** @type {string} */ how, /** @type {string} */ note) => {
    const number = asks.outcomes[how] ?? 0;
    return tile(name, percent(asks.total ? number / asks.total : null), asks.total ? `${number} of ${asks.total}${note}` : "no question yet");
  };
  return h("dl", { class: "tiles" },
    tile("Questions", String(asks.total), asks.running ? `${asks.running} being answered` : "since the start"),
    ended("Answered", "ok", " questions"),
    ended("No documented steps", "no_steps", "; passages came back"),
    ended("Nothing documented", "no_match", "; nothing came back"),
    ended("Unavailable", "degraded", "; it could not be searched"),
    tile("Search time", time(retrieval.latency.p95Ms), "95 of 100 are faster; aim 2 s"),
    tile("Citation rate", percent(answers.citationRate), `of answers with sources${answers.density ? `; ${answers.density.toFixed(1)} citations in 100 words` : ""}`),
    tile("Source coverage", percent(answers.sourceCoverage), "of found sources are cited"),
    tile("Warning rate", percent(answers.warningRate), "of answers"),
    tile("Invalid references", String(answers.invalidReferences), "removed before they were shown"),
    tile("Citation clicks", String(clicks), `${visits} source${visits === 1 ? "" : "s"} opened`),
    tile("Reported", String(reports), "wrong citations"));
}

/** @param {string} name @param {string} value @param {string} note */
function tile(name, value, note) {
  return h("div", { class: "tile" }, h("dt", {}, name), h("dd", { class: "tile-value" }, value), h("dd", { class: "tile-note" }, note));
}

/** @param {any} metrics */
export function figures({ asks, retrieval, answers, sources }) {
  return h("div", { class: "figures" },
    counts("What became of questions", "How each question ended", "Outcome", asks.outcomes, (name) => OUTCOMES[name] ?? plainName(name)),
    histogram("Time of a search", retrieval.latency, "One query of the knowledge base; failed ones are left out"),
    histogram("Time to the first words", asks.firstText, "From the question to the first text of its answer"),
    counts("Why it was unavailable", "Reasons of searches that failed", "Reason", retrieval.reasons, plainName),
    counts("Warnings by kind", "What the checks of answers found", "Kind", answers.warnings, kindText),
    mostCited(sources));
}

/**
 * @param {string} title
 * @param {string} note
 * @param {string} column
 * @param {Record<string, number>} numbers
 * @param {(name: string) => string} named
 */
function counts(title, note, column, numbers, named) {
  const rows = Object.entries(numbers).map(([name, value]) => ({ label: named(name), value }));
  rows.sort((a, b) => b.value - a.value);
  return figure(title, note, bars(rows), table([column, "Number"], rows.map(({ label, value }) => [label, value])));
}

/** @param {string} title @param {any} times @param {string} note */
function histogram(title, times, note) {
  const rows = times.buckets.map(({ leMs, count }, index) => ({
    label: leMs === null ? "more" : time(leMs).replace(" ", "\n"), value: count,
    text: leMs === null ? `longer than ${time(times.buckets[index - 1].leMs)}` : `up to ${time(leMs)}`,
  }));
  const used = rows.map(({ value }, index) => (value ? index : -1)).filter((index) => index >= 0);
  const shown = rows.slice(Math.max(0, used[0] - 1), (used.at(-1) ?? 0) + 2);
  const middle = times.count ? `Half within ${time(times.p50Ms)}, 95 of 100 within ${time(times.p95Ms)}, all within ${time(times.maxMs)}.` : "";
  const chart = used.length ? h("div", {}, columns(shown, title), h("p", { class: "axis", "aria-hidden": "true" }, "time, up to")) : null;
  return figure(title, `${note}. ${middle}`, chart, table(["Time", "Number"], rows.map(({ text, value }) => [text, value])));
}

/** @param {{source: string, citations: number, clicks: number, visits: number}[]} sources */
function mostCited(sources) {
  const rows = sources.slice(0, 8).map(({ source, citations }) => ({ label: source, value: citations, href: documentUrl(source) }));
  return figure("Most-cited sources", "How often answers cite a file", bars(rows),
    table(["File", "Citations", "Clicks", "Visits"], sources.map(({ source, citations, clicks, visits }) => [source, citations, clicks, visits])));
}

/** @param {number | null} share */
function percent(share) {
  return share === null || share === undefined ? "–" : `${Math.round(share * 100)} %`;
}

/** @param {number | null} milliseconds */
function time(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "–";
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${Number((milliseconds / 1000).toFixed(1))} s`;
}
