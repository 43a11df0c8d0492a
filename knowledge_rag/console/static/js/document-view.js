/** The view of a file: its lines, with the cited ones marked. */
import { read } from "./api.js";
import { announce } from "./announcer.js";
import { clamped, documentUrl, lineHash, linesText, parsedHash, referenceText } from "./citations.js";
import { copyButton } from "./copying.js";
import { DocumentLines } from "./document-lines.js";
import { DocumentOutline } from "./document-outline.js";
import { documentHead, missing, notices } from "./document-parts.js";
import { byId, counted, h } from "./dom.js";

/**
 * @typedef {import("./lines.js").Range} Range
 * @typedef {import("./document-parts.js").ShownDocument} ShownDocument
 * @typedef {import("./document-parts.js").Contents} Contents
 * @typedef {import("./document-parts.js").Facts & Partial<Contents>} LoadedDocument
 * @typedef {import("./api.js").RequestFailed} RequestFailed
 */

const SETTLED_MS = 200;

export class DocumentView {
  title = "Document";
  #path = "";
  /** @type {Range | null} as it was asked for, however long the file is */
  #range = null;
  /** @type {ShownDocument | null} */
  #document = null;
  #turn = 0;
  #timer = 0;

  /** @param {{back(): HTMLElement | null}} actions */
  constructor(actions) {
    this.actions = actions;
    this.element = byId("document-view");
    this.lines = new DocumentLines((range) => this.#selected(range));
    this.heading = h("h1", { tabindex: "-1" });
    this.chosen = h("span", { class: "chosen" });
    this.toolbar = h("div", { class: "document-tools", role: "group", "aria-label": "Lines" },
      this.chosen,
      copyButton("Copy link", () => this.#link(), "link"),
      copyButton("Copy reference", () => this.#reference(), "reference"));
    this.notices = h("div", { class: "notices" });
    this.head = h("div", { class: "document-head" });
    this.facts = h("div");
    this.outline = new DocumentOutline(() => this.lines.shownLine(this.toolbar.getBoundingClientRect().bottom));
    this.body = h("div", { class: "document-body" }, this.lines.element, this.outline.element);
  }

  /** Asks the server each time: the file may have changed. @param {URL} url */
  async show(url) {
    this.element.hidden = false;
    const path = decoded(url.pathname.slice("/doc/".length));
    this.#range = parsedHash(url.hash);
    if (path !== this.#path || !this.#document) return this.#load(path);
    this.#showRange(true);
    await this.#ask();
  }

  hide() {
    this.element.hidden = true;
    this.title = "Document";
    this.#document = null;
    this.#turn += 1; // pending answers are ignored
    clearTimeout(this.#timer);
  }

  /** @param {string} path */
  async #load(path) {
    this.#path = path;
    this.#document = null;
    this.heading.textContent = path;
    this.element.replaceChildren(...this.#backLink(), this.heading, h("p", { class: "plain loading" }, "Opening …"));
    await this.#ask();
  }

  /** Fetches the file and the state of the chosen lines. */
  async #ask() {
    clearTimeout(this.#timer);
    const turn = ++this.#turn;
    try {
      const loaded = await load(this.#path, this.#range, this.#document?.version ?? "");
      if (turn === this.#turn) this.#take(loaded);
    } catch (error) {
      if (turn === this.#turn) this.#failed(/** @type {RequestFailed} */ (error));
    }
  }

  /** The lines that are shown stay, unchecked, unless there is no such document any more. @param {RequestFailed} error */
  #failed(error) {
    if (this.#document && error.status !== 404) {
      this.#document = { ...this.#document, ranges: [], unchecked: error.message };
      return this.#showFacts();
    }
    this.#document = null;
    this.element.replaceChildren(...this.#backLink(), this.heading, missing(error, () => this.#load(this.#path)));
  }

  /** @param {LoadedDocument} loaded */
  #take(loaded) {
    const before = this.#document;
    // known contents are not sent again
    const { lines, pages, sections, hidden } = /** @type {Contents} */ (before ?? {});
    this.#document = { lines, pages, sections, hidden, ...loaded };
    if (loaded.version !== before?.version || loaded.title !== before.title) this.#fill(this.#document);
    else this.#showFacts();
  }

  /** @param {ShownDocument} shown */
  #fill({ title, sections, lines, pages }) {
    this.title = title;
    document.title = `${title} – Knowledge RAG`;
    this.heading.textContent = title;
    this.head.replaceChildren(...this.#backLink(), this.heading, this.facts);
    this.lines.fill(lines, pages);
    this.outline.fill(sections);
    this.element.replaceChildren(this.head, this.notices, this.toolbar, this.body);
    this.#showRange(true);
    announce(`${title}, ${this.#range ? linesText(...this.#range) : "opened"}`);
  }

  /** The chosen lines, as far as the file has them. */
  get #shown() {
    return clamped(this.#range, this.lines.count);
  }

  /** @param {boolean} scroll */
  #showRange(scroll) {
    const range = this.#shown;
    this.lines.mark(range);
    this.chosen.replaceChildren(h("span", { class: "path" }, this.#path), " ",
      h("span", { class: "at" }, range ? linesText(...range) : counted(this.lines.count, "line")));
    this.#showFacts();
    this.outline.follow();
    if (range && scroll) this.lines.scrollTo(range[0]);
    else if (scroll) scrollTo(0, 0);
  }

  /** Shows the facts about the file and the chosen lines. */
  #showFacts() {
    if (!this.#document) return;
    this.facts.replaceChildren(...documentHead(this.#document, this.#shown));
    this.notices.replaceChildren(...notices(this.#document, this.#range, this.#shown));
  }

  /** @param {Range} range */
  #selected(range) {
    this.#range = range;
    history.replaceState(history.state, "", this.#address());
    this.#showRange(false);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), SETTLED_MS);
  }

  #address() {
    const range = this.#shown;
    return documentUrl(this.#path).concat(range ? lineHash(...range) : "");
  }

  #link() {
    return new URL(this.#address(), location.href).href;
  }

  #reference() {
    const [start, end] = this.#shown ?? [1, this.lines.count];
    return referenceText(this.#path, start, end);
  }

  #backLink() {
    const back = this.actions.back();
    return back ? [back] : [];
  }
}

/** @param {string} text of an address, which anybody may have typed */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * @param {string} path
 * @param {Range | null} range
 * @param {string} known version of the lines that are here already
 * @returns {Promise<LoadedDocument>}
 */
function load(path, range, known) {
  const wanted = new URLSearchParams({ source: path, known });
  if (range) wanted.set("lines", range.join("-"));
  return read(`/api/document?${wanted}`);
}
