/** Below an answer: the closest sections, similar incidents, and buttons to copy and save it. */
import { readText } from "./api.js";
import { documentUrl, placeText } from "./citations.js";
import { copyButton } from "./copying.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";

/**
 * @typedef {import("./answer-state.js").AnswerState} AnswerState
 * @typedef {import("./answer-state.js").Recommendation} Recommendation
 */

/**
 * The closest sections if nothing is documented; the procedures to choose from if it is unclear which one is meant.
 * @param {Recommendation | null} recommendation @param {(place: string) => void} choose
 */
export function closestSections(recommendation, choose) {
  const { reading = [], meant = [], alerts = [] } = recommendation?.recommendation ?? {};
  if (!reading.length) return null;
  const names = alerts.filter(({ status }) => status !== "ok").map(({ alert }) => alert);
  return h("section", { class: "closest", "aria-labelledby": "closest-title" },
    h("h2", { id: "closest-title" }, meant.length ? "It could be" : `Closest sections${names.length ? `, for ${names.join(", ")}` : ""}: to read, not steps to follow`),
    h("ul", {}, reading.map(({ source_file: path, start_line: start, end_line: end, section_header: section }, at) => {
      const href = documentUrl(path, start, end);
      const place = [h("span", { class: "path" }, path), " ", h("span", { class: "at" }, placeText(path, start, end))];
      const name = headingWords(meant[at] ?? "");
      return name
        ? h("li", {}, h("button", { type: "button", onclick: () => choose(`${path}:${end}`) }, name), " ", h("a", { class: "where", href }, place))
        : h("li", {}, h("a", { href }, headingWords(section) || path), " ", h("span", { class: "where" }, place));
    })));
}

/** @param {string} heading as it stands in Markdown */
function headingWords(heading) {
  return heading.replace(/[`*_#]+/g, "").trim();
}

const FOLLOW_UPS = ["How do I undo it?", "How do I check that it worked?", "Whom do I call about it?"];

/** Further questions about the procedure that is shown. @param {Recommendation | null} recommendation @param {(question: string) => void} ask */
export function followUps(recommendation, ask) {
  if (!recommendation?.recommendation.procedures?.length) return null;
  return h("section", { class: "follow-ups", "aria-labelledby": "follow-ups-title" },
    h("h2", { id: "follow-ups-title" }, "Ask further"),
    h("p", {}, FOLLOW_UPS.map((question) => h("button", { type: "button", onclick: () => ask(question) }, question))));
}

/** @param {Recommendation | null} recommendation */
export function similarIncidents(recommendation) {
  const incidents = recommendation?.recommendation?.similar_incidents ?? [];
  if (!incidents.length) return null;
  return h("section", { class: "similar", "aria-labelledby": "similar-title" },
    h("h2", { id: "similar-title" }, "Similar incidents in full"),
    h("ul", {}, incidents.map(incidentRow)));
}

/** @param {import("./answer-state.js").SimilarIncident} incident */
function incidentRow({ incident_id: id, citation, support }) {
  const { source_file: path, start_line: start, end_line: end } = citation;
  return h("li", {},
    h("a", { href: documentUrl(path, start, end) }, h("b", {}, id ?? path)), " ",
    h("span", { class: "where" }, id ? [h("span", { class: "path" }, path), " "] : null, h("span", { class: "at" }, placeText(path, start, end))),
    support === "unsupported" ? h("span", { class: "unbacked-note" }, "What is said of it is not in the cited lines.") : null);
}

/** @param {AnswerState} state */
export function answerActions({ answerId }) {
  if (!answerId) return null;
  const path = `/api/answers/${encodeURIComponent(answerId)}`;
  const copies = { Markdown: "md", Slack: "slack", "a PagerDuty note": "txt" };
  return h("div", { class: "answer-actions" },
    h("a", { class: "quiet button", href: `/verify?answer=${encodeURIComponent(answerId)}` }, icon("tick"), "Check each claim"),
    Object.entries(copies).map(([name, ending]) => copyButton(`Copy for ${name}`.replace("for Markdown", "Markdown"), () => readText(`${path}.${ending}`), "answer")),
    h("a", { class: "quiet button", href: `${path}.md`, download: "" }, icon("save"), "Markdown"),
    h("a", { class: "quiet button", href: `${path}.json`, download: "" }, icon("save"), "JSON"),
    h("button", { type: "button", class: "quiet", onclick: () => window.print() }, "Print"));
}
