/**
 * Small charts. Each is a list of labels and numbers that a screen reader reads as such, with bars drawn
 * beside them, and the same once more as a table.
 *
 * @typedef {{label: string, value: number, href?: string, text?: string}} Row
 */
import { h, svg } from "./dom.js";

/**
 * @param {string} title
 * @param {string} note what it counts, in a few words
 * @param {HTMLElement | null} chart null where there is nothing to draw yet
 * @param {HTMLElement | null} [table]
 */
export function figure(title, note, chart, table = null) {
  return h("section", { class: "figure", "aria-label": title },
    h("h2", {}, title),
    h("p", { class: "hint" }, note),
    chart ?? h("p", { class: "nothing-yet" }, "Nothing yet"),
    chart && table ? h("details", { "data-table": title }, h("summary", {}, "As a table"), h("div", { class: "table-box", tabindex: "0", role: "group", "aria-label": `${title}, as a table` }, table)) : null);
}

/** Bars that lie, the longest one as wide as there is room. @param {Row[]} rows */
export function bars(rows) {
  const most = Math.max(...rows.map(({ value }) => value));
  if (!rows.length || most <= 0) return null;
  return h("ul", { class: "bars" }, rows.map(({ label, value, href, text }) =>
    h("li", {},
      h("span", { class: "bar-label" }, href ? h("a", { href }, label) : label),
      h("span", { class: "bar-value" }, text ?? String(value)),
      svg("svg", { class: "bar", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { class: "bar-part", width: (100 * value) / most, height: 6 })))));
}

/** Bars that stand, one for each range of time. @param {Row[]} rows @param {string} label */
export function columns(rows, label) {
  const most = Math.max(...rows.map(({ value }) => value));
  if (!rows.length || most <= 0) return null;
  return h("ol", { class: "columns-chart", "aria-label": label }, rows.map(({ label: name, value, text }) =>
    h("li", {},
      h("span", { class: "column-value" }, value || ""),
      svg("svg", { viewBox: "0 0 10 100", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { class: "bar-part", width: 10, y: 100 - (100 * value) / most, height: (100 * value) / most })),
      h("span", { class: "column-label", "aria-hidden": "true" }, name),
      h("span", { class: "visually-hidden" }, text ?? name))));
}

/**
 * @param {string[]} head
 * @param {(string | number)[][]} rows the first cell names the row
 */
export function table(head, rows) {
  return h("table", {},
    h("thead", {}, h("tr", {}, head.map((cell) => h("th", { scope: "col" }, cell)))),
    h("tbody", {}, rows.map(([first, ...cells]) =>
      h("tr", {}, h("th", { scope: "row" }, first), cells.map((cell) => h("td", {}, cell))))));
}
