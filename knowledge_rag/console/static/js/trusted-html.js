/**
 * The only place where text becomes markup: blocks of an answer and documents, rendered and sanitised by the server.
 *
 * @typedef {import("./answer-state.js").Source} Source
 */

/** @typedef {{createHTML(html: string): string}} Policy */

/** @type {Policy} */
const rules = { createHTML: (html) => html };
const { trustedTypes } = /** @type {{trustedTypes?: {createPolicy(name: string, rules: Policy): Policy}}} */ (/** @type {unknown} */ (window));
const policy = trustedTypes?.createPolicy("knowledge-rag", rules) ?? rules;

/**
 * Parses a block. Nothing in it runs or loads, and citations that the evidence lacks are removed.
 * @param {string} html
 * @param {ReadonlyMap<number, Source>} sources
 * @returns {DocumentFragment}
 */
export function parsedBlock(html, sources) {
  const template = document.createElement("template");
  template.innerHTML = policy.createHTML(html);
  for (const cite of template.content.querySelectorAll(".cite")) {
    if (!isKnown(cite, sources)) cite.remove();
  }
  return template.content;
}

/**
 * @param {Element} cite
 * @param {ReadonlyMap<number, Source>} sources
 */
function isKnown(cite, sources) {
  const source = sources.get(Number(cite.getAttribute("data-number")));
  const lines = citedLines(cite);
  if (cite.tagName !== "A" || !source || !lines) return false;
  const { start_line: first, end_line: last } = source.citation;
  // its link, its label and its preview name the same lines
  const [path] = source.url.split("#");
  const leads = cite.getAttribute("href") === `${path}#L${lines[0]}-L${lines[1]}`;
  return leads && first <= lines[0] && lines[0] <= lines[1] && lines[1] <= last;
}

/**
 * @param {Element} cite
 * @returns {[number, number] | null} the lines that it names, first and last
 */
export function citedLines(cite) {
  const match = /^L?(\d+)(?:-L?(\d+))?$/.exec(cite.getAttribute("data-lines") ?? "");
  return match && [Number(match[1]), Number(match[2] ?? match[1])];
}
