/** Questions asked on this machine, newest first; they stay in this browser. */
import { kept, keep } from "./storage.js";

const KEY = "recent-questions";
const MOST = 8;
/** Characters; pasted payloads are not kept. */
const LONGEST = 1000;

/** @returns {string[]} */
export function recentQuestions() {
  const questions = kept("localStorage", KEY);
  return Array.isArray(questions) ? questions.filter((it) => typeof it === "string").slice(0, MOST) : [];
}

/** @param {string} question */
export function remember(question) {
  if (question.length > LONGEST) return;
  keep("localStorage", KEY, [question, ...recentQuestions().filter((it) => it !== question)].slice(0, MOST));
}

/** @param {string} question */
export function forget(question) {
  keep("localStorage", KEY, recentQuestions().filter((it) => it !== question));
}

export function forgetAll() {
  keep("localStorage", KEY, []);
}
