/** How much speaks for an answer, and why. */
import { h, svg } from "./dom.js";

/** @param {any} recommendation @returns {HTMLElement | null} */
export function confidence(recommendation) {
  if (typeof recommendation?.confidence !== "number" || recommendation.status !== "ok") return null;
  const value = recommendation.confidence;
  return h("details", { class: "confidence" },
    h("summary", {}, "Confidence ", gauge(value), " ", h("b", {}, value.toFixed(2))),
    h("p", {}, sentence(recommendation.reasoning ?? "")),
    h("p", {}, "It says how much in the documents speaks for this answer, from 0 to 1; not how likely it is to help."));
}

/** @param {number} value 0..1 */
function gauge(value) {
  return svg("svg", { class: "gauge", viewBox: "0 0 100 8", "aria-hidden": "true" },
    svg("rect", { class: "bar-all", width: 100, height: 8, rx: 4 }),
    svg("rect", { class: "bar-part", width: Math.max(0, Math.min(1, value)) * 100, height: 8, rx: 4 }));
}

/** @param {string} text */
function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
