/** Asks the server a question and yields its events. */

/**
 * @typedef {"network" | "busy" | "refused" | "broken" | "server"} Trouble
 * @typedef {import("./answer-state.js").AnswerEvent} AnswerEvent
 * @typedef {{type: string, data: string}} ServerEvent
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
 * Reads server-sent events out of text that arrives in any pieces, as the server writes them: one line each for type and
 * data, and a blank line behind. `EventSource` can't POST, so the page reads the body of a `fetch` itself.
 */
export class EventReader {
  #rest = "";

  /** @param {string} piece @returns {ServerEvent[]} the events that it completes; comments (pings) are none */
  push(piece) {
    const frames = (this.#rest + piece).split("\n\n");
    this.#rest = frames.pop() ?? "";
    return frames.map((frame) => frame.split("\n")).map((lines) => ({ type: field(lines, "event: "), data: field(lines, "data: ") }))
      .filter(({ data }) => data);
  }
}

/** @param {string[]} lines @param {string} name */
function field(lines, name) {
  return lines.find((line) => line.startsWith(name))?.slice(name.length) ?? "";
}
