/** How good the evidence for an answer is: in words; the figure for who wants it. */
import { h } from "./dom.js";

const CHECK = "check that it fits";

/** @param {any} recommendation @returns {HTMLElement | null} */
export function evidence(recommendation) {
  const { strength, reasons = [] } = recommendation?.evidence ?? {};
  if (!strength) return null;
  return h("details", { class: "evidence" },
    h("summary", {}, "Evidence: ", h("b", {}, strength), whyText(strength, reasons)),
    h("p", {}, `Confidence ${Number(recommendation.confidence).toFixed(2)}, from 0 to 1: how much in the documents speaks for this answer, not how likely it is to help.`));
}

/** @param {string} strength @param {string[]} reasons */
function whyText(strength, reasons) {
  const said = strength === "strong" || reasons.some((reason) => reason.includes(CHECK)) ? reasons : [...reasons, CHECK];
  return said.length ? ` (${said.join("; ")})` : "";
}
