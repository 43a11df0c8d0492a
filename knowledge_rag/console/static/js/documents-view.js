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
/** Rows that are made at a time. */
const SOME = 40;

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

  constructor() {
    this.element = byId("documents-view");
    this.heading = h("h1", { tabindex: "-1" }, "Documents");
    this.search = h("input", { type: "search", autocomplete: "off", spellcheck: "false", placeholder: "Title, path, alert, tag", oninput: () => this.#find() });
    this.facets = FACETS.map((name) => h("select", { "data-facet": name, onchange: () => this.#find() }));
    this.count = h("p", { class: "documents-count", role: "status" });
    this.list = h("ul", { class: "documents-list" });
    this.end = h("div");
    this.form = h("form", { class: "documents-find", role: "search", "aria-label": "Documents", onsubmit: (event) => event.preventDefault() },
      h("label", {}, "Search", this.search),
      this.facets.map((select) => h("label", {}, plainName(select.dataset.facet ?? ""), select)));
    this.element.append(this.heading, this.form, this.count, this.list, this.end);
    new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.#more(), { rootMargin: "600px" }).observe(this.end);
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

  #find() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = this.facets.map((select) => select.value);
    this.#found = this.#all.filter(({ document, text }) => words.every((word) => text.includes(word))
      && FACETS.every((name, at) => !wanted[at] || document[name] === wanted[at])).map(({ document }) => document);
    this.count.textContent = this.#found.length === this.#all.length ? counted(this.#all.length, "document") : `${this.#found.length} of ${counted(this.#all.length, "document")}`;
    this.list.replaceChildren();
    this.#more();
  }

  #more() {
    const at = this.list.childElementCount;
    this.list.append(...this.#found.slice(at, at + SOME).map(row));
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
