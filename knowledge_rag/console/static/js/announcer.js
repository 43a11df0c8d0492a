/** Announces stages and outcomes to screen readers, but not each piece of text. */
import { byId } from "./dom.js";

/** @param {string} message */
export function announce(message) {
  byId("announcer").textContent = message;
}
