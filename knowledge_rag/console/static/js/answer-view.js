/** One answer on the page: its outcome, text and sources. */
import { alertCard, moment } from "./alert-card.js";
import { AnswerBlocks } from "./answer-blocks.js";
import { isOver, nameOf } from "./answer-state.js";
import { answerActions, closestSections, followUps, similarIncidents } from "./answer-summary.js";
import { Checklist } from "./checklist.js";
import { CitationPreview } from "./citation-preview.js";
import { counted, flash, h, scrollTo } from "./dom.js";
import { OutcomeBanner } from "./outcome.js";
import { openReport } from "./report-dialog.js";
import { SourceList } from "./source-list.js";
import { citedLines } from "./trusted-html.js";
import { markDoubts, nameGaps, showStep } from "./unbacked.js";

const BY_MODEL = "Written by a model. Only the numbered citations come from the documents.";

/**
 * @typedef {import("./answer-state.js").AnswerState} AnswerState
 * @typedef {import("./lines.js").Range} Range
 */

export class AnswerView {
  /** @type {AnswerState | null} */
  #state = null;
  /** @type {Element | null} the citation that was followed last */
  #left = null;
  #actions;

  /** @param {HTMLElement} element @param {{retry(): void, widen(): void, choose(place: string): void, follow(question: string): void, edit(): void, renew(): void}} actions */
  constructor(element, actions) {
    this.element = element;
    this.#actions = actions;
    this.blocks = new AnswerBlocks();
    this.banner = new OutcomeBanner({ retry: actions.retry, widen: actions.widen, toStep: (step) => showStep(this.blocks.element, this.#guidance, step) });
    this.sources = new SourceList({
      report: (source, lines) => openReport({ answerId: this.#state?.answerId ?? null, number: source.number, path: source.citation.source_file, lines }),
      back: (number) => this.#back(number),
    });
    this.title = h("h1", { id: "asked", tabindex: "-1" });
    this.whole = h("button", { type: "button", class: "quiet", hidden: true, "aria-controls": "asked", onclick: () => this.#unfold(!this.title.classList.contains("whole")) });
    new ResizeObserver(() => this.#offerWhole()).observe(this.title);
    this.alert = h("div", { class: "alert-place" });
    this.checklist = new Checklist(this.blocks.element);
    this.tools = h("div", { class: "tools" }, this.checklist.element, this.blocks.placeholders.element);
    this.after = h("div", { class: "after" });
    this.text = h("div", { class: "text" }, h("h2", { class: "visually-hidden" }, "Answer"),
      h("p", { class: "by-model-note" }, BY_MODEL), this.blocks.element, this.after);
    this.columns = h("div", { class: "columns" }, this.text, this.sources.element);
    element.append(
      h("header", { class: "asked" }, this.title,
        h("div", { class: "asked-actions" },
          this.whole,
          h("button", { type: "button", class: "quiet", onclick: actions.edit }, "Edit question"),
          h("button", { type: "button", class: "quiet", onclick: actions.renew }, "New question"))),
      this.alert, this.banner.element, this.tools, this.columns);
    this.preview = this.#preview();
  }

  /** @param {AnswerState} state */
  show(state) {
    if (state !== this.#state) this.#begin(state);
    const over = isOver(state);
    this.#entitle(nameOf(state));
    this.#showAlert(state);
    const known = new Map(state.sources.map((source) => [source.number, source]));
    this.element.dataset.phase = state.phase;
    this.element.setAttribute("aria-busy", String(!over));
    this.text.classList.toggle("by-model", state.byModel);
    this.blocks.show(shownBlocks(state), known);
    const cited = this.#cited();
    number(this.blocks.element, [...cited.keys()]);
    state.cited = cited.size;
    state.uncited = over ? markDoubts(this.blocks.element, state.recommendation) : 0;
    this.banner.show(state);
    this.sources.show(state.sources, cited, over);
    if (over) this.#finish(state);
  }

  hide() {
    this.preview.hide();
  }

  get #guidance() {
    return this.#state?.recommendation?.recommendation?.guidance ?? [];
  }

  /** @param {AnswerState} state */
  #begin(state) {
    this.#state = state;
    this.preview.hide();
    this.blocks.show([], new Map()); // the same text may rest on other sources
    this.checklist.begin();
    this.blocks.placeholders.begin(state.answerId ?? "");
    this.after.replaceChildren();
    this.element.hidden = false;
    this.#unfold(false);
  }

  /** @param {string} title */
  #entitle(title) {
    if (this.title.textContent === title) return;
    this.title.textContent = title;
    this.#offerWhole();
  }

  /** @param {AnswerState} state */
  #showAlert({ incident, recommendation, askedAt, sources }) {
    const changed = new Set(sources.filter((source) => source.stale).map((source) => source.source)).size;
    this.alert.replaceChildren(...[
      askedAt && h("p", { class: "asked-at" }, "Answered ", moment(askedAt), ". ",
        changed ? h("b", {}, `${counted(changed, "document")} of it changed since: see its sources.`) : null),
      incident && alertCard(incident, recommendation?.recommendation.alerts ?? []),
    ].filter((part) => part instanceof Node));
  }

  /** Shows all of a long question, or its first lines. @param {boolean} whole */
  #unfold(whole) {
    this.title.classList.toggle("whole", whole);
    this.whole.textContent = whole ? "Fold question" : "Whole question";
    this.whole.setAttribute("aria-expanded", String(whole));
    this.#offerWhole();
  }

  #offerWhole() {
    const isCut = this.title.scrollHeight > this.title.clientHeight + 2;
    this.whole.hidden = !isCut && !this.title.classList.contains("whole");
  }

  /** @param {AnswerState} state */
  #finish(state) {
    const { recommendation } = state;
    const hasText = this.blocks.element.childElementCount > 0;
    this.blocks.placeholders.rename(state.answerId ?? "");
    this.blocks.placeholders.offer();
    this.checklist.show(state);
    nameGaps(this.blocks.element, recommendation);
    this.after.replaceChildren(...[
      closestSections(recommendation, this.#actions.choose),
      similarIncidents(recommendation),
      followUps(recommendation, this.#actions.follow),
      hasText && state.phase === "done" ? answerActions(state) : null,
    ].filter((part) => part !== null));
    this.columns.hidden = !hasText && !state.sources.length;
  }

  /** The lines of each source that the shown text cites. @returns {Map<number, Range[]>} */
  #cited() {
    /** @type {Map<number, Range[]>} */
    const cited = new Map();
    for (const cite of this.blocks.element.querySelectorAll("a.cite")) {
      const number = Number(cite.getAttribute("data-number"));
      const lines = citedLines(cite);
      if (lines) cited.set(number, [...(cited.get(number) ?? []), lines]);
    }
    for (const ranges of cited.values()) ranges.sort((a, b) => a[0] - b[0]);
    return cited;
  }

  #preview() {
    return new CitationPreview(this.blocks.element, {
      find: (number) => this.#state?.sources.find((source) => source.number === number),
      pointed: (number, lines) => this.sources.point(number, lines),
      follow: (cite, focus) => this.#follow(cite, focus),
    });
  }

  /** @param {Element} cite @param {boolean} focus */
  #follow(cite, focus) {
    this.#left = cite;
    const number = Number(cite.getAttribute("data-number"));
    this.sources.reveal(number, citedLines(cite), focus);
  }

  /** @param {number} number */
  #back(number) {
    const own = this.blocks.element.querySelector(`a.cite[data-number="${number}"]`);
    const cite = this.#left?.isConnected && this.#left.getAttribute("data-number") === String(number) ? this.#left : own;
    if (!(cite instanceof HTMLElement)) return;
    scrollTo(cite, "center");
    flash(cite);
    cite.focus({ preventScroll: true });
  }
}

/** Numbers citations as they follow each other in the text: search knows the sources by other numbers. @param {Element} blocks @param {number[]} order */
function number(blocks, order) {
  const shown = new Map(order.map((source, at) => [String(source), at + 1]));
  for (const cite of blocks.querySelectorAll("a.cite")) {
    const text = `[${shown.get(cite.getAttribute("data-number") ?? "") ?? "?"}]`;
    if (cite.textContent === text) continue;
    cite.textContent = text;
    cite.setAttribute("aria-label", (cite.getAttribute("aria-label") ?? "").replace(/^\[\d+\]/, text));
  }
}

/** Without an outcome of ok, the banner says all. @param {AnswerState} state */
function shownBlocks(state) {
  const isEmpty = state.phase === "done" && state.recommendation?.status !== "ok";
  return isEmpty ? [] : state.blocks;
}
