/** A document as its Markdown means it: each block names its lines, and is marked and linked by them. */
import { lineHash, linesSpoken } from "./citations.js";
import { copyClicked, withCopy } from "./commands.js";
import { scrollable } from "./answer-blocks.js";
import { h } from "./dom.js";
import { citedLines, parsedBlock } from "./trusted-html.js";
import { hides, inOnePiece, visible } from "./visible-text.js";

/** @typedef {import("./lines.js").Range} Range */

/** What gets a number: a step, a row, and every block that stands by itself. */
const NUMBERED = ":scope > [data-lines], li[data-lines], tr[data-lines]";
/** Pixels below the toolbar at which the topmost readable block is looked for. */
const BELOW = 16;

export class RenderedDocument {
  /** @type {{element: Element, range: Range}[]} in the order of the document, outer ones first */
  #blocks = [];
  /** @type {HTMLAnchorElement[]} */
  #numbers = [];
  /** @type {Range | null} */
  #range = null;

  /** @param {(range: Range) => void} onSelect */
  constructor(onSelect) {
    this.onSelect = onSelect;
    this.element = h("div", {
      class: "block rendered", role: "group", "aria-label": "Rendered document", hidden: true,
      onclick: (event) => this.#clicked(event), onkeydown: (event) => this.#key(event),
    });
  }

  /** @param {string} html */
  fill(html) {
    this.element.replaceChildren(parsedBlock(html, new Map()));
    nameHidden(this.element);
    this.element.querySelectorAll(":not(pre) > code").forEach(whole);
    this.element.querySelectorAll("pre").forEach(withCopy);
    this.element.querySelectorAll("pre [data-lines]").forEach((line) => line.classList.add("command-line"));
    this.element.querySelectorAll("table").forEach(scrollable);
    this.#blocks = [...this.element.querySelectorAll("[data-lines]")].flatMap((element) => {
      const range = citedLines(element);
      return range ? [{ element, range }] : [];
    });
    this.#numbers = [...this.element.querySelectorAll(`${NUMBERED}, :scope > .code > pre`)].flatMap(numbered);
    this.#numbers[0]?.setAttribute("tabindex", "0");
    this.mark(this.#range);
  }

  /** Marks the smallest blocks that hold the lines. @param {Range | null} range @returns {boolean} whether there are any */
  mark(range) {
    this.#range = range;
    const inside = this.#blocks.filter((block) => range && overlap(block.range, range)).map(({ element }) => element);
    // an outer block stands before those in it
    const smallest = inside.filter((element, at) => !inside[at + 1] || !element.contains(inside[at + 1]));
    for (const { element } of this.#blocks) element.classList.remove("marked");
    for (const element of smallest) element.classList.add("marked");
    return smallest.length > 0;
  }

  /** @param {number} number */
  scrollTo(number) {
    this.#at(number)?.scrollIntoView({ block: "center" });
  }

  /** @param {number} number @returns {Element | undefined} the smallest block of a line, else the one before it */
  #at(number) {
    const holding = this.#blocks.filter(({ range }) => overlap(range, [number, number]));
    return (holding.at(-1) ?? this.#blocks.findLast(({ range }) => range[0] <= number))?.element;
  }

  /** Returns the line that is looked at: the first marked one if it is in sight, else the topmost. @param {number} top */
  shownLine(top) {
    const box = this.element.querySelector(".marked")?.getBoundingClientRect();
    if (this.#range && box && box.bottom > top && box.top < window.innerHeight) return this.#range[0];
    const shown = this.#blocks.find(({ element }) => element.getBoundingClientRect().bottom > top + BELOW);
    return shown?.range[0] ?? 1;
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    copyClicked(event);
    const range = rangeOf(event.target);
    if (!range || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation(); // the page's own links lead elsewhere
    const from = event.shiftKey ? this.#range : null;
    this.onSelect(from ? [Math.min(from[0], range[0]), Math.max(from[1], range[1])] : range);
  }

  /** One stop for the Tab key among all numbers; arrows go from one to the next. @param {KeyboardEvent} event */
  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = this.#numbers.findIndex((one) => one === event.target);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = this.#numbers[Math.max(0, Math.min(at + step, this.#numbers.length - 1))];
    this.#numbers[at].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  }
}

/** @param {Range} a @param {Range} b */
function overlap(a, b) {
  return a[0] <= b[1] && b[0] <= a[1];
}

/** @param {EventTarget | null} target */
function rangeOf(target) {
  const number = target instanceof Element ? target.closest(".line-number") : null;
  return number && citedLines(number);
}

/** @param {Element} element @returns {HTMLAnchorElement[]} the number that it got */
function numbered(element) {
  const range = citedLines(element);
  if (!range) return [];
  const spoken = linesSpoken(...range);
  const number = h("a", { class: "line-number", "data-number": range[0], "data-lines": range.join("-"), href: lineHash(...range), tabindex: "-1", "aria-label": spoken.charAt(0).toUpperCase() + spoken.slice(1) });
  if (element instanceof HTMLTableRowElement) element.cells[0]?.prepend(number);
  else if (/^(?:HR|PRE)$/.test(element.tagName)) (element.closest(".code") ?? element).before(number);
  else element.prepend(number);
  return [number];
}

/** Keeps the words of short code in one piece. @param {Element} code */
function whole(code) {
  if (code.childElementCount) return; // a hidden character has its name in it
  code.replaceChildren(...inOnePiece(code.textContent ?? ""));
}

/** Characters that can't be seen get a name. @param {Element} within */
function nameHidden(within) {
  const texts = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) if (hides(texts.currentNode.textContent ?? "")) found.push(texts.currentNode);
  for (const text of found) /** @type {Text} */ (text).replaceWith(...visible(text.textContent ?? ""));
}
