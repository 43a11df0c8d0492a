/** Scrolling and highlighting that respect reduced motion. */

const still = window.matchMedia("(prefers-reduced-motion: reduce)");
const MARKED_MS = 2000;

/** @param {Element} element @param {ScrollLogicalPosition} [block] */
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
