/** Marks what the sources don't back: steps that aren't in their cited lines, and text that cites nothing. */
import { documentUrl } from "./citations.js";
import { flash, h, scrollTo } from "./dom.js";
import { ADDED, bare, bareText, citingOf, isCode, stepsOf } from "./steps.js";

/** @typedef {import("./answer-state.js").Step} Step */

const QUOTED = 80;
const UNITS = "li, tbody > tr, .block > p, .block > blockquote, .block > .code";

/**
 * Marks both, and removes earlier marks.
 * @param {Element} blocks
 * @param {import("./answer-state.js").Recommendation | null} recommendation
 * @returns {number} how many places cite nothing
 */
export function markDoubts(blocks, recommendation) {
  clear(blocks);
  const { summary = "", guidance = [], procedures = [] } = recommendation?.recommendation ?? {};
  if (recommendation) markUnbacked(blocks, guidance);
  // procedures are written by the server, from cited lines
  const uncited = procedures.length ? [] : uncitedIn(blocks, bare(summary));
  for (const element of uncited) {
    element.classList.add("uncited");
    placeOf(element).append(h("span", { class: "mark-note" }, " ",
      h("span", { class: "uncited-note", role: "note", "aria-label": "not cited: this rests on no source" }, "not cited")));
  }
  return uncited.length;
}

/** @param {Element} blocks */
function clear(blocks) {
  blocks.querySelectorAll(".mark-note").forEach((note) => note.remove());
  blocks.querySelectorAll(".unbacked, .uncited").forEach((element) => element.classList.remove("unbacked", "uncited"));
}

/** @param {Element} blocks @param {Step[]} guidance */
function markUnbacked(blocks, guidance) {
  const steps = stepsOf(blocks, guidance);
  guidance.forEach(({ support, action }, index) => {
    const step = steps[index];
    if (support !== "unsupported" || !step) return;
    const isAlone = steps.filter((other) => other === step).length === 1;
    const what = isAlone ? "Not" : `“${action.slice(0, QUOTED)}${action.length > QUOTED ? "…" : ""}” is not`;
    step.classList.add("unbacked");
    placeOf(step).append(h("span", { class: `mark-note unbacked-note${isAlone ? "" : " quoting"}` }, `${what} in the cited lines: check it first.`));
  });
}

/** The place for notes in an element. @param {Element} element */
function placeOf(element) {
  return element.matches("tr") ? (element.lastElementChild ?? element) : element;
}

/**
 * Text that has words and cites nothing.
 * @param {Element} blocks
 * @param {string} summary bare: the recommendation says that of itself
 * @returns {Element[]}
 */
function uncitedIn(blocks, summary) {
  /** @type {Element[]} */
  const found = [];
  for (const unit of blocks.querySelectorAll(UNITS)) {
    if (found.some((other) => other.contains(unit)) || isBacked(unit)) continue;
    const said = bareText(unit, isCode(unit) ? ".copy-code" : ADDED);
    // the server marks labels, which only name a part of the answer
    if (!said || unit.matches(".label") || (unit.matches("p") && summary.includes(said))) continue;
    found.push(unit);
  }
  return found;
}

/** @param {Element} unit @returns {boolean} */
function isBacked(unit) {
  if (isCode(unit)) return hasOwner(unit);
  if (citingOf(unit).some((element) => element.querySelector("a.cite"))) return true;
  const list = unit.parentElement;
  const above = list?.closest("li");
  // items below one that cites share its citation, unless they cite for themselves
  return Boolean(above && !list?.querySelector("a.cite") && isBacked(above) && above.querySelector("a.cite"));
}

/** Whether code stands below words that it belongs to. @param {Element} code */
function hasOwner(code) {
  const block = code.parentElement;
  let before = code.previousElementSibling;
  for (let other = block?.previousElementSibling; !before && other; other = other.previousElementSibling) before = other.lastElementChild;
  return before !== null && !before.matches("h3, h4, h5, h6, hr");
}

/**
 * Leads from the name of lines that are not shown to the lines themselves.
 * @param {Element} blocks
 * @param {import("./answer-state.js").Recommendation | null} recommendation
 */
export function nameGaps(blocks, recommendation) {
  const gaps = (recommendation?.recommendation.procedures ?? []).flatMap((procedure) => procedure.not_shown).filter(({ start_line: start }) => start);
  for (const name of blocks.querySelectorAll(".block > p > em:only-child:not(.gap)")) {
    const gap = gaps.find(({ source_file: path, start_line: start, end_line: end }) =>
      name.textContent?.startsWith(`not shown: ${path}:${end > start ? `${start}-${end}` : start}`));
    if (!gap) continue;
    name.classList.add("gap");
    name.after(" ", h("a", { href: documentUrl(gap.source_file, gap.start_line, gap.end_line) }, "Read them"));
  }
}

/** @param {Element} blocks @param {Step[]} guidance @param {number} number of the step, from 1 on */
export function showStep(blocks, guidance, number) {
  const step = stepsOf(blocks, guidance)[number - 1];
  if (!step) return;
  scrollTo(step, "center");
  flash(step);
}
