/** Verbatim lines with their numbers. */
import { h } from "./dom.js";
import { lineKinds } from "./line-kinds.js";
import { visible } from "./visible-text.js";
import { inOnePiece } from "./words.js";

/** @typedef {[number, number]} Range first and last line */

/** @param {number} number @param {Range[]} ranges */
export function isWithin(number, ranges) {
  return ranges.some(([start, end]) => start <= number && number <= end);
}

/**
 * Shows some lines of a passage.
 * @param {string} content
 * @param {number} start number of its first line
 * @param {Range[]} shown
 * @param {Range[]} [marked]
 * @param {Range[]} [open] those shown on a screen; paper shows all
 */
export function excerpt(content, start, shown, marked = [], open = shown) {
  const lines = content.split("\n");
  const kinds = lineKinds(lines, start === 1);
  /** @type {HTMLElement[]} */
  const rows = [];
  let last = start - 1;
  lines.forEach((text, index) => {
    const number = start + index;
    if (!isWithin(number, shown)) return;
    const added = [row(number, text, kinds[index], isWithin(number, marked))];
    if (rows.length && number !== last + 1) added.unshift(h("div", { class: "line-gap", "aria-hidden": "true" }, "⋯"));
    for (const element of added) element.classList.toggle("folded", !isWithin(number, open));
    rows.push(...added);
    last = number;
  });
  return h("div", { class: "lines" }, rows);
}

/** @param {number} number @param {string} text @param {string} kind @param {boolean} marked */
function row(number, text, kind, marked) {
  return h("div", { class: `line is-${kind}${marked ? " cited-line" : ""}`, "data-line": number },
    h("span", { class: "line-number", "data-number": number, "aria-hidden": "true" }),
    lineText(text, kind));
}

/** @param {string} text @param {string} kind */
export function lineText(text, kind) {
  const nodes = visible(text);
  const shown = kind === "code" ? nodes.flatMap((node) => (typeof node === "string" ? inOnePiece(node) : [node])) : nodes;
  return h("span", { class: "line-text", dir: "auto" }, ...shown);
}
