/** Marks the steps that the lines they cite do not hold. */
import { h } from "./dom.js";
import { flash, scrollTo } from "./motion.js";

/**
 * The answer's steps, in their order; none where text and recommendation don't agree on them.
 * @param {Element} blocks
 * @param {any[]} guidance
 * @returns {(Element | null)[]}
 */
export function stepsOf(blocks, guidance) {
  const items = [...blocks.querySelectorAll(".block > ol > li")];
  return guidance.map(({ citation }) => items.find((item) => cites(item, citation)) ?? null);
}

/** @param {Element} item @param {any} citation */
function cites(item, citation) {
  const lines = `${citation.start_line}-${citation.end_line}`;
  return [...item.querySelectorAll("a.cite")].some((cite) => cite.getAttribute("data-lines") === lines
    && decodeURIComponent(cite.getAttribute("href") ?? "").startsWith(`/doc/${citation.source_file}#`));
}

/** @param {Element} blocks @param {any[]} guidance */
export function markUnbacked(blocks, guidance) {
  const steps = stepsOf(blocks, guidance);
  guidance.forEach(({ support }, index) => {
    const step = steps[index];
    if (support !== "unsupported" || !step || step.classList.contains("unbacked")) return;
    step.classList.add("unbacked");
    step.append(h("p", { class: "unbacked-note" }, "Not in the cited lines: check it before you act on it."));
  });
}

/** @param {Element} blocks @param {any[]} guidance @param {number} number of the step, from 1 on */
export function showStep(blocks, guidance, number) {
  const step = stepsOf(blocks, guidance)[number - 1];
  if (!step) return;
  scrollTo(step, "center");
  flash(step);
}
