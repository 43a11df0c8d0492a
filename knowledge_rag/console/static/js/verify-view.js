/** The view that compares an answer with its evidence: each claim marked where it stands, with the lines that hold it. */
import { send } from "./api.js";
import { linesText } from "./citations.js";
import { announce, byId, counted, h } from "./dom.js";
import { icon } from "./icons.js";
import { excerpt } from "./lines.js";
import { sentence } from "./outcome.js";
import { fenced, plain, saveFile } from "./saving.js";
import { visible } from "./visible-text.js";
import { plainName } from "./wording.js";

/**
 * @typedef {"ok" | "warning" | "error"} State
 * @typedef {{kind: string, level: string, message: string}} Finding
 * @typedef {{text: string, claim?: number, mark?: "error" | "warning" | "removed" | "reference"}} Piece
 * @typedef {{source: string, start: number, end: number, content: string, url?: string, stale?: string}} Passage
 * @typedef {{state: State, where: string, checked: string, passages: {passage: number, lines: number[]}[],
 *   atoms: {kind: string, text: string, where: string | null}[], findings: Finding[]}} Claim
 * @typedef {{pieces: Piece[], claims: Claim[], passages: Passage[], findings: Finding[], verified: boolean,
 *   evidence: {passages: number, proven: number, dropped: number, degraded: string[]}, metrics: Record<string, number>}} Verification
 */

/** Of a request, as the server reads it. */
const MOST_BYTES = 2 * 1024 * 1024;
/** Lines of a passage that are shown around those that hold a detail. */
const AROUND = 1;
const FEW_LINES = 8;

/** @type {Record<State, {words: string, icon: import("./icons.js").IconName}>} */
const STATES = {
  ok: { words: "In the cited lines", icon: "tick" },
  warning: { words: "Look at this", icon: "warning" },
  error: { words: "Not in the cited lines", icon: "cross" },
};

export class VerifyView {
  title = "Verify";
  /** @type {Verification | null} */
  #shown = null;
  #turn = 0;
  #ofAnswer = false;

  constructor() {
    this.element = byId("verify-view");
    this.heading = h("h1", { tabindex: "-1" }, "Verify an answer");
    this.answer = h("textarea", { name: "answer", rows: "7", spellcheck: "false", placeholder: "1. Promote the reader. [Source: runbooks/rds-failover.md, lines 89-94]" });
    this.evidence = h("textarea", { name: "evidence", rows: "7", spellcheck: "false", class: "mono", placeholder: '{"status": "ok", "results": [...]}' });
    this.refusal = h("p", { class: "refusal", role: "alert", hidden: true });
    this.button = h("button", { type: "submit", class: "primary" }, "Verify");
    this.form = h("form", { class: "verify-form", "aria-label": "Answer and evidence", onsubmit: (event) => this.#submit(event) },
      h("label", {}, "Answer", h("span", { class: "hint" }, "Markdown or text, of any system. Empty: the answer in the evidence."), this.answer),
      h("label", {}, "Evidence", h("span", { class: "hint" }, "JSON that retrieval returned: retrieve_knowledge, Retrieve, InvokeAgent, Converse …"), this.evidence),
      h("div", { class: "verify-send" }, this.refusal, this.button));
    this.result = h("div", { class: "verify-result", hidden: true });
    this.element.append(this.heading,
      h("p", { class: "hint" }, "References that retrieval didn’t return are struck out, and each claim is looked for in the lines that it cites. Meaning isn’t checked."),
      this.form, this.result);
  }

  /** With an answer's id in the address, that answer and the sources it was written from. @param {URL} url */
  async show(url) {
    this.element.hidden = false;
    const answerId = url.searchParams.get("answer");
    this.form.hidden = Boolean(answerId);
    if (!answerId) {
      if (this.#ofAnswer) this.#shown = null; // another answer's
      this.#ofAnswer = false;
      this.result.hidden = !this.#shown;
      return;
    }
    this.#shown = null;
    this.#ofAnswer = true;
    this.result.hidden = false;
    this.result.replaceChildren(h("p", { class: "plain loading" }, "Comparing the answer with its lines …"));
    await this.#verify({ answerId });
  }

  hide() {
    this.element.hidden = true;
    this.#turn += 1; // a pending result is ignored
  }

  /** @param {Event} event */
  async #submit(event) {
    event.preventDefault();
    const body = { answer: this.answer.value, evidence: this.evidence.value };
    if (!body.evidence.trim()) return this.#refuse("Paste the evidence: the JSON that retrieval returned.", this.evidence);
    const bytes = new Blob([JSON.stringify(body)]).size;
    if (bytes > MOST_BYTES) return this.#refuse(`This is ${(bytes / 1024 / 1024).toFixed(1)} MB; ${MOST_BYTES / 1024 / 1024} MB can be verified here. Use knowledge-rag verify for larger files.`, this.evidence);
    this.#refuse("");
    this.button.disabled = true;
    await this.#verify(body);
    this.button.disabled = false;
  }

  /** @param {string} message @param {HTMLElement} [field] */
  #refuse(message, field) {
    this.refusal.hidden = !message;
    this.refusal.textContent = message;
    field?.focus();
  }

  /** @param {Record<string, string>} body */
  async #verify(body) {
    const turn = ++this.#turn;
    try {
      const done = await send("/api/verify", body);
      if (turn === this.#turn) this.#show(done, body.answerId);
    } catch (error) {
      if (turn !== this.#turn) return;
      const { message } = /** @type {Error} */ (error);
      if (body.answerId) this.result.replaceChildren(h("p", { class: "notice" }, icon("warning"), h("span", {}, h("strong", {}, "Not verified."), " ", sentence(message))));
      else this.#refuse(sentence(message));
    }
  }

  /** @param {Verification} done @param {string} [answerId] */
  #show(done, answerId) {
    this.#shown = done;
    this.result.hidden = false;
    const others = done.findings.length ? [h("section", { class: "verify-others", "aria-labelledby": "others-title" },
      h("h3", { id: "others-title" }, "Beyond the claims"), findingsList(done.findings))] : [];
    this.result.replaceChildren(banner(done),
      h("div", { class: "answer-actions" },
        answerId ? h("a", { class: "quiet button", href: `/?answer=${encodeURIComponent(answerId)}` }, icon("back"), "Back to the answer") : null,
        answerId ? h("a", { class: "quiet button", href: "/verify" }, "Verify another") : null,
        h("button", { type: "button", class: "quiet", onclick: () => saveFile("verification", "md", report(done)) }, icon("save"), "Markdown"),
        h("button", { type: "button", class: "quiet", onclick: () => saveFile("verification", "json", JSON.stringify(done, null, 1)) }, icon("save"), "JSON")),
      h("div", { class: "columns" },
        h("section", { class: "verify-text", "aria-labelledby": "verified-title" },
          h("h2", { id: "verified-title" }, "The answer"), h("div", { class: "verified-answer", dir: "auto" }, marked(done)), others),
        h("section", { class: "verify-claims", "aria-labelledby": "claims-title" },
          h("h2", { id: "claims-title" }, "Claims", h("span", { class: "count" }, counted(done.claims.length, "claim"))),
          h("ol", { class: "cards" }, done.claims.map((claim, at) => card(claim, at, done))))));
    announce(summary(done));
    this.result.scrollIntoView({ block: "nearest" });
  }
}

/** @param {Verification} done @returns {string} */
function summary({ metrics, claims }) {
  const supported = claims.filter(({ state }) => state !== "error").length;
  const wrong = [metrics.errors && counted(metrics.errors, "error"), metrics.warnings && counted(metrics.warnings, "warning")].filter(Boolean);
  return `${wrong.join(", ") || "Nothing wrong"}. ${supported} of ${counted(claims.length, "claim")} without an error.`;
}

/** @param {Verification} done */
function banner(done) {
  const { metrics, evidence, verified } = done;
  const kind = !verified ? "failed" : metrics.warnings ? "warning" : "ok";
  const title = { failed: "Don’t rely on it as it is.", warning: "No error, but look at the warnings.", ok: "Every claim was found in its lines." }[kind];
  const unproven = evidence.passages - evidence.proven;
  return h("div", { class: "outcome", "data-kind": kind },
    h("div", { class: "outcome-mark" }, icon(kind === "ok" ? "tick" : "warning")),
    h("div", { class: "outcome-words" },
      h("p", {}, h("strong", {}, title), " ", summary(done)),
      h("p", {}, `References resolved: ${metrics.references} of ${metrics.references + metrics.invalid_references}. Evidence: ${counted(evidence.passages, "passage")}.`,
        unproven ? ` No hash proves the lines of ${unproven === evidence.passages ? "these" : `${unproven} of them`}.` : "",
        evidence.dropped ? ` ${counted(evidence.dropped, "passage")} can’t be cited.` : "",
        evidence.degraded.length ? " A search failed, so the evidence may be incomplete." : "")),
    h("span"));
}

/** The answer as it was written; a claim is a link to its card. @param {Verification} done */
function marked({ pieces, claims }) {
  const nodes = [];
  let at = 0;
  while (at < pieces.length) {
    const { claim } = pieces[at];
    const same = [];
    for (; at < pieces.length && pieces[at].claim === claim; at += 1) same.push(...piece(pieces[at]));
    nodes.push(...(claim === undefined ? same : [claimLink(claim, claims[claim].state, same)]));
  }
  return nodes;
}

/** @param {number} claim @param {State} state @param {(Node | string)[]} words */
function claimLink(claim, state, words) {
  return h("a", { class: `claim is-${state}`, href: `#claim-${claim + 1}` },
    h("span", { class: "visually-hidden" }, `Claim ${claim + 1}, ${STATES[state].words.toLowerCase()}: `), words,
    h("span", { class: "claim-number", "aria-hidden": "true" }, `${claim + 1}`));
}

/** @param {Piece} piece @returns {(Node | string)[]} */
function piece({ text, mark }) {
  const shown = text.split("\n").flatMap((line, at) => [at ? "\n" : "", ...visible(line)]);
  if (!mark) return shown;
  if (mark === "reference") return [h("span", { class: "reference" }, shown)];
  return [mark === "removed" ? h("del", {}, shown) : h("mark", { class: `is-${mark}` }, shown)];
}

/** @param {Claim} claim @param {number} at @param {Verification} done */
function card(claim, at, { passages }) {
  const { words, icon: mark } = STATES[claim.state];
  // what is missing stands among the findings, with the line that has it
  const shown = claim.findings.length ? claim.atoms.filter(({ where }) => where) : claim.atoms;
  return h("li", { class: `card claim-card is-${claim.state}`, id: `claim-${at + 1}`, tabindex: "-1" },
    h("p", { class: "claim-state" }, h("span", { class: "number" }, at + 1), icon(mark), words),
    findingsList(claim.findings),
    shown.length ? h("ul", { class: "atoms" }, shown.map(atomRow)) : null,
    claim.passages.map(({ passage, lines }) => passageLines(passages[passage], lines)),
    h("p", { class: "hint" }, `${claim.checked.charAt(0).toUpperCase()}${claim.checked.slice(1)}.`));
}

/** @param {Claim["atoms"][number]} atom */
function atomRow({ kind, text, where }) {
  return h("li", { class: where ? "found" : "lost" }, icon(where ? "tick" : "cross"),
    h("span", {}, `${kind} `, h("code", {}, ...visible(text.replaceAll("\n", " "))), " ", h("span", { class: "at-place" }, where ? where.replace(/^.*, /, "") : "not found")));
}

/** @param {Passage} passage @param {number[]} holding its lines that hold a detail */
function passageLines({ source, start, end, content, url, stale }, holding) {
  const name = [h("span", { class: "path" }, ...visible(source)), " ", h("span", { class: "at" }, linesText(start, end))];
  /** @type {import("./lines.js").Range[]} */
  const near = holding.map((line) => [line - AROUND, line + AROUND]);
  /** @type {import("./lines.js").Range} */
  const few = [start, Math.min(end, start + FEW_LINES - 1)];
  return h("div", { class: "claim-lines" },
    h("p", { class: "where" }, url ? h("a", { href: url }, name) : name),
    stale ? h("p", { class: "stale" }, icon("warning"), " ", stale) : null,
    excerpt(content, start, near.length && end - start >= FEW_LINES ? near : near.length ? [[start, end]] : [few], holding.map((line) => [line, line])));
}

/** @param {Finding[]} findings */
function findingsList(findings) {
  return findings.length ? h("ul", { class: "findings" }, findings.map(({ kind, level, message }) =>
    h("li", { class: `is-${level}` }, h("b", {}, plainName(kind.replaceAll("-", "_"))), ": ", ...visible(message.replaceAll("\n", " "))))) : null;
}

/** The result as a file to hand over. @param {Verification} done */
function report(done) {
  const answer = done.pieces.map(({ text }) => text).join("");
  const claims = done.claims.flatMap((claim, at) => {
    const words = done.pieces.map((one) => (one.claim === at ? one.text : "\n")).join("");
    return [`${at + 1}. **${STATES[claim.state].words}** (${plain(claim.where)}): ${plain(words)}`,
      ...claim.findings.map(({ message }) => `   - ${plain(message)}`),
      ...claim.atoms.map(({ kind, text, where }) => `   - ${kind} ${plain(text)}: ${where ? plain(where) : "**not found**"}`)];
  });
  return [
    "# Verification", "", `${summary(done)} Not checked: meaning.`, "",
    "## Answer", "", fenced(answer), "", "## Claims", "", ...claims, "",
    ...(done.findings.length ? ["## Beyond the claims", "", ...done.findings.map(({ message }) => `- ${plain(message)}`), ""] : []),
    "## Lines", "", ...done.passages.flatMap(({ source, start, end, content }) => [`${plain(source)}, ${linesText(start, end)}`, "", fenced(content), ""]),
  ].join("\n");
}
