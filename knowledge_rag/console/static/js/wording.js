/** The page's words for states, reasons and warnings. */

/** @type {Record<string, string>} */
const REASONS = {
  timeout: "It did not answer in time.",
  throttled: "It is being asked too often right now.",
  unavailable: "It can't be reached.",
  access_denied: "This console may not read it.",
  malformed_response: "What it answered could not be read.",
  configuration: "It is not set up correctly.",
  guardrail: "A guardrail held the answer back.",
  unverifiable_results: "It returned lines that could not be proven, so none is shown.",
  query_limit: "Too many questions were asked for this incident.",
  internal: "Something failed while it was searched.",
};

/** @type {Record<string, string>} */
const ADVICE_REASONS = {
  unverified_advice: "An answer was written, but no step of it kept a citation that stands. So none is shown; the lines that were found are.",
  advice_failed: "Lines were found, but nobody could write an answer from them.",
};

/** @type {Record<string, string>} */
const KINDS = {
  uncited_steps: "Not cited",
  unsupported: "Not in the cited lines",
  negation: "Says the opposite",
  filled_placeholder: "Placeholder filled in",
  not_shown: "Not shown",
  read_as: "How it was read",
  incomplete_search: "Not everything was searched",
  linked_runbook: "Not from the linked runbook",
  notice: "Notice",
  suspicious_text: "Suspicious text",
  drift: "No longer works",
  unreadable_state: "Incident not fully read",
  truncated: "Cut short",
  missing_citations: "No citations",
  non_existent_source: "Source does not exist",
  unsourced_information: "No source",
  confident_wording: "Confident wording",
  uncited_number: "Number without a citation",
  low_density: "Few citations",
  placeholder: "Placeholder citation",
  unchecked: "Not checked",
};

const OF_SEARCH = new Set(["drift", "incomplete_search", "linked_runbook", "not_shown", "notice", "read_as", "suspicious_text", "unreadable_state"]);

/** @type {Record<string, string>} */
const TYPES = {
  runbook: "Runbook", postmortem: "Postmortem", web: "Web page", pdf: "PDF", other: "Document",
};

/** @type {Record<string, {title: string, text: string}>} */
export const FAILURES = {
  network: {
    title: "The console's server can't be reached",
    text: "Is knowledge-rag serve still running? Nothing was asked; your question is kept.",
  },
  broken: {
    title: "The connection broke off",
    text: "What is shown was verified, but the rest of the answer is missing.",
  },
  busy: {
    title: "The server is busy",
    text: "Too many answers are being written at the moment. Try again in a few seconds.",
  },
  gone: {
    title: "This answer is not kept any more",
    text: "The console keeps the latest answers. Ask the question again.",
  },
  expired: { title: "This answer is not kept any more", text: "The console keeps the latest answers. Its question is known: try again." },
  refused: { title: "The question was not accepted", text: "" },
  server: { title: "The question could not be answered", text: "" },
};

/** @param {string} reason @returns {string} a sentence */
export function reasonText(reason) {
  return ADVICE_REASONS[reason] ?? REASONS[reason] ?? "It could not be searched.";
}

/** @param {string} reason whether the search went well, and what was written did not */
export function isOfAdvice(reason) {
  return reason in ADVICE_REASONS;
}

/** @param {string} kind whether a warning is about what was found, and not about how it was written */
export function isOfSearch(kind) {
  return OF_SEARCH.has(kind);
}

/** @type {Record<string, string>} */
const ADVISORS = { extractive: "the documents’ own words", model: "a model", converse: "a model", agent: "an agent" };

/** @param {string} name of who writes */
export function advisorText(name) {
  return ADVISORS[name] ?? plainName(name);
}

/** @param {string} kind */
export function kindText(kind) {
  return KINDS[kind] ?? plainName(kind);
}

/** @param {string | undefined} type */
export function typeText(type) {
  return TYPES[type ?? ""] ?? "Document";
}

const DAY = 86_400_000;

/** How long ago a day was, in words. @param {string} day ISO 8601 @param {number} now @returns {string} "" for no day */
export function agoText(day, now) {
  const days = Math.floor((now - Date.parse(day)) / DAY);
  if (Number.isNaN(days)) return "";
  if (days < 1) return days < 0 ? "in the future" : "today";
  if (days < 60) return days === 1 ? "yesterday" : `${days} days ago`;
  return days < 730 ? `${Math.floor(days / 30.44)} months ago` : `${Math.floor(days / 365.25)} years ago`;
}

/** @param {string} name e.g. `malformed_response` */
export function plainName(name) {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
