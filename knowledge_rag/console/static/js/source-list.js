/** All sources of an answer: cited ones first, others folded. */
import { documentUrl } from "./citations.js";
import { counted, h } from "./dom.js";
import { flash, scrollTo } from "./motion.js";
import { SourceCard } from "./source-card.js";
import { typeText } from "./wording.js";

/**
 * @typedef {import("./answer-state.js").Source} Source
 * @typedef {import("./lines.js").Range} Range
 */

/** Cards whose lines are shown from the start. */
const OPEN = 3;

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
    for (const [number, card] of this.#cards) card.cited = cited.get(number) ?? [];
    if (over) this.#arrange([...cited.keys()]);
    const also = this.others.querySelectorAll(".card").length;
    this.folded.hidden = also === 0;
    this.othersTitle.textContent = `Also found: ${counted(also, "source")} that the answer does not cite`;
    this.count.textContent = over && cited.size ? `${cited.size} cited` : `${sources.length} found`;
    this.element.hidden = sources.length === 0;
    // it scrolls, and nothing in closed cards takes the focus
    if (over) this.element.removeAttribute("tabindex");
    else this.element.setAttribute("tabindex", "0");
  }

  /** Groups the cards by document, in the order in which the answer cites them; the first ones are open. @param {number[]} cited */
  #arrange(cited) {
    const first = cited.filter((number) => this.#cards.has(number));
    const rest = [...this.#cards.keys()].filter((number) => !first.includes(number));
    fill(this.cited, this.#of(first.length ? first : rest));
    fill(this.others, this.#of(first.length ? rest : []));
    for (const card of this.#of([...first, ...rest]).slice(0, OPEN)) card.unfold();
  }

  /** @param {number[]} numbers */
  #of(numbers) {
    return numbers.map((number) => /** @type {SourceCard} */ (this.#cards.get(number)));
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

/** @param {HTMLElement} element @param {SourceCard[]} cards */
function fill(element, cards) {
  /** @type {Map<string, HTMLElement>} */
  const groups = new Map();
  for (const { source, element: card } of cards) {
    const path = source.citation.source_file;
    const group = groups.get(path) ?? h("div", { class: "source-group" }, groupHead(source));
    groups.set(path, group);
    group.append(card);
  }
  element.replaceChildren(...groups.values());
}

/** @param {Source} source */
function groupHead({ citation, title, documentType }) {
  const path = citation.source_file;
  return h("p", { class: "group-head" },
    title && title !== path ? h("b", {}, title) : null, " ",
    h("a", { class: "path", href: documentUrl(path) }, path), " ",
    h("span", { class: "tag" }, typeText(documentType)));
}
