/** The list of all documents, searched as one types and narrowed by what is known of them. */
import { read } from "./api.js";
import { documentUrl } from "./citations.js";
import { byId, counted, h } from "./dom.js";
import { visible } from "./visible-text.js";
import { plainName, typeText } from "./wording.js";

/**
 * @typedef {{source: string, title: string, document_type?: string, service?: string, severity?: string,
 *   owner?: string, last_reviewed?: string, tags?: string[], alerts?: string[]}} Listed
 */

/** @type {("document_type" | "service" | "severity" | "owner")[]} */
const FACETS = ["document_type", "service", "severity", "owner"];
/** Rows that are made at first, and each time the end of the list comes near. */
const FIRST = 20, SOME = 40;
const DAY_MS = 86_400_000;
/** What can be asked of the date of a review, which is ISO 8601 or empty. @type {Record<string, (date: string) => boolean>} */
const REVIEWED = {
  "in the last 90 days": (date) => date >= daysAgo(90),
  "in the last year": (date) => date >= daysAgo(365),
  "more than a year ago": (date) => date !== "" && date < daysAgo(365),
  never: (date) => date === "",
};

/** @param {number} days */
function daysAgo(days) {
  return new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
}

/** @returns {Promise<Listed[]>} */
export async function allDocuments() {
  return (await read("/api/documents")).documents;
}

/** The values that documents have, sorted. @param {Listed[]} documents @param {typeof FACETS[number]} facet */
export function valuesOf(documents, facet) {
  return [...new Set(documents.map((one) => one[facet]).filter((value) => typeof value === "string"))].sort();
}

export class DocumentsView {
  title = "Documents";
  /** @type {{document: Listed, text: string}[]} each with all that is searched of it, in small letters */
  #all = [];
  /** @type {Listed[]} */
  #found = [];
  #typed = 0;

  constructor() {
    this.element = byId("documents-view");
    this.heading = h("h1", { tabindex: "-1" }, "Documents");
    this.search = h("input", { type: "search", autocomplete: "off", spellcheck: "false", placeholder: "Title, path, alert, tag", oninput: () => this.#soon() });
    this.facets = FACETS.map((name) => h("select", { "data-facet": name, onchange: () => this.#find() }));
    this.reviewed = h("select", { onchange: () => this.#find() }, h("option", { value: "" }, "any"), Object.keys(REVIEWED).map((value) => h("option", { value }, value)));
    this.count = h("p", { class: "documents-count", role: "status" });
    this.list = h("ul", { class: "documents-list" });
    this.end = h("div");
    this.form = h("form", { class: "documents-find", role: "search", "aria-label": "Documents", onsubmit: (event) => event.preventDefault() },
      h("label", {}, "Search", this.search),
      this.facets.map((select) => h("label", {}, plainName(select.dataset.facet ?? ""), select)),
      h("label", {}, "Reviewed", this.reviewed));
    this.element.append(this.heading, this.form, this.count, this.list, this.end);
    this.near = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.#more(SOME), { rootMargin: "300px" });
  }

  /** Asks each time: an ingest may have changed them. */
  async show() {
    this.element.hidden = false;
    try {
      this.#take(await allDocuments());
    } catch (error) {
      this.form.hidden = true;
      this.list.replaceChildren();
      this.count.textContent = /** @type {Error} */ (error).message;
    }
  }

  hide() {
    this.element.hidden = true;
  }

  /** @param {Listed[]} documents */
  #take(documents) {
    this.form.hidden = false;
    this.#all = documents.map((document) => ({ document, text: Object.values(document).flat().join("\n").toLowerCase() }));
    this.facets.forEach((select, at) => {
      const chosen = select.value;
      const values = valuesOf(documents, FACETS[at]);
      select.replaceChildren(h("option", { value: "" }, "any"),
        ...values.map((value) => h("option", { value, selected: value === chosen }, FACETS[at] === "document_type" ? typeText(value) : value)));
      /** @type {HTMLElement} */ (select.parentElement).hidden = values.length < 2;
    });
    this.#find();
  }

  /** A letter is drawn before what it finds: typing waits for no list, and of several letters the last one searches. */
  #soon() {
    const now = ++this.#typed;
    requestAnimationFrame(() => setTimeout(() => now === this.#typed && this.#find()));
  }

  #find() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = this.facets.map((select) => select.value);
    const isReviewed = REVIEWED[this.reviewed.value] ?? (() => true);
    this.#found = this.#all.filter(({ document, text }) => words.every((word) => text.includes(word))
      && FACETS.every((name, at) => !wanted[at] || document[name] === wanted[at])
      && isReviewed(document.last_reviewed ?? "")).map(({ document }) => document);
    this.count.textContent = this.#found.length === this.#all.length ? counted(this.#all.length, "document") : `${this.#found.length} of ${counted(this.#all.length, "document")}`;
    this.list.replaceChildren();
    this.#more(FIRST);
  }

  /** Makes further rows, and goes on by itself while the end is near: an observer says so once each time it begins. @param {number} count */
  #more(count) {
    const at = this.list.childElementCount;
    this.list.append(...this.#found.slice(at, at + count).map(row));
    this.near.unobserve(this.end);
    if (at + count < this.#found.length) this.near.observe(this.end);
  }
}

/** @param {Listed} document */
function row({ source, title, document_type: type, ...facts }) {
  const shown = ["service", "severity", "owner", "last_reviewed"].map((name) => [name, /** @type {Record<string, unknown>} */ (facts)[name]]);
  return h("li", {},
    h("a", { href: documentUrl(source) }, ...visible(title || source)),
    h("p", { class: "tags" }, h("span", { class: "path" }, ...visible(source)), h("span", { class: "tag" }, typeText(type)),
      shown.filter(([, value]) => value).map(([name, value]) => h("span", { class: "fact" }, h("span", {}, plainName(String(name))), " ", ...visible(String(value))))));
}
