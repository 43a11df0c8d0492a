/**
 * Bars beside labels and numbers, which a screen reader reads as a list.
 *
 * @typedef {{label: string, value: number, href?: string}} Row
 */
import { h, svg } from "./dom.js";

/**
 * @param {string} title
 * @param {string} note what it counts, in a few words
 * @param {HTMLElement | null} chart null where there is nothing to draw yet
 */
export function figure(title, note, chart) {
  return h("section", { class: "figure", "aria-label": title },
    h("h2", {}, title),
    h("p", { class: "hint" }, note),
    chart ?? h("p", { class: "nothing-yet" }, "Nothing yet"));
}

/** Bars, the longest one as wide as there is room. @param {Row[]} rows */
export function bars(rows) {
  const most = Math.max(...rows.map(({ value }) => value));
  if (!rows.length || most <= 0) return null;
  return h("ul", { class: "bars" }, rows.map(({ label, value, href }) =>
    h("li", {},
      h("span", { class: "bar-label" }, href ? h("a", { href }, label) : label),
      h("span", { class: "bar-value" }, String(value)),
      svg("svg", { class: "bar", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { class: "bar-part", width: (100 * value) / most, height: 6 })))));
}
