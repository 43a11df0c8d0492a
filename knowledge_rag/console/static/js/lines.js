/** Verbatim lines with their numbers. */
import { h } from "./dom.js";
import { inOnePiece, visible } from "./visible-text.js";

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
 * @param {boolean} [whole] whether the marks around a block of code are shown too
 */
export function excerpt(content, start, shown, marked = [], open = shown, whole = false) {
  const lines = content.split("\n");
  const kinds = lineKinds(lines, start === 1);
  /** @type {HTMLElement[]} */
  const rows = [];
  let last = start - 1;
  lines.forEach((text, index) => {
    const number = start + index;
    if (!isWithin(number, shown)) return;
    if (kinds[index] === "fence" && !whole && number === last + 1) last = number;
    if (kinds[index] === "fence" && !whole) return;
    const added = [row(number, text, kinds[index], isWithin(number, marked))];
    if (rows.length && number !== last + 1) added.unshift(h("div", { class: "line-gap", "aria-hidden": "true" }, "⋯"));
    for (const element of added) element.classList.toggle("folded", !isWithin(number, open));
    rows.push(...added);
    last = number;
  });
  // nothing but such marks is cited
  if (!rows.length && !whole && shown.length) return excerpt(content, start, shown, marked, open, true);
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

/** @typedef {"front" | "fence" | "code" | "table" | "heading" | "blank" | "prose"} LineKind */

const FENCE = /^\s*(?:>\s*)*(?:(?:[-*+]|\d+[.)])\s+)*(`{3,}|~{3,})/;

/**
 * The kind of each line of a Markdown file, for its looks only.
 * @param {string[]} lines
 * @param {boolean} [isWhole] whether they begin where the file does, where front matter may stand
 * @returns {LineKind[]}
 */
export function lineKinds(lines, isWhole = false) {
  let fence = "";
  let front = isWhole && lines[0]?.trimEnd() === "---" ? lines.findIndex((line, at) => at > 0 && line.trimEnd() === "---") : -1;
  return lines.map((line, index) => {
    if (index <= front) return "front";
    const mark = FENCE.exec(line)?.[1] ?? "";
    if (fence) {
      if (!mark.startsWith(fence)) return "code";
      fence = "";
      return "fence";
    }
    fence = mark;
    return mark ? "fence" : kindOf(line);
  });
}

/** @param {string} line @returns {LineKind} */
function kindOf(line) {
  if (!line.trim()) return "blank";
  if (/^#{1,6}\s/.test(line)) return "heading";
  return /^\s*\|.*\|\s*$/.test(line) ? "table" : "prose";
}
