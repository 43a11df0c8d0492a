/** What stands below an answer: similar incidents, and what to do with it. */
import { documentUrl, linesText } from "./citations.js";
import { copyButton } from "./copying.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";

/** @typedef {import("./answer-state.js").AnswerState} AnswerState */

/** @param {any} recommendation */
export function similarIncidents(recommendation) {
  const incidents = recommendation?.recommendation?.similar_incidents ?? [];
  if (!incidents.length) return null;
  return h("section", { class: "similar", "aria-labelledby": "similar-title" },
    h("h2", { id: "similar-title" }, "Similar incidents"),
    h("ul", {}, incidents.map(incidentRow)));
}

/** @param {any} incident */
function incidentRow({ incident_id: id, resolution, citation, support }) {
  const { source_file: path, start_line: start, end_line: end } = citation;
  return h("li", {},
    h("a", { href: documentUrl(path, start, end) }, h("b", {}, id ?? path)),
    h("span", { class: "resolution" }, firstLine(resolution)),
    support === "unsupported" ? h("span", { class: "unbacked-note" }, "not in the cited lines") : null,
    h("span", { class: "where" }, h("span", { class: "path" }, path), " ", h("span", { class: "at" }, linesText(start, end))));
}

/** @param {string} text Markdown, shown as text */
function firstLine(text) {
  const [line] = text.split("\n");
  return line.replaceAll(/[*_`]+/g, "").replace(/:$/, ".");
}

/** @param {AnswerState} state @param {() => string} text */
export function answerActions(state, text) {
  const id = state.answerId && encodeURIComponent(state.answerId);
  return h("div", { class: "answer-actions" },
    copyButton("Copy answer", text, "answer"),
    id ? h("a", { class: "quiet button", href: `/api/answers/${id}.md`, download: "" }, icon("save"), "Markdown") : null,
    id ? h("a", { class: "quiet button", href: `/api/answers/${id}.json`, download: "" }, icon("save"), "JSON") : null);
}
