/** Keeps what is one word to a shell in one piece where a line has to be folded: a break behind a hyphen makes two of it. */
import { h } from "./dom.js";

/**
 * @param {string} text
 * @returns {(string | HTMLElement)[]}
 */
export function inOnePiece(text) {
  return text.split(/(\s+)/).filter(Boolean).map((part) => (part.includes("-") ? h("span", { class: "word" }, part) : part));
}
