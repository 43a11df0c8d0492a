/**
 * The lines behind a citation, shown beside it while a pointer or the focus is on it (WCAG 1.4.13: it
 * can be dismissed, hovered, and stays), and after a tap at the foot of a phone's screen.
 */
import { documentUrl, placeText } from "./citations.js";
import { byId, counted, h } from "./dom.js";
import { icon } from "./icons.js";
import { excerpt } from "./lines.js";
import { citedLines } from "./trusted-html.js";

/**
 * @typedef {import("./answer-state.js").Source} Source
 * @typedef {{find(number: number): Source | undefined, pointed(number: number | null, lines?: [number, number]): void, follow(cite: Element, focus: boolean): void}} PreviewActions
 */

const SHOW_MS = 120;
const HIDE_MS = 200;
const MOST_LINES = 12;
const GAP = 8;

export class CitationPreview {
  /** @type {Element | null} */
  #cite = null;
  #timer = 0;
  #touched = false;

  /** @param {HTMLElement} root holds the citations @param {PreviewActions} actions */
  constructor(root, actions) {
    this.actions = actions;
    this.element = h("div", {
      class: "preview", id: "preview", popover: "manual", role: "group", "aria-label": "The cited lines",
      onpointerenter: () => clearTimeout(this.#timer), onpointerleave: () => this.#soon(null, HIDE_MS),
    });
    byId("main").append(this.element);
    this.#listen(root);
  }

  get #isSheet() {
    return this.element.classList.contains("sheet");
  }

  hide() {
    clearTimeout(this.#timer);
    this.#cite?.classList.remove("previewed");
    this.#cite = null;
    this.actions.pointed(null);
    if (this.element.matches(":popover-open")) this.element.hidePopover();
  }

  /** @param {HTMLElement} root */
  #listen(root) {
    const over = (/** @type {Event} */ event) => /** @type {Element} */ (event.target).closest("a.cite");
    root.addEventListener("pointerover", (event) => isMouse(event) && over(event) && this.#soon(over(event), SHOW_MS));
    root.addEventListener("pointerout", (event) => isMouse(event) && over(event) && this.#soon(null, HIDE_MS));
    root.addEventListener("pointerdown", (event) => (this.#touched = !isMouse(event)));
    root.addEventListener("focusin", (event) => !this.#touched && over(event)?.matches(":focus-visible") && this.#show(over(event), false));
    root.addEventListener("focusout", (event) => !this.#touched && !this.#isSheet && over(event) && this.hide());
    root.addEventListener("click", (event) => this.#click(event, over(event)));
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.hide());
    document.addEventListener("scroll", () => this.#place(), { capture: true, passive: true });
    document.addEventListener("pointerdown", (event) => this.#outside(event));
    window.addEventListener("resize", () => this.#place());
  }

  /** @param {PointerEvent} event @param {Element | null} cite */
  #click(event, cite) {
    if (!cite || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault(); // the card first; its link leads on to the document
    const byTouch = this.#touched;
    this.#touched = false;
    if (byTouch && this.#cite !== cite) this.#show(cite, true);
    else {
      this.hide();
      this.actions.follow(cite, !event.pointerType); // no pointer clicked: a key did
    }
  }

  /** @param {Event} event */
  #outside(event) {
    const target = /** @type {Node} */ (event.target);
    if (!this.element.contains(target) && !(target instanceof Element && target.closest("a.cite"))) this.hide();
  }

  /** @param {Element | null} cite @param {number} delay */
  #soon(cite, delay) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (cite ? this.#show(cite, false) : this.hide()), delay);
  }

  /** @param {Element | null} cite @param {boolean} asSheet */
  #show(cite, asSheet) {
    const source = cite && this.actions.find(Number(cite.getAttribute("data-number")));
    const lines = cite && citedLines(cite);
    if (!cite || !source || !lines || !cite.isConnected) return;
    this.hide();
    this.#cite = cite;
    cite.classList.add("previewed");
    this.element.classList.toggle("sheet", asSheet);
    this.element.replaceChildren(...this.#content(cite, source, lines, asSheet));
    this.element.showPopover();
    this.#place();
    this.actions.pointed(source.number, lines);
  }

  /** @param {Element} cite @param {Source} source @param {[number, number]} lines @param {boolean} asSheet */
  #content(cite, source, lines, asSheet) {
    const path = source.citation.source_file;
    const [start, end] = lines;
    const shown = Math.min(end, start + MOST_LINES - 1);
    const section = source.section ?? source.citation.section_header;
    return [
      h("p", { class: "preview-head" }, h("span", { class: "path" }, path), " ", h("span", { class: "at" }, placeText(path, start, end))),
      section ? h("p", { class: "section" }, section) : null,
      excerpt(source.content, source.citation.start_line, [[start, shown]]),
      shown < end ? h("p", { class: "preview-more" }, `${counted(end - shown, "more line")}`) : null,
      asSheet ? h("div", { class: "preview-actions" },
        h("a", { class: "button", href: documentUrl(path, start, end), onclick: () => this.hide() }, icon("open"), "Open the file"),
        h("button", { type: "button", onclick: () => { this.hide(); this.actions.follow(cite, false); } }, "Show the source"),
        h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => this.hide() }, icon("cross"))) : null,
    ].filter((part) => part !== null);
  }

  #place() {
    if (!this.#cite || this.#isSheet) return;
    const at = this.#cite.getBoundingClientRect();
    if (!at.width) return this.hide();
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const below = at.bottom + GAP + height <= innerHeight || at.top < height + GAP;
    const left = Math.max(GAP, Math.min(at.left - 24, document.documentElement.clientWidth - width - GAP));
    this.element.style.left = `${left}px`;
    this.element.style.top = `${below ? Math.min(at.bottom + GAP, innerHeight - height - GAP) : at.top - GAP - height}px`;
  }
}

/** @param {PointerEvent} event */
function isMouse(event) {
  return event.pointerType !== "touch";
}
