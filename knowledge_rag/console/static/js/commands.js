/** Commands of an answer: whole at every width, and copied as they stand, with what was filled in. */
import { copyFrom } from "./copying.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { withPlaceholders } from "./placeholders.js";
import { inOnePiece } from "./visible-text.js";

/** Short names, which are never broken. */
const NAME = /^\S{1,20}$/;
/** Code of several words, one of them an option, a path or the like: `idle in transaction` is none. */
const COMMAND = /^(?=.*\s)(?=.*[-/=<|$])/s;

/** @param {ParentNode} fresh a block of an answer */
export function showCommands(fresh) {
  fresh.querySelectorAll("pre").forEach(showBlock);
  fresh.querySelectorAll(":not(pre, .command-line) > code").forEach(showInline);
}

/** @param {Element} pre */
function showBlock(pre) {
  const code = pre.querySelector("code") ?? pre;
  const lines = (code.textContent ?? "").replace(/\n$/, "").split("\n");
  code.replaceChildren(...lines.flatMap((line, at) => [at ? "\n" : "", h("span", { class: `command-line${isRemark(line) ? " remark" : ""}` }, ...withPlaceholders(line, words))]));
  withCopy(pre);
}

/** Puts a button that copies it beside a block of code. @param {Element} pre */
export function withCopy(pre) {
  const box = h("div", { class: "code" });
  pre.replaceWith(box);
  box.append(pre, copyCode(h("span", {}, "Copy")));
}

/** @param {Element} code */
function showInline(code) {
  const text = code.textContent ?? "";
  code.classList.toggle("whole", NAME.test(text));
  code.replaceChildren(...withPlaceholders(text, inOnePiece));
  if (COMMAND.test(text)) code.after(copyCode());
}

/** @param {...HTMLElement} words */
function copyCode(...words) {
  return h("button", { type: "button", class: "quiet copy-code", "aria-label": "Copy this command", title: "Copy" }, icon("copy"), ...words);
}

/** @param {string} line */
function isRemark(line) {
  return /^\s*(?:#|--\s|\/\/)/.test(line);
}

/** @param {string} text @returns {(string | HTMLElement)[]} its options apart, and no word torn */
function words(text) {
  return text.split(/(\s+)/).filter(Boolean).flatMap((part) => (/^--?[A-Za-z]/.test(part) ? [h("span", { class: "flag word" }, part)] : inOnePiece(part)));
}

/** @param {MouseEvent} event */
export function copyClicked(event) {
  const button = /** @type {Element} */ (event.target).closest(".copy-code");
  if (button) copyCommand(button);
}

/** @param {Element} button beside a command */
export function copyCommand(button) {
  const command = button.closest(".code")?.querySelector("pre") ?? button.previousElementSibling;
  if (!command) return;
  const open = [...new Set([...command.querySelectorAll(".placeholder:not(.filled)")].map((one) => one.textContent))];
  copyFrom(button, command.textContent ?? "", open.length ? `command, with ${open.join(" and ")} still to fill in` : "command");
}
