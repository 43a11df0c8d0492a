/** The answer's text: blocks that the server rendered, with copy buttons and marks. */
import { copyFrom } from "./copying.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { morph } from "./morph.js";
import { parsedBlock } from "./trusted-html.js";
import { inOnePiece } from "./words.js";

/** @typedef {import("./answer-state.js").Source} Source */

const PLACEHOLDER = /<[A-Za-z][\w .:|-]{0,60}>/g;
/** Labels of prohibitions and destructive steps (group 1), and of cautions and conditions. */
const LABEL = /^(?:(Destructive|Do not|Obsolete, do not)|Caution|Condition|First|Warning|Danger|Attention)\b.*[:.!]?$/;
/** Short names, which are never broken. */
const NAME = /^\S{1,20}$/;
const TIE = "\u00a0";
const FOCUSABLE = "a[href], button, [tabindex]";

export class AnswerBlocks {
  /** @type {string[]} */
  #shown = [];

  constructor() {
    this.element = h("div", { class: "blocks", onclick: copyClicked });
  }

  /**
   * @param {string[]} blocks
   * @param {ReadonlyMap<number, Source>} sources
   */
  show(blocks, sources) {
    blocks.forEach((html, index) => {
      if (this.#shown[index] !== html) this.#put(index, html, sources);
    });
    [...this.element.children].slice(blocks.length).forEach((block) => block.remove());
    this.#shown = [...blocks];
  }

  /** @param {number} index @param {string} html @param {ReadonlyMap<number, Source>} sources */
  #put(index, html, sources) {
    while (this.element.children.length <= index)
      this.element.append(h("div", { class: "block" }));
    const fresh = parsedBlock(html, sources);
    tieReferences(fresh);
    fresh.querySelectorAll("pre").forEach(withCopyButton);
    fresh.querySelectorAll("table").forEach(scrollable);
    fresh.querySelectorAll("strong:first-child").forEach(markLabel);
    fresh.querySelectorAll(":not(pre) > code").forEach((code) => code.classList.toggle("whole", NAME.test(code.textContent ?? "")));
    const block = this.element.children[index];
    const focused = focusable(block).findIndex((one) => one === document.activeElement);
    morph(block, fresh);
    // a list whose items become paragraphs is replaced, but the focus stays
    const now = focusable(block)[focused];
    if (now && now !== document.activeElement) now.focus({ preventScroll: true });
  }
}

/** @param {Element} block @returns {HTMLElement[]} */
function focusable(block) {
  return [...block.querySelectorAll(FOCUSABLE)].filter((one) => one instanceof HTMLElement);
}

/** @param {Element} pre */
function withCopyButton(pre) {
  markPlaceholders(pre);
  const box = h("div", { class: "code" });
  pre.replaceWith(box);
  // long commands scroll sideways, also by keyboard
  pre.setAttribute("tabindex", "0");
  pre.setAttribute("role", "group");
  pre.setAttribute("aria-label", "Command");
  box.append(pre, h("button", { type: "button", class: "quiet copy-code", "aria-label": "Copy this command" },
    icon("copy"), h("span", {}, "Copy")));
}

/** Highlights placeholders. @param {Element} pre */
function markPlaceholders(pre) {
  const code = pre.querySelector("code") ?? pre;
  const text = code.textContent ?? "";
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    nodes.push(...inOnePiece(text.slice(end, match.index)), h("span", { class: "placeholder word" }, match[0]));
    end = match.index + match[0].length;
  }
  code.replaceChildren(...nodes, ...inOnePiece(text.slice(end)));
}

/** Highlights the labels that the server writes before cautions and prohibitions. @param {Element} strong */
function markLabel(strong) {
  const label = LABEL.exec(strong.textContent ?? "");
  const isFirst = !strong.previousSibling?.textContent?.trim();
  if (label && isFirst && strong.closest("li, blockquote")) strong.classList.add(label[1] ? "never" : "beware");
}

/** Keeps references on the line of the word before them. @param {ParentNode} fresh */
function tieReferences(fresh) {
  for (const { previousSibling: before } of fresh.querySelectorAll("sup"))
    if (before instanceof Text) before.data = before.data.replace(/ $/, TIE);
}

/** Removes those ties from a copied text. @param {ParentNode} copy */
export function untieReferences(copy) {
  for (const { previousSibling: before } of copy.querySelectorAll("sup"))
    if (before instanceof Text && before.data.endsWith(TIE)) before.data = `${before.data.slice(0, -1)} `;
}

/** @param {Element} table */
function scrollable(table) {
  const box = h("div", { class: "table-box", tabindex: "0", role: "group", "aria-label": "Table" });
  table.replaceWith(box);
  box.append(table);
}

/** @param {MouseEvent} event */
function copyClicked(event) {
  const button = /** @type {Element} */ (event.target).closest(".copy-code");
  const text = button?.parentElement?.querySelector("pre")?.textContent ?? "";
  if (button) copyFrom(button, text.replace(/\n$/, ""), "command");
}
