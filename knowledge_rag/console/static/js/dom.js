/**
 * The page's elements. They are made without markup: words of documents and models only ever become text.
 *
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {{[K in keyof GlobalEventHandlersEventMap as `on${K}`]?: (event: GlobalEventHandlersEventMap[K]) => void}} Listeners
 * @typedef {Listeners & Record<string, unknown>} Attributes functions under `on...` listen; null and false are left out
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Makes an HTML element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/**
 * Makes an SVG element.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * @template {Element} T
 * @param {T} element
 * @param {Attributes} attributes
 * @param {(Child | Child[])[]} children
 * @returns {T}
 */
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, String(value));
  }
  element.append(...children.flat().filter(isShown).map(asNode));
  return element;
}

/** @param {Child} child */
function isShown(child) {
  return child !== null && child !== undefined && child !== false && child !== "";
}

/** @param {Child} child */
function asNode(child) {
  return child instanceof Node ? child : String(child);
}

/** @param {string} id of an element of the page */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

/** Announces stages and outcomes to screen readers, but not each piece of text. @param {string} message */
export function announce(message) {
  byId("announcer").textContent = message;
}

const still = window.matchMedia("(prefers-reduced-motion: reduce)");
const MARKED_MS = 2000;

/** Scrolls smoothly, unless the reader prefers reduced motion. @param {Element} element @param {ScrollLogicalPosition} [block] */
export function scrollTo(element, block = "nearest") {
  element.scrollIntoView({ block, behavior: still.matches ? "auto" : "smooth" });
}

/** Highlights an element for two seconds. @param {Element} element */
export function flash(element) {
  for (const other of document.querySelectorAll(".flashed")) other.classList.remove("flashed");
  element.classList.add("flashed");
  const mark = {};
  flashes.set(element, mark);
  setTimeout(() => {
    if (flashes.get(element) === mark) element.classList.remove("flashed");
  }, MARKED_MS);
}

/** @type {WeakMap<Element, object>} the latest flash of each element */
const flashes = new WeakMap();
