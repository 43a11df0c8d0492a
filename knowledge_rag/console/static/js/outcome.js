/** The outcome of a question, in one place at the top of its answer. */
import { counted, h } from "./dom.js";
import { icon } from "./icons.js";
import { FAILURES, isOfAdvice, isOfSearch, kindText, reasonText } from "./wording.js";

/**
 * @typedef {import("./answer-state.js").AnswerState} AnswerState
 * @typedef {object} Outcome
 * @property {"working" | "ok" | "warning" | "nothing" | "unavailable" | "stopped" | "failed"} kind
 * @property {import("./icons.js").IconName | null} icon
 * @property {string} title
 * @property {string} [text]
 * @property {boolean} [canRetry]
 */

/** @param {AnswerState} state @returns {Outcome} */
export function outcomeOf(state) {
  if (state.phase === "failed") return failed(state);
  if (state.phase === "stopped") return {
    kind: "stopped", icon: "stop", title: "Stopped.",
    text: "What is shown was verified, but it is not the whole answer.", canRetry: true,
  };
  return state.phase === "done" ? finished(state) : working(state);
}

/** @param {AnswerState} state @returns {Outcome} */
function working(state) {
  const found = state.found === null ? "" : `Found ${counted(state.found, "relevant source")}`;
  const title = {
    searching: "Searching the knowledge base", found, writing: found ? `${found}, writing` : "Writing",
  }[/** @type {"searching" | "found" | "writing"} */ (state.phase)];
  const text = state.restarted ? "What was shown before is void: the answer is being written anew." : "";
  return { kind: "working", icon: null, title: `${title} …`, text };
}

/** @param {AnswerState} state @returns {Outcome} */
function finished(state) {
  const { recommendation } = state;
  if (!recommendation) return failed(state);
  const { status, reason = "", evidence } = recommendation;
  const { summary, guidance, unknown_words: unknown = [] } = recommendation.recommendation;
  if (status === "no_match") return nothing(state.sources.length, recommendation);
  if (status === "degraded") return degraded(reason);
  const warnings = warningsOf(state);
  if (!guidance.length && !state.removed.length) return {
    kind: "warning", icon: "warning", title: "No steps are documented.",
    text: unknown.length ? `Nothing found mentions ${unknown.join(", ")}. ${SIMILAR}` : SIMILAR,
  };
  if (warnings.length && !state.removed.length && warnings.every(({ kind }) => isOfSearch(kind))) return {
    kind: "warning", icon: "warning", text: summary,
    title: titleOf(warnings),
  };
  if (warnings.length || state.removed.length) return {
    kind: "warning", icon: "warning",
    ...sentences(state.warning || "Quality check detected potential issues. Please verify information independently."),
  };
  const { cited, uncited } = state;
  if (uncited) return {
    kind: "warning", icon: "warning",
    title: `${counted(cited, "source")} cited, ${counted(uncited, "passage")} not.`,
    text: "What is marked “not cited” rests on no source: check it before you act on it.",
  };
  if (evidence?.strength === "thin") return { kind: "warning", icon: "warning", title: "Thin evidence: check that it fits.", text: summary };
  return { kind: "ok", icon: "tick", title: cited ? `${counted(cited, "source")} cited.` : "Done.", text: summary };
}

/** @param {import("./answer-state.js").Warning[]} warnings */
function titleOf(warnings) {
  return warnings.length === 1 ? sentence(warnings[0].message) : `${warnings.length} things to know before you start.`;
}

const SIMILAR = "An earlier incident may be similar: check that it fits.";
const OTHER_WORDS = "Other words may help: the service, the alert, what is failing.";

/**
 * The passages may still hold the answer: only a person can tell.
 * @param {number} passages
 * @param {import("./answer-state.js").Recommendation} recommendation
 * @returns {Outcome}
 */
function nothing(passages, recommendation) {
  if (recommendation.recommendation.meant?.length) return {
    kind: "nothing", icon: "search", title: "Which one is meant?", text: sentence(recommendation.reasoning),
  };
  if (recommendation.recommendation.reading?.length) return {
    kind: "nothing", icon: "search", title: "Nothing documented", text: `${sentence(recommendation.reasoning)} ${OTHER_WORDS}`,
  };
  const them = passages === 1 ? "it" : "them";
  return {
    kind: "nothing", icon: "search", title: passages ? "No documented steps found" : "Nothing documented",
    text: passages
      ? `${counted(passages, "passage")} came back, and no steps could be made of ${them}: look at ${them} yourself. ${OTHER_WORDS}`
      : `The knowledge base was searched, and nothing came back that could answer this. ${OTHER_WORDS}`,
  };
}

/** @param {string} reason @returns {Outcome} */
function degraded(reason) {
  const title = isOfAdvice(reason) ? "No answer that could be proven" : "Knowledge base unavailable";
  const text = isOfAdvice(reason)
    ? reasonText(reason)
    : `${reasonText(reason)} This says nothing about what is documented.`;
  return { kind: "unavailable", icon: "offline", title, text, canRetry: true };
}

/** @param {AnswerState} state @returns {Outcome} */
function failed(state) {
  const { trouble, message } = state.failure ?? { trouble: "server", message: "" };
  const words = FAILURES[trouble] ?? FAILURES.server;
  const text = [words.text, message && sentence(message)].filter(Boolean).join(" ");
  return { kind: "failed", icon: trouble === "refused" ? "warning" : "offline", title: words.title, text, canRetry: trouble !== "refused" && trouble !== "gone" };
}

/** @param {AnswerState} state @returns {import("./answer-state.js").Warning[]} */
function warningsOf(state) {
  const all = state.warnings.length ? state.warnings : (state.recommendation?.warnings ?? []);
  const removed = state.removed.map(({ reference }) => reference);
  // removed references are listed as such, with their reasons
  return merged(all.filter(({ kind, message }) => kind !== "non_existent_source" || !removed.some((it) => message.startsWith(it))));
}

const FEW = 3;

/** Many missing parts of a procedure are one warning. @param {import("./answer-state.js").Warning[]} warnings */
function merged(warnings) {
  const left = warnings.filter(({ kind }) => kind === "not_shown");
  if (left.length <= FEW) return warnings;
  const message = `${left.length} parts of the procedure are not shown. ${left[0].message}`;
  return [...warnings.filter(({ kind }) => kind !== "not_shown"), { kind: "not_shown", message }];
}

/** @param {string} message its first sentence weighs most */
function sentences(message) {
  const [title, ...rest] = message.split(/(?<=\.) /);
  return { title, text: rest.join(" ") };
}

/** @param {string} text */
export function sentence(text) {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}

/** The banner above an answer: its stage, then its outcome. It keeps its place, so nothing jumps. */
export class OutcomeBanner {
  #shown = "";

  /** @param {{retry(): void, widen(): void, toStep(step: number): void}} actions */
  constructor(actions) {
    this.actions = actions;
    this.element = h("div", { class: "outcome" });
  }

  /** @param {AnswerState} state */
  show(state) {
    const outcome = outcomeOf(state);
    const now = JSON.stringify([outcome, state.phase, state.answerId]);
    if (now === this.#shown) return;
    this.#shown = now;
    this.element.dataset.kind = outcome.kind;
    this.element.replaceChildren(
      h("div", { class: "outcome-mark" }, outcome.icon ? icon(outcome.icon) : h("span", { class: "spinner", "aria-hidden": "true" })),
      h("div", { class: "outcome-words" },
        h("p", {}, h("strong", {}, outcome.title), outcome.text ? " " : null, outcome.text),
        h("div", { class: "outcome-more" }, this.#details(state), state.phase === "done" ? evidence(state.recommendation) : null)),
      outcome.kind === "nothing" && isNarrowed(state) ? h("button", { type: "button", class: "retry", onclick: this.actions.widen }, icon("search"), "Search without filters") :
      outcome.canRetry ? h("button", { type: "button", class: "retry", onclick: this.actions.retry }, icon("retry"), "Try again") : h("span"),
    );
  }

  /** @param {AnswerState} state */
  #details(state) {
    if (state.phase !== "done") return null;
    const warnings = warningsOf(state);
    const parts = [
      ...this.#warnings(warnings),
      ...removedList(state.removed),
      ...(state.recommendation?.status === "ok" ? [] : queriesList(state.queries)),
    ];
    if (!parts.length) return null;
    return h("details", {}, h("summary", {}, summary(warnings.length, state.removed.length)), parts);
  }

  /** @param {import("./answer-state.js").Warning[]} warnings */
  #warnings(warnings) {
    if (!warnings.length) return [];
    return [h("ul", { class: "warnings" }, warnings.map(({ kind, message, step }) =>
      h("li", {}, h("b", {}, kindText(kind)), " ", message,
        step ? h("button", { type: "button", class: "link", onclick: () => this.actions.toStep(step) }, `See step ${step}`) : null)))];
  }
}

/** @param {AnswerState} state */
function isNarrowed({ filters }) {
  return Object.keys(filters).some((name) => name !== "advisor" && name !== "at");
}

/** @param {import("./answer-state.js").Removed[]} removed */
function removedList(removed) {
  if (!removed.length) return [];
  return [
    h("h2", {}, "Removed from the answer"),
    h("ul", { class: "removed" }, removed.map(({ reference, reason, message }) =>
      h("li", {}, h("code", {}, reference), " ", (message ?? reason).replace(`${reference}: `, "")))),
  ];
}

/** @param {string[]} queries */
function queriesList(queries) {
  if (!queries.length) return [];
  // the same words may have been searched in other documents
  return [h("h2", {}, "Searched for"), h("ul", { class: "queries" }, [...new Set(queries)].map((query) => h("li", {}, query)))];
}

/** @param {number} warnings @param {number} removed */
function summary(warnings, removed) {
  const parts = [warnings && counted(warnings, "warning"), removed && `${counted(removed, "reference")} removed`];
  return parts.filter(Boolean).join(", ") || "What was searched for";
}

const CHECK = "check that it fits";

/** The strength of an answer's evidence, in words; the figure unfolds. @param {import("./answer-state.js").Recommendation | null} recommendation */
function evidence(recommendation) {
  if (!recommendation?.evidence) return null;
  const { strength, reasons } = recommendation.evidence;
  return h("details", { class: "evidence" },
    h("summary", {}, "Evidence: ", h("b", {}, strength), whyText(strength, reasons)),
    h("p", {}, `Confidence ${recommendation.confidence.toFixed(2)}, from 0 to 1: how much in the documents speaks for this answer, not how likely it is to help.`));
}

/** @param {string} strength @param {string[]} reasons */
function whyText(strength, reasons) {
  const said = strength === "strong" || reasons.some((reason) => reason.includes(CHECK)) ? reasons : [...reasons, CHECK];
  return said.length ? ` (${said.join("; ")})` : "";
}
