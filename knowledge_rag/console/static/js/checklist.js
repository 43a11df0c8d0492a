/**
 * The steps of an answer as a checklist: ticked with the time and a note, kept in this browser, and handed over as a
 * timeline. Other tabs with the same answer follow.
 */
import { moment } from "./alert-card.js";
import { nameOf } from "./answer-state.js";
import { linesText } from "./citations.js";
import { copyButton } from "./copying.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { stepsOf } from "./steps.js";
import { plain, saveFile } from "./saving.js";
import { keep, kept } from "./storage.js";

/**
 * @typedef {import("./answer-state.js").AnswerState} AnswerState
 * @typedef {{at: string, note: string}} Tick when a step was done, ISO 8601, and what was noted
 * @typedef {{item: HTMLElement, step: import("./answer-state.js").Step, index: number}} Row
 */

const KEY = "checklists";
/** Answers whose ticks are kept. */
const MOST = 30;
const LONGEST_NOTE = 500;
const LONGEST_STEP = 160;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

export class Checklist {
  /** @type {AnswerState | null} */
  #state = null;
  /** @type {Row[]} */
  #rows = [];

  /** @param {HTMLElement} blocks the answer's text */
  constructor(blocks) {
    this.blocks = blocks;
    this.count = h("span", { class: "done-count" });
    this.element = h("div", { class: "checklist", role: "group", "aria-label": "Checklist", hidden: true },
      this.count,
      copyButton("Copy timeline", () => this.#timeline(), "timeline"),
      h("button", { type: "button", class: "quiet", onclick: () => this.#save() }, icon("save"), "Save timeline"),
      h("button", { type: "button", class: "quiet", onclick: () => this.#clear() }, icon("cross"), "Clear ticks"));
    window.addEventListener("storage", (event) => event.key === KEY && this.#update());
  }

  /** The items that can be ticked, in their order. @returns {HTMLElement[]} */
  get items() {
    return this.#rows.map(({ item }) => item);
  }

  /** No answer, or none that is finished. */
  begin() {
    this.#state = null;
    this.#rows = [];
    this.element.hidden = true;
  }

  /** @param {AnswerState} state of a finished answer */
  show(state) {
    if (this.#state === state) return;
    this.begin();
    const advice = state.recommendation?.recommendation;
    // only documents' own steps: what a model wrote is no procedure
    if (!state.answerId || !advice?.procedures?.length) return;
    this.#state = state;
    this.#rows = itemsOf(this.blocks, advice.guidance);
    for (const row of this.#rows) row.item.prepend(this.#box(row));
    this.element.hidden = this.#rows.length === 0;
    this.#update();
  }

  /** Ticks a step, or takes the tick away. @param {Element} item */
  toggle(item) {
    /** @type {HTMLInputElement | null} */ (item.querySelector(":scope > .tick"))?.click();
  }

  /** @param {Row} row */
  #box({ item, step, index }) {
    item.classList.add("step");
    item.setAttribute("tabindex", "-1");
    const box = h("input", {
      type: "checkbox", class: "tick", "aria-label": `Done: ${step.number ?? ""} ${wordsOf(step)}`,
      onchange: () => this.#tick(index, box.checked ? { at: new Date().toISOString(), note: "" } : null),
    });
    return box;
  }

  get #id() {
    return this.#state?.answerId ?? "";
  }

  /** @param {number} index @param {Tick | null} tick */
  #tick(index, tick) {
    const others = Object.entries(ticksOf(this.#id)).filter(([key]) => key !== String(index));
    store(this.#id, Object.fromEntries(tick ? [...others, [index, tick]] : others));
    this.#update();
  }

  #clear() {
    store(this.#id, {});
    this.#update();
  }

  #update() {
    if (!this.#state) return;
    const ticks = ticksOf(this.#id);
    for (const { item, index } of this.#rows) {
      const tick = ticks[index];
      const box = /** @type {HTMLInputElement} */ (item.querySelector(":scope > .tick"));
      box.checked = Boolean(tick);
      item.classList.toggle("done", Boolean(tick));
      this.#note(item, index, tick);
    }
    const done = this.#rows.filter(({ index }) => ticks[index]).length;
    this.count.textContent = `${done} of ${this.#rows.length} steps done`;
    this.element.classList.toggle("unused", done === 0);
  }

  /** @param {HTMLElement} item @param {number} index @param {Tick | undefined} tick */
  #note(item, index, tick) {
    const line = item.querySelector(":scope > .tick-note");
    const input = line?.querySelector("input");
    if (!tick) line?.remove();
    else if (!line || line.getAttribute("data-at") !== tick.at) {
      line?.remove();
      const note = h("input", {
        type: "text", class: "note", maxlength: LONGEST_NOTE, placeholder: "Note", "aria-label": "Note", autocomplete: "off", value: tick.note,
        oninput: () => this.#tick(index, { at: tick.at, note: note.value.replace(UNSEEN, " ").trim() }),
      });
      item.append(h("p", { class: "tick-note", "data-at": tick.at }, h("span", {}, "Done ", moment(tick.at.replace(/\.\d+Z$/, "Z"))), note));
    } else if (input && input !== document.activeElement) input.value = tick.note;
  }

  #timeline() {
    const state = this.#state;
    if (!state) return "";
    const ticks = ticksOf(this.#id);
    const done = this.#rows.filter(({ index }) => ticks[index]).sort((a, b) => ticks[a.index].at.localeCompare(ticks[b.index].at));
    const alerts = (state.incident?.alerts ?? []).map(({ name, severity, service, since }) =>
      `- ${[clock(since), `Alert ${plain(name)}`, plain(severity), service && `service ${plain(service)}`].filter(Boolean).join(", ")}`);
    return [
      `# Timeline: ${plain(nameOf(state))}`, "",
      `Steps and lines: ${location.origin}/?answer=${encodeURIComponent(this.#id)}`, "",
      ...alerts,
      ...done.map(({ step, index }) => entry(step, ticks[index])), "",
      `${done.length} of ${this.#rows.length} steps done.`, "",
    ].join("\n");
  }

  #save() {
    saveFile("timeline", "md", this.#timeline());
  }
}

/**
 * The list items that steps stand in, one for each, with its first step.
 * @param {HTMLElement} blocks @param {import("./answer-state.js").Step[]} guidance @returns {Row[]}
 */
function itemsOf(blocks, guidance) {
  /** @type {Map<Element, Row>} */
  const rows = new Map();
  stepsOf(blocks, guidance).forEach((owner, index) => {
    let item = owner?.closest("li") ?? null;
    for (let above = item; above; above = above.parentElement?.closest("li") ?? null) item = above;
    if (item && !rows.has(item)) rows.set(item, { item, step: guidance[index], index });
  });
  return [...rows.values()];
}

/** @param {import("./answer-state.js").Step} step @param {Tick} tick */
function entry(step, tick) {
  const { source_file: path, start_line: start, end_line: end } = step.citation;
  const what = [step.kind && step.kind !== "other" ? step.kind : "step", step.number?.replace(/[.)]$/, "")].filter(Boolean).join(" ");
  const note = tick.note ? `. Note: ${plain(tick.note)}` : "";
  return `- ${clock(tick.at)}, ${what}: ${plain(wordsOf(step))} (${plain(path)}, ${linesText(start, end)})${note}`;
}

/** @param {string} iso */
function clock(iso) {
  return iso && `${iso.slice(0, 19).replace("T", " ")} UTC`;
}

/** The first words of a step, without Markdown. @param {import("./answer-state.js").Step} step */
function wordsOf({ action }) {
  const [first] = action.replace(/[`*]+/g, "").trim().split("\n");
  return first.length > LONGEST_STEP ? `${first.slice(0, LONGEST_STEP).replace(/\S*$/, "")}…` : first;
}

/** @param {string} answer @returns {Record<string, Tick>} what is damaged is left out */
function ticksOf(answer) {
  const ticks = kept("localStorage", KEY)?.[answer]?.ticks;
  if (!ticks || typeof ticks !== "object") return {};
  return Object.fromEntries(Object.entries(ticks).filter(([, tick]) => typeof tick?.at === "string" && typeof tick.note === "string" && Date.parse(tick.at)));
}

/** @param {string} answer @param {Record<string, Tick>} ticks */
function store(answer, ticks) {
  const all = kept("localStorage", KEY);
  const others = all && typeof all === "object" ? Object.entries(all).filter(([id]) => id !== answer) : [];
  const own = Object.keys(ticks).length ? [[answer, { ticks }]] : [];
  keep("localStorage", KEY, Object.fromEntries([...others, ...own].slice(-MOST)));
}
