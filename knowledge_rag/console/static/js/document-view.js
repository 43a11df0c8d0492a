/** The view of a file: its lines, those that are cited marked. */
import { RequestFailed, read } from "./api.js";
import { announce } from "./announcer.js";
import { documentUrl, lineHash, linesText, parsedHash, referenceText } from "./citations.js";
import { copyButton } from "./copying.js";
import { DocumentLines } from "./document-lines.js";
import { documentHead, missing, notices, outline } from "./document-parts.js";
import { byId, counted, h } from "./dom.js";

/** @typedef {import("./lines.js").Range} Range */

export class DocumentView {
  title = "Document";
  #path = "";
  /** @type {Range | null} */
  #range = null;
  /** @type {any} */
  #document = null;

  /** @param {{back(): HTMLElement | null}} actions */
  constructor(actions) {
    this.actions = actions;
    this.element = byId("document-view");
    this.lines = new DocumentLines((range) => this.#selected(range));
    this.heading = h("h1", { tabindex: "-1" });
    this.chosen = h("span", { class: "chosen" });
    this.toolbar = h("div", { class: "document-tools", role: "group", "aria-label": "Lines" },
      this.chosen,
      copyButton("Copy link", () => location.href, "link"),
      copyButton("Copy reference", () => this.#reference(), "reference"));
    this.notices = h("div", { class: "notices" });
    this.head = h("div", { class: "document-head" });
    this.outline = h("nav", { class: "outline", "aria-label": "Headings of the file" });
    this.body = h("div", { class: "document-body" }, this.lines.element, this.outline);
  }

  /** @param {URL} url */
  async show(url) {
    this.element.hidden = false;
    const path = decoded(url.pathname.slice("/doc/".length));
    this.#range = parsedHash(url.hash);
    if (path !== this.#path || !this.#document) await this.#load(path);
    else this.#showRange(true);
  }

  hide() {
    this.element.hidden = true;
  }

  /** @param {string} path */
  async #load(path) {
    this.#path = path;
    this.#document = null;
    this.heading.textContent = path;
    this.element.replaceChildren(...this.#backLink(), this.heading, h("p", { class: "plain loading" }, "Opening …"));
    try {
      const document = await loaded(path, this.#range);
      if (path !== this.#path) return; // another one was asked for meanwhile
      this.#document = document;
      this.#fill();
    } catch (error) {
      if (path !== this.#path) return;
      this.element.replaceChildren(...this.#backLink(), this.heading, missing(/** @type {RequestFailed} */ (error), () => this.#load(path)));
    }
  }

  #fill() {
    const { title, sections, lines, pages = [] } = this.#document;
    this.title = title;
    document.title = `${title} – Knowledge RAG`;
    this.heading.textContent = title;
    this.head.replaceChildren(...this.#backLink(), this.heading, ...documentHead(this.#document));
    this.notices.replaceChildren(...notices(this.#document, this.#range));
    this.lines.fill(lines, pages);
    this.outline.replaceChildren(...outline(sections));
    this.outline.hidden = sections.length < 2;
    this.element.replaceChildren(this.head, this.notices, this.toolbar, this.body);
    this.#showRange(true);
    announce(`${title}, ${this.#range ? linesText(...this.#range) : "opened"}`);
  }

  /** @param {boolean} scroll */
  #showRange(scroll) {
    const range = this.#range && this.#range[0] <= this.lines.count ? this.#range : null;
    this.lines.mark(range);
    this.chosen.replaceChildren(h("span", { class: "path" }, this.#path), " ",
      h("span", { class: "at" }, range ? linesText(...range) : counted(this.lines.count, "line")));
    if (range && scroll) this.lines.scrollTo(range[0]);
    else if (scroll) scrollTo(0, 0);
  }

  /** @param {Range} range */
  #selected(range) {
    this.#range = range;
    history.replaceState(history.state, "", documentUrl(this.#path).concat(lineHash(...range)));
    this.#showRange(false);
  }

  #reference() {
    const [start, end] = this.#range ?? [1, this.lines.count];
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

/** @param {string} path @param {Range | null} range */
async function loaded(path, range) {
  const address = `/api/document?source=${encodeURIComponent(path)}`;
  try {
    return await read(range ? `${address}&lines=${range.join("-")}` : address);
  } catch (error) {
    // lines that the file does not have are no reason not to show it
    if (range && error instanceof RequestFailed && error.status === 404) return read(address);
    throw error;
  }
}
