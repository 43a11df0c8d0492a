/**
 * The state of one answer, updated event by event. Nothing here touches the page.
 *
 * @typedef {{source_file: string, start_line: number, end_line: number, section_header: string}} Citation
 * @typedef {{number: number, id: string, title?: string, source: string, url: string, score?: number,
 *   citation: Citation, content: string, documentType?: string, section?: string, page?: number, sourceUrl?: string,
 *   caution?: string, drift?: string[], commit?: string, lastChanged?: string, lastReviewed?: string, stale?: {message: string}}} Source
 * @typedef {{kind: string, message: string, step?: number}} Warning
 * @typedef {{reference: string, reason: string, message?: string}} Removed
 * @typedef {{action: string, citation: Citation, support: string, number?: string, kind?: string}} Step
 * @typedef {{source_file: string, start_line: number, end_line: number}} NotShown
 * @typedef {{not_shown: NotShown[], section?: string[], source_file?: string}} Procedure
 * @typedef {{incident_id: string | null, citation: Citation, support: string}} SimilarIncident
 * @typedef {{summary: string, guidance: Step[], similar_incidents: SimilarIncident[], procedures?: Procedure[],
 *   reading?: Citation[], meant?: string[], alerts?: {alert: string, status: string}[], unknown_words?: string[]}} Advice
 * @typedef {{status: string, reason?: string, reasoning: string, confidence: number, warnings: Warning[],
 *   evidence?: {strength: string, reasons: string[]}, recommendation: Advice}} Recommendation as in the JSON schema of that name
 * @typedef {"searching" | "found" | "writing" | "done" | "stopped" | "failed"} Phase
 *
 * @typedef {{stage: "searching" | "found" | "writing" | "restarted", queries?: string[], incident?: import("./alert-card.js").AlertCard, sources?: number}} StatusEvent
 * @typedef {{type: "status", data: StatusEvent}
 *   | {type: "citations", data: {sources: Source[], incident?: import("./alert-card.js").AlertCard}}
 *   | {type: "chunk", data: {block: number, html: string, byModel: boolean}}
 *   | {type: "warnings", data: {message: string, warnings: Warning[], removed: Removed[]}}
 *   | {type: "done", data: {recommendation: Recommendation, answerId: string}}
 *   | {type: "error", data: {message: string}}} AnswerEvent as the server sends it
 *
 * @typedef {object} AnswerState
 * @property {string} question
 * @property {import("./alert-card.js").AlertCard | null} incident what was pasted; null for a question in words
 * @property {Record<string, string>} filters
 * @property {Phase} phase
 * @property {string[]} queries
 * @property {number | null} found
 * @property {Source[]} sources
 * @property {string[]} blocks HTML of each block, sanitised by the server
 * @property {boolean} byModel whether a model wrote them
 * @property {number} cited how many sources the shown text cites
 * @property {number} uncited in how many places it cites none
 * @property {boolean} restarted
 * @property {string} warning the banner's sentence
 * @property {Warning[]} warnings
 * @property {Removed[]} removed
 * @property {Recommendation | null} recommendation
 * @property {string | null} answerId
 * @property {string} askedAt of an earlier answer, ISO 8601; "" for one that was just asked for
 * @property {{trouble: string, message: string} | null} failure
 */
import { looksPasted } from "./alert-card.js";

/**
 * @param {string} question
 * @param {Record<string, string>} filters
 * @returns {AnswerState}
 */
export function newAnswer(question, filters) {
  return {
    question, incident: null, filters, phase: "searching", queries: [], found: null, sources: [],
    blocks: [], byModel: false, cited: 0, uncited: 0, restarted: false, warning: "", warnings: [], removed: [], recommendation: null,
    answerId: null, askedAt: "", failure: null,
  };
}

/**
 * An earlier answer that the server kept.
 * @param {string} id
 * @param {Pick<AnswerState, "question" | "filters" | "sources" | "blocks" | "byModel" | "recommendation" | "removed"> & Partial<Pick<AnswerState, "incident" | "askedAt">>} kept
 * @returns {AnswerState}
 */
export function earlierAnswer(id, kept) {
  return {
    ...newAnswer(kept.question, kept.filters),
    phase: "done", found: kept.sources.length, sources: kept.sources, blocks: kept.blocks, byModel: kept.byModel,
    incident: kept.incident ?? null, askedAt: kept.askedAt ?? "", removed: kept.removed, recommendation: kept.recommendation, answerId: id,
  };
}

/**
 * An answer that this tab kept; an older version of the page may have kept less of it.
 * @param {AnswerState} kept
 * @returns {AnswerState}
 */
export function restoredAnswer(kept) {
  const recommendation = {
    status: "degraded", reasoning: "", confidence: 0, warnings: [], ...kept.recommendation,
    recommendation: { summary: "", guidance: [], similar_incidents: [], ...kept.recommendation?.recommendation },
  };
  return { ...newAnswer("", {}), ...kept, recommendation: kept.recommendation && recommendation };
}

/**
 * @param {AnswerState} state is changed
 * @param {AnswerEvent} event
 */
export function take(state, { type, data }) {
  switch (type) {
    case "status":
      return takeStatus(state, data);
    case "citations":
      state.sources = data.sources;
      state.incident = data.incident ?? state.incident;
      state.found ??= data.sources.length;
      return;
    case "chunk":
      state.phase = "writing";
      state.blocks[data.block] = data.html;
      state.byModel = data.byModel;
      return;
    case "warnings":
      state.warning = data.message;
      state.warnings = data.warnings;
      state.removed = data.removed;
      return;
    case "done":
      state.phase = "done";
      state.recommendation = data.recommendation;
      state.answerId = data.answerId;
      return;
    case "error":
      fail(state, "server", data.message);
  }
}

/** @param {AnswerState} state @param {StatusEvent} data */
function takeStatus(state, data) {
  if (data.queries) state.queries = data.queries;
  if (data.incident) state.incident = data.incident;
  if (data.sources !== undefined) state.found = data.sources;
  if (data.stage === "restarted") Object.assign(state, { blocks: [], restarted: true });
  else if (data.stage !== "searching") state.phase = data.stage;
}

/** @param {AnswerState} state @param {string} trouble @param {string} message */
export function fail(state, trouble, message) {
  state.phase = "failed";
  state.failure = { trouble, message };
}

/** @param {AnswerState} state */
export function stop(state) {
  state.phase = "stopped";
}

/** @param {AnswerState} state */
export function isOver(state) {
  return state.phase === "done" || state.phase === "stopped" || state.phase === "failed";
}

/** What an answer is called. @param {AnswerState} state */
export function nameOf({ incident, question }) {
  return incident?.name ?? (looksPasted(question) ? "Pasted alert" : question);
}

/** What a further question is about: the procedure that is shown, by its page's heading; "" without one. @param {AnswerState} state */
export function topicOf({ recommendation, sources }) {
  const [first] = recommendation?.recommendation.procedures ?? [];
  return first ? (first.section?.[0] ?? sources.find(({ source }) => source === first.source_file)?.title ?? "") : "";
}
