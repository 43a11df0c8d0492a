/**
 * Reads server-sent events out of text that arrives in any pieces (WHATWG HTML, 9.2.6).
 *
 * `EventSource` can't POST, so the page reads the body of a `fetch` itself.
 *
 * @typedef {{type: string, data: string, id: string}} ServerEvent
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
