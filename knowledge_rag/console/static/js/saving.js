/** Files that the page makes itself. */
import { h } from "./dom.js";

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** One line of a text, in which nothing is Markdown. @param {string} text */
export function plain(text) {
  return text.replace(UNSEEN, " ").replace(/[\\`*[\]<>|~#]/g, "\\$&").trim();
}

/** A text as a block of code, whatever it holds. @param {string} text */
export function fenced(text) {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** @param {string} name without date and ending @param {string} ending @param {string} text */
export function saveFile(name, ending, text) {
  const url = URL.createObjectURL(new Blob([text], { type: ending === "json" ? "application/json" : "text/markdown" }));
  h("a", { href: url, download: `${name}-${new Date().toISOString().slice(0, 16).replace(/\D/g, "")}.${ending}` }).click();
  setTimeout(() => URL.revokeObjectURL(url));
}
