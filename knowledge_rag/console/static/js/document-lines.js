/**
 * A whole file, line by line. Groups of lines are laid out only when they are in sight, so that
 * thousands of lines show at once.
 */
import { lineHash } from "./citations.js";
import { h } from "./dom.js";
import { lineKinds, lineText } from "./lines.js";

/** @typedef {import("./lines.js").Range} Range */

const GROUP = 50;
/** Pixels below the toolbar at which the topmost readable line is looked for. */
const BELOW = 16;

export class DocumentLines {
  /** @type {HTMLElement[]} */
  #rows = [];
  /** @type {Range | null} */
  #range = null;
  #anchor = 0;
  #dragging = false;
  #focused = 1;

  /** @param {(range: Range) => void} onSelect */
  constructor(onSelect) {
    this.onSelect = onSelect;
    this.element = h("div", {
      class: "lines document-lines", role: "group", "aria-label": "Lines of the file",
      onclick: (event) => this.#clicked(event), onpointerdown: (event) => this.#pressed(event),
      onpointerover: (event) => this.#dragged(event), onkeydown: (event) => this.#key(event),
    });
    document.addEventListener("pointerup", () => (this.#dragging = false));
  }

  get count() {
    return this.#rows.length;
  }

  /**
   * @param {(string | null)[]} lines null for one that was not kept
   * @param {{line: number, page: number}[]} pages where each page of a PDF begins
   */
  fill(lines, pages) {
    const kinds = lineKinds(lines.map((line) => line ?? ""), true);
    this.#rows = lines.map((line, index) => documentRow(index + 1, line, kinds[index]));
    for (const { line, page } of pages) this.#row(line)?.setAttribute("data-page", String(page));
    this.#range = null;
    this.#focused = 1;
    const groups = [];
    for (let at = 0; at < this.#rows.length; at += GROUP)
      groups.push(h("div", { class: "line-group" }, this.#rows.slice(at, at + GROUP)));
    this.element.replaceChildren(...groups);
    this.#numberOf(1)?.setAttribute("tabindex", "0");
  }

  /** Marks lines. @param {Range | null} range */
  mark(range) {
    this.#each(this.#range, (row) => row.classList.remove("marked", "first-marked", "last-marked"));
    this.#range = range;
    this.#each(range, (row) => row.classList.add("marked"));
    if (!range) return;
    this.#row(range[0])?.classList.add("first-marked");
    this.#row(Math.min(range[1], this.count))?.classList.add("last-marked");
  }

  /** Scrolls to a line, once its surroundings are laid out. @param {number} number */
  scrollTo(number) {
    const row = this.#row(Math.min(number, this.count));
    if (!row) return;
    this.#anchor = number;
    this.#rove(number);
    const scroll = () => row.scrollIntoView({ block: "center" });
    scroll();
    requestAnimationFrame(scroll); // groups above may have got their real height
  }

  /**
   * Returns the line that is looked at: the first marked one if it is in sight, else the topmost.
   * @param {number} top of what is in sight, in pixels
   */
  shownLine(top) {
    const box = this.#range && this.#row(this.#range[0])?.getBoundingClientRect();
    if (this.#range && box && box.bottom > top && box.top < window.innerHeight) return this.#range[0];
    // groups first, so that only one has to be laid out
    const group = lastAbove([...this.element.children], top + BELOW);
    const row = group && lastAbove([...group.children], top + BELOW);
    return Number(row?.getAttribute("data-line") ?? 1);
  }

  /** @param {number} number */
  #row(number) {
    return this.#rows[number - 1];
  }

  /** @param {number} number @returns {HTMLElement | null | undefined} */
  #numberOf(number) {
    return this.#row(number)?.querySelector(".line-number");
  }

  /** @param {Range | null} range @param {(row: HTMLElement) => void} act */
  #each(range, act) {
    if (range) this.#rows.slice(range[0] - 1, range[1]).forEach(act);
  }

  /** Leaves one stop for the Tab key among all numbers. @param {number} number */
  #rove(number) {
    this.#numberOf(this.#focused)?.setAttribute("tabindex", "-1");
    this.#focused = Math.max(1, Math.min(number, this.count));
    this.#numberOf(this.#focused)?.setAttribute("tabindex", "0");
  }

  /** @param {number} from @param {number} to */
  #select(from, to) {
    /** @type {Range} */
    const range = from <= to ? [from, to] : [to, from];
    this.#anchor = from;
    this.mark(range);
    this.#rove(to);
    this.onSelect(range);
  }

  /** @param {PointerEvent} event */
  #clicked(event) {
    const number = numberAt(event);
    if (!number || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation(); // the page's own links lead elsewhere
    if (!event.pointerType) this.#select(event.shiftKey && this.#anchor ? this.#anchor : number, number);
  }

  /** @param {PointerEvent} event */
  #pressed(event) {
    const number = numberAt(event);
    if (!number || event.button !== 0) return;
    this.#dragging = event.pointerType === "mouse";
    if (this.#dragging) event.preventDefault(); // no text is selected meanwhile
    this.#select(event.shiftKey && this.#anchor ? this.#anchor : number, number);
    this.#numberOf(number)?.focus({ preventScroll: true });
  }

  /** @param {PointerEvent} event */
  #dragged(event) {
    const row = /** @type {Element} */ (event.target).closest(".line");
    if (this.#dragging && row) this.#select(this.#anchor, Number(row.getAttribute("data-line")));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (!step || !numberAt(event)) return;
    event.preventDefault();
    const next = Math.max(1, Math.min(this.#focused + step, this.count));
    if (event.shiftKey) this.#select(this.#anchor || this.#focused, next);
    else this.#rove(next);
    this.#numberOf(next)?.focus({ preventScroll: true });
    this.#row(next)?.scrollIntoView({ block: "nearest" });
  }
}

/** @param {Element[]} elements one below the other @param {number} y @returns {Element | undefined} the last one that begins above */
function lastAbove(elements, y) {
  let [low, high] = [0, elements.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (elements[middle].getBoundingClientRect().top <= y) low = middle + 1;
    else high = middle;
  }
  return elements[low - 1];
}

/** @param {Event} event */
function numberAt(event) {
  return Number(/** @type {Element} */ (event.target).closest(".line-number")?.getAttribute("data-number") ?? 0);
}

/** @param {number} number @param {string | null} text @param {string} kind */
function documentRow(number, text, kind) {
  return h("div", { class: `line is-${kind}${text === null ? " not-kept" : ""}`, "data-line": number },
    h("a", { class: "line-number", "data-number": number, href: lineHash(number, number), tabindex: "-1", "aria-label": `Line ${number}` }),
    lineText(text ?? "", kind));
}
