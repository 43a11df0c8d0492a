/** A page of a PDF as it looks, beside the lines that were read from it. */
import { h } from "./dom.js";

/** @typedef {{line: number, page: number}} PageStart */

const wide = window.matchMedia("(min-width: 64rem)");

export class PdfPage {
  /** @type {PageStart[]} */
  #pages = [];
  #source = "";
  #shown = 0;

  constructor() {
    this.name = h("summary");
    this.picture = h("img", { alt: "", onerror: () => this.#failed() });
    this.problem = h("p", { class: "hint", hidden: true }, "The page can’t be drawn.");
    this.element = h("details", { class: "pdf-page", hidden: true, ontoggle: () => this.#draw() }, this.name, this.picture, this.problem);
    this.element.open = wide.matches;
  }

  /** @param {string} source @param {PageStart[]} pages @param {boolean} isHere whether the file is the ingested one */
  fill(source, pages, isHere) {
    this.#source = source;
    this.#pages = pages;
    this.#shown = 0;
    this.element.hidden = !isHere || !pages.length || !/\.pdf$/i.test(source);
    this.picture.removeAttribute("src");
  }

  /** @param {number} line that is looked at */
  show(line) {
    if (this.element.hidden) return;
    const { page } = this.#pages.findLast((one) => one.line <= line) ?? this.#pages[0];
    if (page === this.#shown) return;
    this.#shown = page;
    this.name.textContent = `Page ${page}`;
    this.picture.removeAttribute("src");
    this.#draw();
  }

  #draw() {
    if (!this.element.open || !this.#shown || this.picture.hasAttribute("src")) return;
    this.problem.hidden = true;
    this.picture.hidden = false;
    this.picture.alt = `Page ${this.#shown} of ${this.#source} as it looks`;
    this.picture.src = `/api/page?${new URLSearchParams({ source: this.#source, page: String(this.#shown) })}`;
  }

  #failed() {
    if (!this.picture.hasAttribute("src")) return;
    this.picture.hidden = true;
    this.problem.hidden = false;
  }
}
