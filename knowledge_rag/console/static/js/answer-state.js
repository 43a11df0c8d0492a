/**
 * What is known of one answer, event by event. Nothing here touches the page.
 *
 * @typedef {{source_file: string, start_line: number, end_line: number, section_header: string}} Citation
 * @typedef {{number: number, id: string, title?: string, source: string, url: string, score?: number,
 *   citation: Citation, content: string, documentType?: string, section?: string, page?: number, sourceUrl?: string,
 *   caution?: string, stale?: any}} Source
 * @typedef {{kind: string, message: string, step?: number}} Warning
 * @typedef {{reference: string, reason: string, message?: string}} Removed
 * @typedef {"searching" | "found" | "writing" | "done" | "stopped" | "failed"} Phase
 *
 * @typedef {object} AnswerState
 * @property {string} question
 * @property {string} named what a pasted payload is called; "" for a question in words
 * @property {Record<string, string>} filters
 * @property {Phase} phase
 * @property {string} stage what the server said last of where it is
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
 * @property {any} recommendation
 * @property {string | null} answerId
 * @property {{trouble: string, message: string} | null} failure
 */

/**
 * @param {string} question
 * @param {Record<string, string>} filters
 * @returns {AnswerState}
 */
export function newAnswer(question, filters) {
  return {
    question, named: "", filters, phase: "searching", stage: "", queries: [], found: null, sources: [],
    blocks: [], byModel: false, cited: 0, uncited: 0, restarted: false, warning: "", warnings: [], removed: [], recommendation: null,
    answerId: null, failure: null,
  };
}

/**
 * An answer that was given before, as the server kept it.
 * @param {string} id
 * @param {any} kept
 * @returns {AnswerState}
 */
export function earlierAnswer(id, kept) {
  return {
    ...newAnswer(kept.question, kept.filters ?? {}),
    phase: "done", found: kept.sources.length, sources: kept.sources, blocks: kept.blocks, byModel: kept.byModel === true,
    removed: kept.removed ?? [], recommendation: kept.recommendation, answerId: id,
  };
}

/** @type {Record<string, (state: AnswerState, data: any) => void>} */
const TAKEN = {
  status(state, data) {
    state.stage = data.message ?? "";
    if (data.queries) state.queries = data.queries;
    if (data.named) state.named = data.named;
    if (data.sources !== undefined) state.found = data.sources;
    if (data.stage === "restarted") Object.assign(state, { blocks: [], restarted: true });
    else if (data.stage === "found") state.phase = "found";
    else if (data.stage === "writing") state.phase = "writing";
  },
  citations(state, data) {
    state.sources = data.sources;
    state.found ??= data.sources.length;
  },
  chunk(state, data) {
    state.phase = "writing";
    state.blocks[data.block] = data.html;
    state.byModel = data.byModel === true;
  },
  warnings(state, data) {
    state.warning = data.message ?? "";
    state.warnings = data.warnings ?? [];
    state.removed = data.removed ?? [];
  },
  done(state, data) {
    state.phase = "done";
    state.recommendation = data.recommendation ?? null;
    state.answerId = data.answerId ?? null;
  },
  error(state, data) {
    fail(state, "server", data.message ?? "");
  },
};

/**
 * @param {AnswerState} state is changed
 * @param {string} type
 * @param {any} data
 */
export function take(state, type, data) {
  TAKEN[type]?.(state, data);
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
