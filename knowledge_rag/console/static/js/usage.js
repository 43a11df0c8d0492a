/** Counts what is clicked, for the dashboard: which citation, never who. */

/**
 * @param {"citation_click" | "source_visit"} kind
 * @param {string | null | undefined} answerId
 * @param {import("./answer-state.js").Source | undefined} source
 */
export function count(kind, answerId, source) {
  if (!source) return;
  fetch("/api/events", {
    method: "POST", keepalive: true, headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ kind, answerId: answerId ?? null, number: source.number }),
  }).catch(() => {}); // a count that is lost hurts nobody
}
