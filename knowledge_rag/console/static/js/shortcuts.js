/** Keys for people without a free hand: they count where nobody is typing. */
import { copyCommand } from "./commands.js";
import { byId, h, scrollTo } from "./dom.js";

const KEYS = [
  ["/", "Ask something"], ["j", "Next step"], ["k", "Step before"], ["c", "Copy the step’s command"],
  ["x", "Tick the step"], ["?", "Show these keys"],
];

/** @param {import("./answer-view.js").AnswerView} answer */
export function listenForKeys(answer) {
  document.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input:not(.tick), textarea, select, dialog")) return;
    if (event.key === "?") showKeys();
    else if (byId("ask-view").hidden || !pressed(event.key, answer.checklist)) return;
    event.preventDefault();
  });
}

/** @param {string} key @param {import("./checklist.js").Checklist} checklist @returns {boolean} whether it did something */
function pressed(key, checklist) {
  const { items } = checklist;
  const at = items.findIndex((item) => item.contains(document.activeElement));
  const current = items[at];
  if (key === "/") byId("question").focus();
  else if (key === "j" && items.length) goTo(items[Math.min(at + 1, items.length - 1)]);
  else if (key === "k" && items.length) goTo(items[Math.max(at - 1, 0)]);
  else if (key === "x" && current) checklist.toggle(current);
  else if (key === "c" && current) copyFirst(current);
  else return false;
  return true;
}

/** @param {HTMLElement} item */
function goTo(item) {
  scrollTo(item, "center");
  item.focus({ preventScroll: true });
}

/** @param {HTMLElement} item */
function copyFirst(item) {
  const button = item.querySelector(".copy-code");
  if (button) copyCommand(button);
}

function showKeys() {
  if (document.querySelector("dialog[open]")) return;
  const dialog = h("dialog", { class: "keys", "aria-labelledby": "keys-title", onclose: () => dialog.remove() },
    h("h2", { id: "keys-title" }, "Keys"),
    h("dl", {}, KEYS.map(([key, what]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)))),
    h("div", { class: "dialog-actions" }, h("button", { type: "button", onclick: () => dialog.close() }, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}
