/** The headings of a file; the current section's is marked, and kept in sight. */
import { lineHash } from "./citations.js";
import { h } from "./dom.js";

/** @typedef {{line: number, level: number, title: string, anchors: string[]}} Section */

export class DocumentOutline {
  /** @type {Section[]} */
  #sections = [];
  /** @type {HTMLElement[]} */
  #links = [];
  /** @type {HTMLElement | undefined} */
  #current;
  #drawing = 0;

  /** @param {() => number} shownLine gives the line that is looked at */
  constructor(shownLine) {
    this.shownLine = shownLine;
    this.element = h("nav", { class: "outline", "aria-label": "Headings of the file" });
    document.addEventListener("scroll", () => this.follow(), { passive: true });
  }

  /** @param {Section[]} sections in the order of their lines */
  fill(sections) {
    this.#sections = sections;
    this.#current = undefined;
    this.#links = sections.map(({ line, title }) => h("a", { href: lineHash(line, line) }, title));
    this.element.replaceChildren(
      h("h2", {}, "In this file"),
      h("ol", {}, sections.map(({ level }, index) => h("li", { class: `level-${Math.min(level, 4)}` }, this.#links[index]))));
    this.element.hidden = sections.length < 2;
  }

  /** Marks the current section, once before the next frame. */
  follow() {
    if (this.#drawing || !this.element.isConnected) return;
    this.#drawing = requestAnimationFrame(() => {
      this.#drawing = 0;
      // hidden on narrow screens
      if (this.element.clientHeight) this.#mark(this.#at(this.shownLine()));
    });
  }

  /** @param {number} line @returns {HTMLElement | undefined} the link of the last heading that is not below it */
  #at(line) {
    return this.#links[this.#sections.findLastIndex((section) => section.line <= line)];
  }

  /** @param {HTMLElement | undefined} link */
  #mark(link) {
    if (link === this.#current) return;
    this.#current?.removeAttribute("aria-current");
    this.#current = link;
    if (!link) return;
    link.setAttribute("aria-current", "location");
    const [own, around] = [link.getBoundingClientRect(), this.element.getBoundingClientRect()];
    // scrolls the outline, never the page
    if (own.top < around.top || own.bottom > around.bottom)
      this.element.scrollTop += own.top - around.top - (this.element.clientHeight - own.height) / 2;
  }
}
