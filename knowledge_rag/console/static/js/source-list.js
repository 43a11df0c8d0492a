/** All sources of an answer: cited ones first, others folded. */
import { documentUrl, linesSpoken, placeText, referenceText } from "./citations.js";
import { copyButton } from "./copying.js";
import { counted, flash, h, scrollTo } from "./dom.js";
import { icon } from "./icons.js";
import { excerpt, isWithin } from "./lines.js";
import { typeText } from "./wording.js";

/**
 * @typedef {import("./answer-state.js").Source} Source
 * @typedef {import("./lines.js").Range} Range
 * @typedef {{report(source: Source, lines: Range): void, back(number: number): void}} CardActions
 */

/** Cards whose lines are shown from the start. */
const OPEN = 3;

export class SourceList {
  /** @type {Map<number, SourceCard>} */
  #cards = new Map();
  /** @type {Source[] | null} */
  #sources = null;

  /** @param {CardActions} actions */
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
    const order = [...cited.keys()];
    for (const [number, card] of this.#cards) {
      card.cited = cited.get(number) ?? [];
      card.number(order.indexOf(number) + 1);
    }
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

const FEW = 8;

/** One source: its place, its verbatim lines, and actions. */
class SourceCard {
  /** @type {Range[]} */
  #cited = [];
  #full = false;
  name = "";

  /** @param {Source} source @param {CardActions} actions */
  constructor(source, actions) {
    this.source = source;
    this.actions = actions;
    this.body = h("div", { class: "card-body", hidden: true });
    this.shownNumber = h("span", { class: "number", "aria-hidden": "true" });
    this.spoken = h("span", { class: "visually-hidden" });
    this.opener = h("button", { type: "button", class: "quiet opener", onclick: () => this.unfold() }, "Show lines");
    this.element = h("article", { class: "card", id: `source-${source.number}`, tabindex: "-1", "aria-labelledby": `source-title-${source.number}` },
      ...this.#head(), this.body);
    this.number(0);
  }

  /** Shows the number that its citations have in the text. @param {number} number 0 without one */
  number(number) {
    const { citation } = this.source;
    this.name = number ? `source ${number}` : `${citation.source_file}, ${linesSpoken(...this.range)}`;
    this.shownNumber.textContent = number ? String(number) : "";
    const [whole, section] = titlesOf(this.source);
    this.spoken.textContent = `Source${number ? ` ${number}` : ""}: ${section ? `${whole}: ` : ""}`;
    this.opener.setAttribute("aria-label", `Show the lines of ${this.name}`);
    this.body.querySelector(".report-button")?.setAttribute("aria-label", `Report a wrong citation of ${this.name}`);
  }

  get range() {
    const { start_line: start, end_line: end } = this.source.citation;
    return /** @type {Range} */ ([start, end]);
  }

  /** The lines that the answer cites of it. @param {Range[]} ranges */
  set cited(ranges) {
    this.#cited = ranges;
    this.element.classList.toggle("cited", ranges.length > 0);
    if (!this.body.hidden) this.#fill();
  }

  /** Shows its lines. */
  unfold() {
    if (!this.body.hidden) return;
    this.body.hidden = false;
    this.opener.remove();
    this.#fill();
  }

  /** Marks lines while a reader looks at their citation. @param {Range | null} range */
  point(range) {
    this.element.classList.toggle("pointed", range !== null);
    for (const line of this.body.querySelectorAll(".line")) {
      const number = Number(line.getAttribute("data-line"));
      line.classList.toggle("marked", range !== null && isWithin(number, [range]));
    }
  }

  #head() {
    const { number, citation, score, page, stale, caution, drift, commit, lastChanged, lastReviewed } = this.source;
    const [whole, section] = titlesOf(this.source);
    return [
      h("header", { class: "card-head" },
        this.shownNumber,
        h("h3", { id: `source-title-${number}` }, this.spoken, section || whole),
        h("p", { class: "where" }, h("span", { class: "path visually-hidden" }, citation.source_file), " ",
          h("span", { class: "at", "aria-label": linesSpoken(...this.range) }, placeText(citation.source_file, ...this.range)),
          page ? h("span", {}, `page ${page}`) : null,
          lastChanged ? h("span", { title: `Commit ${commit}` }, `changed ${lastChanged}`) : null,
          lastReviewed ? h("span", {}, `reviewed ${lastReviewed}`) : null,
          score === undefined ? null : h("span", { class: "score", title: "How near search found it to the question" }, `score ${score.toFixed(2)}`),
          this.opener)),
      caution && h("p", { class: "stale" }, icon("warning"), caution),
      ...(drift ?? []).map((said) => h("p", { class: "stale" }, icon("warning"), said)),
      stale && h("p", { class: "stale" }, icon("warning"), stale.message),
    ];
  }

  #fill() {
    const shown = this.#full || !this.#cited.length ? [this.range] : this.#cited;
    const short = this.#full ? shown : firstLines(shown, FEW);
    this.body.replaceChildren(
      excerpt(this.source.content, this.range[0], shown, this.#full ? this.#cited : [], short, this.#full),
      ...this.#more(short),
      this.#actionRow(),
    );
  }

  /** @param {Range[]} shown */
  #more(shown) {
    const all = this.range[1] - this.range[0] + 1;
    const some = shown.reduce((sum, [start, end]) => sum + end - start + 1, 0);
    if (some >= all && !this.#full) return [];
    const toggle = () => {
      this.#full = !this.#full;
      this.#fill();
      /** @type {HTMLElement | null} */ (this.body.querySelector(".more"))?.focus();
    };
    return [h("button", { type: "button", class: "quiet more", "aria-expanded": String(this.#full), onclick: toggle },
      this.#full ? "Show fewer lines" : `Show all ${counted(all, "line")}`)];
  }

  #actionRow() {
    const [start, end] = this.#cited[0] ?? this.range;
    const path = this.source.citation.source_file;
    const name = `${path}, ${linesSpoken(start, end)}`;
    return h("div", { class: "card-actions" },
      h("a", { href: documentUrl(path, start, end), class: "open", "aria-label": `Open ${name}` }, "Open"),
      this.source.sourceUrl ? h("a", { href: this.source.sourceUrl, target: "_blank", rel: "noopener noreferrer", class: "open" }, "Original page") : null,
      copyButton("Copy reference", () => referenceText(path, start, end), "reference"),
      h("button", { type: "button", class: "quiet report-button", "aria-label": `Report a wrong citation of ${this.name}`, onclick: () => this.actions.report(this.source, [start, end]) },
        icon("flag"), h("span", {}, "Report")),
      h("button", { type: "button", class: "quiet back", onclick: () => this.actions.back(this.source.number) },
        icon("up"), h("span", {}, "Back to the text")));
  }
}

/**
 * @param {Range[]} ranges
 * @param {number} most
 * @returns {Range[]} the same up to so many lines
 */
function firstLines(ranges, most) {
  /** @type {Range[]} */
  const kept = [];
  let left = most;
  for (const [start, end] of ranges) {
    if (left <= 0) break;
    kept.push([start, Math.min(end, start + left - 1)]);
    left -= end - start + 1;
  }
  return kept;
}

/** The document's title and the section's, "" where they are the same. @param {Source} source */
function titlesOf({ title, section, citation }) {
  const whole = title || citation.source_file;
  return [whole, section && section !== whole ? section : ""];
}
