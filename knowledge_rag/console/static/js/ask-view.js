/** The view where questions are asked. */
import { looksPasted } from "./alert-card.js";
import { earlierAnswer, fail, isOver, nameOf, newAnswer, restoredAnswer, stop, take, topicOf } from "./answer-state.js";
import { AnswerView } from "./answer-view.js";
import { read } from "./api.js";
import { allDocuments, valuesOf } from "./documents-view.js";
import { announce, byId, h } from "./dom.js";
import { icon } from "./icons.js";
import { outcomeOf, sentence } from "./outcome.js";
import { answerEvents, AskFailed } from "./question-stream.js";
import { forget, forgetAll, recentQuestions, remember } from "./recent-questions.js";
import { listenForKeys } from "./shortcuts.js";
import { keep, kept } from "./storage.js";
import { visible } from "./visible-text.js";
import { advisorText } from "./wording.js";

/** @typedef {import("./answer-state.js").AnswerState} AnswerState */

const KEPT = "last-answer";
/** Characters of a question in an address. */
const LONGEST = 1000;
/** Characters of a question in a tab's title. */
const LONGEST_TITLE = 80;
/** "And how do I undo it?" */
const FOLLOWS = /^(?:and|then|but|so|also|what about|how about)\b|\b(?:it|this)\b(?!['’-])/i;
const LONGEST_FOLLOW_UP = 100;
/** Of a request, as the server reads it. */
const MOST_BYTES = 256 * 1024;
const coarse = window.matchMedia("(pointer: coarse)");

export class AskView {
  title = "Knowledge RAG";
  /** @type {AnswerState | null} */
  #state = null;
  /** @type {AbortController | null} */
  #running = null;
  /** @type {string | null} the earlier answer that is on its way */
  #fetching = null;
  #drawing = 0;

  constructor() {
    this.element = byId("ask-view");
    this.question = /** @type {HTMLTextAreaElement} */ (byId("question"));
    this.answer = new AnswerView(byId("answer"), {
      widen: () => this.#state && this.#ask(this.#state.question, advisorOf(this.#state.filters)),
      retry: () => this.#state && this.#ask(this.#state.question, this.#state.filters),
      choose: (at) => this.#state && this.#ask(this.#state.question, { ...this.#state.filters, at }),
      follow: (question) => this.#ask(this.#inContext(question), chosenFilters()),
      edit: () => this.#edit(),
      renew: () => this.#renew(),
    });
    byId("composer").addEventListener("submit", (event) => { event.preventDefault(); this.#submit(); });
    byId("stop").addEventListener("click", () => this.#running?.abort());
    byId("forget").addEventListener("click", () => { forgetAll(); this.#showRecent(); this.question.focus(); });
    byId("filters").addEventListener("change", showFilters);
    byId("filters").addEventListener("toggle", () => this.#listServices(), { once: true });
    this.question.addEventListener("keydown", (event) => this.#key(event));
    listenForKeys(this.answer);
    this.#restore();
    this.#layOut();
    this.#describe();
  }

  /** Names the knowledge base, and offers a choice of advisors if there are several. */
  async #describe() {
    /** @type {{about: string, advisors: string[], examples: string[]}} */
    const { about, advisors, examples } = await read("/api/console").catch(() => ({ about: "", advisors: [], examples: [] }));
    byId("examples").replaceChildren(
      h("button", { type: "button", onclick: () => this.#pasteAlert() }, "Paste an alert"),
      ...examples.map((title) => h("button", { type: "button", onclick: () => this.#ask(title, chosenFilters()) }, ...visible(title))));
    this.#layOut();
    byId("about").textContent = about ? `Asks ${about}` : "";
    byId("advisor-choice").hidden = advisors.length < 2;
    byId("advisor").replaceChildren(...advisors.map((name) => h("option", { value: name }, advisorText(name))));
  }

  /** The clipboard, if the browser lets a page read it; else the box is ready for it. */
  async #pasteAlert() {
    this.question.focus();
    this.question.value = await navigator.clipboard.readText().then((text) => (looksPasted(text) ? text : ""), () => "");
    this.question.placeholder = "Paste the alert’s JSON here, then press Enter";
  }

  /** Offers the services that documents have. */
  async #listServices() {
    const documents = await allDocuments().catch(() => []);
    byId("services").replaceChildren(...valuesOf(documents, "service").map((value) => h("option", { value })));
  }

  /** @param {URL} url */
  async show(url) {
    this.element.hidden = false;
    this.#tell(url.pathname === "/" ? "" : `There is no page ${url.pathname} here. Ask, or look into the documents.`);
    const id = url.searchParams.get("answer");
    const question = url.searchParams.get("q")?.slice(0, LONGEST).trim() ?? "";
    this.#fetching = null;
    if (id && id !== this.#state?.answerId) await this.#fetch(id, question);
    else if (!id && question) {
      history.replaceState({}, "", "/"); // who goes back here does not ask again
      this.#ask(question, chosenFilters());
    }
    else if (!id) this.#readdress(); // it may have got its name while another view was open
  }

  hide() {
    this.element.hidden = true;
    this.answer.hide();
  }

  get heading() {
    return this.#state ? this.answer.title : this.question;
  }

  /** The answer's address. With its question, unless that was pasted or is long, it can be asked again. */
  get address() {
    const { answerId, incident, question } = this.#state ?? {};
    if (!answerId) return "/";
    const asked = incident || !question || question.length > LONGEST ? "" : `&q=${encodeURIComponent(question)}`;
    return `/?answer=${encodeURIComponent(answerId)}${asked}`;
  }

  /** Whether there is an answer to come back to. */
  get hasAnswer() {
    return this.#state !== null;
  }

  /** Says below the box what is wrong. @param {string} message "" for nothing */
  #tell(message) {
    byId("refusal").hidden = !message;
    byId("refusal").textContent = message;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    // an Enter that ends an input method's word does not count
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.#submit();
  }

  #submit() {
    const question = this.question.value.trim();
    if (!question) return this.question.focus();
    const size = new Blob([question]).size;
    this.#tell(size <= MOST_BYTES ? "" : `That is ${Math.ceil(size / 1024)} KiB, and ${MOST_BYTES / 1024} KiB can be read: paste the alert alone.`);
    if (size > MOST_BYTES) return;
    this.question.value = "";
    if (coarse.matches) this.question.blur(); // the keyboard of a phone would cover the answer
    this.#ask(this.#inContext(question), chosenFilters());
  }

  /** A question that refers to the one before is asked about its procedure; the heading says so. @param {string} question */
  #inContext(question) {
    const topic = this.#state && topicOf(this.#state);
    return topic && FOLLOWS.test(question) && question.length < LONGEST_FOLLOW_UP ? `${topic}: ${question}` : question;
  }

  /** @param {string} question @param {Record<string, string>} filters */
  async #ask(question, filters) {
    this.#running?.abort();
    this.#fetching = null;
    const state = newAnswer(question, filters);
    const running = new AbortController();
    this.#running = running;
    this.#state = state;
    if (location.pathname + location.search !== "/") history.pushState({}, "", "/");
    this.#layOut();
    this.answer.show(state);
    announce(outcomeOf(state).title);
    await this.#follow(state, running.signal);
    if (this.#running !== running) return; // something else is wanted meanwhile
    this.#running = null;
    this.#draw();
    this.#layOut();
    announce(spoken(state));
    if (!looksPasted(question) || state.answerId) remember(nameOf(state), state.answerId ?? "");
    this.#keep(state);
  }

  /** @param {AnswerState} state */
  #keep(state) {
    keep("sessionStorage", KEPT, state);
    this.#readdress();
  }

  /** Puts the answer's id into the address, if the ask view is shown. */
  #readdress() {
    if (location.pathname + location.search === "/") history.replaceState(history.state, "", this.address);
  }

  /** Fetches an answer that was given before, e.g. one that a colleague sent. @param {string} id @param {string} question that it answers, as far as its address has it */
  async #fetch(id, question) {
    this.#running?.abort();
    this.#running = null;
    this.#fetching = id;
    const state = await fetched(id, question);
    if (this.#fetching !== id) return;
    this.#fetching = null;
    this.#state = state;
    this.answer.show(state);
    this.#layOut();
  }

  /** @param {AnswerState} state @param {AbortSignal} signal */
  async #follow(state, signal) {
    try {
      for await (const event of answerEvents(state.question, state.filters, signal)) {
        const phase = state.phase;
        take(state, event);
        if (state.phase !== phase && !isOver(state)) announce(outcomeOf(state).title);
        this.#drawing ||= requestAnimationFrame(() => this.#draw());
      }
    } catch (error) {
      if (signal.aborted) stop(state);
      else if (error instanceof AskFailed) fail(state, error.trouble, error.message);
      else throw error;
    }
  }

  #draw() {
    cancelAnimationFrame(this.#drawing);
    this.#drawing = 0;
    if (this.#state) this.answer.show(this.#state);
  }

  #layOut() {
    const isRunning = this.#running !== null;
    this.element.dataset.state = this.#state ? "answer" : "start";
    byId("intro").hidden = this.#state !== null;
    byId("answer").hidden = this.#state === null;
    this.question.rows = this.#state ? 1 : 2;
    this.question.placeholder = this.#state ? "Ask something else" : "How do we fail over the RDS cluster?";
    byId("examples").hidden = this.#state !== null || !byId("examples").childElementCount;
    byId("stop").hidden = !isRunning;
    this.title = this.#state ? `${nameOf(this.#state).slice(0, LONGEST_TITLE)} – Knowledge RAG` : "Knowledge RAG";
    if (!this.element.hidden) document.title = this.title;
    byId("send").hidden = isRunning;
    this.#showRecent();
  }

  #edit() {
    this.question.value = this.#state?.question ?? "";
    this.question.focus();
    this.question.setSelectionRange(this.question.value.length, this.question.value.length);
  }

  #renew() {
    this.#running?.abort();
    this.#running = this.#fetching = this.#state = null;
    keep("sessionStorage", KEPT, null);
    history.pushState({}, "", "/");
    this.#layOut();
    this.question.focus();
  }

  #restore() {
    const state = kept("sessionStorage", KEPT);
    if (!state || !isOver(state)) return;
    this.#state = restoredAnswer(state);
    this.answer.show(this.#state);
  }

  /** @param {string} question @param {string} answer its id */
  #reopen(question, answer) {
    if (!answer) return this.#ask(question, chosenFilters());
    history.pushState({}, "", `/?answer=${encodeURIComponent(answer)}&q=${encodeURIComponent(question)}`);
    this.show(new URL(location.href));
  }

  #showRecent() {
    const questions = recentQuestions();
    byId("recent").hidden = questions.length === 0 || this.#state !== null;
    byId("recent-list").replaceChildren(...questions.map(({ question, answer }) => h("li", {},
      h("button", { type: "button", class: "recent-question", onclick: () => this.#reopen(question, answer) }, question),
      h("button", { type: "button", class: "icon-button", "aria-label": `Forget: ${question}`, onclick: () => { forget(question); this.#showRecent(); this.question.focus(); } }, icon("cross")))));
  }
}

/** @param {string} id @param {string} question @returns {Promise<AnswerState>} */
async function fetched(id, question) {
  try {
    return earlierAnswer(id, await read(`/api/answers/${encodeURIComponent(id)}`));
  } catch (error) {
    const state = newAnswer(question || "An earlier answer", {});
    const { status, message } = /** @type {import("./api.js").RequestFailed} */ (error);
    fail(state, status === 404 && question ? "expired" : "gone", status === 404 ? "" : message);
    return state;
  }
}

/** @returns {Record<string, string>} */
function chosenFilters() {
  const type = /** @type {HTMLSelectElement} */ (byId("document-type"));
  const service = /** @type {HTMLInputElement} */ (byId("service"));
  const filters = { document_type: type.value, service: service.value.trim(), advisor: chosenAdvisor() };
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value));
}

/** @param {Record<string, string>} filters @returns {Record<string, string>} who writes, without what narrows the search */
function advisorOf({ advisor }) {
  return advisor ? { advisor } : {};
}

/** The default advisor is not sent. */
function chosenAdvisor() {
  const select = /** @type {HTMLSelectElement} */ (byId("advisor"));
  return select.selectedIndex > 0 ? select.value : "";
}

function showFilters() {
  const set = Object.entries(chosenFilters()).map(([name, value]) => (name === "advisor" ? advisorText(value) : value));
  byId("filters-set").textContent = set.length ? `: ${set.join(", ")}` : "";
}

/** @param {AnswerState} state */
function spoken(state) {
  const { title, text } = outcomeOf(state);
  const said = `${sentence(title)} ${text ?? ""}`;
  return state.phase === "done" ? `Answer complete. ${said}` : said;
}
