/** Keeps a shell's words in one piece when a line is wrapped: a break after a hyphen would make two. */
import { h } from "./dom.js";

/**
 * @param {string} text
 * @returns {(string | HTMLElement)[]}
 */
export function inOnePiece(text) {
  return text.split(/(\s+)/).filter(Boolean).map((part) => (part.includes("-") ? h("span", { class: "word" }, part) : part));
}
