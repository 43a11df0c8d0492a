/** The strength of an answer's evidence, in words; the figure unfolds. */
import { h } from "./dom.js";

const CHECK = "check that it fits";

/** @param {import("./answer-state.js").Recommendation | null} recommendation */
export function evidence(recommendation) {
  if (!recommendation?.evidence) return null;
  const { strength, reasons } = recommendation.evidence;
  return h("details", { class: "evidence" },
    h("summary", {}, "Evidence: ", h("b", {}, strength), whyText(strength, reasons)),
    h("p", {}, `Confidence ${recommendation.confidence.toFixed(2)}, from 0 to 1: how much in the documents speaks for this answer, not how likely it is to help.`));
}

/** @param {string} strength @param {string[]} reasons */
function whyText(strength, reasons) {
  const said = strength === "strong" || reasons.some((reason) => reason.includes(CHECK)) ? reasons : [...reasons, CHECK];
  return said.length ? ` (${said.join("; ")})` : "";
}
