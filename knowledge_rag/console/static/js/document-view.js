/** The view of a file: its lines, with the cited ones marked. */
import { read } from "./api.js";
import { clamped, documentUrl, isConverted, lineHash, linesText, parsedHash, referenceText } from "./citations.js";
import { copyButton } from "./copying.js";
import { DocumentLines } from "./document-lines.js";
import { DocumentOutline } from "./document-outline.js";
import { announce, byId, counted, h } from "./dom.js";
import { icon } from "./icons.js";
import { PdfPage } from "./pdf-page.js";
import { RenderedDocument } from "./rendered-document.js";
import { keep, kept } from "./storage.js";
import { hides, visible } from "./visible-text.js";
import { agoText, plainName, typeText } from "./wording.js";

/**
 * @typedef {import("./lines.js").Range} Range
 * @typedef {import("./api.js").RequestFailed} RequestFailed
 *
 * @typedef {object} Contents what is not sent again to a page that has this version of it
 * @property {(string | null)[]} lines null for one that was not kept
 * @property {{line: number, page: number}[]} pages where each page of a PDF begins
 * @property {import("./document-outline.js").Section[]} sections
 *
 * @typedef {object} Facts
 * @property {string} version
 * @property {string} source
 * @property {string} title
 * @property {Record<string, string | number | string[]>} metadata
 * @property {boolean} isComplete
 * @property {boolean} isMarkdown whether it can be rendered
 * @property {{start: number, end: number, repositoryUrl?: string, stale?: {message: string}}[]} ranges
 * @property {"same" | "changed" | "gone"} [file]
 * @property {string} [sourceUrl]
 * @property {string} [repositoryUrl]
 *
 * @typedef {Facts & Partial<Contents>} LoadedDocument
 * @typedef {Contents & Facts & {unchecked?: string}} ShownDocument
 */

const SETTLED_MS = 200;
/** Whether the reader wants documents rendered; kept for all documents. */
const RENDERED = "documents-rendered";
/** Shown in the bar that stays. */
const IN_BAR = new Set(["document_type", "owner", "last_reviewed", "last_changed"]);

export class DocumentView {
  title = "Document";
  #path = "";
  /** @type {Range | null} as it was asked for, however long the file is */
  #range = null;
  /** @type {ShownDocument | null} */
  #document = null;
  /** @type {number[]} lines with hidden characters */
  #hidden = [];
  #turn = 0;
  #timer = 0;
  #pageTimer = 0;
  #hash = "";
  #wantsRendered = kept("localStorage", RENDERED) === true;
  /** The version that is rendered, and why the last one couldn't be. */
  #rendered = { version: "", failed: "" };

  /** @param {{back(): HTMLElement | null}} actions */
  constructor(actions) {
    this.actions = actions;
    this.element = byId("document-view");
    this.lines = new DocumentLines((range) => this.#selected(range));
    this.rendered = new RenderedDocument((range) => this.#selected(range));
    this.heading = h("h1", { tabindex: "-1" });
    this.chosen = h("span", { class: "chosen" });
    this.back = h("span", { class: "back" });
    this.standing = h("p", { class: "standing" });
    this.forms = h("div", { class: "forms", role: "group", "aria-label": "Show the document as" },
      [true, false].map((rendered) => h("button", { type: "button", "aria-pressed": "false", onclick: () => this.#choose(rendered) }, rendered ? "Rendered" : "Lines")));
    this.toolbar = h("div", { class: "document-tools", role: "group", "aria-label": "Document" },
      this.back, this.chosen, this.forms,
      h("span", { class: "copies" },
        copyButton("Copy link", () => this.#link(), "link"),
        copyButton("Copy reference", () => this.#reference(), "reference")),
      this.standing);
    this.notices = h("div", { class: "notices" });
    this.head = h("div", { class: "document-head" });
    this.facts = h("div");
    this.outline = new DocumentOutline(() => this.#form.shownLine(this.toolbar.getBoundingClientRect().bottom));
    this.page = new PdfPage();
    this.body = h("div", { class: "document-body" }, this.lines.element, this.rendered.element, this.outline.element, this.page.element);
    document.addEventListener("scroll", () => this.#followPage(), { passive: true });
  }

  /** What shows the document: itself rendered, or its lines. */
  get #form() {
    return this.#isRendered ? this.rendered : this.lines;
  }

  get #isRendered() {
    return this.#wantsRendered && this.#document?.isMarkdown === true && this.#rendered.version === this.#document.version;
  }

  /** Asks the server each time: the file may have changed. @param {URL} url */
  async show(url) {
    this.element.hidden = false;
    const path = decoded(url.pathname.slice("/doc/".length));
    this.#range = parsedHash(url.hash);
    this.#hash = url.hash;
    this.back.replaceChildren(...this.#backLink());
    if (path !== this.#path || !this.#document) return this.#load(path);
    this.#range ??= this.#named();
    this.#showRange(true);
    await this.#ask();
  }

  /** The heading that an address names by its words, as a link in a document does. @returns {Range | null} */
  #named() {
    const anchor = decoded(this.#hash.slice(1)).toLowerCase();
    const section = this.#document?.sections.find(({ anchors }) => anchors.includes(anchor));
    return anchor && section ? [section.line, section.line] : null;
  }

  /** Draws the page of the line that is looked at, once the reader stays there. */
  #followPage() {
    if (this.element.hidden || this.page.element.hidden) return;
    clearTimeout(this.#pageTimer);
    this.#pageTimer = setTimeout(() => this.#document && this.page.show(this.lines.shownLine(this.#top)), SETTLED_MS);
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
    const { lines, pages, sections } = /** @type {Contents} */ (before ?? {});
    this.#document = { lines, pages, sections, ...loaded };
    if (loaded.version !== before?.version || loaded.title !== before.title) this.#fill(this.#document);
    else this.#showFacts();
    if (this.#wantsRendered) this.#render();
  }

  /** @param {boolean} rendered */
  async #choose(rendered) {
    this.#wantsRendered = rendered;
    keep("localStorage", RENDERED, rendered);
    const line = this.lines.element.hidden ? this.rendered.shownLine(this.#top) : this.lines.shownLine(this.#top);
    if (rendered) await this.#render();
    this.#showForm();
    this.#form.scrollTo(line);
  }

  /** Where what is read begins, in pixels. */
  get #top() {
    return this.toolbar.getBoundingClientRect().bottom;
  }

  /** Has the server render the document, if that isn't done. */
  async #render() {
    const shown = this.#document;
    if (!shown?.isMarkdown || this.#rendered.version === shown.version) return;
    this.#rendered = { version: "", failed: "" };
    this.element.setAttribute("aria-busy", "true");
    try {
      const { version, html } = await read(`/api/rendered?${new URLSearchParams({ source: shown.source })}`);
      if (this.#document?.source !== shown.source || this.#document.version !== version) return;
      this.rendered.fill(html);
      this.#rendered = { version, failed: "" };
    } catch (error) {
      this.#rendered = { version: "", failed: /** @type {RequestFailed} */ (error).message };
    } finally {
      this.element.removeAttribute("aria-busy");
    }
    if (this.#document?.source === shown.source) this.#showRange(true);
  }

  #showForm() {
    const isRendered = this.#isRendered;
    this.forms.hidden = !this.#document?.isMarkdown;
    this.lines.element.hidden = isRendered;
    this.rendered.element.hidden = !isRendered;
    [...this.forms.children].forEach((button, at) => button.setAttribute("aria-pressed", String(isRendered === (at === 0))));
  }

  /** @param {ShownDocument} shown */
  #fill({ title, sections, lines, pages }) {
    this.title = title;
    document.title = `${title} – Knowledge RAG`;
    this.heading.textContent = title;
    this.#range ??= this.#named();
    this.head.replaceChildren(this.heading, this.facts);
    this.lines.fill(lines, pages);
    this.#hidden = lines.flatMap((line, at) => (line && hides(line) ? [at + 1] : []));
    this.outline.fill(sections);
    this.page.fill(this.#path, pages, this.#document?.file === "same");
    this.element.replaceChildren(this.toolbar, this.head, this.notices, this.body);
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
    this.#showForm();
    this.lines.mark(range);
    const isShown = this.rendered.mark(range) || !this.#isRendered || !range;
    this.element.toggleAttribute("data-outside", !isShown);
    this.chosen.replaceChildren(h("span", { class: "path" }, this.#path), " ",
      h("span", { class: "at" }, range ? linesText(...range) : counted(this.lines.count, "line")));
    this.#showFacts();
    this.outline.follow();
    this.page.show(range ? range[0] : 1);
    if (range && scroll) this.#form.scrollTo(range[0]);
    else if (scroll) scrollTo(0, 0);
  }

  /** Shows the facts about the file and the chosen lines. */
  #showFacts() {
    if (!this.#document) return;
    this.facts.replaceChildren(...documentHead(this.#document, this.#shown));
    this.standing.replaceChildren(...standing(this.#document, Date.now()));
    const outside = this.element.hasAttribute("data-outside") ? [["Not on the rendered page.", "These lines are blank or front matter: choose Lines to see them."]] : [];
    const failed = this.#rendered.failed && this.#wantsRendered ? [["Not rendered.", this.#rendered.failed]] : [];
    this.notices.replaceChildren(...notices(this.#document, this.#range, this.#shown, this.#hidden, [...failed, ...outside]));
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

/** @param {ShownDocument} document @param {Range | null} range that is looked at */
function documentHead(document, range) {
  const { source, metadata, sourceUrl, repositoryUrl } = document;
  return [
    h("p", { class: "where" }, h("span", { class: "path" }, source)),
    h("p", { class: "tags" },
      metadata.document_type ? h("span", { class: "tag" }, typeText(String(metadata.document_type))) : null,
      Object.entries(metadata).filter(([name]) => !IN_BAR.has(name)).map(([name, value]) =>
        h("span", { class: "fact" }, h("span", {}, plainName(name)), " ", [value].flat().join(", "))),
      repositoryUrl ? outside(findingsOn(document, range)?.repositoryUrl ?? repositoryUrl, "In the repository") : null,
      sourceUrl ? outside(sourceUrl, "Original page") : null),
  ];
}

/** Who is responsible for a document and how fresh it is. @param {ShownDocument} document @param {number} now */
function standing({ metadata, file }, now) {
  const dated = (/** @type {string} */ words, /** @type {unknown} */ day) =>
    h("span", { class: "fact" }, h("span", {}, words), ` ${day}`, agoText(String(day), now) ? h("span", {}, ` (${agoText(String(day), now)})`) : null);
  const state = { same: "Same file as ingested", changed: "Changed since the ingest", gone: "The file is gone" };
  return [
    metadata.owner ? h("span", { class: "fact" }, h("span", {}, "Owner"), " ", ...visible(String(metadata.owner))) : h("span", { class: "lacking" }, "No owner"),
    metadata.last_reviewed ? dated("Reviewed", metadata.last_reviewed) : h("span", { class: "lacking" }, "No review date"),
    metadata.last_changed ? dated("Last commit", metadata.last_changed) : null,
    file ? h("span", { class: `freshness is-${file}` }, icon(file === "same" ? "tick" : "warning"), state[file]) : null,
  ].filter((one) => one !== null);
}

/** The server's findings about exactly these lines. @param {ShownDocument} document @param {Range | null} range */
function findingsOn({ ranges }, range) {
  return ranges.find(({ start, end }) => range && start === range[0] && end === range[1]);
}

/** @param {string} href @param {string} words */
function outside(href, words) {
  return h("a", { href, rel: "noopener noreferrer", target: "_blank" }, words, icon("open"));
}

/**
 * @param {ShownDocument} document
 * @param {Range | null} asked the lines that were asked for
 * @param {Range | null} range those of them that there are
 * @param {number[]} hidden lines with hidden characters
 * @param {string[][]} others of the form that is shown
 */
function notices(document, asked, range, hidden, others) {
  const { file, isComplete, lines, unchecked } = document;
  const stale = findingsOn(document, range)?.stale;
  const found = [];
  if (file === "gone") found.push(["The file is gone.", "Shown is what was read from it when it was ingested."]);
  else if (file === "changed") found.push(["The file has changed since it was ingested.", verdict(document, range)]);
  else if (stale) found.push(["The document was ingested anew.", stale.message]);
  if (unchecked) found.push(["Not compared with the file as it is now.", unchecked]);
  if (asked && !range) found.push([`There is no line ${asked[0]}.`, `The file has ${counted(lines.length, "line")}.`]);
  else if (asked && range && range[1] < asked[1]) found.push([`There is no line ${asked[1]}.`, `The file has ${counted(lines.length, "line")}: marked is what there is of them.`]);
  if (hidden.length) found.push(["Hidden characters.", `Shown by their code: line${hidden.length === 1 ? "" : "s"} ${listed(hidden)}.`]);
  if (isConverted(document.source)) found.push(["Extracted text.", "The file has no lines of its own: these are the lines of the text that was read from it."]);
  if (!isComplete) found.push(["Only what can be found was kept.", "Blank lines and front matter are empty here."]);
  return [...found, ...others].map(([title, text]) => h("p", { class: "notice" }, icon("warning"), h("span", {}, h("strong", {}, title), " ", text)));
}

/** The state of lines of a file that has changed. @param {ShownDocument} document @param {Range | null} range */
function verdict(document, range) {
  const findings = findingsOn(document, range);
  if (range && !findings) return document.unchecked ? "" : `Comparing ${linesText(...range)} …`;
  if (findings?.stale) return findings.stale.message;
  // a line that was not kept can't be compared
  const isKnown = range && !document.lines.slice(range[0] - 1, range[1]).includes(null);
  if (isKnown) return range[0] === range[1] ? `Line ${range[0]} is still the same.` : `Lines ${range[0]}–${range[1]} are still the same.`;
  return "Shown is what was ingested.";
}

/** @param {number[]} numbers */
function listed(numbers) {
  return numbers.slice(0, 12).join(", ") + (numbers.length > 12 ? " …" : "");
}

/** @param {RequestFailed} error @param {() => void} retry */
function missing(error, retry) {
  const isUnknown = error.status === 404;
  return h("div", { class: "outcome", "data-kind": isUnknown ? "nothing" : "failed" },
    h("div", { class: "outcome-mark" }, icon(isUnknown ? "search" : "offline")),
    h("div", { class: "outcome-words" },
      h("p", {}, h("strong", {}, isUnknown ? "No such document" : "The document can't be shown"), " ",
        isUnknown ? "Nothing of this name was ingested." : error.message)),
    isUnknown ? h("span") : h("button", { type: "button", class: "retry", onclick: retry }, icon("retry"), "Try again"));
}
