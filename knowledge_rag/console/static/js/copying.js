/** Copies text, and confirms it. */
import { announce, h } from "./dom.js";
import { icon } from "./icons.js";

const SHOWN_MS = 1800;

/**
 * @param {string} label
 * @param {() => string | Promise<string>} text
 * @param {string} [what] for screen readers, e.g. "reference"
 * @returns {HTMLElement}
 */
export function copyButton(label, text, what = label) {
  const button = h("button", { type: "button", class: "quiet", "aria-label": label, title: label, onclick: () => copyFrom(button, text(), what) },
    icon("copy"), h("span", {}, label));
  return button;
}

/**
 * @param {Element} button shows the result
 * @param {string | Promise<string>} text
 * @param {string} what
 */
export async function copyFrom(button, text, what) {
  const copied = await put(text).catch(() => false);
  announce(copied ? `Copied: ${what}` : "Could not copy");
  button.classList.add(copied ? "copied" : "not-copied");
  setTimeout(() => button.classList.remove("copied", "not-copied"), SHOWN_MS);
}

/** @param {string | Promise<string>} wanted */
async function put(wanted) {
  const text = await wanted;
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return putOldWay(text);
  }
}

/** A console reached by plain HTTP through another name than localhost has no clipboard API. @param {string} text */
function putOldWay(text) {
  const area = h("textarea", { class: "visually-hidden", "aria-hidden": "true", tabindex: "-1" }, text);
  const before = document.activeElement;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return copied;
}
