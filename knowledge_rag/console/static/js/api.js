/** Requests to the server whose answers are not streamed. */

/** The server refused or failed: its status (0 if it was not reached) and message. */
export class RequestFailed extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @param {string} path @returns {Promise<any>} */
export function read(path) {
  return json(path, { headers: { Accept: "application/json" } });
}

/** @param {string} path @returns {Promise<string>} */
export async function readText(path) {
  const response = await fetch(path);
  if (!response.ok) throw new RequestFailed(response.status, `The server answered ${response.status}.`);
  return response.text();
}

/** @param {string} path @param {unknown} body @returns {Promise<any>} */
export function send(path, body) {
  return json(path, {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body), keepalive: true,
  });
}

/** @param {string} path @param {RequestInit} request */
async function json(path, request) {
  const response = await fetch(path, request).catch(() => {
    throw new RequestFailed(0, "The console's server can't be reached.");
  });
  const body = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw new RequestFailed(response.status, body?.error ?? `The server answered ${response.status}.`);
  return body;
}
