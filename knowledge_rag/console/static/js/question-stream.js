/** Asks the server a question and yields its events. */

/**
 * @typedef {"network" | "busy" | "refused" | "broken" | "server"} Trouble
 * @typedef {import("./answer-state.js").AnswerEvent} AnswerEvent
 * @typedef {{type: string, data: string, id: string}} ServerEvent
 */

/** The question was not answered: the kind of trouble, and the server's message. */
export class AskFailed extends Error {
  /** @param {Trouble} trouble @param {string} [message] */
  constructor(trouble, message = "") {
    super(message);
    this.trouble = trouble;
  }
}

/**
 * @param {string} question
 * @param {Record<string, string>} filters
 * @param {AbortSignal} signal ends it
 * @returns {AsyncGenerator<AnswerEvent>} up to and with `done` or `error`
 * @throws {AskFailed}
 */
export async function* answerEvents(question, filters, signal) {
  const reader = (await opened(question, filters, signal)).getReader();
  const decoder = new TextDecoder();
  const events = new EventReader();
  for (;;) {
    const { done, value } = await reader.read().catch((error) => {
      throw signal.aborted ? error : new AskFailed("broken");
    });
    if (done) throw new AskFailed("broken");
    for (const { type, data } of events.push(decoder.decode(value, { stream: true }))) {
      const event = /** @type {AnswerEvent} */ ({ type, data: JSON.parse(data) });
      yield event;
      if (event.type === "done" || event.type === "error") return;
    }
  }
}

/**
 * @param {string} question
 * @param {Record<string, string>} filters
 * @param {AbortSignal} signal
 * @returns {Promise<ReadableStream<Uint8Array>>}
 */
async function opened(question, filters, signal) {
  const response = await fetch("/api/ask", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({ question, ...filters }),
    signal,
  }).catch((error) => {
    throw signal.aborted ? error : new AskFailed("network");
  });
  if (response.ok && response.body) return response.body;
  throw new AskFailed(troubleOf(response.status), await messageOf(response));
}

/** @param {number} status @returns {Trouble} */
function troubleOf(status) {
  if (status === 503 || status === 429) return "busy";
  return status < 500 ? "refused" : "server";
}

/** @param {Response} response @returns {Promise<string>} */
async function messageOf(response) {
  try {
    return String((await response.json()).error ?? "");
  } catch {
    return "";
  }
}

/**
 * Reads server-sent events out of text that arrives in any pieces (WHATWG HTML, 9.2.6).
 *
 * `EventSource` can't POST, so the page reads the body of a `fetch` itself.
 */
export class EventReader {
  #rest = "";
  #first = true;
  #type = "";
  /** @type {string[]} */
  #data = [];
  #id = "";

  /**
   * Reads the next piece of text.
   * @param {string} piece
   * @returns {ServerEvent[]} the events that it completes
   */
  push(piece) {
    let text = this.#rest + piece;
    if (this.#first && text) {
      text = text.replace(/^\ufeff/, "");
      this.#first = false;
    }
    // a carriage return at the very end may be the first half of CRLF
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    return lines.map((line) => this.#line(line)).filter((event) => event !== null);
  }

  /** @param {string} line @returns {ServerEvent | null} */
  #line(line) {
    if (line === "") return this.#dispatch();
    const [, name, value] = /** @type {RegExpExecArray} */ (/^([^:]*):? ?(.*)$/s.exec(line));
    if (name === "event") this.#type = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return null; // comments (pings), `retry` and unknown fields
  }

  #dispatch() {
    const event = { type: this.#type || "message", data: this.#data.join("\n"), id: this.#id };
    const complete = this.#data.length > 0;
    this.#type = "";
    this.#data = [];
    return complete ? event : null;
  }
}
