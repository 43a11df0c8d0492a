/** Finds the recommendation's steps in the answer's text, in order, by their words. */

/** Parts of an answer that don't belong to a step's words. */
export const ADDED = "sup, .code, .host, .mark-note, .tick-note";
const PREFIX = 40;

/**
 * @typedef {import("./answer-state.js").Step} Step
 * @typedef {{text: string, starts: {at: number, owner: Element}[]}} Words letters and digits, and the elements that hold them
 */

/** @param {string} text @returns {string} its letters and digits alone */
export function bare(text) {
  return text.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

/** @param {string} markdown @returns {string} the letters and digits that a reader sees of it */
function bareMarkdown(markdown) {
  return bare(markdown.replace(/\]\([^()\s]*\)/g, "]"));
}

/**
 * The letters and digits of an element, without what matches a selector.
 * @param {Element} element
 * @param {string} [without]
 */
export function bareText(element, without = ADDED) {
  return wordsOf(element, without).text;
}

/** @param {Element} root @param {string} without @returns {Words} */
function wordsOf(root, without) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let text = "";
  const starts = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = /** @type {Element} */ (node.parentElement);
    if (parent.closest(without)) continue;
    starts.push({ at: text.length, owner: parent.closest("li, tr, .block > *") ?? root });
    // what was filled in is no word of the step
    text += bare(parent.closest(".placeholder")?.getAttribute("data-name") ?? node.textContent ?? "");
  }
  return { text, starts };
}

/**
 * The answer's steps; null for one that isn't in the text.
 * @param {Element} blocks
 * @param {Step[]} guidance
 * @returns {(Element | null)[]}
 */
export function stepsOf(blocks, guidance) {
  const words = wordsOf(blocks, ADDED);
  const withCode = wordsOf(blocks, "sup, .host, .mark-note, .copy-code, .filled-note, .tick-note");
  let from = 0;
  let codeFrom = 0;
  return guidance.map((step) => {
    const found = placeOf(words, step, from) ?? placeOf(words, step, from, PREFIX);
    if (found) from = found.end;
    if (found) return found.owner;
    const code = placeOf(withCode, step, codeFrom, PREFIX); // some steps are only a command
    if (code) codeFrom = code.end;
    return code?.owner ?? null;
  });
}

/**
 * @param {Words} words
 * @param {Step} step
 * @param {number} from where the one before it ended
 * @param {number} [most] characters that have to be there
 * @returns {{owner: Element, end: number} | null} the first such words that cite what the step cites
 */
function placeOf({ text, starts }, { action, citation }, from, most = Infinity) {
  const wanted = bareMarkdown(action).slice(0, most);
  if (!wanted) return null;
  for (let at = text.indexOf(wanted, from); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const owner = starts.findLast((start) => start.at <= at)?.owner;
    if (owner && citingOf(owner).some((element) => cites(element, citation))) return { owner, end: at + wanted.length };
  }
  return null;
}

/** @param {Element} element @param {import("./answer-state.js").Citation} citation */
function cites(element, citation) {
  const lines = `${citation.start_line}-${citation.end_line}`;
  return [...element.querySelectorAll("a.cite")].some((cite) => cite.getAttribute("data-lines") === lines
    && decodeURIComponent(cite.getAttribute("href") ?? "").startsWith(`/doc/${citation.source_file}#`));
}

/** An element, and the code and lone references after it that belong to it. @param {Element} element */
export function citingOf(element) {
  const found = [element];
  for (let next = following(element); next && (isCode(next) || isReference(next)); next = following(next)) found.push(next);
  return found;
}

/** @param {Element} element */
export function isCode(element) {
  return element.matches(".code");
}

/** @param {Element} element */
function isReference(element) {
  return element.querySelector("a.cite") !== null && element.matches("p") && bareText(element) === "";
}

/** The next element in the text; after a list's last item, the one below the list. @param {Element} element @returns {Element | null} */
function following(element) {
  if (element.nextElementSibling) return element.nextElementSibling;
  const parent = element.parentElement;
  if (!parent) return null;
  if (parent.matches(".block")) return nextBlock(parent)?.firstElementChild ?? null;
  return parent.matches(".block > ol, .block > ul") ? following(parent) : null;
}

/** @param {Element} block */
function nextBlock(block) {
  let next = block.nextElementSibling;
  while (next && !next.firstElementChild) next = next.nextElementSibling;
  return next;
}
