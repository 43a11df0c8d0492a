/** Reports a wrong citation. A person reads it; nothing learns from it. */
import { send } from "./api.js";
import { linesText } from "./citations.js";
import { announce, h } from "./dom.js";

/**
 * @param {{answerId: string | null, number: number, path: string, lines: [number, number]}} about
 */
export function openReport(about) {
  const comment = h("textarea", { id: "report-comment", rows: "4", maxlength: "2000" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const close = () => dialog.close();
  const dialog = h("dialog", { class: "report", "aria-labelledby": "report-title", onclose: () => dialog.remove() },
    h("form", { onsubmit: (event) => { event.preventDefault(); submit(about, comment.value, close, problem); } },
      h("h2", { id: "report-title" }, "Report a wrong citation"),
      h("p", { class: "where" }, h("span", { class: "path" }, about.path), " ", h("span", { class: "at" }, linesText(...about.lines))),
      h("label", { for: "report-comment" }, "What is wrong with it? ", h("span", { class: "optional" }, "optional")),
      comment,
      h("p", { class: "hint" }, "Kept in a file on the console's machine, for a person to read."),
      problem,
      h("div", { class: "dialog-actions" },
        h("button", { type: "button", onclick: close }, "Cancel"),
        h("button", { type: "submit", class: "primary" }, "Send report"))));
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * @param {Parameters<typeof openReport>[0]} about
 * @param {string} comment
 * @param {() => void} close
 * @param {HTMLElement} problem
 */
async function submit(about, comment, close, problem) {
  try {
    await send("/api/reports", { answerId: about.answerId, number: about.number, comment });
    close();
    announce("Reported. Thank you.");
  } catch (error) {
    problem.textContent = `Not sent: ${/** @type {Error} */ (error).message}`;
    problem.hidden = false;
  }
}
