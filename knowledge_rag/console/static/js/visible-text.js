/** Shows text as it is: characters that can't be seen or that reverse the order of letters get a name. */
import { h } from "./dom.js";

// controls, separators, private use and characters without a shape; emoji keep the selector of their looks
const HIDDEN = /[[\p{Cc}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--[\ufe0f\t\n]]/gv;

/** @type {Record<string, string>} */
const NAMES = {
  "200B": "zero-width space", "200C": "zero-width non-joiner", "200D": "zero-width joiner",
  "200E": "left-to-right mark", "200F": "right-to-left mark", "202A": "left-to-right embedding",
  "202B": "right-to-left embedding", "202C": "end of direction", "202D": "left-to-right override",
  "202E": "right-to-left override", "2066": "left-to-right isolate", "2067": "right-to-left isolate",
  "2068": "first-strong isolate", "2069": "end of isolate", "FEFF": "byte-order mark",
  "00AD": "soft hyphen", "001B": "escape", "2028": "line separator", "2029": "paragraph separator",
};

/**
 * @param {string} text
 * @returns {(string | HTMLElement)[]}
 */
export function visible(text) {
  const line = text.replace(/\r$/, "");
  const nodes = [];
  let end = 0;
  for (const match of line.matchAll(HIDDEN)) {
    nodes.push(line.slice(end, match.index), named(match[0]));
    end = match.index + match[0].length;
  }
  return [...nodes, line.slice(end)].filter((node) => node !== "");
}

/** Whether a line has characters that get a name. @param {string} line */
export function hides(line) {
  return line.replace(/\r$/, "").search(HIDDEN) >= 0;
}

/** @param {string} character */
function named(character) {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const name = NAMES[code] ?? "hidden character";
  return h("span", { class: "hidden-character", title: `U+${code} ${name}` }, `U+${code}`);
}

/**
 * Keeps a shell's words in one piece when a line is wrapped: a break after a hyphen would make two.
 * @param {string} text
 * @returns {(string | HTMLElement)[]}
 */
export function inOnePiece(text) {
  return text.split(/(\s+)/).filter(Boolean).map((part) => (part.includes("-") ? h("span", { class: "word" }, part) : part));
}
