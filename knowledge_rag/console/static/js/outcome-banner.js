/** The banner above an answer: its stage, then its outcome. It keeps its place, so nothing jumps. */
import { counted, h } from "./dom.js";
import { evidence } from "./evidence.js";
import { icon } from "./icons.js";
import { outcomeOf, warningsOf } from "./outcome.js";
import { kindText } from "./wording.js";

/**
 * @typedef {import("./answer-state.js").AnswerState} AnswerState
 */

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
  return Object.keys(filters).some((name) => name !== "advisor");
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
