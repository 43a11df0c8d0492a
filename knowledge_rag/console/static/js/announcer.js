/** Tells screen readers of stages and outcomes, never of every piece of text. */
import { byId } from "./dom.js";

/** @param {string} message */
export function announce(message) {
  byId("announcer").textContent = message;
}
