/** The answer's text: blocks that the server rendered, with copy buttons and marks. */
import { copyClicked, showCommands } from "./commands.js";
import { h } from "./dom.js";
import { Placeholders } from "./placeholders.js";
import { tabulate } from "./table-rows.js";
import { parsedBlock } from "./trusted-html.js";

/** @typedef {import("./answer-state.js").Source} Source */

/** Labels of prohibitions and destructive steps (group 1), of conditions (group 2), and of cautions. */
const LABEL = /^(?:(Destructive|Do not|Obsolete, do not)|(Condition)|Caution|First|Warning|Danger|Attention)\b.*[:.!]?$/;
const TIE = "\u00a0";
const FOCUSABLE = "a[href], button, [tabindex]";

export class AnswerBlocks {
  /** @type {string[]} */
  #shown = [];

  constructor() {
    this.element = h("div", { class: "blocks", onclick: copyClicked });
    this.placeholders = new Placeholders(this.element);
  }

  /**
   * @param {string[]} blocks
   * @param {ReadonlyMap<number, Source>} sources
   */
  show(blocks, sources) {
    const changed = [...blocks.keys()].filter((index) => this.#shown[index] !== blocks[index]);
    for (const index of changed) this.#put(index, blocks[index], sources);
    if (changed.length) this.placeholders.fill();
    [...this.element.children].slice(blocks.length).forEach((block) => block.remove());
    this.#shown = [...blocks];
  }

  /** @param {number} index @param {string} html @param {ReadonlyMap<number, Source>} sources */
  #put(index, html, sources) {
    while (this.element.children.length <= index)
      this.element.append(h("div", { class: "block" }));
    const fresh = parsedBlock(html, sources);
    tieReferences(fresh);
    showCommands(fresh);
    fresh.querySelectorAll("table").forEach(scrollable);
    fresh.querySelectorAll("li").forEach(tabulate);
    fresh.querySelectorAll("strong:first-child").forEach(markLabel);
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

/** Highlights the labels that the server writes before cautions and prohibitions. @param {Element} strong */
function markLabel(strong) {
  const label = LABEL.exec(strong.textContent ?? "");
  const isFirst = !strong.previousSibling?.textContent?.trim();
  if (label && isFirst && strong.closest("li, blockquote")) strong.classList.add(label[1] ? "never" : label[2] ? "branch" : "beware");
}

/** Keeps references on the line of the word before them. @param {ParentNode} fresh */
function tieReferences(fresh) {
  for (const { previousSibling: before } of fresh.querySelectorAll("sup"))
    if (before instanceof Text) before.data = before.data.replace(/ $/, TIE);
}

/** Keeps a wide table from making the page wide. @param {Element} table */
export function scrollable(table) {
  const box = h("div", { class: "table-box", tabindex: "0", role: "group", "aria-label": "Table" });
  table.replaceWith(box);
  box.append(table);
}

/**
 * Updates a live tree to equal a fresh one, keeping every node that stays the same.
 *
 * A block arrives again with each piece of its text; selection and focus in it must survive.
 *
 * @param {Element} live
 * @param {ParentNode} fresh is used up
 */
export function morph(live, fresh) {
  const before = [...live.childNodes];
  const after = [...fresh.childNodes];
  after.forEach((node, index) => place(live, before[index], node));
  before.slice(after.length).forEach((node) => node.remove());
}

/** @param {Element} parent @param {ChildNode | undefined} old @param {ChildNode} node */
function place(parent, old, node) {
  if (!old) parent.append(node);
  else if (old.isEqualNode(node)) return;
  else if (old instanceof Text && node instanceof Text) old.data = node.data;
  else if (old instanceof Element && node instanceof Element && old.tagName === node.tagName) {
    copyAttributes(old, node);
    morph(old, node);
  } else old.replaceWith(node);
}

/** @param {Element} to @param {Element} from */
function copyAttributes(to, from) {
  for (const { name } of [...to.attributes]) if (!from.hasAttribute(name)) to.removeAttribute(name);
  for (const { name, value } of from.attributes)
    if (to.getAttribute(name) !== value) to.setAttribute(name, value);
}
