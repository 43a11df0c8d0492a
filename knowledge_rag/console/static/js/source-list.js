/** All sources of an answer: cited ones first, others folded. */
import { counted, h } from "./dom.js";
import { flash, scrollTo } from "./motion.js";
import { SourceCard } from "./source-card.js";

/**
 * @typedef {import("./answer-state.js").Source} Source
 * @typedef {import("./lines.js").Range} Range
 */

export class SourceList {
  /** @type {Map<number, SourceCard>} */
  #cards = new Map();
  /** @type {Source[] | null} */
  #sources = null;

  /** @param {import("./source-card.js").CardActions} actions */
  constructor(actions) {
    this.actions = actions;
    this.count = h("span", { class: "count" });
    this.cited = h("div", { class: "cards" });
    this.others = h("div", { class: "cards" });
    this.othersTitle = h("summary");
    this.folded = h("details", { class: "also-found", hidden: true }, this.othersTitle, this.others);
    this.element = h("aside", { class: "sources", "aria-labelledby": "sources-title", hidden: true },
      h("h2", { id: "sources-title" }, "Sources", this.count), this.cited, this.folded);
  }

  /**
   * @param {Source[]} sources
   * @param {ReadonlyMap<number, Range[]>} cited lines of each source that the answer cites
   * @param {boolean} over whether the answer is finished, so that cards may move
   */
  show(sources, cited, over) {
    if (sources !== this.#sources) this.#renew(sources);
    for (const [number, card] of this.#cards) {
      card.cited = cited.get(number) ?? [];
      if (over) (cited.has(number) || !cited.size ? this.cited : this.others).append(card.element);
      if (over) card.unfold();
    }
    const also = this.others.children.length;
    this.folded.hidden = also === 0;
    this.othersTitle.textContent = `Also found: ${counted(also, "source")} that the answer does not cite`;
    this.count.textContent = over && cited.size ? `${cited.size} cited` : `${sources.length} found`;
    this.element.hidden = sources.length === 0;
    // it scrolls, and nothing in closed cards takes the focus
    if (over) this.element.removeAttribute("tabindex");
    else this.element.setAttribute("tabindex", "0");
  }

  /**
   * Leads to a source.
   * @param {number} number
   * @param {Range | null} lines of it
   * @param {boolean} focus moves to the card
   */
  reveal(number, lines, focus) {
    const card = this.#cards.get(number);
    if (!card) return;
    this.element.classList.add("wanted");
    if (this.others.contains(card.element)) this.folded.setAttribute("open", "");
    card.unfold();
    for (const other of this.#cards.values()) other.element.classList.toggle("reached", other === card);
    this.point(number, lines);
    scrollTo(card.element, "nearest");
    flash(card.element);
    if (focus) card.element.focus({ preventScroll: true });
  }

  /** Marks what a pointer or the focus is on. @param {number | null} number @param {Range | null} [lines] */
  point(number, lines = null) {
    for (const [own, card] of this.#cards) card.point(own === number ? lines : null);
  }

  /** @param {Source[]} sources */
  #renew(sources) {
    this.#sources = sources;
    this.element.classList.remove("wanted");
    this.#cards = new Map(sources.map((source) => [source.number, new SourceCard(source, this.actions)]));
    this.cited.replaceChildren(...[...this.#cards.values()].map((card) => card.element));
    this.others.replaceChildren();
  }
}
